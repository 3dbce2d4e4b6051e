"""What the lines of one life say, counted and bounded, before facts are made of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from logdiff.extract.templates import message_template
from logdiff.extract.traceback import Tracebacks
from logdiff.model import STAGES, Mark
from logdiff.records import strip_escapes

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
TEMPLATE_LIMIT = 2_000
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


class Series:
    """Values over time, with exact extremes; the points in between are thinned out."""

    __slots__ = ("count", "distribution", "fields", "highest", "last", "points", "recent", "step")

    def __init__(self, fields: tuple[str, ...]) -> None:
        self.fields = fields
        self.count = 0
        self.points: list[tuple[str | None, tuple[float | None, ...]]] = []
        self.highest: dict[str, tuple[float, str | None, Mark]] = {}
        self.distribution: dict[str, Counter[float]] = {name: Counter() for name in fields}
        self.last: tuple[str | None, Mark, tuple[float | None, ...]] | None = None
        self.recent: list[tuple[int, tuple[str | None, Mark, tuple[float | None, ...]]]] = []
        """Points of the chunk at hand, by line number."""
        self.step = 1

    def add(self, time: str | None, mark: Mark, values: tuple[float | None, ...]) -> None:
        """Take one line's values."""
        if self.count % self.step == 0:
            self.points.append((time, values))
            if len(self.points) > 2 * POINT_LIMIT:
                del self.points[1::2]
                self.step *= 2
        self.count += 1
        point = (time, mark, values)
        self.recent.append((mark.line, point))
        self.last = point
        for name, value in zip(self.fields, values, strict=True):
            if value is None:
                continue
            if name not in self.highest or value > self.highest[name][0]:
                self.highest[name] = (value, time, mark)
            counts = self.distribution[name]
            if value in counts or len(counts) < GROUP_LIMIT * 10:
                counts[value] += 1

    def before(self, line: int) -> tuple[str | None, Mark, tuple[float | None, ...]] | None:
        """The last point before a line of the chunk at hand."""
        earlier = [point for number, point in self.recent if number < line]
        return max(earlier, key=lambda point: point[1].line, default=None)

    def forget_chunk(self) -> None:
        """Keep of the chunk at hand only its last point."""
        if self.last:
            self.recent = [(self.last[1].line, self.last)]


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
        self.groups: dict[str, dict[tuple[object, ...], Group]] = {}
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

    def further_than(self, stage: str) -> bool:
        """Whether a stage after ``stage`` was entered."""
        limit = STAGES.index(stage)
        return any(STAGES.index(name) > limit for name in self.entered)

    def group(
        self,
        signal: Signal,
        key: tuple[object, ...],
        texts: dict[str, str | None],
        place: str | None,
        level: str | None,
    ) -> Group:
        """The group of a signal for a key, made where it is new."""
        groups = self.groups.setdefault(signal.id, {})
        group = groups.get(key)
        if group is None:
            group = Group(texts, place, level)
            if len(groups) < GROUP_LIMIT:
                groups[key] = group
            else:
                self.dropped[signal.id] += 1
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
        self._witnessed[shape] = seen + len(indexes)
        places = self._places(shape, batch.lines[indexes[0]])
        (file_start, file_end), (line_start, line_end) = shape.place
        for index in indexes[: WITNESS_LINES - seen]:
            line = batch.lines[index]
            file = line[file_start:file_end].rpartition(b"/")[2].decode("utf-8", "replace")
            place = f"{file}:{line[line_start:line_end].decode()}"
            if place not in places and len(places) < WITNESS_LINES:
                places[place] = SourceSeen(batch.mark(index), shape.level)
            if place in places:
                worker = line[slice(*shape.worker)] if shape.worker else b""
                places[place].count += 1
                places[place].workers.setdefault(worker, batch.mark(index))

    def _places(self, shape: Shape, line: bytes) -> dict[str, SourceSeen]:
        """The places that print the message of a shape; ``line`` is one of its lines."""
        if shape.template is None:
            text = strip_escapes(line[slice(*shape.message)])
            shape.template = message_template(text.decode("utf-8", "replace"))
        if shape.template in self.sources or len(self.sources) < TEMPLATE_LIMIT:
            return self.sources.setdefault(shape.template, {})
        self.dropped["source_lines"] += 1
        return {}

    def end_chunk(self) -> None:
        """Forget what was kept for order within one chunk."""
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
