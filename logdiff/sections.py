"""Where one run ends and the next begins in a file, and which lines are a repeated paste."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from logdiff.patterns import compiled
from logdiff.read import LINE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logdiff.read import Source

SHORTEST_REPEAT = 20
"""Equal lines in a row that make an overlapping paste."""
LARGEST_JITTER_SECONDS = 60
"""Streams of one container may be out of order by this much without a new run."""

_HEADING_LENGTH = 160
_LOGGING_ERROR = b"--- Logging error ---"
"""What Python prints when a message cannot be formatted."""
_RULED = compiled(rb"#{1,6} +\S|={3,} ?[^=].* ?={3,}$|-{3,} ?[^-].* ?-{3,}$|==> .+ <==$")
_LABEL = compiled(
    rb"[^\s\[{(<].{0,150}?(?::|\xef\xbc\x9a)\s*$",  # ends in ':' or in the full-width colon
    re.DOTALL,
)
_LABEL_WORDS = compiled(
    r"log|docker|container|submission|attempt|run\b|good|bad\b|baseline|before|after|old\b|new\b"
    r"|日志|容器|提交|运行|正常|失败|成功|好的|坏的|评测|输出|我们|别人|他们|对比|版本|启动|镜像|那次|这次|第.次",
    re.IGNORECASE,
)
_CHINESE = compiled("[\u4e00-\u9fff]")
_SHORT_LABEL = 40
"""Characters of a Chinese label that needs no colon."""
_TIME = compiled(
    rb"(?:(\d{4})-)?(\d\d)-(\d\d)[T ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d(?:\.\d+)?|60)Z?"
)
_CANDIDATE_LIMIT = 32
_SEARCH_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 15
"""What is read at a time to compare lines; most candidates differ soon."""


def looks_like_heading(text: bytes) -> bool:
    """Whether a bare line may be a person's heading between two pasted logs."""
    text = text.strip()
    if not 2 <= len(text) <= _HEADING_LENGTH or text == _LOGGING_ERROR:
        return False
    if _RULED.match(text):
        return True
    words = text.decode("utf-8", "replace")
    if not (_LABEL.match(text) or (len(words) <= _SHORT_LABEL and _CHINESE.search(words))):
        return False
    return _LABEL_WORDS.search(words) is not None


def seconds_between(earlier: bytes, later: bytes) -> float:
    """Seconds from one printed time to another, negative where time runs back.

    Forms: ``2026-08-07T08:26:54`` and ``08-07 08:26:54`` (no year: a step from December to
    January counts forward), either with a fraction. Times that are unreadable or of different
    forms are 0 apart.
    """
    first, second = _TIME.fullmatch(earlier), _TIME.fullmatch(later)
    if not first or not second or (first[1] is None) != (second[1] is None):
        return 0.0
    rolls_over = first[1] is None and first[2] == b"12" and second[2] == b"01"
    try:
        return _seconds(second, 2001 if rolls_over else 2000) - _seconds(first, 2000)
    except ValueError:
        return 0.0


def _seconds(time: re.Match[bytes], year: int) -> float:
    """Seconds since a fixed day; ``year`` is taken where the time has none.

    Raises:
        ValueError: there is no such day.
    """
    try:
        # Python 3.11 makes all classes of datetime a second time, in Python, before this one.
        from _datetime import date  # type: ignore[import-not-found]
    except ImportError:
        from datetime import date
    days: int = date(int(time[1] or year), int(time[2]), int(time[3])).toordinal()
    return days * 86400.0 + int(time[4]) * 3600 + int(time[5]) * 60 + float(time[6])


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
    carry, offset = b"\n", start - 1
    found, last = 0, -1
    while offset + len(carry) < end and found < _CANDIDATE_LIMIT:
        size = min(_SEARCH_BYTES, end - offset - len(carry))
        block = source.read_at(offset + len(carry), size)
        if not block:
            return
        data = carry + block
        position = data.find(needle)
        while position >= 0 and found < _CANDIDATE_LIMIT:
            after = position + len(needle)
            line = offset + position + 1
            if line > last and data[after : after + 4].lstrip(b"\r").startswith(b"\n"):
                found, last = found + 1, line
                yield line
            position = data.find(needle, after)
        # What may be the beginning of a match is looked at again with what follows it.
        kept = min(len(data), len(needle) + 4)
        offset += len(data) - kept
        carry = data[len(data) - kept :]
        if len(block) < size:
            return


def _equal_lines(source: Source, earlier: int, later: int) -> int:
    """How many lines are equal from two offsets on; the earlier ones end where the later begin.

    The last line of the file may be cut off.
    """
    count, length = _equal_blocks(source, earlier, later)
    following = _lines(source, later + length, None)
    lines = _lines(source, earlier + length, later)
    for left, right in zip(lines, following, strict=False):
        if left != right and not (left.startswith(right) and next(following, None) is None):
            break
        count += 1
    return count


def _equal_blocks(source: Source, earlier: int, later: int) -> tuple[int, int]:
    """Lines, and bytes, that are the same block by block from two offsets on."""
    count = length = 0
    while earlier + length < later:
        left = source.read_at(earlier + length, min(_BLOCK_BYTES, later - earlier - length))
        end = left.rfind(b"\n") + 1
        if not end or left != source.read_at(later + length, len(left)):
            break
        count += left.count(b"\n")
        length += end
    return count, length


def _lines(source: Source, offset: int, end: int | None) -> Iterator[bytes]:
    """Lines without their ends from ``offset`` on, those that start before ``end``."""
    for chunk in source.chunks(offset, size=_BLOCK_BYTES):
        position = chunk.offset
        lines = chunk.data.split(b"\n")
        if chunk.data.endswith(b"\n"):
            lines.pop()
        for line in lines:
            if end is not None and position >= end:
                return
            position += len(line) + 1
            yield line[:LINE_LIMIT].rstrip(b"\r")
