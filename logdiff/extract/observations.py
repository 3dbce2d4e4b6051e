"""What the lines of one life say, counted and bounded, before facts are made of it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING

from logdiff.extract.templates import message_template
from logdiff.extract.traceback import Tracebacks
from logdiff.model import STAGES, Mark
from logdiff.patterns import compiled
from logdiff.records import strip_escapes
from logdiff.redact import redact
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logdiff.engine.ruleset import Signal
    from logdiff.extract.scan import Batch
    from logdiff.extract.shapes import Shape

GROUP_LIMIT = 2_000
"""Different values of one signal that are kept apart in one life."""
EVENT_LIMIT = 1_000
"""Lines of one signal that are kept one by one in one life."""
POINT_LIMIT = 2_000
"""Points of a series that are kept."""
_DIGITS = compiled(rb"\d+")
TEMPLATE_LIMIT = 2_000
_TEMPLATE_BYTES = 2_000
"""Bytes of a message that are looked at for its template, which is far shorter."""
_BRIEF_POINTS = 50
WITNESS_SHAPES = 50_000
"""Shapes from which source lines are learnt in one life."""
WITNESS_LINES = 64
"""Lines of a shape from which its source line and workers are learnt."""


class Group:
    """All lines of a life in which one signal says the same."""

    __slots__ = ("count", "first", "level", "place", "texts", "time", "workers")

    def __init__(self, texts: dict[str, str | None], place: str | None, level: str | None) -> None:
        self.texts = texts
        """Fields of the signal, as printed."""
        self.place = place
        """``file.py:line`` of the logger's prefix."""
        self.level = level
        self.count = 0
        self.first = Mark(0, 0, 0)
        self.time: str | None = None
        self.workers: dict[bytes, Mark] = {}
        """The first line of each worker, by its tag; ``b""`` = without a tag."""


class Event(NamedTuple):
    """One line of a signal whose lines are kept one by one."""

    texts: dict[str, str | None]
    mark: Mark
    time: str | None
    worker: bytes
    where: str | None
    """Innermost frame of the traceback that this line ends."""
    final: bool
    """The line names the exception itself, it does not merely quote it."""
    last_points: dict[str, tuple[str | None, Mark, tuple[float | None, ...]]]
    """The last point of each series before this line: time, line, values."""


Point = tuple[str | None, Mark, tuple[float | None, ...]]
"""Time, line and values of one line of a series."""


Summary = tuple[float | None, float | None, float | None]
"""Least, greatest and middle value."""


class Series:
    """Values over time, with exact extremes; the points in between are thinned out."""

    __slots__ = ("_batch", "_busy", "_last", "_lines", "_rows", "_step", "count", "distribution",
                 "fields", "highest", "points")  # fmt: skip

    def __init__(self, fields: tuple[str, ...]) -> None:
        self.fields = fields
        self.count = 0
        self.points: list[tuple[str | None, tuple[float | None, ...]]] = []
        """Time and values, in the order of the lines."""
        self.highest: dict[str, tuple[float, str | None, Mark]] = {}
        """Field → its greatest value, and when and where it stood."""
        self.distribution: dict[str, Counter[float]] = {name: Counter() for name in fields}
        self._step = 1
        self._busy: dict[str, Summary] = {}
        self._batch: Batch | None = None
        self._lines: list[int] = []
        self._rows: list[tuple[float | None, ...]] = []
        self._last: Point | None = None

    def extend(self, batch: Batch, indexes: list[int], rows: list[tuple[bytes, ...]]) -> None:
        """Take the values of some lines of a batch, in their order."""
        columns = [_numbers(column) for column in zip(*rows, strict=True)]
        for name, column in zip(self.fields, columns, strict=True):
            self._count_values(name, column, batch, indexes)
        values = list(zip(*columns, strict=True))
        first = -self.count % self._step
        self.points += [
            (batch.time(index), row)
            for index, row in zip(indexes[first :: self._step], values[first :: self._step],
                                  strict=True)
        ]  # fmt: skip
        self.count += len(rows)
        while len(self.points) > 2 * POINT_LIMIT:
            del self.points[1::2]
            self._step *= 2
        self.forget_chunk()
        self._batch, self._lines, self._rows = batch, indexes, values

    def _count_values(
        self, name: str, column: list[float | None], batch: Batch, indexes: list[int]
    ) -> None:
        known = [value for value in column if value is not None]
        highest = max(known, default=None)
        if highest is not None and (name not in self.highest or highest > self.highest[name][0]):
            index = indexes[column.index(highest)]
            self.highest[name] = (highest, batch.time(index), batch.mark(index))
        counts = self.distribution[name]
        if len(counts) < 10 * GROUP_LIMIT:
            counts.update(known)
        else:
            counts.update(value for value in known if value in counts)

    def busy(self, name: str) -> Summary:
        """Least, greatest and middle value of a field, where it is not 0."""
        if name not in self._busy:
            counts = Counter({v: n for v, n in self.distribution[name].items() if v})
            low, high = min(counts, default=None), max(counts, default=None)
            self._busy[name] = (low, high, median(counts))
        return self._busy[name]

    def end(self, limit: int) -> None:
        """Keep of a series that is complete its summaries and ``limit`` points."""
        for name in self.fields:
            self.busy(name)
        self.distribution = {}
        del self.points[limit:]

    def before(self, batch: Batch, index: int) -> Point | None:
        """The last point before a line of the batch at hand."""
        if self._batch is batch:
            position = bisect_left(self._lines, index)
            if position:
                return self._point(position - 1)
        return self._last

    def _point(self, position: int) -> Point:
        assert self._batch is not None
        index = self._lines[position]
        return self._batch.time(index), self._batch.mark(index), self._rows[position]

    def forget_chunk(self) -> None:
        """Keep of the batch at hand only its last point."""
        if self._batch is not None:
            self._last = self._point(len(self._lines) - 1)
        self._batch, self._lines, self._rows = None, [], []


def _numbers(column: tuple[bytes, ...]) -> list[float | None]:
    """The numbers that texts are, each different text read once."""
    known = {text: _number(text) for text in set(column)}
    return [known[text] for text in column]


def _number(text: bytes) -> float | None:
    try:
        number = float(text.replace(b",", b""))
    except ValueError:
        return None
    return number if isfinite(number) else None


class SourceSeen:
    """One place in the code that printed one message."""

    __slots__ = ("count", "first", "level", "workers")

    def __init__(self, first: Mark, level: str | None) -> None:
        self.first = first
        self.level = level
        self.count = 0
        self.workers: dict[bytes, Mark] = {}


class Observations:
    """Everything that is kept of the lines of one life."""

    def __init__(self, first_line: int) -> None:
        self.first_line = first_line
        self.last_line = first_line
        self.started: str | None = None
        self.ended: str | None = None
        self.last_record_line = 0
        """The last line with a logger's prefix."""
        self.last_text_line = 0
        """The last line that is not blank."""
        self.text_lines = 0
        """Lines that are not blank."""
        self.groups: dict[str, dict[tuple[object, ...], Group]] = {}
        self.reported: dict[str, Signal] = {}
        """Signals that are facts of their own, in the order in which they were seen."""
        self.events: dict[str, list[Event]] = {}
        self.series: dict[str, Series] = {}
        self.entered: dict[str, Mark] = {}
        """Stage → the first line that shows it was entered."""
        self.completed: dict[str, Mark] = {}
        """Stage → the line with which the last worker completed it."""
        self.sources: dict[str, dict[str, SourceSeen]] = {}
        """Message template → ``file.py:line`` → who printed it."""
        self.tracebacks = Tracebacks()
        self.dropped: Counter[str] = Counter()
        """What a bound cut: its name → how often."""
        self._witnessed: dict[Shape, int] = {}

    @property
    def spread(self) -> float:
        """Lines of the file for each line of text; what a transport adds stands between them."""
        return max(1.0, (self.last_text_line - self.first_line + 1) / max(1, self.text_lines))

    def further_than(self, stage: str) -> bool:
        """Whether a stage after ``stage`` was entered."""
        limit = STAGES.index(stage)
        return any(STAGES.index(name) > limit for name in self.entered)

    def may_restart(self) -> bool:
        """Whether arguments that are printed now are those of another start."""
        args = self.entered.get("args")
        crashed = args is not None and self.tracebacks.last_end > args.line
        return crashed or self.further_than("args")

    def group(
        self,
        signal: Signal,
        key: tuple[object, ...],
        texts: dict[str, str | None],
        place: str | None,
        level: str | None,
    ) -> Group | None:
        """The group of a signal for a key, made where it is new; ``None`` past the limit."""
        groups = self.groups.setdefault(signal.id, {})
        group = groups.get(key)
        if group is None:
            if len(groups) >= GROUP_LIMIT:
                return None
            if signal.reported:
                self.reported[signal.id] = signal
            group = groups[key] = Group(texts, place, level)
        return group

    def see_stage(self, signal: Signal, mark: Mark) -> None:
        """Note the stages that a line of this signal shows."""
        if signal.enters:
            known = self.entered.get(signal.enters)
            if known is None or mark.line < known.line:
                self.entered[signal.enters] = mark
        if signal.completes:
            known = self.completed.get(signal.completes)
            if known is None or mark.line > known.line:
                self.completed[signal.completes] = mark
            self.entered.setdefault(signal.completes, mark)

    def witness(self, shape: Shape, batch: Batch, indexes: Sequence[int]) -> None:
        """Learn from the first lines of a shape which place prints it, and who its workers are."""
        seen = self._witnessed.get(shape, 0)
        if seen >= WITNESS_LINES or shape.place is None:
            return
        if not seen and len(self._witnessed) >= WITNESS_SHAPES:
            return
        self._witnessed[shape] = seen + len(indexes)
        places = self._places(shape, batch.lines[indexes[0]], batch.templates)
        file, number = shape.place
        cut = itemgetter(slice(*file), slice(*number), slice(*(shape.worker or (0, 0))))
        firsts: dict[tuple[bytes, ...], int] = {}
        counts: dict[tuple[bytes, ...], int] = {}
        for index in indexes[: WITNESS_LINES - seen]:
            key = cut(batch.lines[index])
            firsts.setdefault(key, index)
            counts[key] = counts.get(key, 0) + 1
        for key, count in counts.items():
            name, line, worker = map(strip_escapes, key)
            place = f"{name.rpartition(b'/')[2].decode('utf-8', 'replace')}:{line.decode()}"
            mark = batch.mark(firsts[key])
            if place not in places and len(places) < WITNESS_LINES:
                places[place] = SourceSeen(mark, shape.level)
            if place in places:
                places[place].count += count
                places[place].workers.setdefault(worker, mark)

    def _places(
        self, shape: Shape, line: bytes, templates: dict[bytes, str]
    ) -> dict[str, SourceSeen]:
        """The places that print the message of a shape; ``line`` is one of its lines."""
        if shape.template is None:
            text = strip_escapes(line[slice(*shape.message)])
            alike = _DIGITS.sub(b"0", text)
            shape.template = templates.get(alike)
            if shape.template is None:
                head = text[:_TEMPLATE_BYTES].decode("utf-8", "replace")
                shape.template = message_template(redact(head))
                if len(templates) < TEMPLATE_LIMIT:
                    templates[alike] = shape.template
        if shape.template in self.sources or len(self.sources) < TEMPLATE_LIMIT:
            return self.sources.setdefault(shape.template, {})
        self.dropped["source_lines"] += 1
        return {}

    def end(self, *, brief: bool) -> None:
        """Keep less of a life that is over; ``brief`` = hardly any values over time."""
        self.end_chunk()
        for series in self.series.values():
            series.end(_BRIEF_POINTS if brief else len(series.points))

    def end_chunk(self) -> None:
        """Forget what was kept for order within one chunk."""
        if self.tracebacks.dropped:
            self.dropped["exceptions"] = self.tracebacks.dropped
        for series in self.series.values():
            series.forget_chunk()


def median(distribution: Counter[float]) -> float | None:
    """The median of counted values; the lower of the two in the middle."""
    total = sum(distribution.values())
    if not total:
        return None
    middle = (total + 1) // 2
    for value in sorted(distribution):
        middle -= distribution[value]
        if middle <= 0:
            return value
    return None
