"""What the words of a script expand to, as far as the script itself tells. Nothing is executed.

What is not known stays a hole in the text: ``${NAME}`` for a variable, the expansion or the command
substitution as written for anything else.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re

from logdiff.submission.model import Span, SubmissionError
from logdiff.submission.shell.syntax import parts
from logdiff.tuples import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node

    from logdiff.submission.model import TextFile

TEXT_LIMIT = 1 << 16
"""Characters of one value; a longer one is a hole."""
TRIMMED_LIMIT = 1 << 10
"""Characters of a value that patterns are tried on."""
FIELDS_LIMIT = 1000
SOURCES_LIMIT = 200
"""Parts of a value whose places are kept."""
_BRACES_LIMIT = 20
_BRACES_TEXT_LIMIT = 1 << 13
WORK_LIMIT = 20_000_000
"""Characters that all expansions of a script may add up to."""

_GLOB = re.compile(r"[*?]|\[.+\]")
_SPACE = re.compile(r"\s+")
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\([$`"\\\n])')
_ANSI_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
# Braces and commas that are not quoted, until all parts of a word are together.
_OPEN, _CLOSE, _COMMA = "\ue000", "\ue001", "\ue002"
_TO_MARKS = str.maketrans("{},", _OPEN + _CLOSE + _COMMA)
_FROM_MARKS = str.maketrans(_OPEN + _CLOSE + _COMMA, "{},")
_INNERMOST_BRACES = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
_ALL = frozenset("@*")
_CLOSERS = {"${": "}", "$(": ")"}


class Source(NamedTuple):
    """A part of a value that stands in the file just like this."""

    start: int
    """Its first character in the value."""
    length: int
    """In characters."""
    offset: int
    """Its first byte in the file."""


class Value(NamedTuple):
    """What a word, or a part of one, expands to."""

    text: str
    known: bool = True
    """Whether it holds no hole and no pattern of file names."""
    assumed: bool = False
    """Whether it takes a variable for unset that the surroundings of the script may set."""
    item: Span | None = None
    """The element of a list, or the call of a function, that brought it here."""
    origin: int | None = None
    """Where the text stands in the file just like this."""
    sources: tuple[Source, ...] = ()
    """Where parts of it do, if not all of it does."""


Fields = list[Value]


def hole(name: str) -> Value:
    """The value of a variable of which nothing is known."""
    return Value(f"${{{name}}}", known=False)


class Variables:
    """Variables at one point of a script."""

    def __init__(self) -> None:
        self.scalars: dict[str, Value] = {}
        self.lists: dict[str, dict[str, Value]] = {}
        """Arrays and associative arrays: index or key → element. Never changed in place."""
        self.positional: tuple[Value, ...] | None = None
        """None outside of functions: the arguments of the script are not known."""

    def copy(self) -> Variables:
        """The same variables, to be changed on their own."""
        made = Variables()
        made.scalars = self.scalars.copy()
        made.lists = self.lists.copy()
        made.positional = self.positional
        return made

    def get(self, name: str) -> Value | None:
        """The value of a variable; None for one that is not set."""
        if name.isdigit() and name != "0" and self.positional is not None:
            index = int(name) - 1
            return self.positional[index] if index < len(self.positional) else Value("")
        if name in self.lists:
            return self.lists[name].get("0")
        return self.scalars.get(name)

    def set(self, name: str, value: Value) -> None:
        """Assign to a variable."""
        self.lists.pop(name, None)
        self.scalars[name] = value if len(value.text) <= TEXT_LIMIT else hole(name)

    def set_list(self, name: str, elements: dict[str, Value]) -> None:
        """Assign to a whole array."""
        self.scalars.pop(name, None)
        if len(elements) <= FIELDS_LIMIT:
            self.lists[name] = elements
        else:
            self.unset(name)
            self.scalars[name] = hole(name)

    def unset(self, name: str) -> None:
        """Forget a variable."""
        self.scalars.pop(name, None)
        self.lists.pop(name, None)

    def meet(self, other: Variables) -> None:
        """Keep what is the same in both; all else becomes a hole."""
        for name in {**self.scalars, **other.scalars, **self.lists, **other.lists}:
            mine, others = self.get(name), other.get(name)
            same = (mine and mine.text) == (others and others.text)
            if not same or self.lists.get(name) != other.lists.get(name):
                self.unset(name)
                self.scalars[name] = hole(name)
        if self.positional != other.positional:
            self.positional = None


def opaque(text: str) -> str:
    """The text with ``x`` for everything in its holes, at the same length."""
    hidden = list(text)
    closers: list[str] = []
    for index, character in enumerate(text):
        begins = text[index : index + 2] in _CLOSERS
        if begins or closers:
            hidden[index] = "x"
        if begins:
            closers.append(_CLOSERS[text[index : index + 2]])
        elif closers and character == closers[-1]:
            closers.pop()
        elif closers and character == "(" and text[index - 1] != "$":
            closers.append(")")
        elif character == "`":
            hidden[index] = "x"
            closers.append("`")
    return "".join(hidden)


def glued(values: Iterable[Value]) -> Value:
    """One value of several that follow each other."""
    found = [value for value in values if value.text]
    if len(found) == 1:
        return found[0]
    text = "".join(value.text for value in found)
    items = [value.item for value in found if value.item]
    origin = _common_origin(found)
    return Value(
        text,
        all(value.known for value in found),
        any(value.assumed for value in found),
        items[0] if items else None,
        origin,
        () if origin is not None else _sources(found),
    )


def _common_origin(values: Fields) -> int | None:
    """Where values that stand one behind the other begin."""
    end = values[0].origin if values else None
    for value in values:
        if end is None or value.origin != end:
            return None
        end += len(value.text.encode())
    return values[0].origin if values else None


def _sources(values: Fields) -> tuple[Source, ...]:
    """Where the parts of values that follow each other stand."""
    found: list[Source] = []
    start = 0
    for value in values:
        length = len(value.text)
        if value.origin is not None:
            found.append(Source(start, length, value.origin))
        else:
            found += (source._replace(start=source.start + start) for source in value.sources)
        start += length
    return tuple(found[:SOURCES_LIMIT])


def altered(value: Value, text: str) -> Value:
    """Another text in the place of a value, which stands nowhere like this."""
    return value._replace(text=text, origin=None, sources=())


def _joined(pieces: Iterable[Fields]) -> Fields:
    """The fields of a word: the last of one piece and the first of the next are one."""
    fields: list[Fields] = []
    for piece in pieces:
        for index, value in enumerate(piece):
            if index == 0 and fields:
                fields[-1].append(value)
            else:
                fields.append([value])
    return [glued(field) for field in fields]


def split(value: Value) -> Fields:
    """What is left of a value that is not quoted: its words."""
    masked = value.text if value.known else opaque(value.text)
    if not _SPACE.search(masked):
        return [value] if masked else []
    words = [(match.start(), match.end()) for match in re.finditer(r"\S+", masked)]
    return [_part(value, start, end, alone=len(words) == 1) for start, end in words[:FIELDS_LIMIT]]


def _part(value: Value, start: int, end: int, *, alone: bool) -> Value:
    text = value.text[start:end]
    origin = _origin(value, start, end)
    if origin is None:
        return altered(value, text)
    item = None if alone else Span(origin, origin + len(text.encode()))
    return Value(text, value.known, value.assumed, value.item or item, origin)


def _origin(value: Value, start: int, end: int) -> int | None:
    """Where some characters of a value stand in the file; None where they do not stand together."""
    if value.origin is not None:
        return value.origin + len(value.text[:start].encode())
    for source in value.sources:
        if source.start <= start and end <= source.start + source.length:
            return source.offset + len(value.text[source.start : start].encode())
    return None


def _without_braces(value: Value) -> Fields:
    """The fields that ``{a,b}`` stands for."""
    texts = [value.text]
    if len(value.text) > _BRACES_TEXT_LIMIT or value.text.count(_OPEN) > _BRACES_LIMIT:
        return [value._replace(text=value.text.translate(_FROM_MARKS))]
    while len(texts) <= FIELDS_LIMIT and any(_INNERMOST_BRACES.search(text) for text in texts):
        texts = [expanded for text in texts for expanded in _alternatives(text)]
    return [altered(value, text.translate(_FROM_MARKS)) for text in texts]


def _alternatives(text: str) -> list[str]:
    match = _INNERMOST_BRACES.search(text)
    if not match:
        return [text]
    inner = match[1].split(_COMMA)
    if len(inner) == 1:
        # Not a list: the braces stand for themselves.
        return [f"{text[: match.start()]}{{{inner[0]}}}{text[match.end() :]}"]
    return [text[: match.start()] + choice + text[match.end() :] for choice in inner]


def _trimmed(text: str, pattern: str, operator: str) -> str:
    """``${text#pattern}`` and its relatives."""
    lengths = range(len(text) + 1)
    matches = re.compile(fnmatch.translate(pattern)).match
    for length in reversed(lengths) if len(operator) == 2 else lengths:
        cut = len(text) - length
        if operator[0] == "#" and matches(text[:length]):
            return text[length:]
        if operator[0] == "%" and matches(text[cut:]):
            return text[:cut]
    return text


def _replaced(text: str, pattern: str, replacement: str, operator: str) -> str:
    """``${text/pattern/replacement}`` and its relatives."""
    expression = fnmatch.translate(pattern).removesuffix(r"\Z").removesuffix(r"\z")
    anchored = {"/#": rf"\A{expression}", "/%": rf"{expression}\Z"}.get(operator, expression)
    count = 0 if operator == "//" else 1
    return re.sub(anchored, lambda _: replacement, text, count=count)


_CASES: dict[str, Callable[[str], str]] = {
    "^^": str.upper,
    ",,": str.lower,
    "^": lambda text: text[:1].upper() + text[1:],
    ",": lambda text: text[:1].lower() + text[1:],
}
_DEFAULTS = frozenset((":-", "-", ":=", "=", ":+", "+", ":?", "?"))
_TRIMS = frozenset(("#", "##", "%", "%%"))
_REPLACEMENTS = frozenset(("/", "//", "/#", "/%"))


class Expander:
    """Expands the words of one file, with the variables that are set at the time."""

    def __init__(self, file: TextFile, source: bytes, variables: Variables) -> None:
        self.file = file
        self.source = source
        self.variables = variables
        self.work = 0

    def spend(self, work: int, offset: int) -> None:
        """Count work that was done for the text at an offset.

        Raises:
            SubmissionError: It adds up to more than any sensible script needs.
        """
        self.work += work
        if self.work > WORK_LIMIT:
            raise SubmissionError(f"{self.file.place(offset)}: the script expands to too much")

    def written(self, node: Node) -> str:
        """The text of a node as it stands in the file."""
        return self._slice(node.start_byte, node.end_byte)

    def fields(self, node: Node) -> Fields:
        """The words that a word of a command becomes: none, one or several."""
        found: Fields = []
        for field in _joined(self._pieces(node, quoted=False)):
            self.spend(len(field.text) + 1, node.start_byte)
            if len(field.text) > TEXT_LIMIT:
                found.append(Value(self.written(node)[:TEXT_LIMIT], known=False))
            else:
                found.extend(_without_braces(field) if _OPEN in field.text else [field])
        return found

    def value(self, node: Node) -> Value:
        """The one value that a word has where no words are split, as in an assignment."""
        found = glued(value for piece in self._pieces(node, quoted=True) for value in piece)
        self.spend(len(found.text) + 1, node.start_byte)
        return found._replace(text=found.text.translate(_FROM_MARKS))

    def elements(self, array: Node) -> dict[str, Value]:
        """The elements of an array as it is written in parentheses, by index or key."""
        found: dict[str, Value] = {}
        for node in parts(array):
            item = Span(*node.byte_range)
            entry = self._entry(node)
            values = [entry] if entry else [("", field) for field in self.fields(node)]
            for key, value in values:
                found[key or next_index(found)] = value._replace(item=value.item or item)
        return found

    def _entry(self, node: Node) -> tuple[str, Value] | None:
        """Key and value of ``[key]=value``."""
        if not self.written(node).startswith("["):
            return None
        for closing, equals in zip(node.children, node.children[1:], strict=False):
            if self.written(closing) == "]" and self.written(equals).startswith("="):
                key = glued(self._between(node, node.start_byte + 1, closing.start_byte))
                value = glued(self._between(node, equals.start_byte + 1, node.end_byte))
                return key.text, value
        return None

    def _between(self, node: Node, start: int, end: int) -> Fields:
        return [value for piece in self._inside(node, start, end, quoted=True) for value in piece]

    def _slice(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", "replace")

    def _literal(self, start: int, end: int, escaped: re.Pattern[str]) -> Value:
        raw = self._slice(start, end)
        text = escaped.sub(lambda match: match[1].replace("\n", ""), raw)
        return Value(text, origin=start if text == raw else None)

    def _inside(self, node: Node, start: int, end: int, *, quoted: bool) -> list[Fields]:
        """The pieces between two offsets of a node, with the text that is in no child."""
        escaped = _ESCAPED_IN_QUOTES if quoted else _ESCAPED
        pieces: list[Fields] = []
        position = start
        for child in node.children:
            if child.end_byte <= position or child.end_byte > end:
                continue
            if child.start_byte < position:
                pieces.append([self._literal(position, child.end_byte, escaped)])
            else:
                if child.start_byte > position:
                    pieces.append([self._literal(position, child.start_byte, escaped)])
                pieces.extend(self._pieces(child, quoted=quoted))
            position = child.end_byte
        if position < end:
            pieces.append([self._literal(position, end, escaped)])
        return pieces

    def _pieces(self, node: Node, *, quoted: bool) -> list[Fields]:
        """What the parts of a word expand to, one after the other."""
        start, end = node.byte_range
        match node.type:
            case "string":
                return self._string(node)
            case "raw_string":
                return [[Value(self._slice(start + 1, end - 1), origin=start + 1)]]
            case "ansi_c_string":
                text = self._slice(start + 2, end - 1)
                return [[Value(_ANSI_ESCAPED.sub(lambda m: _ANSI.get(m[1], m[1]), text))]]
            case "translated_string" | "concatenation" | "command_name":
                return self._inside(node, start + (node.type[0] == "t"), end, quoted=quoted)
            case "string_content":
                return [[self._literal(start, end, _ESCAPED_IN_QUOTES)]]
            case "brace_expression":
                return [[self._range(node)]]
        expansion = self._expansion_of(node)
        if expansion is None:
            return [[self._word(node, quoted=quoted)]]
        self.spend(sum(len(value.text) for value in expansion), start)
        if quoted:
            return [expansion]
        return [[part for value in expansion for part in split(value)]]

    def _string(self, node: Node) -> list[Fields]:
        pieces = self._inside(node, node.start_byte + 1, node.end_byte - 1, quoted=True)
        # "${empty[@]}" is no word; "" is an empty one.
        return pieces or [[Value("")]]

    def _word(self, node: Node, *, quoted: bool) -> Value:
        value = self._literal(*node.byte_range, _ESCAPED)
        marked = value.text.translate(_TO_MARKS) if _braces_count(node) else value.text
        known = quoted or not (_GLOB.search(value.text) or value.text.startswith("~"))
        return value._replace(text=marked, known=known)

    def _range(self, node: Node) -> Value:
        """``{1..3}``, as if it was a list."""
        bounds = re.fullmatch(r"\{(\d{1,6})\.\.(\d{1,6})\}", self.written(node))
        if not bounds:
            return Value(self.written(node), known=False)
        first, last = int(bounds[1]), int(bounds[2])
        numbers = range(first, last + 1) if first <= last else range(first, last - 1, -1)
        if len(numbers) > FIELDS_LIMIT:
            return Value(self.written(node), known=False)
        return Value(f"{_OPEN}{_COMMA.join(map(str, numbers))}{_CLOSE}")

    def _expansion_of(self, node: Node) -> Fields | None:
        """The values of a node that stands for others; None for one that stands for itself."""
        match node.type:
            case "simple_expansion":
                return self._named(self.written(node)[1:])
            case "expansion":
                return self._expansion(node)
            case "command_substitution":
                return [self._substitution(node)]
            case "process_substitution" | "arithmetic_expansion":
                return [Value(self.written(node), known=False)]
        return None

    def _named(self, name: str) -> Fields:
        """``$name``."""
        if name in _ALL:
            positional = self.variables.positional
            return [hole(name)] if positional is None else list(positional)
        if name == "#" and self.variables.positional is not None:
            return [Value(str(len(self.variables.positional)))]
        value = self.variables.get(name)
        return [hole(name) if value is None else value]

    def _expansion(self, node: Node) -> Fields:
        """``${…}``."""
        as_written = [Value(self.written(node), known=False)]
        children = [child for child in node.children[1:-1] if not child.is_extra]
        prefix = ""
        if len(children) > 1 and children[0].type in {"!", "#"}:
            prefix = children.pop(0).type
        if not children or children[0].type not in {
            "variable_name",
            "special_variable_name",
            "subscript",
        }:
            return as_written
        target, *operation = children
        if prefix:
            found = None if operation else self._prefixed(prefix, target)
            return as_written if found is None else found
        values = self._target(target)
        if not operation:
            return [hole(self.written(target))] if values is None else values
        if operation[0].type in _DEFAULTS:
            return self._default(node, target, operation[0], values)
        if values is None or not all(value.known for value in values):
            return as_written
        changed = self._changed(node, operation, values)
        return as_written if changed is None else changed

    def _target(self, target: Node) -> Fields | None:
        """The values of ``name``, ``name[key]`` or ``name[@]``; None where it is not set."""
        if target.type != "subscript":
            name = self.written(target)
            if name in _ALL:
                return self._named(name)
            value = self.variables.get(name)
            return None if value is None else [value]
        name, index = self._subscript(target)
        elements = self.variables.lists.get(name)
        if index in _ALL:
            if elements is not None:
                return list(elements.values())
            return [hole(f"{name}[@]")]
        if elements is None or not index:
            return None
        found = elements.get(index)
        return [found or hole(f"{name}[{index}]")]

    def _subscript(self, node: Node) -> tuple[str, str]:
        """Name and index of ``name[index]``; the index is empty where it is not known."""
        name = node.child_by_field_name("name")
        index = node.child_by_field_name("index")
        if name is None or index is None:
            return "", ""
        name_text = self.written(name)
        value = self.value(index)
        elements = self.variables.lists.get(name_text, {})
        numeric = None if value.text in elements else self.variables.get(value.text)
        if numeric and numeric.text in elements:
            # ${NAMES[i]} means the element at the value of i.
            return name_text, numeric.text
        return name_text, value.text if value.known else ""

    def subscript(self, node: Node) -> tuple[str, str]:
        """Name and key that an assignment to ``name[key]`` is to; the key is empty if unknown."""
        return self._subscript(node)

    def _prefixed(self, prefix: str, target: Node) -> Fields | None:
        """``${!name…}`` and ``${#name…}``; None where it is not known."""
        everything = target.type == "subscript" and self._subscript(target)[1] in _ALL
        if prefix == "!" and everything:
            elements = self.variables.lists.get(self._subscript(target)[0])
            if elements is None:
                return None
            return [Value(key, item=element.item) for key, element in elements.items()]
        values = self._target(target)
        if values is None or not all(value.known for value in values):
            return None
        if prefix == "!":
            return self._named(values[0].text)
        return [Value(str(len(values) if everything else len(values[0].text)))]

    def _default(self, node: Node, target: Node, operator: Node, values: Fields | None) -> Fields:
        """``${name:-word}`` and its relatives."""
        unset = values is None or (
            operator.type[0] == ":" and len(values) == 1 and not values[0].text
        )
        name = self.written(target)
        if operator.type[-1] == "?":
            return [hole(name)] if values is None or unset else values
        word = glued(self._between(node, operator.end_byte, node.end_byte - 1))
        if operator.type[-1] == "+":
            return [Value("", assumed=True)] if unset else [word]
        if values is not None and not unset:
            return values
        word = word._replace(assumed=True)
        if operator.type[-1] == "=" and target.type == "variable_name":
            self.variables.set(name, word)
        return [word]

    def _changed(self, node: Node, operation: list[Node], values: Fields) -> Fields | None:
        """Known values after ``#``, ``%``, ``/``, ``^``, ``,`` or ``:``; None if not known."""
        operator = operation[0].type
        if operator == ":":
            return self._sliced(operation, values, all_of=_is_all(self.written(node)))
        change: Callable[[str], str] | None = None
        if operator in _CASES and len(operation) == 1:
            change = _CASES[operator]
        elif operator in _TRIMS:
            change = self._trim(node, operation[0])
        elif operator in _REPLACEMENTS:
            change = self._replacement(node, operation)
        if change is None or any(len(value.text) > TRIMMED_LIMIT for value in values):
            return None
        self.spend(sum(len(value.text) for value in values) * 8, node.start_byte)
        return [altered(value, change(value.text)) for value in values]

    def _trim(self, node: Node, operator: Node) -> Callable[[str], str] | None:
        pattern = glued(self._between(node, operator.end_byte, node.end_byte - 1))
        if not pattern.known:
            return None
        return lambda text: _trimmed(text, pattern.text, operator.type)

    def _replacement(self, node: Node, operation: list[Node]) -> Callable[[str], str] | None:
        operator, *rest = operation
        slashes = [child for child in rest if child.type == "/"]
        end = node.end_byte - 1
        cut, after = (slashes[0].start_byte, slashes[0].end_byte) if slashes else (end, end)
        pattern = glued(self._between(node, operator.end_byte, cut))
        replacement = glued(self._between(node, after, end))
        if not (pattern.text and pattern.known and replacement.known):
            return None
        return lambda text: _replaced(text, pattern.text, replacement.text, operator.type)

    def _sliced(self, operation: list[Node], values: Fields, *, all_of: bool) -> Fields | None:
        """``${name:1:2}``, ``${@:2}``."""
        numbers = [self.written(child) for child in operation if child.is_named]
        if not numbers or not all(number.isdecimal() for number in numbers):
            return None
        start = int(numbers[0][:9])
        length = int(numbers[1][:9]) if len(numbers) > 1 else None
        if all_of:
            # "${@:1}" begins with $1, "${names[@]:0}" with the first element.
            start -= self.written(operation[0].prev_sibling or operation[0]) in _ALL
            end = len(values) if length is None else start + length
            return values[max(start, 0) : max(end, 0)]
        end = TEXT_LIMIT if length is None else start + length
        return [altered(value, value.text[start:end]) for value in values]

    def _substitution(self, node: Node) -> Value:
        """``$(…)``: a hole, but for the path functions that need no file system."""
        as_written = Value(self.written(node), known=False)
        inner = parts(node)
        if len(inner) != 1 or inner[0].type != "command":
            return as_written
        words = [field for child in parts(inner[0]) for field in self.fields(child)]
        if not words or not all(word.known for word in words):
            return as_written
        texts = [word.text for word in words if word.text != "--"]
        match texts:
            case ["pwd"]:
                return self.variables.get("PWD") or as_written
            case ["dirname", path]:
                return altered(words[-1], posixpath.dirname(path) or ".")
            case ["basename", path, *suffix]:
                name = posixpath.basename(path.rstrip("/"))
                name = name.removesuffix(suffix[0]) if suffix and name != suffix[0] else name
                return altered(words[1], name)
        return as_written


def next_index(elements: dict[str, Value]) -> str:
    """The index of an element that is appended to an array."""
    if str(len(elements)) not in elements:
        return str(len(elements))
    return str(max(int(key) for key in elements if key.isdecimal()) + 1)


def _braces_count(node: Node) -> bool:
    """Whether braces in a word may stand for several words."""
    parent = node.parent
    return node.type == "word" and parent is not None and parent.type == "concatenation"


def _is_all(written: str) -> bool:
    return written.startswith(("${@", "${*")) or "[@]" in written or "[*]" in written
