"""What a log says, read in the plainest way: line by line, every pattern on every real line.

It shares no code with the scanner: no shapes, no chunks, no literals, no cut offsets.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from logdiff.engine.ruleset import Signal
    from logdiff.extract.scan import Scanned

_STAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z(?: |(?=\r*$))")
_ESCAPES = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|\x1b[@-Z\\^_]|[\x1b\x00]"
)
_PREFIX = re.compile(
    rb"(?P<tags>(?:\([A-Za-z][^()\n]{0,80}?\bpid=\d+[^()\n]{0,80}\) ?)*)"
    rb"(?: ?(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? "
    rb"\[?(?P<file>[\w./-]{1,200}):(?P<line>\d+)\] ?"
    rb"|(?P<uvicorn>DEBUG|INFO|WARNING|ERROR|CRITICAL): {1,9})?"
)
_QUOTING = re.compile(
    rb"(?:Received request|Generated response)\b.{0,300}?\b(?:prompt|output): ", re.DOTALL
)


class Record(NamedTuple):
    worker: bytes
    """Tag as printed, its escape sequences dropped."""
    level: str | None
    place: str | None
    text: bytes
    message: bytes


class Statement(NamedTuple):
    """What one signal says in one line."""

    signal: str
    place: str | None
    fields: tuple[bytes, ...]


class Read(NamedTuple):
    counts: Counter[Statement]
    firsts: dict[tuple[Statement, bytes], int]
    """Statement and worker → the first line in which the worker says it."""
    events: dict[str, list[tuple[int, tuple[bytes, ...], bytes]]]
    """Signal → line, fields and worker of each of its lines."""
    series: dict[str, list[tuple[float | None, ...]]]


def record(line: bytes) -> Record:
    line = line.removeprefix(b"\xef\xbb\xbf")
    stamp = _STAMP.match(line)
    if stamp:
        line = line[stamp.end() :]
    states = line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r").split(b"\r")
    clean = [_ESCAPES.sub(b"", state) for state in states]
    text = next((state for state in reversed(clean) if state.strip()), b"")
    prefix = _PREFIX.match(text)
    assert prefix
    *_, worker = [b"", *re.findall(rb"\(([^()]+)\) ?", prefix["tags"])]
    level = prefix["level"] or prefix["uvicorn"]
    place = None
    if prefix["file"]:
        place = f"{prefix['file'].split(b'/')[-1].decode()}:{prefix['line'].decode()}"
    message = text[prefix.end() :]
    quoting = _QUOTING.match(message)
    if quoting:
        message = message[: quoting.end()]
    return Record(worker, level.decode() if level else None, place, text, message)


def fields_of(signal: Signal, record: Record) -> tuple[bytes, ...] | None:
    if signal.levels and record.level not in signal.levels:
        return None
    text = record.text if signal.scope == "line" else record.message
    for pattern, *_ in signal.patterns:
        match = re.search(pattern, text)
        if match:
            found = match.groupdict()
            return tuple(found.get(name) or b"" for name, _, _ in signal.fields)
    return None


def _number(text: bytes) -> float | None:
    try:
        return float(text.replace(b",", b""))
    except ValueError:
        return None


def read(signals: list[Signal], data: bytes, skipped: Container[int] = ()) -> Read:
    """All that the signals say; ``skipped`` are the lines of repeated pastes."""
    result = Read(Counter(), {}, {}, {})
    for number, line in enumerate(data.split(b"\n"), 1):
        if number in skipped or not line:
            continue
        parsed = record(line)
        for signal in signals:
            fields = fields_of(signal, parsed)
            if fields is None:
                continue
            if signal.keep == "each":
                shown = tuple(f.decode("utf-8", "replace").encode() for f in fields)
                result.events.setdefault(signal.id, []).append((number, shown, parsed.worker))
            elif signal.keep == "series":
                result.series.setdefault(signal.id, []).append(tuple(map(_number, fields)))
            else:
                statement = Statement(signal.id, parsed.place, fields)
                result.counts[statement] += 1
                result.firsts.setdefault((statement, parsed.worker), number)
    return result


def scanned(result: Scanned) -> Read:
    """What the scanner read, in the same form."""
    found = Read(Counter(), {}, {}, {})
    for life in (life for section in result.sections for life in section.lives):
        for signal, groups in life.groups.items():
            for (place, *fields), group in groups.items():
                statement = Statement(signal, _text(place), tuple(_bytes(f) for f in fields))
                found.counts[statement] += group.count
                for worker, mark in group.workers.items():
                    found.firsts.setdefault((statement, worker), mark.line)
        for signal, events in life.events.items():
            found.events.setdefault(signal, []).extend(
                (event.mark.line, _fields(event.texts), event.worker) for event in events
            )
        for signal, series in life.series.items():
            found.series.setdefault(signal, []).extend(values for _, values in series.points)
    return found


def _fields(texts: dict[str, str | None]) -> tuple[bytes, ...]:
    return tuple((text or "").encode() for text in texts.values())


def _text(place: object) -> str | None:
    assert place is None or isinstance(place, str)
    return place


def _bytes(field: object) -> bytes:
    assert isinstance(field, bytes)
    return field


def numbered(ranges: Iterator[range] | list[range]) -> set[int]:
    return {number for part in ranges for number in part}
