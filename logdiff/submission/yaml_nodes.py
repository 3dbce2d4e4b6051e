"""YAML as nodes that know their bytes, for reading launch files and for editing them in place.

Built from the events of PyYAML, so that depth and size are bounded, an alias costs nothing however
often it is used, and several documents may follow one another.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import yaml

from logdiff.decoders import UTF8_MARK
from logdiff.submission.model import Span, SubmissionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logdiff.submission.model import TextFile

MAXIMUM_DEPTH = 100
MAXIMUM_NODES = 50_000
_MERGE = "<<"
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Node:
    """A scalar, a sequence or a mapping, and where it is written."""

    __slots__ = ("anchor", "flow", "is_alias", "items", "kind", "span", "style", "text")

    def __init__(self, kind: str, span: Span) -> None:
        self.kind = kind
        """``scalar`` ``sequence`` ``mapping``."""
        self.span = span
        """Quotes and brackets included; of an alias the ``*name``."""
        self.text = ""
        """Value of a scalar, as text whatever its type."""
        self.style: str | None = None
        """Of a scalar: ``'``, ``"``, ``|``, ``>``; None = plain."""
        self.flow = False
        """Whether a collection is written in brackets."""
        self.anchor: str | None = None
        self.is_alias = False
        self.items: list[Node] = []
        """Members of a sequence; keys and values of a mapping in turns."""

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Keys and values of a mapping as they are written, without what is merged into it."""
        return zip(self.items[::2], self.items[1::2], strict=True)

    def get(self, key: str) -> Node | None:
        """The value of a key of a mapping, which may be merged into it."""
        return self._get(key, MAXIMUM_DEPTH)

    def _get(self, key: str, depth: int) -> Node | None:
        if self.kind != "mapping" or not depth:
            return None
        own = [value for name, value in self.pairs() if name.text == key]
        if own:
            return own[-1]
        for name, value in self.pairs():
            if name.text == _MERGE and name.style is None:
                sources = value.items if value.kind == "sequence" else [value]
                for source in sources:
                    found = source._get(key, depth - 1)  # noqa: SLF001  # of the same class
                    if found:
                        return found.as_alias()
        return None

    def as_alias(self) -> Node:
        """The same node, used at a place where it is not written."""
        alias = Node(self.kind, self.span)
        alias.text, alias.style, alias.flow = self.text, self.style, self.flow
        alias.items, alias.is_alias = self.items, True
        return alias


def read_documents(file: TextFile) -> list[Node]:
    """The documents of a YAML file.

    Raises:
        SubmissionError: it is no YAML, or deeper than any launch file; the message
            begins with file, line and column.
    """
    start = len(UTF8_MARK) * file.data.startswith(UTF8_MARK)
    try:
        text = file.data[start:].decode()
    except UnicodeDecodeError as error:
        place = file.place(start + error.start)
        raise SubmissionError(f"{place}: is not UTF-8; save it as UTF-8 text") from None
    try:
        return _Builder(file, text, start).documents()
    except yaml.MarkedYAMLError as error:
        raise SubmissionError(f"{file.path}{_described(error)}") from None
    except yaml.YAMLError as error:
        raise SubmissionError(f"{file.path}: is no YAML: {' '.join(str(error).split())}") from None


def _described(error: yaml.MarkedYAMLError) -> str:
    """``:line:column: message``, and where what is wrong begins."""
    mark = error.problem_mark or error.context_mark
    place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
    began = error.context_mark
    context = f" {error.context}, begun in line {began.line + 1}" if began and error.context else ""
    return f"{place}: {error.problem or ''}{context}"


class _Builder:
    """Makes nodes of the events of one file."""

    def __init__(self, file: TextFile, text: str, start: int) -> None:
        self._file = file
        self._text = text
        # Marks count characters.
        self._offsets = None if text.isascii() else _byte_offsets(text)
        self._start = start
        self._anchors: dict[str, Node] = {}
        self._count = 0

    def documents(self) -> list[Node]:
        found: list[Node] = []
        open_nodes: list[Node] = []
        for event in yaml.parse(self._text, Loader=_PARSER):
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors = {}
            elif isinstance(event, yaml.CollectionEndEvent):
                node = open_nodes.pop()
                end: Any = event.end_mark
                node.span = Span(node.span.start, self._byte(end.index))
            elif isinstance(event, yaml.NodeEvent):
                node = self._node(event)
                (open_nodes[-1].items if open_nodes else found).append(node)
                if isinstance(event, yaml.CollectionStartEvent):
                    open_nodes.append(node)
                self._bound(len(open_nodes), event)
        return found

    def _node(self, event: Any) -> Node:
        self._count += 1
        span = Span(self._byte(event.start_mark.index), self._byte(event.end_mark.index))
        if isinstance(event, yaml.AliasEvent):
            target = self._anchors.get(event.anchor or "")
            if target is None:
                raise SubmissionError(
                    f"{self._file.place(span.start)}: '{event.anchor}' is no anchor"
                )
            alias = target.as_alias()
            alias.span = span
            return alias
        if isinstance(event, yaml.ScalarEvent):
            node = Node("scalar", self._without_properties(span, event))
            node.text, node.style = event.value, event.style or None
        else:
            is_sequence = isinstance(event, yaml.SequenceStartEvent)
            node = Node("sequence" if is_sequence else "mapping", span)
            node.flow = bool(event.flow_style)
        node.anchor = event.anchor
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _without_properties(self, span: Span, event: Any) -> Span:
        """The span of a scalar alone, without the anchor and the tag before it."""
        text = self._file.data[span.start : span.end]
        rest = text
        while rest[:1] in (b"&", b"!") and (event.anchor or event.tag):
            _, _, rest = rest.partition(b" ")
            rest = rest.lstrip(b" ")
        return Span(span.end - len(rest), span.end)

    def _bound(self, depth: int, event: Any) -> None:
        if depth > MAXIMUM_DEPTH:
            message = f"is nested more than {MAXIMUM_DEPTH} levels deep"
        elif self._count > MAXIMUM_NODES:
            message = f"holds more than {MAXIMUM_NODES:,} values"
        else:
            return
        place = self._file.place(self._byte(event.start_mark.index))
        raise SubmissionError(f"{place}: {message}, which no launch file does")

    def _byte(self, index: int) -> int:
        return self._start + (self._offsets[index] if self._offsets else index)


def _byte_offsets(text: str) -> list[int]:
    return list(accumulate((len(character.encode()) for character in text), initial=0))
