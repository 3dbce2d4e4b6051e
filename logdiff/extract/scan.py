"""One pass over a file: sections, lives, repeats and what the lines of each life say.

The hot path works on a chunk at a time with the C loops of ``bytes`` and ``dict``: mask the
digits, split, look every line up in the table of shapes, gather the lines of each shape, cut
the values out of them. Python code runs once a shape, once a different value, and for the few
lines whose order matters.
"""

from __future__ import annotations

from bisect import bisect_left
from codecs import getincrementaldecoder
from collections import Counter, defaultdict
from itertools import accumulate, islice
from typing import TYPE_CHECKING

from logdiff import records, sections
from logdiff.extract.collect import collect
from logdiff.extract.observations import Observations
from logdiff.extract.shapes import DIGITS_TO_ZERO, Classifier, Shape, ShapeTable
from logdiff.model import Mark
from logdiff.read import LINE_LIMIT, Chunk
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from logdiff.engine.ruleset import Signal
    from logdiff.envelopes import Unwrapped
    from logdiff.read import Source

LOOK_AHEAD_BYTES = 1 << 16
LOOK_AHEAD_LINES = 60
LEAST_JUMP_SECONDS = 2.0
"""Time that goes back by less is two streams that are out of step."""
_SHORTEST_PAUSE = 0.5
"""Seconds between the end of one start and the beginning of the next, at least."""
_GAP_SECONDS = 600.0
"""A pause that makes a heading believable."""
_SEARCH_BUDGET = 8
"""Times the size of the file that are read to look for repeated pastes."""
_COMPARING_BYTES = 1 << 16
SECTION_LIMIT = 1_000
LIFE_LIMIT = 1_000
"""Runs of a file, and starts of a run, that are kept apart; the last one takes the rest."""
_WHOLE_LIVES = 10
"""Starts of which all values over time are kept."""
_LEAST_SEARCH_BUDGET = 1 << 25
"""Bytes that are read for it in a small file."""
_LOOKS_AHEAD_LIMIT = 10_000
"""Times that the lines after a heading or an import are looked at."""
_NAMED_LONG_LINES = 10
_TIMES_AT_ONCE = 256


class ScannedSection:
    """One section while it is read."""

    def __init__(self, first_line: int, heading: str | None) -> None:
        self.first_line = first_line
        self.last_line = first_line - 1
        self.heading = heading
        self.lives = [Observations(first_line)]
        self.shapes: Counter[Shape] = Counter()
        self.repeated_lines = 0
        self.repeated_physical_lines = 0
        self.blank = True
        """Whether all lines so far are blank."""


class Scanned(NamedTuple):
    """What one pass over a file found."""

    sections: list[ScannedSection]
    lines: int
    broken_characters: int
    long_lines: list[tuple[int, int]]
    """Number and length in bytes of the first lines over the limit."""
    long_line_count: int
    unexamined_jumps: int
    """Jumps back in time that were not examined for a repeated paste."""
    merged: int
    """Runs and starts past the limits, which were taken for one with the last."""
    overflow: int
    """Lines that came after the table of shapes was full."""


class Batch:
    """The lines of a chunk with all that is known of them."""

    __slots__ = ("_clock_values", "clock_indexes", "first_line", "lengths", "lines", "offsets",
                 "shapes", "templates")  # fmt: skip

    def __init__(self, chunk: Chunk, table: ShapeTable) -> None:
        self.first_line = chunk.line
        self.lines = chunk.data.split(b"\n")
        masked = chunk.data.translate(DIGITS_TO_ZERO).split(b"\n")
        if chunk.data.endswith(b"\n"):
            self.lines.pop()
            masked.pop()
        self.lengths = list(map(len, self.lines))
        if max(self.lengths, default=0) > LINE_LIMIT:
            self.lines = [line[:LINE_LIMIT] for line in self.lines]
            masked = [line[:LINE_LIMIT] for line in masked]
        if chunk.dropped:
            self.lengths[-1] += chunk.dropped
        self.offsets = list(accumulate((n + 1 for n in self.lengths), initial=chunk.offset))
        self.shapes = list(map(table.__getitem__, masked))
        self.templates = table.templates
        self.clock_indexes: list[int] = []
        self._clock_values: list[bytes] | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def cut(self, length: int) -> None:
        """Leave out the lines from an index on."""
        del self.lines[length:], self.lengths[length:], self.shapes[length:]
        del self.offsets[length + 1 :]

    def mark(self, index: int) -> Mark:
        """Where a line of the batch stands in the file."""
        return Mark(self.first_line + index, self.offsets[index], self.lengths[index])

    def time(self, index: int) -> str | None:
        """The time of a line as printed, to the second; ``None`` where it has none."""
        clock = self.shapes[index].clock
        return self.lines[index][slice(*clock)].decode("ascii", "replace") if clock else None

    def line_time(self, index: int) -> bytes:
        """The time of a line as printed; empty where it has none."""
        clock = self.shapes[index].clock
        return self.lines[index][slice(*clock)] if clock else b""

    @property
    def clock_values(self) -> list[bytes]:
        """The printed times of the lines ``clock_indexes``."""
        if self._clock_values is None:
            lines = zip(self.lines, self.shapes, strict=True)
            self._clock_values = [line[slice(*shape.clock)] for line, shape in lines if shape.clock]
            self.clock_indexes = [i for i, shape in enumerate(self.shapes) if shape.clock]
        return self._clock_values


class Scanner:
    """Reads whole files with one set of signals."""

    def __init__(
        self, signals: Sequence[Signal], unwrappers: Iterable[Callable[[bytes], Unwrapped | None]]
    ) -> None:
        self.table = ShapeTable(Classifier(signals, unwrappers))

    def scan(self, source: Source, progress: Callable[[int, int], None] | None = None) -> Scanned:
        """Read a source once from its first line to its last.

        ``progress`` is told the bytes read and the bytes there are.
        """
        reading = _Reading(source, self.table)
        for chunk in source.chunks():
            reading.take(chunk)
            if progress:
                progress(chunk.offset + len(chunk.data), source.size)
        return reading.result()


Action = tuple[int, str, int]
"""Index of a line, what may begin there (``repeat`` ``section`` ``heading`` ``life``), lines."""


class _Reading:
    """The state of one pass over one file."""

    def __init__(self, source: Source, table: ShapeTable) -> None:
        self.source = source
        self.table = table
        self.sections = [ScannedSection(1, None)]
        self.section_offset = 0
        self.lines = 0
        self.broken_characters = 0
        self.long_lines: list[tuple[int, int]] = []
        self.long_line_count = 0
        self.skip_to = 0
        """First line after the repeated paste at hand."""
        self.clocks: dict[int, bytes] = {}
        """The latest time of the section so far, of each form, which is told by its length."""
        self.held: Chunk | None = None
        """Last lines of the chunks so far that wait for what follows them."""
        self.looks_ahead = 0
        self.representatives: dict[tuple[bool, str | None], Shape] = {}
        self.examined = 0
        """Line up to which jumps back in time were examined."""
        self.unexamined_jumps = 0
        self.merged = 0
        self.budget = max(_SEARCH_BUDGET * source.size, _LEAST_SEARCH_BUDGET)

    def take(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        held = self.held
        if held:
            chunk = Chunk(held.offset, held.line, held.data + chunk.data, chunk.dropped)
        batch = Batch(chunk, self.table)
        end = len(batch) if chunk.dropped else self._decided(batch)
        self.held = None
        if end < len(batch):
            offset = batch.offsets[end]
            rest = chunk.data[offset - chunk.offset :]
            self.held = Chunk(offset, chunk.line + end, rest, 0)
            chunk = chunk._replace(data=chunk.data[: offset - chunk.offset])
            batch.cut(end)
        self._take(chunk, batch)

    def _decided(self, batch: Batch) -> int:
        """How many lines of a batch can be judged without those that follow it.

        Lines without a time just before a repeated paste may belong to it.
        """
        least = batch.offsets[-1] - LOOK_AHEAD_BYTES
        index = len(batch)
        while index and batch.offsets[index - 1] >= least:
            if batch.shapes[index - 1].clock:
                return index
            index -= 1
        return len(batch)

    def _take(self, chunk: Chunk, batch: Batch) -> None:
        self._note_what_is_broken(chunk, batch)
        self.lines = chunk.line + len(batch) - 1
        candidates = self._candidates(batch)
        index = self._skip(batch, 0)
        while index < len(batch):
            start, what, count = self._next_action(batch, index, candidates)
            self._take_span(batch, index, start)
            index = start
            if what == "repeat":
                self.skip_to = batch.first_line + start + count
                index = self._skip(batch, start)
            elif what == "section":
                self._open_section(batch, start, None)
            elif what == "heading":
                index += self._heading(batch, start)
            elif what == "life":
                self._open_life(batch, start, start + count)
        self.sections[-1].lives[-1].end_chunk()

    def result(self) -> Scanned:
        """What was found; sections that hold only blank lines are none."""
        if self.held:
            self._take(self.held, Batch(self.held, self.table))
            self.held = None
        kept = [section for section in self.sections if not section.blank]
        return Scanned(
            kept or self.sections[:1],
            self.lines,
            self.broken_characters,
            self.long_lines,
            self.long_line_count,
            self.unexamined_jumps,
            self.merged,
            self.table.overflow,
        )

    def _note_what_is_broken(self, chunk: Chunk, batch: Batch) -> None:
        data = chunk.data
        if not data.isascii():
            try:
                data.decode()
            except UnicodeDecodeError:
                # A character at the end of what is read of an overlong line is not broken.
                decoder = getincrementaldecoder("utf-8")("replace")
                replaced = decoder.decode(data, not chunk.dropped).count("\ufffd")
                self.broken_characters += replaced - data.count("\ufffd".encode())
        if max(batch.lengths, default=0) <= LINE_LIMIT:
            return
        for index, length in enumerate(batch.lengths):
            if length > LINE_LIMIT:
                self.long_line_count += 1
                if len(self.long_lines) < _NAMED_LONG_LINES:
                    self.long_lines.append((batch.first_line + index, length))

    # Where a repeat, a section or a life begins.

    def _candidates(self, batch: Batch) -> list[tuple[int, str]]:
        """Lines that may begin a section or a life, last one first."""
        return [
            (index, "heading" if shape.heading else "life")
            for index, shape in enumerate(batch.shapes)
            if shape.heading or shape.opens_life
        ][::-1]

    def _next_action(self, batch: Batch, index: int, candidates: list[tuple[int, str]]) -> Action:
        while candidates and candidates[-1][0] < index:
            candidates.pop()
        limit = candidates[-1][0] if candidates else len(batch)
        jump = self._next_jump(batch, index, limit)
        if jump:
            return jump
        if not candidates:
            return limit, "end", 0
        place, what = candidates.pop()
        if what == "heading":
            return place, what, 1
        start = self._start_of_life(batch, place, index)
        return start, what, place - start

    def _start_of_life(self, batch: Batch, place: int, least: int) -> int:
        """The first line of a start that a line betrays: a server prints a little before that.

        It is behind the longest pause since the last line that only a running server prints.
        """
        start = last_timed = place
        longest = _SHORTEST_PAUSE
        shapes = batch.shapes
        before = (i for i in range(place - 1, least - 1, -1) if shapes[i].message != (0, 0))
        for index in islice(before, LOOK_AHEAD_LINES):
            shape = shapes[index]
            times = [batch.line_time(i) for i in (index, last_timed)]
            if shape.clock and len(times[0]) == len(times[1]):
                pause = sections.seconds_between(*times)
                if pause > longest:
                    longest, start = pause, index + 1
                last_timed = index
            if shape.part or (shape.readings and not shape.opens_life):
                break
        return start

    def _next_jump(self, batch: Batch, index: int, limit: int) -> Action | None:
        """The next line where time jumps back to repeat earlier lines or begin another run."""
        values, indexes = batch.clock_values, batch.clock_indexes
        start = bisect_left(indexes, max(index, self.examined + 1 - batch.first_line))
        end = bisect_left(indexes, limit)
        for position, back in self._times_before_the_last(values, start, end):
            self.examined = batch.first_line + indexes[position]
            if back < LEAST_JUMP_SECONDS:
                continue
            repeat = self._repeat(batch, indexes[position], index)
            if repeat:
                return repeat
            if back > sections.LARGEST_JITTER_SECONDS:
                return indexes[position], "section", 0
        self.examined = max(self.examined, batch.first_line + limit - 1)
        return None

    def _times_before_the_last(
        self, values: list[bytes], start: int, end: int
    ) -> Iterator[tuple[int, float]]:
        """Positions where time runs back, and by how many seconds."""
        clocks = self.clocks
        for first in range(start, end, _TIMES_AT_ONCE):
            block = values[first : min(first + _TIMES_AT_ONCE, end)]
            form = len(block[0])
            # Most are of one form and in order, which takes no Python code to see.
            if (
                block[0] >= clocks.get(form, b"")
                and set(map(len, block)) == {form}
                and sorted(block) == block
            ):
                clocks[form] = block[-1]
                continue
            for position, value in enumerate(block, first):
                clock = clocks.get(len(value), b"")
                back = 0.0 if value >= clock else -sections.seconds_between(clock, value)
                if back <= 0:
                    clocks[len(value)] = value
                else:
                    yield position, back

    def _repeat(self, batch: Batch, line_index: int, least: int) -> Action | None:
        offset = batch.offsets[line_index]
        # Besides the search, the candidates that it finds are compared.
        cost = offset - self.section_offset + _COMPARING_BYTES
        if self.budget < cost:
            self.unexamined_jumps += 1
            return None
        self.budget -= cost
        wanted = batch.lines[line_index].rstrip(b"\r")
        earlier, count = sections.find_repeat(self.source, self.section_offset, offset, wanted)
        if count < sections.SHORTEST_REPEAT:
            return None
        begin = max(self.section_offset, earlier - LOOK_AHEAD_BYTES)
        before = self.source.read_at(begin, earlier - begin).split(b"\n")[:-1]
        if begin > self.section_offset:
            del before[:1]
        start = line_index
        for line in reversed(before):
            # Lines without a time just before the jump belong to the paste where they are equal.
            previous = start - 1
            if previous < least or batch.shapes[previous].clock:
                break
            if batch.lines[previous].rstrip(b"\r") != line.rstrip(b"\r"):
                break
            start = previous
        return start, "repeat", count + line_index - start

    def _skip(self, batch: Batch, index: int) -> int:
        """Pass over the lines of the repeated paste at hand."""
        end = min(self.skip_to - batch.first_line, len(batch))
        if end <= index:
            return index
        section = self.sections[-1]
        section.repeated_physical_lines += end - index
        section.repeated_lines += sum(
            1 for shape in batch.shapes[index:end] if shape.clock is not None
        )
        section.last_line = batch.first_line + end - 1
        self.examined = max(self.examined, section.last_line)
        return end

    def _open_section(self, batch: Batch, index: int, heading: str | None) -> None:
        if len(self.sections) < SECTION_LIMIT:
            if self.sections:
                self.sections[-1].lives[-1].end(brief=len(self.sections) > _WHOLE_LIVES)
            self.sections.append(ScannedSection(batch.first_line + index, heading))
        else:
            self.merged += 1
        self.section_offset = batch.offsets[index]
        self.clocks = {}
        self.examined = batch.first_line + index - 1

    def _heading(self, batch: Batch, index: int) -> int:
        """Begin a section after a heading; 0 if the line is none after all."""
        current = self.sections[-1]
        if not current.blank and not self._another_run_follows(batch, index):
            return 0
        text = records.clean(batch.lines[index], 0).text.decode("utf-8", "replace").strip()
        if current.blank:
            self.sections.pop()
        self._open_section(batch, index + 1, text)
        return 1

    def _another_run_follows(self, batch: Batch, index: int) -> bool:
        """Whether what stands below a heading is a new start or another time."""
        text_lines = self._lines_after(batch, index)
        if any(shape.opens_life == "args" for _, shape in text_lines):
            return True
        for line, shape in text_lines:
            time = line[slice(*shape.clock)] if shape.clock else b""
            if len(time) in self.clocks:
                pause = sections.seconds_between(self.clocks[len(time)], time)
                return pause < -LEAST_JUMP_SECONDS or pause > _GAP_SECONDS
        return False

    def _lines_after(self, batch: Batch, index: int) -> list[tuple[bytes, Shape]]:
        """The next lines of text after a line, headings left out."""
        self.looks_ahead += 1
        if self.looks_ahead > _LOOKS_AHEAD_LIMIT:
            return []
        ahead = self.source.read_at(batch.offsets[index + 1], LOOK_AHEAD_BYTES).split(b"\n")
        shaped = ((line, self.table[line.translate(DIGITS_TO_ZERO)]) for line in ahead)
        text = ((line, shape) for line, shape in shaped if line.strip() and not shape.heading)
        return list(islice(text, LOOK_AHEAD_LINES))

    def _open_life(self, batch: Batch, start: int, index: int) -> None:
        """Begin a life at a line if a later one shows that the server starts again."""
        life = self.sections[-1].lives[-1]
        if "stopped" in life.entered or "dead" in life.entered or (
            life.may_restart() and self._arguments_follow(batch, index)
        ):  # fmt: skip
            self._begin_life(batch.first_line + start)

    def _begin_life(self, first_line: int) -> None:
        lives = self.sections[-1].lives
        if len(lives) < LIFE_LIMIT:
            lives[-1].end(brief=len(lives) > _WHOLE_LIVES)
            lives.append(Observations(first_line))
        else:
            self.merged += 1

    def _arguments_follow(self, batch: Batch, index: int) -> bool:
        """Whether the server prints what it was started with, in a line or soon after it.

        Processes that a server starts import modules too, but print no arguments.
        """
        return batch.shapes[index].opens_life == "args" or any(
            shape.opens_life == "args" for _, shape in self._lines_after(batch, index)
        )

    # What the lines say.

    def _take_span(self, batch: Batch, start: int, end: int) -> None:
        if end <= start:
            return
        section = self.sections[-1]
        section.last_line = batch.first_line + end - 1
        shapes = batch.shapes if (start, end) == (0, len(batch)) else batch.shapes[start:end]
        counts = Counter(shapes)
        self._count_shapes(section, counts)
        by_shape: defaultdict[Shape, list[int]] = defaultdict(list)
        for index, shape in enumerate(shapes, start):
            if shape.interesting:
                by_shape[shape].append(index)
        ordered = [index for index, shape in enumerate(shapes, start) if shape.ordered]
        life = section.lives[-1]
        life.text_lines += sum(n for shape, n in counts.items() if shape.message != (0, 0))
        self._note_ends(batch, start, end, life)
        if life.last_text_line:
            section.blank = False
        collect(life, batch, by_shape, ordered)

    def _count_shapes(self, section: ScannedSection, counts: Counter[Shape]) -> None:
        if self.table.overflow:
            # Shapes that the table does not remember are as many as there are lines.
            for shape, count in counts.items():
                key = shape.recognised, shape.envelope
                section.shapes[self.representatives.setdefault(key, shape)] += count
        else:
            section.shapes.update(counts)

    def _note_ends(self, batch: Batch, start: int, end: int, life: Observations) -> None:
        """Note the first and the last time of a life, and its first and last line of text."""
        indexes = batch.clock_indexes
        low, high = bisect_left(indexes, start), bisect_left(indexes, end)
        if low < high:
            life.started = life.started or batch.time(indexes[low])
            life.ended = batch.time(indexes[high - 1])
        shapes = batch.shapes
        last = next((i for i in range(end - 1, start - 1, -1) if shapes[i].message != (0, 0)), None)
        if last is None:
            return
        if not life.last_text_line:
            first = next(i for i in range(start, end) if shapes[i].message != (0, 0))
            life.first_line = batch.first_line + first
        life.last_line = life.last_text_line = batch.first_line + last
