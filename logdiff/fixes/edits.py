"""Edits of a file that leave every other byte as it is, and the patch that shows them."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from logdiff.errors import UsageError
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from logdiff.submission.model import Span

_CONTEXT_LINES = 3
_NO_END = b"\\ No newline at end of file\n"


class EditRefusedError(UsageError):
    """A change cannot be made soundly; the message says where and why."""


class Edit(NamedTuple):
    """Bytes that take the place of others."""

    span: Span
    """What is replaced; an empty span is a place to insert at."""
    new: bytes


def apply_edits(data: bytes, edits: Iterable[Edit]) -> bytes:
    """The bytes of a file after some edits.

    Raises:
        ValueError: two of them overlap.
    """
    pieces: list[bytes] = []
    done = 0
    for edit in sorted(set(edits), key=lambda edit: edit.span):
        if edit.span.start < done:
            raise ValueError(f"two edits overlap at byte {edit.span.start}")
        pieces += data[done : edit.span.start], edit.new
        done = edit.span.end
    return b"".join((*pieces, data[done:]))


def unified_diff(path: str, old: bytes, new: bytes) -> bytes:
    """A patch that ``git apply`` takes, of bytes of any encoding and line ends.

    Format: https://git-scm.com/docs/diff-format and POSIX ``diff -u``. It is
    empty where nothing changes.
    """
    before, after = _lines(old), _lines(new)
    groups = SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(
        _CONTEXT_LINES
    )
    name = path.encode("utf-8", "surrogateescape")
    hunks = [line for group in groups for line in _hunk(before, after, group)]
    if not hunks:
        return b""
    head = (b"diff --git a/%b b/%b\n" % (name, name), b"--- a/%b\n" % name, b"+++ b/%b\n" % name)
    return b"".join((*head, *hunks))


def _lines(data: bytes) -> list[bytes]:
    """Lines that end at line feeds only, as git counts them."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()
    return lines if last == b"\n" else [*lines, last[:-1]]


def _hunk(
    before: Sequence[bytes], after: Sequence[bytes], group: Sequence[tuple[str, int, int, int, int]]
) -> Iterator[bytes]:
    first, last = group[0], group[-1]
    old, new = _range(first[1], last[2]), _range(first[3], last[4])
    yield b"@@ -%b +%b @@\n" % (old, new)
    for what, old_start, old_end, new_start, new_end in group:
        if what == "equal":
            yield from _marked(b" ", before[old_start:old_end])
        else:
            yield from _marked(b"-", before[old_start:old_end])
            yield from _marked(b"+", after[new_start:new_end])


def _range(start: int, end: int) -> bytes:
    count = end - start
    return b"%d,%d" % (start + bool(count), count)


def _marked(mark: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line
        if not line.endswith(b"\n"):
            yield b"\n" + _NO_END
