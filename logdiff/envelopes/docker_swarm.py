"""``docker service logs``: ``service.replica.task@node    | text``; with ``-t`` a time before it.

Format: https://docs.docker.com/reference/cli/docker/service/logs/. Each task is a container of its
own; the lines of several stand in turns.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from logdiff.envelopes import EXAMPLE_TIME, Entry
from logdiff.envelopes._clock import in_utc
from logdiff.envelopes.docker_timestamps import PART_BYTES
from logdiff.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NAME = "docker-swarm"

SAMPLES = (
    (
        b"2026-05-02T10:00:01.000000001Z serving.1.abcdefghijkl@node-7    | INFO:     up",
        b"INFO:     up",
    ),
    (b"serving.2.zyxwvutsrqp4m@node-7    | ", b""),
)

_TASK = rb"([\w.-]{1,100}\.\d+\.[a-z\d]{8,25}@\S{1,200}) +\|(?: |(?=\r*$))"
_LINE = compiled(rb"(?:(\d{4}-\d\d-\d\dT\S{1,40}) )?" + _TASK)
_TIMED = compiled(rb"\d{4}-\d\d-\d\dT[\d:.]{8,18}Z " + _TASK)


def unwrap(line: bytes) -> Entry | None:
    """What a line says; ``None`` for a line that is not in this envelope."""
    match = _LINE.match(line)
    if not match:
        return None
    return Entry(line[match.end() :], in_utc(match[1] or b""), service=match[2])


def entries(lines: Iterable[bytes]) -> Iterator[Entry | list[Entry] | None]:
    """What each line says; a long one is printed in parts, perhaps with another task's between."""
    for line in lines:
        yield _parts(line) if len(line) > PART_BYTES else unwrap(line)


def _parts(line: bytes) -> list[Entry] | Entry | None:
    starts = [match.start() for match in _TIMED.finditer(line)]
    if starts[:1] != [0]:
        return unwrap(line)
    pieces = (line[start:end] for start, end in pairwise([*starts, len(line)]))
    parts = [entry for piece in pieces if (entry := unwrap(piece))]
    return [part._replace(ends=number == len(parts)) for number, part in enumerate(parts, 1)]


def wrap(line: bytes, time: bytes = EXAMPLE_TIME) -> bytes:
    """A line as this transport would print it."""
    return time + b" serving.1.abcdefghijkl@node-7    | " + line
