"""What can be said about a pattern without running it.

The scanner groups lines by shape, with every digit masked as ``0``, and runs patterns on shapes
only. So it needs to know a literal that each match contains, masked in the same way, and whether a
pattern tells one digit from another, in which case a shape cannot stand for its lines.
"""

from __future__ import annotations

import re
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BYTES = frozenset(range(256))
_DIGITS = frozenset(b"0123456789")
_SPACES = frozenset(b" \t\n\r\f\v")
_WORDS = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
_CATEGORIES: dict[Any, frozenset[int]] = {
    codes.CATEGORY_DIGIT: _DIGITS,
    codes.CATEGORY_NOT_DIGIT: _BYTES - _DIGITS,
    codes.CATEGORY_SPACE: _SPACES,
    codes.CATEGORY_NOT_SPACE: _BYTES - _SPACES,
    codes.CATEGORY_WORD: _WORDS,
    codes.CATEGORY_NOT_WORD: _BYTES - _WORDS,
}
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_CHARACTERS = (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY)
_EDGES = (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING, codes.AT_BOUNDARY)
_EDGE = b"\n"
"""No line has one, and no literal needs one."""
_WHOLE_WORD = re.compile(rb"(?<=\W)\w+(?=\W)")
_LONGEST_EXPANSION = 16
_IGNORE_CASE = 2

_TOKEN = re.compile(
    r"""
    \[ \^? \]? (?: \\. | [^]\\] )* \]  # a class
    | [^\x00-\x7f] [*+?{]             # a character of several bytes that is repeated
    | \\? .
    """,
    re.DOTALL | re.VERBOSE,
)

Item = tuple[Any, Any]
"""An operation of a parsed pattern and its argument."""


class Analysis(NamedTuple):
    """What is known about a pattern."""

    literal: bytes | None
    """Longest text, digits as ``0``, that the shape of every match contains."""
    word: bytes | None
    """Longest part of a text that is a whole word in the shape of every match."""
    digit_sensitive: bool
    """Whether the pattern may match one digit and not another."""
    groups: frozenset[str]
    """Its named groups."""


def analyse(pattern: str) -> Analysis:
    """Analyse a valid pattern that will be run on bytes."""
    parsed = parser.parse(pattern.encode())
    literal = word = None
    if not parsed.state.flags & _IGNORE_CASE:
        runs = _Runs()
        runs.add(parsed)
        finished = runs.finished()
        literal = max(map(_without_edges, finished), key=len, default=b"") or None
        words = [word for run in finished for word in _WHOLE_WORD.findall(run)]
        word = max(words, key=len, default=None)
    return Analysis(literal, word, _tells_digits_apart(parsed), frozenset(parsed.state.groupdict))


def objection(pattern: str) -> str | None:
    """Return why a valid pattern should not be run on bytes of a log, or None."""
    if not pattern.isascii() and _splits_characters(pattern):
        return "only ASCII characters may stand in a class or be repeated"
    for operation, argument in _walk(parser.parse(pattern.encode())):
        if operation in _REPEATS[:2] and _is_unbounded(argument) and _is_ambiguous(argument[2]):
            return "nested repeats over the same characters take exponential time"
    return None


def _children(item: Item) -> list[Any]:
    """Return the sequences of items within an item."""
    operation, argument = item
    if operation in _REPEATS:
        return [argument[2]]
    if operation is codes.SUBPATTERN:
        return [argument[3]]
    if operation is codes.BRANCH:
        return list(argument[1])
    if operation in (codes.ASSERT, codes.ASSERT_NOT):
        return [argument[1]]
    if operation is codes.ATOMIC_GROUP:
        return [argument]
    if operation is codes.GROUPREF_EXISTS:
        return [part for part in argument[1:] if part is not None]
    return []


def _walk(sequence: Iterable[Item]) -> Iterator[Item]:
    for item in sequence:
        yield item
        for child in _children(item):
            yield from _walk(child)


def _members(item: Item) -> frozenset[int]:
    """Return the bytes that an item which matches one byte may match."""
    operation, argument = item
    if operation is codes.LITERAL:
        return frozenset([argument])
    if operation is codes.NOT_LITERAL:
        return _BYTES - {argument}
    if operation is codes.ANY:
        return _BYTES - {ord("\n")}
    negated = bool(argument) and argument[0][0] is codes.NEGATE
    found: set[int] = set()
    for kind, value in argument[negated:]:
        if kind is codes.LITERAL:
            found.add(value)
        elif kind is codes.RANGE:
            found.update(range(value[0], value[1] + 1))
        else:
            found.update(_CATEGORIES[value])
    return _BYTES - found if negated else frozenset(found)


def _tells_digits_apart(sequence: Iterable[Item]) -> bool:
    for operation, argument in _walk(sequence):
        # A group that is met again must have the same digits.
        if operation in (codes.GROUPREF, codes.GROUPREF_EXISTS):
            return True
        if operation in _CHARACTERS:
            digits = _DIGITS & _members((operation, argument))
            if digits and digits != _DIGITS:
                return True
    return False


def _without_edges(run: bytes) -> bytes:
    return run.replace(_EDGE, b"")


class _Runs:
    """Collects the runs of bytes that stand side by side in every match.

    ``_EDGE`` stands in a run where a word begins or ends: at the beginning, where what is before
    the text that is searched is no word, and beside what matches no part of a word.
    """

    def __init__(self) -> None:
        self.runs: list[bytes] = []
        self.current = b""

    def finished(self) -> list[bytes]:
        self.end()
        return self.runs

    def end(self) -> None:
        if self.current:
            self.runs.append(self.current)
        self.current = b""

    def add(self, sequence: Iterable[Item]) -> None:
        for item in sequence:
            self.add_item(item)

    def add_item(self, item: Item) -> None:
        operation, argument = item
        if operation in _CHARACTERS:
            self.add_character(item)
        elif operation in _REPEATS:
            self.add_repeat(*argument)
        elif operation is codes.SUBPATTERN and not argument[1] & _IGNORE_CASE:
            self.add(argument[3])
        elif operation is codes.ATOMIC_GROUP:
            self.add(argument)
        elif operation is codes.AT:
            self.current += _EDGE if argument in _EDGES else b""
        elif operation not in (codes.ASSERT, codes.ASSERT_NOT):  # these take no room
            self.end()

    def add_character(self, item: Item) -> None:
        members = _members(item)
        if members and members <= _DIGITS:
            self.current += b"0"
        elif len(members) == 1:
            self.current += bytes(members)
        else:
            edge = b"" if members & _WORDS else _EDGE
            self.current += edge
            self.end()
            self.current = edge

    def add_repeat(self, least: int, most: int, body: Iterable[Item]) -> None:
        if least == most and least <= _LONGEST_EXPANSION:
            for _ in range(least):
                self.add(body)
            return
        # The first time stands beside what is before it, the last beside what is after it.
        if least:
            self.add(body)
        self.end()
        if least:
            self.add(body)


def _is_unbounded(repeat: Any) -> bool:
    return repeat[1] is codes.MAXREPEAT


def _is_ambiguous(body: Iterable[Item]) -> bool:
    """Say whether a repeated body can split the same text in many ways, as in ``(a+)+``."""
    items = list(_flattened(body))
    for index, (operation, argument) in enumerate(items):
        if operation is codes.BRANCH and any(map(_is_ambiguous, argument[1])):
            return True
        if operation in _REPEATS[:2] and _is_unbounded(argument):
            others = items[:index] + items[index + 1 :]
            inner = _characters(argument[2])
            if not any(_separates(other, inner) for other in others):
                return True
    return False


def _flattened(body: Iterable[Item]) -> Iterator[Item]:
    for item in body:
        if item[0] is codes.SUBPATTERN:
            yield from _flattened(item[1][3])
        else:
            yield item


def _separates(item: Item, inner: frozenset[int]) -> bool:
    """Say whether an item always takes room, and none of it can be taken for the inner repeat."""
    operation, argument = item
    if operation in _REPEATS:
        return argument[0] > 0 and any(_separates(part, inner) for part in argument[2])
    return operation in _CHARACTERS and not _members(item) & inner


def _characters(sequence: Iterable[Item]) -> frozenset[int]:
    characters = (_members(item) for item in _walk(sequence) if item[0] in _CHARACTERS)
    return frozenset().union(*characters)


def _splits_characters(pattern: str) -> bool:
    """Say whether a pattern of characters means something else once it is a pattern of bytes.

    The parser cannot tell: it makes sets of alternatives such as ``(?:é|ü)``, which are harmless.
    """
    tokens = (match[0] for match in _TOKEN.finditer(pattern))
    return any(not token.isascii() and len(token) > 1 for token in tokens)
