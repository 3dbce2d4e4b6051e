"""Text measured in terminal columns, and made safe to print."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ELLIPSIS = "…"
NO_BREAK = "\u00a0"
"""A space at which a line is broken only where it is too short for what the space holds together;
formats print it as a space."""
_ARROW = "→"

_JOINERS = "\u200c\u200d"
"""Format characters that emoji and some scripts need; all others could hide or reorder text."""

_NARROW = frozenset("●○├└│→…×–··“”‘’")
"""Signs that reports are drawn with; no table has to be loaded to measure them."""

_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_ZERO_WIDTH_CATEGORIES = frozenset({"Mn", "Me", "Cf"})
_CLOSING = "，。、；：！？）」』》】〉”’…"
"""Punctuation that does not begin a line of Chinese."""


def visible(text: str) -> str:
    r"""Show what a terminal would obey (escapes, controls, bidi marks) as ``\x1b``, ``\u202e``."""
    if text.isprintable():
        return text
    return "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    if character in "\t\n":
        return " "
    if character in _JOINERS or _category(character) not in _UNSAFE_CATEGORIES:
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _category(character: str) -> str:
    import unicodedata

    return unicodedata.category(character)


def columns(text: str) -> int:
    """Count the terminal columns that a text takes."""
    return len(text) if text.isascii() else sum(map(_character_columns, text))


def _character_columns(character: str) -> int:
    return 1 if character.isascii() or character in _NARROW else _looked_up(character)


@lru_cache(maxsize=4096)
def _looked_up(character: str) -> int:
    import unicodedata

    if unicodedata.category(character) in _ZERO_WIDTH_CATEGORIES:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def head(text: str, width: int) -> str:
    """Give the longest beginning that fits."""
    if text.isascii():
        return text[: max(width, 0)]
    used = 0
    for index, character in enumerate(text):
        used += _character_columns(character)
        if used > width:
            return text[:index]
    return text


def tail(text: str, width: int) -> str:
    """Give the longest end that fits, never starting with a combining character."""
    start = len(text)
    used = 0
    for index in range(len(text) - 1, -1, -1):
        size = _character_columns(text[index])
        used += size
        if used > width:
            break
        if size:
            start = index
    return text[start:]


def shorten(text: str, width: int) -> str:
    """Fit a text in one line: a little is left out at the end, much in the middle.

    Messages say most at both ends, but a hole in one that nearly fits only makes it harder to read.
    """
    text = visible(text)
    if columns(text) <= width + width // 3:
        return cut(text, width)
    behind = (width - 1) // 3
    return head(text, width - 1 - behind).rstrip() + ELLIPSIS + tail(text, behind).lstrip()


def cut(text: str, width: int) -> str:
    """Fit a text in one line by leaving out its end."""
    text = visible(text)
    if columns(text) <= width:
        return text
    return head(text, width - 1).rstrip() + ELLIPSIS if width > 0 else ""


def pad(text: str, width: int) -> str:
    """Fill a text with spaces up to a width in columns."""
    return text + " " * max(0, width - columns(text))


def wrap(text: str, width: int, first: int | None = None) -> list[str]:
    """Break a text at spaces and between wide characters; ``first`` is the first line's width."""
    lines: list[str] = []
    line = ""
    room = width if first is None else first
    for gap, unbroken in _pieces(visible(text)):
        piece = unbroken
        separator = " " if gap and line else ""
        if line and columns(line) + len(separator) + columns(piece) > room:
            lines.append(line)
            line, separator, room = "", "", width
        while not line and columns(piece) > room > 0:
            part = _part(piece, room, width)
            lines.append(part.rstrip(NO_BREAK))
            piece, room = piece[len(part) :], width
        line += separator + piece
    return [*lines, line] if line or not lines else lines


def _part(piece: str, room: int, width: int) -> str:
    """Give what of a piece that is too wide for a line stands on that line, maybe nothing."""
    fitting = head(piece, room)
    gaps = [i for i, character in enumerate(fitting) if i and character == NO_BREAK]
    # What becomes what is the last to be torn apart.
    whole = [i for i in gaps if _ARROW not in (piece[i - 1 : i], piece[i + 1 : i + 2])]
    if whole:
        return piece[: whole[-1] + 1]
    if room < width and columns(piece) <= width:
        return ""
    if gaps:
        return piece[: gaps[-1] + 1]
    # A single wide character may not fit either: it is taken all the same.
    return fitting or piece[0]


def _pieces(text: str) -> Iterable[tuple[bool, str]]:
    """Give what must not be broken, each with whether a space stands before it."""
    for word in text.split(" "):
        if word.isascii():
            if word:
                yield True, word
            continue
        start = 0
        for index in range(1, len(word)):
            if _breakable(word[index - 1], word[index]):
                yield start == 0, word[start:index]
                start = index
        yield start == 0, word[start:]


def _breakable(before: str, after: str) -> bool:
    if after in _CLOSING or before in _JOINERS or not _character_columns(after):
        return False
    return _character_columns(before) == 2 or _character_columns(after) == 2
