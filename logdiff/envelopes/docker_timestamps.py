"""``docker logs -t``: an RFC 3339 time in UTC with nine decimals and a blank before each line.

Format: https://docs.docker.com/reference/cli/docker/container/logs/#timestamps

The daemon keeps a line of over 16 KiB in parts, podman in parts of 8 KiB and one for each state of
a progress bar. Both print the time again before each part, in the midst of the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.envelopes import EXAMPLE_TIME, Unwrapped
from logdiff.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logdiff.envelopes import Span

NAME = "docker-timestamps"

SAMPLES = (
    (b"2026-05-02T10:00:01.000000001Z INFO:     Started server process [1]", b"INFO:     Started"),
    (b"2026-05-02T10:00:01.000000001Z ", b""),
    (b"2026-05-02T10:00:01.000000001Z", b""),
)

PART_BYTES = 1 << 13
"""Parts are as long as this or a multiple of it."""
_STAMP = compiled(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z(?: |(?=\r*$))")
_INNER_STAMP = compiled(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z ")
_TO_THE_SECOND = 19


def unwrap(line: bytes) -> Unwrapped | None:
    """The parts of a line in this envelope; ``None`` for any other line."""
    match = _STAMP.match(line)
    if not match:
        return None
    payload = match.end()
    cuts: tuple[Span, ...] = ()
    if line.find(b"Z \r", payload) >= 0:
        payload = _last_part(line, payload)
    elif len(line) > PART_BYTES:
        cuts = tuple(_cuts(line, payload))
    return Unwrapped(NAME, payload, (0, _TO_THE_SECOND), cuts)


def without_time(line: bytes) -> tuple[bytes | None, bytes]:
    """The time of a line, and the rest of it."""
    match = _STAMP.match(line)
    return (match[0].rstrip(), line[match.end() :]) if match else (None, line)


def wrap(line: bytes, time: bytes = EXAMPLE_TIME) -> bytes:
    """A line as this transport would print it."""
    size = 2 * PART_BYTES
    parts = [line[start : start + size] for start in range(0, len(line), size)] or [b""]
    return b"".join(time + b" " + part for part in parts)


def _last_part(line: bytes, payload: int) -> int:
    """Where the last part of a progress bar starts, each state of which has a time of its own."""
    *_, last = (0, payload), *(match.span() for match in _INNER_STAMP.finditer(line, payload))
    return last[1]


def _cuts(line: bytes, payload: int) -> Iterator[Span]:
    start = payload
    for match in _INNER_STAMP.finditer(line, payload):
        if match.start() > start and (match.start() - start) % PART_BYTES == 0:
            start = match.end()
            yield match.span()
