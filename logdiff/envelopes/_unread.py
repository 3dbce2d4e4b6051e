"""Transports that are recognised and not unwrapped: what is in them would be passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.errors import InputError
from logdiff.patterns import compiled
from logdiff.read import SNIFF_BYTES

if TYPE_CHECKING:
    from logdiff.read import Source

_SNIFF_LINES = 60
_TRANSPORTS = (
    ("docker's json-file log", compiled(rb'\s*\{"log":')),
    ("Kubernetes (CRI)", compiled(rb"\S+T\S+(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) [FP] ")),
    ("docker compose", compiled(rb"(?:\x1b\[[\d;]*\w)*[\w.-]{1,80} +\| ")),
    ("docker service", compiled(rb"(?:\S+Z )?\S+\.\d+\.[a-z0-9]{12,}@\S+ +\| ")),
    ("kubectl logs --prefix", compiled(rb"\[pod/[^/\]]+(?:/[^\]]+)?\] ")),
    (
        "journald",
        compiled(
            rb"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+)"
            rb" \S+ [\w.@-]+\[\d+\]: "
        ),
    ),
)
"""Transports by what most of their lines begin with."""


def refuse(source: Source) -> None:
    """Refuse a log most of whose first lines are wrapped by one of these transports.

    Raises:
        InputError: it is; the message names the transport and how to capture the log instead.
    """
    head = source.read_at(0, SNIFF_BYTES).split(b"\n")[:_SNIFF_LINES]
    lines = [line for line in head if line.strip()]
    for name, pattern in _TRANSPORTS:
        if sum(1 for line in lines if pattern.match(line)) * 2 > len(lines):
            raise InputError(
                f"{source.name}: is wrapped by {name}, which is not read yet",
                "Capture it with: docker logs -t NAME > file 2>&1",
            )
