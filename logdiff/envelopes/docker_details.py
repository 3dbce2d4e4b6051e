"""``docker logs --details``: the labels and variables that the log driver keeps before each line.

Format: https://docs.docker.com/reference/cli/docker/container/logs/. They are ``name=value``,
joined by commas, the same before every line, and stand behind the time of ``-t``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.envelopes import EXAMPLE_TIME, Entry
from logdiff.envelopes._clock import in_utc
from logdiff.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NAME = "docker-details"

SAMPLES = (
    (b"2026-05-02T10:00:01.000000001Z app=serving,tag=7b%3A2 INFO:     up", b"INFO:     up"),
    (b"app=serving,tag=7b%3A2 INFO:     up", b"INFO:     up"),
)

_LINE = compiled(
    rb"(?:(\d{4}-\d\d-\d\dT\S{1,40}) )?"
    rb"([\w.%/-]{1,200}=[\w.%/+~*!-]{0,500}(?:,[\w.%/-]{1,200}=[\w.%/+~*!-]{0,500}){0,50})"
    rb"(?: |(?=\r*$))"
)


def labels(line: bytes) -> bytes | None:
    """The labels before a line, which are the same before all."""
    match = _LINE.match(line)
    return match[2] if match else None


def entries(lines: Iterable[bytes]) -> Iterator[Entry | None]:
    """What each line says; ``None`` for a line that has not the labels of the others.

    Those are what two lines have one after the other: above them may stand anything.
    """
    known = before = None
    for line in lines:
        match = _LINE.match(line)
        if match and match[2] == before:
            known = before
        before = match[2] if match else None
        if match and match[2] == (known or before):
            yield Entry(line[match.end() :], in_utc(match[1] or b""))
        else:
            yield None


def wrap(line: bytes, time: bytes = EXAMPLE_TIME) -> bytes:
    """A line as this transport would print it."""
    return time + b" app=serving,tag=7b%3A2 " + line
