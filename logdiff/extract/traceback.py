"""Python tracebacks, taken apart by who writes them.

Several workers write their tracebacks at the same time, line by line into one stream. Each
worker and each place of a logger is a writer of its own; the lines of one writer keep their
order. Format: the ``traceback`` module of the standard library.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from logdiff.patterns import compiled
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from logdiff.model import Mark

START, FRAME, EXCEPTION, CANDIDATE = "start", "frame", "exception", "candidate"
CHAIN = "chain"
"""What a line is in a traceback. A candidate is the last line only where frames came before."""

_FRAME = compiled(rb' {1,2}File "([^"\n]{1,400})", line (\d{1,9})(?:, in ([^\n]{1,200}))?')
_START = b"Traceback (most recent call last):"
_CHAINS = (
    b"During handling of the above exception",
    b"The above exception was the direct cause",
)
_EXCEPTION = compiled(
    rb"((?:[A-Za-z_]\w{0,80}\.){0,12}[A-Z]\w{0,80}?"
    rb"(?:Error|Exception|Interrupt|Exit|ExceptionGroup|Timeout|Cancelled))(?:: (.*)|:? *$)",
    re.DOTALL,
)
_CANDIDATE = compiled(rb"((?:[A-Za-z_]\w{0,80}\.){0,12}[A-Z]\w{0,80})(?:: (.*)|:? *$)", re.DOTALL)
_ANNOUNCEMENT = compiled(
    r"\d+ validation errors? for \w+"
    r"|Error\(s\) in loading state_dict for \w+:?"
    r"|Failed to import [\w.]{1,200} because of the following error[^\n]{0,60}"
    r"|PTXAS error: Internal Triton PTX codegen error"
)
"""How pydantic, torch, transformers and Triton begin; what is wrong follows on its own lines."""
EXPLANATION_LINES = 2
"""Lines below an exception in which what it announces may stand."""
_PASSING_ON = (
    "/torch/",
    "/asyncio/",
    "/concurrent/",
    "/multiprocessing/",
    "/contextlib.py",
    "/functools.py",
    "/threading.py",
)
"""Files that call what they are given: an exception in them is one of who gave it."""
_NUMBER = compiled(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?")
_OPEN_LIMIT = 256
_GROUP_LIMIT = 2000


class Part(NamedTuple):
    """A traceback line, by shape; spans are offsets into the clean text."""

    role: str
    first: tuple[int, int] | None = None
    """Of a frame its file, of an exception its type."""
    second: tuple[int, int] | None = None
    """Of a frame its line, of an exception its message."""
    third: tuple[int, int] | None = None
    """Of a frame its function."""


def classify(message: bytes, level: str | None) -> Part | None:
    """What a message is in a traceback; ``None`` = nothing. ``level`` is its logger's level."""
    if message.startswith(_START):
        return Part(START)
    if message.startswith(b" "):
        frame = _FRAME.match(message)
        return Part(FRAME, frame.span(1), frame.span(2), _span(frame, 3)) if frame else None
    if message.startswith(_CHAINS):
        return Part(CHAIN)
    if level in ("INFO", "DEBUG"):
        return None
    exception = _EXCEPTION.match(message)
    if exception:
        return Part(EXCEPTION, exception.span(1), _span(exception, 2))
    candidate = _CANDIDATE.match(message)
    if candidate:
        return Part(CANDIDATE, candidate.span(1), _span(candidate, 2))
    return None


def _span(match: re.Match[bytes], group: int) -> tuple[int, int] | None:
    return match.span(group) if match.start(group) >= 0 else None


class Writer(NamedTuple):
    """Whose line it is."""

    worker: bytes
    """The worker's tag as printed; empty = none."""
    place: str
    """``file.py:line`` of the logger's prefix; empty = none."""


class Frame(NamedTuple):
    """One frame: where the code stood."""

    path: str
    line: int
    function: str

    def __str__(self) -> str:
        name = self.path.rpartition("/")[2]
        return f"{name}:{self.line} in {self.function}" if self.function else f"{name}:{self.line}"


def announces(message: str) -> bool:
    """Whether the line of an exception only says that something is wrong, and not what."""
    return _ANNOUNCEMENT.fullmatch(message) is not None


class Raised:
    """One exception that ended tracebacks, with how often it was printed."""

    __slots__ = (
        "caller",
        "count",
        "explanation",
        "first",
        "kind",
        "message",
        "places",
        "time",
        "where",
        "workers",
    )

    def __init__(self, kind: str, message: str, mark: Mark, time: str | None) -> None:
        self.kind = kind
        self.message = message
        self.where: Frame | None = None
        """Innermost frame of the first traceback that has one."""
        self.caller: Frame | None = None
        """Its innermost frame in code that does more than pass calls on."""
        self.first = mark
        self.explanation: Mark | None = None
        """The line below the first one that says what that only announces."""
        self.time = time
        self.count = 0
        self.workers: dict[bytes, Mark] = {}
        self.places: dict[str, Mark] = {}
        """Places of loggers that printed it, with the first line of each."""


class Ended(NamedTuple):
    """The end of one traceback."""

    raised: Raised
    where: Frame | None
    """Its innermost frame."""


class _Frames(NamedTuple):
    """What is kept of the frames of a traceback that has not ended."""

    innermost: Frame | None = None
    caller: Frame | None = None


class Tracebacks:
    """Follows the tracebacks of one life."""

    def __init__(self) -> None:
        self._open: dict[Writer, _Frames] = {}
        self.raised: dict[tuple[str, str], Raised] = {}
        self.paths: dict[str, str] = {}
        """Full path of each source file that a frame named, by file name."""
        self.dropped = 0
        self.last_end = 0
        """The last line that named an exception."""

    def start(self, writer: Writer) -> None:
        """A ``Traceback (most recent call last)`` of a writer."""
        self._remember(writer, _Frames())

    def frame(self, writer: Writer, frame: Frame) -> None:
        """A frame; only the innermost are kept. Frames without a start line happen."""
        caller = frame
        if any(part in frame.path for part in _PASSING_ON):
            caller = self._open.get(writer, _Frames()).caller or frame
        self._remember(writer, _Frames(frame, caller))
        name = frame.path.rpartition("/")[2]
        if len(self.paths) < _GROUP_LIMIT and name:
            self.paths.setdefault(name, frame.path)

    def _remember(self, writer: Writer, frames: _Frames) -> None:
        if writer not in self._open and len(self._open) >= _OPEN_LIMIT:
            self._open.pop(next(iter(self._open)))
        self._open[writer] = frames

    def end(
        self,
        writer: Writer,
        kind: str,
        message: str,
        marks: tuple[Mark, Mark | None],
        time: str | None,
        *,
        sure: bool,
    ) -> Ended | None:
        """The line that names the exception.

        Args:
            writer: whose line it is.
            kind: type of the exception.
            message: what it says.
            marks: the line, and the one below it that completes the message.
            time: as printed.
            sure: whether it is an exception even without frames.
        """
        mark, explanation = marks
        key = writer if writer in self._open else self._torn(writer)
        if key is None and not sure:
            return None
        frames = self._open.pop(key) if key is not None else _Frames()
        raised = self._group(kind, message, mark, time)
        if mark == raised.first:
            raised.explanation = explanation
        raised.count += 1
        raised.workers.setdefault(writer.worker, mark)
        raised.places.setdefault(writer.place, mark)
        raised.where = raised.where or frames.innermost
        raised.caller = raised.caller or frames.caller
        self.last_end = mark.line
        return Ended(raised, frames.innermost)

    def _torn(self, writer: Writer) -> Writer | None:
        """An open traceback of the same logger whose last line lost or swapped its tag."""
        if not writer.place:
            return None
        return next((w for w, frames in self._open.items()
                     if w.place == writer.place and frames.innermost), None)  # fmt: skip

    def _group(self, kind: str, message: str, mark: Mark, time: str | None) -> Raised:
        key = (kind.rpartition(".")[2], _masked(message))
        raised = self.raised.get(key)
        if raised is None:
            raised = Raised(kind, message, mark, time)
            if len(self.raised) < _GROUP_LIMIT:
                self.raised[key] = raised
            else:
                self.dropped += 1
        return raised


def _masked(message: str) -> str:
    return _NUMBER.sub("0", message[:1000])
