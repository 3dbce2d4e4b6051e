"""``journalctl -o export``: a block of ``FIELD=value`` lines for each message.

Format: https://systemd.io/JOURNAL_EXPORT_FORMATS/#journal-export-format. A value that is no text,
or has several lines, stands below its name behind its length: 64 bits, little-endian.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.envelopes import EXAMPLE_TIME, Entry, _journal
from logdiff.envelopes._clock import microseconds
from logdiff.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NAME = "journald-export"

SAMPLES = (
    (b"__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1777716001000001\nMESSAGE=INFO:     up\n", b"INFO:"),
    (b"__CURSOR=s=1;i=2\nMESSAGE\n\x03\0\0\0\0\0\0\0a\x1bb\nPRIORITY=6\n", b"a\x1bb"),
)

FIRST_FIELDS = (b"__CURSOR=", b"__REALTIME_TIMESTAMP=")
"""What a block begins with."""
FIELD = compiled(rb"[A-Z_][A-Z\d_]*=")
_NAME = compiled(rb"[A-Z_][A-Z\d_]*\r?$")
_NEXT_FIELD = compiled(rb"\n[A-Z_][A-Z\d_]*=")
_LENGTH_BYTES = 8
_REST_OF_LENGTH = compiled(rb"[^\0]{0,8}\0+|(?:\xef\xbf\xbd|[\x01-\x08\x0e-\x1f])+")
_BLOCK_LINES = 10_000
"""Lines of a block that are kept; a longer one is none."""


def entries(lines: Iterable[bytes]) -> Iterator[Entry | None]:
    """What each line says: the text of a message stands at the line of its field."""
    block = _Block(begun=True)
    for line in lines:
        if block.is_broken_by(line):
            yield from block.entries()
            block = _Block()
        block.take(line)
        if block.complete:
            yield from block.entries()
            block = _Block()
    yield from block.entries()


def wrap(line: bytes, time: bytes = EXAMPLE_TIME) -> bytes:
    """A line as this transport would print it."""
    length = len(line).to_bytes(_LENGTH_BYTES, "little")
    fields = b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=%d\nPRIORITY=6\nMESSAGE\n%b%b\n"
    return fields % (microseconds(time), length, line)


class _Block:
    """The fields of one message while they are read."""

    def __init__(self, *, begun: bool = False) -> None:
        """Begin a block; ``begun`` = its first fields may stand before the log."""
        self.fields: dict[str, bytes] = {}
        self.lines = 0
        self.complete = False
        self._name = ""
        self._value: bytearray | None = None
        """What was read of a value that has its length before it."""
        self._message_line = 0
        self._strays: set[int] = set()
        """Lines that are no part of a block."""
        self._begun = begun

    def take(self, line: bytes) -> None:
        self.lines += 1
        if self._value is not None:
            self._value += line + b"\n"
            self._end_value()
        elif FIELD.match(line) and self._begins_with(line):
            name, _, value = line.partition(b"=")
            self._keep(name, value.removesuffix(b"\r"), self.lines - 1)
        elif self._begun and _NAME.match(line):
            self._name, self._value = line.rstrip(b"\r").decode("ascii"), bytearray()
        elif line.strip():
            self._strays.add(self.lines - 1)
        ended = self._value is None and not line.strip()
        self.complete = ended or self.lines >= _BLOCK_LINES

    def entries(self) -> Iterator[Entry | None]:
        """One entry for each line of the block, most of them blank."""
        blank = Entry(b"", service=None)
        damaged = self._value is not None
        if damaged:
            self._end_damaged_value()
        said = _journal.entry(self.fields)
        texts = said.payload.split(b"\n") if said else []
        for number in range(self.lines):
            index = number - self._message_line
            if said and 0 <= index < len(texts):
                last = index == len(texts) - 1
                ends = said.ends or not last
                yield said._replace(payload=texts[index], ends=ends, damaged=damaged)
            elif number in self._strays:
                yield None
            else:
                yield blank

    def is_broken_by(self, line: bytes) -> bool:
        """Whether a line begins the next block, within a value whose length must be wrong."""
        return self._value is not None and line.startswith(FIRST_FIELDS[0])

    def _end_damaged_value(self) -> None:
        """Take for a value what stands before the next field."""
        value = bytes(self._value or b"").removesuffix(b"\n")
        first = self.lines - value.count(b"\n") - 1
        field = _NEXT_FIELD.search(value)
        text = value[: field.start()] if field else value
        # A length, or what became of it in another encoding, holds what no text begins with.
        text = _REST_OF_LENGTH.sub(b"", text, count=1)
        if text.strip():
            self._keep(self._name.encode(), text, first)

    def _begins_with(self, line: bytes) -> bool:
        self._begun = self._begun or line.startswith(FIRST_FIELDS)
        return self._begun

    def _end_value(self) -> None:
        value = self._value
        if value is None or len(value) < _LENGTH_BYTES:
            return
        length = int.from_bytes(value[:_LENGTH_BYTES], "little")
        if len(value) > _LENGTH_BYTES + length:
            first = self.lines - value.count(b"\n")
            self._keep(self._name.encode(), bytes(value[_LENGTH_BYTES:][:length]), first)
            self._value = None

    def _keep(self, name: bytes, value: bytes, line: int) -> None:
        field = name.decode("ascii", "replace")
        self.fields[field] = value
        if field == "MESSAGE":
            self._message_line = line
