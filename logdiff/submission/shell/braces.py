"""Braces where the grammar needs them: it takes ``/$F.py`` within a word apart, not ``/${F}.py``.

The script is read with the braces, and every place in what was read is brought back to the file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Any

from logdiff.submission.model import Span, TextFile
from logdiff.submission.shell.syntax import parse

_NAME = re.compile(rb"[A-Za-z_]\w*|[0-9@*#?]")
_MOST_ROUNDS = 10


class Braced(TextFile):
    """A script with braces, whose places are those of the file without them."""

    __slots__ = ("_inserted", "original")

    def __init__(self, original: TextFile, data: bytes, inserted: list[int]) -> None:
        super().__init__(original.path, data)
        self.original = original
        self._inserted = inserted

    def line(self, offset: int) -> int:
        """The 1-based line of a byte."""
        return self.original.line(self._back(offset))

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of a byte of the file."""
        return self.original.position(self._back(offset))

    def restored(self, value: Any) -> Any:
        """What was read, with every span as the file without braces has it."""
        if isinstance(value, Span):
            return Span(self._back(value.start), self._back(value.end))
        if isinstance(value, tuple):
            moved = map(self.restored, value)
            return type(value)(*moved) if hasattr(value, "_fields") else tuple(moved)
        return value

    def _back(self, offset: int) -> int:
        return offset - bisect_left(self._inserted, offset)


def with_braces(file: TextFile, span: Span, source: bytes) -> tuple[TextFile, Span, bytes]:
    """A script as the grammar understands it.

    Args:
        file: the file that holds it.
        span: the part that is the script.
        source: what the shell is given, at the offsets of the file.

    Returns:
        The file, the span and the source to read instead; the same where nothing has to change.
    """
    inserted: list[int] = []
    first, end, given = file, span.end, source
    for _ in range(_MOST_ROUNDS):
        severed = parse(file, Span(span.start, end), given).severed
        if not severed:
            break
        for dollar in reversed(severed):
            name = _NAME.match(given, dollar + 1, end)
            if name is None:
                continue
            given = b"".join((given[: dollar + 1], b"{", name[0], b"}", given[name.end() :]))
            inserted = [at + 2 * (at > dollar) for at in inserted]
            inserted += (dollar + 1, name.end() + 1)
            end += 2
        inserted.sort()
        file = Braced(first, given, inserted)
    return file, Span(span.start, end), given
