"""``journalctl`` in its forms of one line a message: ``TIME host name[pid]: text``.

Format: https://www.freedesktop.org/software/systemd/man/latest/journalctl.html#-o, of which these
are ``short``, ``short-iso``, ``short-full`` and ``short-monotonic``, each with or without the host.
Months are in the reader's language. Only ``short-iso`` has an offset; the time of the others is not
used. Lines with control characters are shown as ``[12B blob data]``: what they said is not in the
log.
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
    ("5月 02 10:00:01 node-7 serving[71]: INFO:     up".encode(), b"INFO:     up"),
    (b"Sat 2026-05-02 10:00:01 UTC node-7 serving[71]: INFO:     up", b"INFO:     up"),
    (b"May 02 10:00:01 serving[71]: INFO:     up", b"INFO:     up"),
    (b"[   12.345678] node-7 serving[71]: INFO:     up", b"INFO:     up"),
)

_LINE = compiled(
    rb"(?:(?:[A-Z][a-z]{2}|\d{1,2}\xe6\x9c\x88) [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
    rb"|(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:[+-]\d\d:?\d\d|Z))"
    rb"|\S{2,12} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? [\w+-]{1,6}"
    rb"|\[ *\d{1,12}\.\d{6}\])"
    rb"(?: [\w.-]{1,253} ([^\s:\[]{1,200})(?:\[\d+\])?| ([^\s:\[]{1,200})\[\d+\]):"
    rb"(?: |(?=\r*$))"
)
LOST = compiled(rb"\[[\d.]+[KMG]?B? blob data\]\r*$")
"""What stands in place of a message that is not in the log."""


def unwrap(line: bytes) -> Entry | None:
    """What a line says; ``None`` for a line that is not in this envelope."""
    match = _LINE.match(line)
    if not match:
        return None
    return Entry(
        line[match.end() :], in_utc(match[1] or b""), service=service(match[2] or match[3])
    )


def wrap(line: bytes, time: bytes = EXAMPLE_TIME) -> bytes:
    """A line as this transport would print it."""
    # Microseconds and an offset.
    return time[:26] + b"+00:00 node-7 serving[71]: " + line
