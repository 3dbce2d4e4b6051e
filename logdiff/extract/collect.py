"""From the lines of one span to the observations of one life."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from logdiff import records
from logdiff.extract import traceback
from logdiff.extract.observations import EVENT_LIMIT, Event, Series
from logdiff.extract.shapes import cut_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from logdiff.engine.ruleset import Signal
    from logdiff.extract.observations import Observations
    from logdiff.extract.scan import Batch
    from logdiff.extract.shapes import Reading, Shape
    from logdiff.model import Mark

_LONGEST_FIELD = 1000
"""Bytes of a field, and characters of an exception's message, that are kept."""


def collect(
    life: Observations,
    batch: Batch,
    by_shape: dict[Shape, list[int]],
    ordered: Sequence[int],
) -> None:
    """Add the lines of one span to a life.

    Args:
        life: the observations to add to.
        batch: the lines.
        by_shape: indexes of the lines of each interesting shape.
        ordered: indexes of the lines whose order matters.
    """
    series: dict[str, tuple[Signal, list[tuple[int, tuple[bytes, ...]]]]] = {}
    for shape, indexes in by_shape.items():
        if shape.prefixed:
            life.last_record_line = max(life.last_record_line, batch.first_line + indexes[-1])
        if shape.place:
            life.witness(shape, batch, indexes)
        for reading in shape.readings:
            if reading.per_line and reading.signal.keep == "groups":
                _collect_singly(life, batch, shape, reading, indexes)
            elif reading.signal.keep == "groups":
                _collect_groups(life, batch, shape, reading, indexes)
            elif reading.signal.keep == "series":
                rows = series.setdefault(reading.signal.id, (reading.signal, []))[1]
                rows.extend(_rows(batch, reading, indexes))
    for signal, rows in series.values():
        _collect_series(life, batch, signal, rows)
    for index in ordered:
        _collect_in_order(life, batch, batch.shapes[index], index)


def place_of(shape: Shape, line: bytes) -> str | None:
    """``file.py:line`` of a line's prefix."""
    if shape.place is None:
        return None
    file, number = shape.place
    name = records.cut(line, file).rpartition(b"/")[2]
    return f"{name.decode('utf-8', 'replace')}:{records.cut(line, number).decode()}"


def _collect_groups(
    life: Observations, batch: Batch, shape: Shape, reading: Reading, indexes: list[int]
) -> None:
    signal = reading.signal
    keys = list(map(reading.take, map(batch.lines.__getitem__, indexes)))
    firsts = dict(zip(reversed(keys), reversed(indexes), strict=True))
    for key, count in Counter(keys).items():
        worker, _, *fields = key
        _add(life, batch, shape, signal, tuple(fields), worker, firsts[key], count)


def _add(
    life: Observations,
    batch: Batch,
    shape: Shape,
    signal: Signal,
    fields: tuple[bytes, ...],
    worker: bytes,
    index: int,
    count: int,
) -> None:
    """Count lines of one worker that say the same; ``index`` is the first of them."""
    fields = tuple(field[:_LONGEST_FIELD] for field in fields)
    place = place_of(shape, batch.lines[index])
    names = (name for name, _, _ in signal.fields)
    texts = {name: _text(value) for name, value in zip(names, fields, strict=True)}
    group = life.group(signal, (place, *fields), texts, place, shape.level)
    mark = batch.mark(index)
    if group is None:
        life.dropped[signal.id] += count
        life.see_stage(signal, mark)
        return
    group.count += count
    if not group.first.line or mark.line < group.first.line:
        group.first = mark
        group.time = batch.time(index)
    if worker not in group.workers or mark.line < group.workers[worker].line:
        group.workers[worker] = mark
        life.see_stage(signal, mark)


def _text(value: bytes) -> str | None:
    return value.decode("utf-8", "replace") if value else None


def _collect_singly(
    life: Observations, batch: Batch, shape: Shape, reading: Reading, indexes: list[int]
) -> None:
    """A signal whose pattern tells digits apart: each line is matched by itself."""
    for index in indexes:
        line = batch.lines[index]
        fields = cut_fields(reading, line)
        if fields is not None:
            worker = records.cut(line, shape.worker)
            _add(life, batch, shape, reading.signal, fields, worker, index, 1)


def _rows(
    batch: Batch, reading: Reading, indexes: list[int]
) -> Iterable[tuple[int, tuple[bytes, ...]]]:
    """The values of a series in the lines of a shape."""
    lines = map(batch.lines.__getitem__, indexes)
    if not reading.per_line:
        take = reading.take
        return [(index, take(line)[2:]) for index, line in zip(indexes, lines, strict=True)]
    rows = ((i, cut_fields(reading, line)) for i, line in zip(indexes, lines, strict=True))
    return [(index, fields) for index, fields in rows if fields is not None]


def _collect_series(
    life: Observations, batch: Batch, signal: Signal, rows: list[tuple[int, tuple[bytes, ...]]]
) -> None:
    """Add the lines of a series; they come shape by shape and are put in order first."""
    if not rows:
        return
    rows.sort()
    series = life.series.get(signal.id)
    if series is None:
        series = life.series[signal.id] = Series(tuple(name for name, _, _ in signal.fields))
        life.see_stage(signal, batch.mark(rows[0][0]))
    series.extend(batch, [index for index, _ in rows], [fields for _, fields in rows])


def _collect_in_order(life: Observations, batch: Batch, shape: Shape, index: int) -> None:
    mark = batch.mark(index)
    raised = _follow_traceback(life, batch, shape, index, mark) if shape.part else None
    for reading in shape.readings:
        if reading.signal.keep == "each":
            _collect_event(life, batch, reading, index, mark, raised)


def _collect_event(
    life: Observations,
    batch: Batch,
    reading: Reading,
    index: int,
    mark: Mark,
    raised: traceback.Ended | None,
) -> None:
    line = batch.lines[index]
    shape = batch.shapes[index]
    fields = cut_fields(reading, line)
    if fields is None:
        return
    events = life.events.setdefault(reading.signal.id, [])
    life.see_stage(reading.signal, mark)
    if len(events) >= EVENT_LIMIT:
        life.dropped[reading.signal.id] += 1
        return
    names = (name for name, _, _ in reading.signal.fields)
    events.append(
        Event(
            {name: _text(value) for name, value in zip(names, fields, strict=True)},
            mark,
            batch.time(index),
            records.cut(line, shape.worker),
            str(raised.where) if raised and raised.where else None,
            raised is not None,
            {name: point for name, s in life.series.items() if (point := s.before(batch, index))},
        )
    )


def _follow_traceback(
    life: Observations, batch: Batch, shape: Shape, index: int, mark: Mark
) -> traceback.Ended | None:
    part = shape.part
    assert part is not None
    line = batch.lines[index]
    writer = _writer(line, shape)
    if part.role == traceback.START:
        life.tracebacks.start(writer)
    elif part.role == traceback.FRAME:
        life.tracebacks.frame(writer, _frame(part, line))
    elif part.role in (traceback.EXCEPTION, traceback.CANDIDATE):
        message, explained = _message(batch, index, writer, part)
        return life.tracebacks.end(
            writer,
            records.cut(line, part.first).decode("utf-8", "replace"),
            message,
            (mark, batch.mark(explained) if explained else None),
            batch.time(index),
            sure=part.role == traceback.EXCEPTION,
        )
    return None


def _message(
    batch: Batch, index: int, writer: traceback.Writer, part: traceback.Part
) -> tuple[str, int | None]:
    """What an exception says, in its own line and, where that only announces it, below.

    Returns:
        The message, and the index of the line below that completes it.
    """
    printed = records.cut(batch.lines[index], part.second)[:_LONGEST_FIELD]
    message = printed.decode("utf-8", "replace").strip()
    if not traceback.announces(message):
        return message, None
    message = message.rstrip(":")
    indented = not message.startswith(("Failed to import", "PTXAS"))
    shapes = batch.shapes
    rest = (i for i in range(index + 1, len(batch)) if shapes[i].message != (0, 0))
    for below in islice(rest, traceback.EXPLANATION_LINES):
        line, shape = batch.lines[below], batch.shapes[below]
        text = records.cut(line, shape.message).decode("utf-8", "replace")[:_LONGEST_FIELD]
        if writer != _writer(line, shape):
            continue
        if text.startswith(("  ", "\t")) or (not indented and _is_told(text)):
            return f"{message}: {text.strip()}", below
        if text and " " not in text.strip():  # the field that it is about
            message += f": {text.strip()}"
    return printed.decode("utf-8", "replace").strip(), None


def _is_told(text: str) -> bool:
    """Whether a line says something itself, and does not only announce the next one."""
    return bool(text.strip()) and not text.rstrip().endswith(":")


def _writer(line: bytes, shape: Shape) -> traceback.Writer:
    return traceback.Writer(records.cut(line, shape.worker), place_of(shape, line) or "")


def _frame(part: traceback.Part, line: bytes) -> traceback.Frame:
    path, number, function = (
        records.cut(line, span).decode("utf-8", "replace") for span in part[1:]
    )
    return traceback.Frame(path, int(number or 0), function)
