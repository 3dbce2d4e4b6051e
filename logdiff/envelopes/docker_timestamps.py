"""``docker logs -t``: an RFC 3339 time in UTC with nine decimals and a blank before each line.

Format: https://docs.docker.com/reference/cli/docker/container/logs/#timestamps
"""

from __future__ import annotations

from logdiff.envelopes import Unwrapped
from logdiff.patterns import compiled

NAME = "docker-timestamps"

SAMPLES = (
    (b"2026-05-02T10:00:01.000000001Z INFO:     Started server process [1]", b"INFO:     Started"),
    (b"2026-05-02T10:00:01.000000001Z ", b""),
    (b"2026-05-02T10:00:01.000000001Z", b""),
)

_STAMP = compiled(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z(?: |(?=\r*$))")
_TO_THE_SECOND = 19


def sniff(line: bytes) -> bool:
    """Whether a line is in this envelope."""
    return _STAMP.match(line) is not None


def unwrap(line: bytes) -> Unwrapped | None:
    """The parts of a line in this envelope; ``None`` for any other line."""
    match = _STAMP.match(line)
    return Unwrapped(NAME, match.end(), (0, _TO_THE_SECOND)) if match else None


def wrap(line: bytes) -> bytes:
    """A line as this transport would print it."""
    return b"2026-05-02T10:00:01.000000001Z " + line
