"""Reads YAML as YAML 1.2 means it, strictly, and knows where each value stands.

Against what PyYAML does by itself: ``no`` and ``on`` are texts, ``0123`` is 123, ``3:20`` and
dates are texts; a key may not be repeated; anchors, aliases, tags and several documents are
errors; size and depth are bounded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from logdiff.engine.position import Origin, Position, Problem, RuleFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAXIMUM_CHARACTERS = 1 << 20
MAXIMUM_DEPTH = 30

Path = tuple[str | int, ...]
"""Keys and indices that lead from the top of a document to a value."""

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class Node:
    """A value with its place; the children of a mapping or sequence lie beside it."""

    __slots__ = ("children", "keys", "origin", "value")

    def __init__(self, value: Any, origin: Origin) -> None:
        self.value = value
        """Plain data: str, int, float, bool, None, list or dict."""
        self.origin = origin
        self.children: dict[str | int, Node] = {}
        self.keys: dict[str | int, Position] = {}
        """Where the key of each child of a mapping stands."""


class Document:
    """A YAML file as plain data, with positions."""

    __slots__ = ("file", "root")

    def __init__(self, file: str, root: Node) -> None:
        self.file = file
        self.root = root

    @property
    def data(self) -> Any:
        """The whole document as plain data."""
        return self.root.value

    def node(self, path: Path) -> Node:
        """Return the node at a path, or the nearest one above it that exists."""
        node = self.root
        for step in path:
            # A validator names branches of a union in its paths: what is no child is passed over.
            node = node.children.get(step, node)
        return node

    def position(self, path: Path = ()) -> Position:
        """Return where the value at a path starts."""
        return self.node(path).origin.start

    def key_position(self, path: Path) -> Position:
        """Return where the last key of a path stands; that of the value where it is no key."""
        return self.node(path[:-1]).keys.get(path[-1], self.position(path))

    def origin(self, path: Path) -> Origin:
        """Return the stretch of the file that the value at a path was read from."""
        return self.node(path).origin


def load(text: str, file: str) -> Document:
    """Read a YAML document.

    Raises :class:`RuleFileError` with file, line and column for everything that is not allowed.
    """
    return _Composer(text, file).document()


class _Composer:
    """Makes nodes from the parser's events, so that nothing is built before it is checked."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.events: Iterator[Any] = iter(())

    def document(self) -> Document:
        if len(self.text) > MAXIMUM_CHARACTERS:
            start = Position(self.file, 1, 1)
            raise RuleFileError(Problem(start, f"longer than {MAXIMUM_CHARACTERS:,} characters"))
        try:
            # The parser reads from its text at once, so a bad character may be met already here.
            self.events = yaml.parse(self.text, Loader=_PARSER)
            return self.only_document()
        except yaml.MarkedYAMLError as error:
            message = error.problem or "not readable as YAML"
            raise self.error(error.problem_mark or error.context_mark, message) from error
        except yaml.reader.ReaderError as error:
            raise self.unreadable(error) from error

    def only_document(self) -> Document:
        next(self.events)  # start of the stream
        if isinstance(next(self.events), yaml.StreamEndEvent):
            raise RuleFileError(Problem(Position(self.file, 1, 1), "the file is empty"))
        root = self.node(next(self.events), 1)
        next(self.events)  # end of the document
        event = next(self.events)
        if not isinstance(event, yaml.StreamEndEvent):
            raise self.error(event.start_mark, "a second document is not allowed")
        return Document(self.file, root)

    def node(self, event: Any, depth: int) -> Node:
        self.check(event, depth)
        if isinstance(event, yaml.ScalarEvent):
            return Node(_scalar_value(event), self.origin(event))
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(event, depth)
        return self.mapping(event, depth)

    def check(self, event: Any, depth: int) -> None:
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise self.error(event.start_mark, "anchors and aliases are not allowed")
        if event.tag is not None:
            raise self.error(event.start_mark, f"the tag {event.tag!r} is not allowed")
        if depth > MAXIMUM_DEPTH:
            raise self.error(event.start_mark, f"nested deeper than {MAXIMUM_DEPTH} levels")

    def sequence(self, start: Any, depth: int) -> Node:
        node = Node([], self.origin(start))
        event = next(self.events)
        while not isinstance(event, yaml.SequenceEndEvent):
            child = self.node(event, depth + 1)
            node.children[len(node.value)] = child
            node.value.append(child.value)
            event = next(self.events)
        return node

    def mapping(self, start: Any, depth: int) -> Node:
        node = Node({}, self.origin(start))
        event = next(self.events)
        while not isinstance(event, yaml.MappingEndEvent):
            key = self.node(event, depth + 1)
            position = key.origin.start
            if not isinstance(key.value, str):
                raise RuleFileError(Problem(position, "a key must be a text: quote it"))
            if key.value in node.value:
                raise RuleFileError(Problem(position, f"the key {key.value!r} is repeated"))
            child = self.node(next(self.events), depth + 1)
            node.keys[key.value] = position
            node.children[key.value] = child
            node.value[key.value] = child.value
            event = next(self.events)
        return node

    def origin(self, event: Any) -> Origin:
        raw = self.text[event.start_mark.index : event.end_mark.index]
        return Origin(self.position(event.start_mark), raw, getattr(event, "style", None) or None)

    def position(self, mark: Any) -> Position:
        return Position(self.file, mark.line + 1, mark.column + 1)

    def error(self, mark: Any, message: str) -> RuleFileError:
        return RuleFileError(Problem(self.position(mark), message))

    def unreadable(self, error: yaml.reader.ReaderError) -> RuleFileError:
        before = self.text[: error.position]
        column = len(before) - (before.rfind("\n") + 1) + 1
        position = Position(self.file, before.count("\n") + 1, column)
        return RuleFileError(Problem(position, "a control character is not allowed"))


def _scalar_value(event: Any) -> Any:
    """Return what a plain scalar means in the core schema of YAML 1.2; a quoted one is a text."""
    text = event.value
    if not event.implicit[0]:
        return text
    if _NULL.fullmatch(text):
        return None
    if _BOOLEAN.fullmatch(text):
        return text.lower() == "true"
    if _DECIMAL.fullmatch(text):
        return _integer(text)
    if _OCTAL.fullmatch(text) or _HEXADECIMAL.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text) or _SPECIAL_FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def _integer(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:  # more digits than Python converts
        return text
