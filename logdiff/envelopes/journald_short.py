"""``journalctl`` as it prints by default, and with ``-o short-iso``: ``TIME host name[pid]: text``.

Format: https://www.freedesktop.org/software/systemd/man/latest/journalctl.html#-o. The default form
has no year and no offset: its time is not used. Lines with control characters are shown as
``[12B blob data]``: what they said is not in the log.
"""

from __future__ import annotations

from logdiff.envelopes import EXAMPLE_TIME, Entry
from logdiff.envelopes._clock import in_utc
from logdiff.envelopes._journal import service
from logdiff.patterns import compiled

NAME = "journald-short"

SAMPLES = (
    (b"May 02 10:00:01 node-7 serving[71]: INFO:     up", b"INFO:     up"),
    (b"2026-05-02T18:00:01.000001+08:00 node-7 serving[71]: ", b""),
    (b"May 02 10:00:01 node-7 kernel: Out of memory", b"Out of memory"),
)

_LINE = compiled(
    rb"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
    rb"|(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,6})?[+-]\d\d:?\d\d))"
    rb" [\w.-]{1,253} ([^\s:\[]{1,200})(?:\[\d+\])?:(?: |(?=\r*$))"
)
LOST = compiled(rb"\[[\d.]+[KMG]?B? blob data\]\r*$")
"""What stands in place of a message that is not in the log."""


def unwrap(line: bytes) -> Entry | None:
    """What a line says; ``None`` for a line that is not in this envelope."""
    match = _LINE.match(line)
    if not match:
        return None
    return Entry(line[match.end() :], in_utc(match[1] or b""), service=service(match[2]))


def wrap(line: bytes, time: bytes = EXAMPLE_TIME) -> bytes:
    """A line as this transport would print it."""
    # Microseconds and an offset.
    return time[:26] + b"+00:00 node-7 serving[71]: " + line
