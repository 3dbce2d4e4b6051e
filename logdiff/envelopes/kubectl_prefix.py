"""``kubectl logs --prefix``: ``[pod/name/container] text``.

Format: https://kubernetes.io/docs/reference/kubectl/generated/kubectl_logs/. With ``--timestamps``
the time stands behind the bracket.
"""

from __future__ import annotations

from logdiff.envelopes import Entry
from logdiff.patterns import compiled

NAME = "kubectl-prefix"

SAMPLES = (
    (b"[pod/serving-7b-x2x/engine] INFO:     up", b"INFO:     up"),
    (b"[pod/serving-7b-x2x] ", b""),
)

_LINE = compiled(rb"\[(pod/[^/\]\s]{1,253}(?:/[^\]\s]{1,253})?)\](?: |(?=\r*$))")


def unwrap(line: bytes) -> Entry | None:
    """What a line says; ``None`` for a line that is not in this envelope."""
    match = _LINE.match(line)
    return Entry(line[match.end() :], service=match[1]) if match else None


def wrap(line: bytes) -> bytes:
    """A line as this transport would print it."""
    return b"[pod/serving-7b-x2x/engine] " + line
