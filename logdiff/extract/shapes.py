"""Shapes: lines with every digit turned to ``0``, classified once for all lines alike.

A pattern that cannot tell one digit from another matches all lines of a shape or none, and its
groups stand at the same offsets in each. So signals run once a shape, and values are slices.
The few patterns that do tell digits apart are kept aside and run on each line.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from logdiff import patterns, records, sections
from logdiff.decoders import UTF8_MARK
from logdiff.extract import traceback
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Sequence

    from logdiff.engine.ruleset import Signal
    from logdiff.envelopes import Unwrapped

DIGITS_TO_ZERO = bytes(48 if 48 <= byte <= 57 else byte for byte in range(256))
SHAPE_LIMIT = 50_000
"""Shapes that are remembered; lines of later ones are classified one by one."""

Span = tuple[int, int]
_NO_WORD_TO_BLANK = bytes(
    byte if bytes((byte,)).isalnum() or byte == ord("_") else ord(" ") for byte in range(256)
)
_PROGRESS_BAR = patterns.compiled(rb"\d%\||\bit/s\b|\bs/it\b|\d% Completed")


class _Candidate(NamedTuple):
    """A pattern that may match; they compare by their number."""

    number: int
    signal: Signal
    source: bytes
    literal: str
    """What every match contains, digits as ``0``, each byte as the character of its number: in a
    text that is found in a fraction of the time."""
    digit_sensitive: bool


class Reading(NamedTuple):
    """How one signal is read from the lines of a shape."""

    signal: Signal
    patterns: tuple[re.Pattern[bytes], ...]
    """What is matched on each line, in this order; one or more only if ``per_line``."""
    text: Span
    """Where in the line the text stands in which the patterns are searched."""
    spans: tuple[Span | None, ...]
    """Offsets in the line of the signal's fields, in their order; empty if ``per_line``."""
    take: Callable[[bytes], tuple[bytes, ...]]
    """Cuts (worker, place's line, \\*fields) out of a line."""
    per_line: bool
    """A pattern tells digits apart: match it on each line."""


class Shape:
    """What is known of all lines of one shape; spans are offsets into the line."""

    __slots__ = (
        "clock",
        "envelope",
        "heading",
        "interesting",
        "level",
        "message",
        "opens_life",
        "ordered",
        "part",
        "place",
        "prefixed",
        "readings",
        "recognised",
        "template",
        "worker",
    )

    def __init__(self) -> None:
        self.envelope: str | None = None
        self.clock: Span | None = None
        """Where the time stands by which lines are in order."""
        self.level: str | None = None
        self.worker: Span | None = None
        self.place: tuple[Span, Span] | None = None
        """Source file and line of the logger's prefix."""
        self.prefixed = False
        self.message: Span = (0, 0)
        """What stands behind the prefix; (0, 0) = nothing but blanks."""
        self.heading = False
        self.part: traceback.Part | None = None
        self.readings: tuple[Reading, ...] = ()
        self.template: str | None = None
        self.recognised = False
        self.interesting = False
        self.opens_life: str | None = None
        """``args``: the server prints what it was started with; ``import``: it loads modules."""
        self.ordered = False
        """Lines of this shape are looked at one by one, in their order."""


class Classifier:
    """Makes shapes out of masked lines."""

    def __init__(
        self,
        signals: Sequence[Signal],
        unwrappers: Iterable[Callable[[bytes], Unwrapped | None]],
    ) -> None:
        self._unwrappers = tuple(unwrappers)
        self._by_word: dict[bytes, list[_Candidate]] = {}
        """Patterns by a whole word that is in every line they match."""
        self._wordless: dict[str, list[_Candidate]] = {}
        """Patterns that need no whole word, by their literal."""
        pairs = [(signal, pattern) for signal in signals for pattern in signal.patterns]
        for number, (signal, pattern) in enumerate(pairs):
            source, literal, word, digit_sensitive = pattern
            text = (literal or b"").decode("latin-1")
            candidate = _Candidate(number, signal, source, text, digit_sensitive)
            if word:
                self._by_word.setdefault(word, []).append(candidate)
            else:
                self._wordless.setdefault(text, []).append(candidate)
        self._compiled: dict[bytes, re.Pattern[bytes]] = {}

    def classify(self, masked: bytes) -> Shape:
        """The shape of a masked line."""
        shape = Shape()
        unwrapped = self._unwrap(masked)
        if unwrapped:
            shape.envelope = unwrapped.envelope
            shape.clock = unwrapped.time
        cuts = unwrapped.cuts if unwrapped else ()
        clean = records.clean(masked, unwrapped.payload if unwrapped else 0, cuts)
        if not clean.text.strip():
            shape.recognised = True
            return shape
        prefix = records.parse_prefix(clean.text)
        _read_prefix(shape, clean, prefix)
        message = clean.text[prefix.message :]
        if message.strip():
            shape.message = clean.span(prefix.message, len(clean.text))
        message = records.own_words(message)
        _read_part(shape, clean, prefix, message)
        shape.readings = tuple(self._readings(shape, masked, clean, prefix, message))
        if cuts:
            shape.readings = tuple(_without_cuts(reading, cuts) for reading in shape.readings)
        shape.heading = not (unwrapped or shape.prefixed or shape.part or shape.readings) and (
            sections.looks_like_heading(clean.text)
        )
        shape.recognised = bool(
            shape.prefixed
            or shape.part
            or shape.readings
            or message.startswith(b"  ")
            or _PROGRESS_BAR.search(message)
        )
        shape.interesting = bool(shape.readings or shape.place)
        shape.ordered = shape.part is not None
        for reading in shape.readings:
            signal = reading.signal
            shape.ordered = shape.ordered or signal.keep == "each"
            if signal.enters in ("args", "import"):
                shape.opens_life = shape.opens_life or signal.enters
        return shape

    def _unwrap(self, line: bytes) -> Unwrapped | None:
        mark = len(UTF8_MARK) * line.startswith(UTF8_MARK)
        for unwrap in self._unwrappers:
            unwrapped = unwrap(line[mark:])
            if unwrapped:
                return unwrapped.moved(mark) if mark else unwrapped
        return None

    def _candidates(self, line: bytes) -> list[_Candidate]:
        """The patterns that may match a line, in the order of their signals."""
        by_word = self._by_word
        text = line.decode("latin-1")
        found = []
        for literal, candidates in self._wordless.items():
            if literal in text:
                found += candidates
        for word in by_word.keys() & set(line.translate(_NO_WORD_TO_BLANK).split()):
            found += [candidate for candidate in by_word[word] if candidate.literal in text]
        found.sort()
        return found

    def _readings(
        self,
        shape: Shape,
        masked: bytes,
        clean: records.Clean,
        prefix: records.Prefix,
        message: bytes,
    ) -> Iterable[Reading]:
        found = ""
        candidates = self._candidates(clean.text)
        for position, (_, signal, source, _, digit_sensitive) in enumerate(candidates):
            if signal.id == found or (signal.levels and shape.level not in signal.levels):
                continue
            whole = signal.scope == "line"
            text, shift = (clean.text, 0) if whole else (message, prefix.message)
            within = clean.span(shift, shift + len(text))
            if digit_sensitive:
                found = signal.id
                patterns = tuple(
                    self._compile(c.source) for c in candidates[position:] if c.signal is signal
                )
                yield Reading(signal, patterns, within, (), _nothing, per_line=True)
            elif match := self._compile(source).search(text):
                found = signal.id
                spans = tuple(_field_span(match, f[0], clean, shift) for f in signal.fields)
                take = _cutter(masked, shape, spans)
                yield Reading(signal, (), within, spans, take, per_line=False)

    def _compile(self, source: bytes) -> re.Pattern[bytes]:
        pattern = self._compiled.get(source)
        if pattern is None:
            pattern = self._compiled[source] = patterns.compiled(source)
        return pattern


def _read_prefix(shape: Shape, clean: records.Clean, prefix: records.Prefix) -> None:
    shape.level = prefix.level
    shape.prefixed = prefix.level is not None or prefix.worker is not None
    if prefix.worker:
        shape.worker = clean.span(*prefix.worker)
    if prefix.file and prefix.line:
        shape.place = clean.span(*prefix.file), clean.span(*prefix.line)
    if prefix.time and shape.clock is None:
        shape.clock = clean.span(*prefix.time)


def _read_part(shape: Shape, clean: records.Clean, prefix: records.Prefix, message: bytes) -> None:
    part = traceback.classify(message, shape.level)
    if part is None:
        return

    def moved(span: Span | None) -> Span | None:
        return clean.span(span[0] + prefix.message, span[1] + prefix.message) if span else None

    shape.part = traceback.Part(part.role, *(moved(span) for span in part[1:]))


def _field_span(match: re.Match[bytes], name: str, clean: records.Clean, shift: int) -> Span | None:
    if name not in match.re.groupindex or match.start(name) < 0:
        return None
    return clean.span(match.start(name) + shift, match.end(name) + shift)


def _nothing(line: bytes) -> tuple[bytes, ...]:
    return (line[:0],)


def _cutter(
    masked: bytes, shape: Shape, spans: tuple[Span | None, ...]
) -> Callable[[bytes], tuple[bytes, ...]]:
    """A function that cuts worker, place's line and fields out of a line in one call."""
    wanted = [shape.worker, shape.place[1] if shape.place else None, *spans]
    slices = [slice(*span) if span else slice(0, 0) for span in wanted]
    take = itemgetter(*slices)
    if any(records.strip_escapes(part) != part for part in take(masked)):
        return lambda line: tuple(map(records.strip_escapes, take(line)))
    return take


def _without_cuts(reading: Reading, cuts: Sequence[Span]) -> Reading:
    """A reading that leaves out what a transport put in the midst of the line."""

    def take(line: bytes) -> tuple[bytes, ...]:
        # In the place of each cut stand NUL bytes, which no value keeps.
        for start, end in cuts:
            line = line[:start] + bytes(end - start) + line[end:]
        return tuple(map(records.strip_escapes, reading.take(line)))

    return reading._replace(take=take)


class ShapeTable(dict[bytes, Shape]):
    """Masked line → shape; a new one is classified when it is first asked for."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__()
        self._classifier = classifier
        self.templates: dict[bytes, str] = {}
        """Templates by their messages, runs of digits as one ``0``: shapes that differ only in how
        many digits they have share one."""
        self.overflow = 0
        """Lines that were classified one by one because the table was full."""

    def __missing__(self, masked: bytes) -> Shape:
        shape = self._classifier.classify(masked)
        if len(self) < SHAPE_LIMIT:
            self[masked] = shape
        else:
            self.overflow += 1
        return shape


def read_line(
    signal: Signal, unwrappers: Iterable[Callable[[bytes], Unwrapped | None]], line: bytes
) -> dict[str, str] | None:
    """The fields that one signal reads from one line; ``None`` where it does not hold."""
    shape = Classifier([signal], unwrappers).classify(line.translate(DIGITS_TO_ZERO))
    for reading in shape.readings:
        values = cut_fields(reading, line)
        if values is not None:
            names = (name for name, _, _ in signal.fields)
            pairs = zip(names, values, strict=True)
            return {name: value.decode("utf-8", "replace") for name, value in pairs if value}
    return None


def cut_fields(reading: Reading, line: bytes) -> tuple[bytes, ...] | None:
    """The fields of a reading, cut out of a line.

    ``None`` where its patterns tell digits apart and do not match this line.
    """
    if not reading.per_line:
        return reading.take(line)[2:]
    text = records.cut(line, reading.text)
    match = next(filter(None, (pattern.search(text) for pattern in reading.patterns)), None)
    if match is None:
        return None
    groups = match.groupdict(b"")
    return tuple(groups.get(name) or b"" for name, _, _ in reading.signal.fields)
