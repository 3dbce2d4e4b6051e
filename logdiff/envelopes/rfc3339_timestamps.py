"""An RFC 3339 time of any precision or offset before each line: ``kubectl logs --timestamps``, CI.

Format: https://kubernetes.io/docs/reference/kubectl/generated/kubectl_logs/. The time is that of
the node, with its offset, and has no zeros at its end. What ``docker logs -t`` prints is not meant.
"""

from __future__ import annotations

from logdiff.envelopes import EXAMPLE_TIME, Entry
from logdiff.envelopes._clock import in_utc
from logdiff.patterns import compiled

NAME = "rfc3339-timestamps"

SAMPLES = (
    (b"2026-05-02T10:00:01.0125Z INFO:     up", b"INFO:     up"),
    (b"2026-05-02T18:00:01.000000001+08:00 INFO:     up", b"INFO:     up"),
    (b"2026-05-02T10:00:01Z", b""),
)

_LINE = compiled(
    rb"(?!\S{19}\.\d{9}Z)(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))"
    rb"(?: |(?=\r*$))"
)


def unwrap(line: bytes) -> Entry | None:
    """What a line says; ``None`` for a line that is not in this envelope."""
    match = _LINE.match(line)
    return Entry(line[match.end() :], in_utc(match[1])) if match else None


def wrap(line: bytes, time: bytes = EXAMPLE_TIME) -> bytes:
    """A line as this transport would print it."""
    return time[:23] + b"Z " + line
