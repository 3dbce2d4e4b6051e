"""Plain copies of a log whose transport changes the text, one for each service that is in it.

A copy says what the program wrote, behind the transport's time as ``docker logs -t`` prints it.
Every line keeps its number: a line of another service, or one that continues an earlier line, is
blank. So what is found in a copy can be looked up in the file that the user has.
"""

from __future__ import annotations

import tempfile
from collections import deque
from itertools import zip_longest
from typing import IO, TYPE_CHECKING

from logdiff.decoders import UTF8_MARK
from logdiff.envelopes import Entry
from logdiff.envelopes.docker_timestamps import without_time
from logdiff.read import Source

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator

    from logdiff.envelopes._recognise import Recognised

SERVICE_LIMIT = 200
"""Services that are told apart; the lines of further ones are read with those of the last."""
_LINE_BYTES = 1 << 20
"""What is read of one line of the file."""
_JOINED_BYTES = 1 << 20
"""A line that is longer is not waited for any more."""
_WAITING_LIMIT = 4_096
_WAITING_BYTES = 1 << 23
"""Lines, and bytes of them, that wait for the end of an earlier one."""
_COMMON_LIMIT = 1_000
"""Lines that concern all services and are kept for those that appear later."""
_STRAY_LIMIT = 20
"""Lines one after the other that are not in the envelope and concern all services; more of them
are a log of their own."""
_PROGRESS_LINES = 20_000
_TEXTS = 1_000
"""Pieces of text that are written at once."""
_LINE_FEED = ord("\n")
_NO_STREAM = b"\n"
"""Of a line that is not in the envelope, and so continues none."""


def copies(
    source: Source,
    recognised: Recognised,
    progress: Callable[[int, int | None], None] | None = None,
) -> list[Source]:
    """What the services of a log wrote, in the order in which they appear.

    The source itself is closed.
    """
    envelope, behind_time = recognised
    made = _Copies(getattr(envelope, "LOST", None))
    read = getattr(envelope, "entries", None)
    raw: deque[tuple[bytes, bytes | None]] = deque()
    """Lines that were handed out, and the times before them."""

    def lines() -> Iterator[bytes]:
        for marked in _lines(source.file):
            line = marked.removeprefix(UTF8_MARK)
            time, text = without_time(line) if behind_time else (None, line)
            raw.append((line, time))
            yield text

    found = read(lines()) if read else map(envelope.unwrap, lines())
    with source.file:
        source.file.seek(0)
        for number, said in enumerate(found):
            line, time = raw.popleft()
            if said is None:
                made.take_stray(number, Entry(line, service=None, stream=_NO_STREAM))
            else:
                for entry in said if isinstance(said, list) else (said,):
                    timed = entry._replace(time=time) if time and not entry.time else entry
                    made.take(number, timed)
            if progress and number % _PROGRESS_LINES == 0:
                progress(source.file.tell(), source.size)
    return made.sources(source, envelope.NAME)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Lines without their line feeds, cut where they are enormous."""
    while line := file.readline(_LINE_BYTES):
        rest = line
        while len(rest) == _LINE_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(_LINE_BYTES)
        yield line.removesuffix(b"\n")


class _Line:
    """A line of a copy that may not be complete yet."""

    __slots__ = ("complete", "number", "text")

    def __init__(self, number: int, text: bytes, *, complete: bool) -> None:
        self.number = number
        self.text = bytearray(text)
        self.complete = complete


class _Copy:
    """What one service wrote."""

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="logdiff-")  # noqa: SIM115
        self.timed = False
        self.lost_lines = 0
        self._written = 0
        """Lines that were written."""
        self._waiting: deque[_Line] = deque()
        """Lines from the first incomplete one on."""
        self._waiting_bytes = 0
        self._texts: list[bytes] = []
        """What is to be written next."""
        self._open: dict[bytes, _Line] = {}
        """The incomplete line of each stream."""

    def take(self, number: int, entry: Entry) -> None:
        """Take the next line of the log, or of its part that the service wrote."""
        self.timed = self.timed or entry.time is not None
        text = entry.time + b" " + entry.payload if entry.time else entry.payload
        if entry.ends and not self._waiting:
            self._put(number, text)
            return
        line = self._open.pop(entry.stream, None)
        if line:
            line.text += entry.payload
            line.complete = entry.ends or len(line.text) > _JOINED_BYTES
        else:
            line = _Line(number, text, complete=entry.ends)
            self._waiting.append(line)
        self._waiting_bytes += len(entry.payload)
        if not line.complete:
            self._open[entry.stream] = line
        self._write(len(self._waiting) > _WAITING_LIMIT or self._waiting_bytes > _WAITING_BYTES)

    def end(self) -> None:
        """Write what is still waiting, complete or not."""
        self._write(everything=True)
        self.file.write(b"".join(self._texts))
        self.file.seek(0)

    def join(self, other: _Copy) -> None:
        """Take the lines of a copy that has none where this one has some; both have ended."""
        joined: IO[bytes] = tempfile.TemporaryFile(prefix="logdiff-")  # noqa: SIM115
        with self.file, other.file:
            for own, others in zip_longest(self.file, other.file, fillvalue=b""):
                joined.write(own if len(own) > 1 else others or own)
        joined.seek(0)
        self.file = joined
        self.timed = self.timed or other.timed

    def _write(self, everything: bool) -> None:
        waiting = self._waiting
        while waiting and (waiting[0].complete or everything):
            line = waiting.popleft()
            self._put(line.number, bytes(line.text))
        if not waiting:
            self._waiting_bytes = 0
            self._open.clear()

    def _put(self, number: int, text: bytes) -> None:
        texts = self._texts
        if number > self._written:
            texts.append(b"\n" * (number - self._written))
        texts.append(text.replace(b"\n", rb"\n") if _LINE_FEED in text else text)
        texts.append(b"\n")
        self._written = number + 1
        if len(texts) > _TEXTS:
            self.file.write(b"".join(texts))
            texts.clear()


class _Copies:
    """The copies of all services of a log."""

    def __init__(self, lost: re.Pattern[bytes] | None) -> None:
        self._lost = lost
        self._made: dict[bytes, _Copy] = {}
        self._common: list[tuple[int, Entry]] = []
        self._damaged = 0
        self._past_limit = False
        self._strays: list[tuple[int, Entry]] = []
        """Lines not in the envelope that may concern all services: the latest, one by one."""
        self._aside: _Copy | None = None
        """Long runs of such lines."""
        self._in_long_run = False

    def take_stray(self, number: int, entry: Entry) -> None:
        """Take a line that is not in the envelope."""
        if entry.payload:
            self._strays.append((number, entry))
        if self._in_long_run or len(self._strays) > _STRAY_LIMIT:
            self._in_long_run = True
            self._aside = self._aside or _Copy()
            for stray in self._strays:
                self._aside.take(*stray)
            self._strays.clear()

    def take(self, number: int, entry: Entry) -> None:
        """Take the next line of the log."""
        self._end_run()
        self._damaged += entry.damaged
        name = entry.service
        lost = bool(self._lost and self._lost.match(entry.payload))
        if name is None:
            self._take_common(number, entry)
        else:
            copy = self._copy(name or next(iter(self._made), b""))
            copy.take(number, entry)
            copy.lost_lines += lost

    def sources(self, source: Source, envelope: str) -> list[Source]:
        """The copies as sources that know where they come from."""
        self._end_run()
        copies = self._made or {b"": self._copy(b"")}
        for copy in copies.values():
            copy.end()
        if self._aside:
            self._aside.end()
            if len(copies) > 1:
                copies.setdefault(b"", _Copy()).join(self._aside)
            else:
                next(iter(copies.values())).join(self._aside)
        found = []
        for name, copy in copies.items():
            made = Source(source.name, copy.file)
            made.partial = source.partial
            made.notes = [*source.notes, *self._notes()]
            made.timed = source.timed or copy.timed
            made.lost_lines = source.lost_lines + copy.lost_lines
            made.envelopes = (*source.envelopes, envelope)
            made.service = source.service or (name if len(copies) > 1 else b"").decode(
                "utf-8", "replace"
            )
            found.append(made)
        return found

    def _notes(self) -> Iterator[str]:
        if self._damaged:
            yield (
                f"{self._damaged:,} lines are of damaged entries, whose length is wrong: export "
                "them again, and copy the file as it is"
            )
        if self._past_limit:
            yield (
                f"it holds more than {SERVICE_LIMIT} services; the lines of further ones are read "
                "with those of the last: capture the log of the server alone"
            )

    def _end_run(self) -> None:
        for stray in self._strays:
            self._take_common(*stray)
        self._strays.clear()
        self._in_long_run = False

    def _copy(self, name: bytes) -> _Copy:
        copy = self._made.get(name)
        if copy is None:
            if len(self._made) >= SERVICE_LIMIT:
                self._past_limit = True
                return list(self._made.values())[-1]
            copy = self._made[name] = _Copy()
            for number, entry in self._common:
                copy.take(number, entry)
        return copy

    def _take_common(self, number: int, entry: Entry) -> None:
        """A line that concerns all services, or the one whose name it begins with."""
        if not entry.payload:
            return
        if len(self._common) < _COMMON_LIMIT:
            self._common.append((number, entry))
        named = entry.payload.strip().partition(b" ")[0]
        only = self._made.get(named)
        for copy in [only] if only else self._made.values():
            copy.take(number, entry)
