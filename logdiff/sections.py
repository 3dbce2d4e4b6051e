"""Where one run ends and the next begins in a file, and which lines are a repeated paste."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logdiff.read import Source

SHORTEST_REPEAT = 20
"""Equal lines in a row that make an overlapping paste."""
LARGEST_JITTER_SECONDS = 60
"""Streams of one container may be out of order by this much without a new run."""

_HEADING_LENGTH = 160
_RULED = re.compile(rb"#{1,6} +\S|={3,} ?.*\w.* ?={3,}$|-{3,} ?.*\w.* ?-{3,}$|==> .+ <==$")
_LABEL = re.compile(
    rb"[^\s\[{(<].{0,150}?(?::|\xef\xbc\x9a)\s*$",  # ends in ':' or in the full-width colon
    re.DOTALL,
)
_LABEL_WORDS = re.compile(
    r"log|docker|container|submission|attempt|run\b|good|bad\b|baseline|before|after|old\b|new\b"
    r"|日志|容器|提交|运行|正常|失败|成功|好的|坏的|评测|输出|我们|别人|他们|对比|版本|启动",
    re.IGNORECASE,
)
_CANDIDATE_LIMIT = 32


def looks_like_heading(text: bytes) -> bool:
    """Whether a bare line may be a person's heading between two pasted logs."""
    text = text.strip()
    if not 2 <= len(text) <= _HEADING_LENGTH:
        return False
    if _RULED.match(text):
        return True
    return bool(_LABEL.match(text) and _LABEL_WORDS.search(text.decode("utf-8", "replace")))


def seconds_between(earlier: bytes, later: bytes) -> float:
    """Seconds from one printed time to another of the same form.

    Forms: ``2026-08-07T08:26:54`` and ``08-07 08:26:54`` (no year: a step from December to
    January counts forward). Unreadable times are 0 apart.
    """
    try:
        return _seconds(later, earlier) - _seconds(earlier, earlier)
    except ValueError:
        return 0.0


def _seconds(time: bytes, reference: bytes) -> float:
    text = time.decode("ascii", "replace").replace("T", " ")
    date, _, clock = text.partition(" ")
    numbers = [int(part) for part in date.split("-")]
    if len(numbers) == 2:
        rolls_over = numbers[0] == 1 and reference[:2] == b"12"
        numbers.insert(0, 2001 if rolls_over else 2000)
    from datetime import date as calendar_date

    days = calendar_date(*numbers).toordinal()
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return days * 86400.0 + hours * 3600 + minutes * 60 + seconds


def find_repeat(source: Source, start: int, jump: int, wanted: bytes) -> tuple[int, int]:
    """Which lines between ``start`` and ``jump`` the lines from ``jump`` on repeat.

    Args:
        source: the file.
        start: offset from which earlier lines count.
        jump: offset of the line where time jumps back.
        wanted: that line, without its line end.

    Returns:
        The offset of the earlier lines and how many are equal; (0, 0) if there are none.
    """
    return max(
        (
            (candidate, _equal_lines(source, candidate, jump))
            for candidate in list(_occurrences(source, start, jump, wanted))
        ),
        key=lambda found: found[1],
        default=(0, 0),
    )


def _occurrences(source: Source, start: int, end: int, wanted: bytes) -> Iterator[int]:
    """Offsets of lines equal to ``wanted`` between two offsets, a bounded number of them."""
    needle = b"\n" + wanted
    found = 0
    for chunk in source.chunks(start):
        data = b"\n" + chunk.data + b"\n"
        position = data.find(needle)
        while position >= 0 and chunk.offset + position < end and found < _CANDIDATE_LIMIT:
            after = position + len(needle)
            if data[after : after + 4].lstrip(b"\r").startswith(b"\n"):
                found += 1
                yield chunk.offset + position
            position = data.find(needle, after)
        if position >= 0 or found >= _CANDIDATE_LIMIT:
            return


def _equal_lines(source: Source, earlier: int, later: int) -> int:
    """How many lines are equal from two offsets on; the earlier ones end where the later begin."""
    count = 0
    pairs = zip(_lines(source, earlier, later), _lines(source, later, None), strict=False)
    for left, right in pairs:
        if left != right:
            break
        count += 1
    return count


def _lines(source: Source, offset: int, end: int | None) -> Iterator[bytes]:
    """Lines without their ends from ``offset`` on, those that start before ``end``."""
    for chunk in source.chunks(offset):
        position = chunk.offset
        lines = chunk.data.split(b"\n")
        if chunk.data.endswith(b"\n"):
            lines.pop()
        for line in lines:
            if end is not None and position >= end:
                return
            position += len(line) + 1
            yield line.rstrip(b"\r")
