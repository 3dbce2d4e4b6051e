"""Files below ``/var/log/pods`` and podman's k8s-file: ``TIME stdout F text``.

Format: https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md
``P`` instead of ``F`` marks a part of a line; the rest follows in the same stream. Times have the
offset of the node.
"""

from __future__ import annotations

from logdiff.envelopes import EXAMPLE_TIME, Entry
from logdiff.envelopes._clock import in_utc
from logdiff.patterns import compiled

NAME = "kubernetes-cri"

SAMPLES = (
    (b"2026-05-02T10:00:01.000000001Z stdout F INFO:     up", b"INFO:     up"),
    (b"2026-05-02T18:00:01.5+08:00 stderr P half a ", b"half a "),
    (b"2026-05-02T10:00:01.000000001+00:00 stderr F ", b""),
)

_LINE = compiled(rb"(\d{4}-\d\d-\d\dT\S{1,40}) (stdout|stderr) ([FP])[\w:]{0,40}(?: |(?=\r*$))")


def unwrap(line: bytes) -> Entry | None:
    """What a line says; ``None`` for a line that is not in this envelope."""
    match = _LINE.match(line)
    if not match:
        return None
    payload = line[match.end() :]
    return Entry(payload, in_utc(match[1]), stream=match[2], ends=match[3] == b"F")


def wrap(line: bytes, time: bytes = EXAMPLE_TIME) -> bytes:
    """A line as this transport would keep it."""
    return time + b" stdout F " + line
