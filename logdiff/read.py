"""Open what the user named and hand it out as bounded chunks of whole lines.

A source is always seekable: standard input, pipes and files that must be decoded are spooled to a
temporary file first, because evidence is quoted in a second pass.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import IO, TYPE_CHECKING

from logdiff.errors import InputError, UsageError
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from logdiff.decoders import Decoder
    from logdiff.model import Mark

    Progress = Callable[[int, int | None], None]
    """Takes the bytes read, and how many there are, where that is known."""

CHUNK_BYTES = 1 << 20
LINE_LIMIT = 1 << 16
"""Bytes of a line that are matched; what is past it is counted and left out."""
SNIFF_BYTES = 1 << 16
_NESTED_LIMIT = 4
"""Decoders that are applied one after the other."""

_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\r\x1b\x08\x0c\x07\x00")
"""Bytes that no terminal is sent."""


class Chunk(NamedTuple):
    """Whole physical lines, one after the other."""

    offset: int
    """Byte offset of the first line."""
    line: int
    """1-based number of the first line."""
    data: bytes
    """Lines with their line feeds; the last line of a file may lack one."""
    dropped: int
    """Bytes left out at the end of a chunk that is the head of one overlong line."""


class Address(NamedTuple):
    """What a run argument means: a file and, where ``#N`` was given, one section of it."""

    path: str
    section: int | None


def parse_address(text: str) -> Address:
    """Split ``file#2`` into file and section; an existing file of the literal name wins.

    Raises:
        UsageError: the section number is 0.
    """
    head, mark, tail = text.rpartition("#")
    if not mark or not head or not tail.isascii() or not tail.isdigit() or os.path.lexists(text):
        return Address(text, None)
    number = int(tail[:9])
    if number == 0:
        raise UsageError(f"{text}: sections are counted from 1", "logdiff inspect lists them.")
    return Address(head, number)


class Source:
    """A seekable stream of bytes with the name it has in messages."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        self.name = name
        self.file = file
        self.partial: str | None = None
        """Why it ended before it should have; everything up to there was read."""
        self.notes: list[str] = []
        """What else could not be read as it was meant."""
        self.envelopes: tuple[str, ...] = ()
        """What was taken off every line before this copy was made, outermost first."""
        self.timed = False
        """Whether its lines begin with a time that was put there when the copy was made."""
        self.lost_lines = 0
        """Lines of which the transport tells that it left them out."""
        self.service = ""
        """Whose lines these are, where a file holds those of several."""
        self.size = file.seek(0, os.SEEK_END)
        file.seek(0)

    def close(self) -> None:
        """Give the file (and a spooled copy) back."""
        self.file.close()

    def chunks(self, offset: int = 0, line: int = 1, size: int | None = None) -> Iterator[Chunk]:
        """Whole lines from a line start at ``offset``, about ``size`` bytes at a time.

        Memory stays at a few chunks whatever the file holds. The default size is
        ``CHUNK_BYTES``.
        """
        file = self.file
        size = size or CHUNK_BYTES
        file.seek(offset)
        carry = b""
        while True:
            block = file.read(size)
            end = block.rfind(b"\n") + 1
            if end:
                data = carry + block[:end]
                carry = block[end:]
            elif not block:
                if carry:
                    yield Chunk(offset, line, carry, 0)
                return
            elif len(carry) + len(block) <= LINE_LIMIT:
                carry += block
                continue
            else:
                head = (carry + block)[:LINE_LIMIT]
                length = len(carry) + len(block) + self._skip_line()
                yield Chunk(offset, line, head, length - len(head))
                offset += length + 1
                line += 1
                carry = b""
                file.seek(offset)
                continue
            yield Chunk(offset, line, data, 0)
            offset += len(data)
            line += data.count(b"\n")
            file.seek(offset + len(carry))

    def _skip_line(self) -> int:
        """Bytes from the file position up to the next line feed, or to the end."""
        skipped = 0
        while block := self.file.read(CHUNK_BYTES):
            end = block.find(b"\n")
            if end >= 0:
                return skipped + end
            skipped += len(block)
        return skipped

    def line_at(self, mark: Mark, limit: int = LINE_LIMIT) -> bytes:
        """The bytes of a line, at most ``limit`` of them, without its line end."""
        self.file.seek(mark.offset)
        return self.file.read(min(mark.length, limit)).rstrip(b"\r\n")

    def read_at(self, offset: int, length: int) -> bytes:
        """``length`` bytes from ``offset`` on, fewer at the end of the file."""
        self.file.seek(offset)
        return self.file.read(length)


def open_source(path: str, progress: Progress | None = None) -> Source:
    """Open a path, or ``-`` for standard input.

    Args:
        path: what to open.
        progress: is told the bytes read of a stream, or decoded of a file.

    Raises:
        UsageError: there is no such path, or it is a directory.
        InputError: it cannot be read, is empty, binary or damaged from its beginning.
        KeyboardInterrupt: a stream was interrupted before its first byte.
    """
    source = _open(path, progress)
    try:
        source = _decoded(source, progress)
        _refuse_what_is_no_text(source)
    except OSError as error:
        source.close()
        raise InputError(f"{source.name}: {error.strerror or error}") from error
    except BaseException:
        source.close()
        raise
    return source


def _open(path: str, progress: Progress | None) -> Source:
    if path == "-":
        if sys.stdin is None:
            raise InputError("<stdin>: is closed", "Name a file, or pipe the log in.")
        return _spooled_stream(sys.stdin.buffer, "<stdin>", progress)
    name = path
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise UsageError(f"{name}: is a directory", "Name the log file in it.")
        file: IO[bytes] = open(path, "rb")  # noqa: SIM115 - the Source closes it
    except FileNotFoundError:
        hint = "Check the path; '-' reads standard input."
        raise UsageError(f"{name}: no such file", hint) from None
    except PermissionError:
        raise InputError(f"{name}: permission denied", "Make it readable for you.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISREG(mode):
        return Source(name, file)
    with file:
        return _spooled_stream(file, name, progress)


def _spooled_stream(stream: IO[bytes], name: str, progress: Progress | None) -> Source:
    """A seekable copy of a stream, up to its end or to an interrupt, whichever comes first.

    An interrupt ends ``docker logs -f`` in front of the pipe as well: what came until then is the
    log.
    """
    import signal

    interrupted = False
    # Whole blocks would keep what a slow program has already written from being read.
    read = getattr(stream, "read1", stream.read)

    def blocks() -> Iterator[bytes]:
        nonlocal interrupted
        try:
            while block := read(CHUNK_BYTES):
                yield block
        except KeyboardInterrupt:
            interrupted = True

    before = signal.getsignal(signal.SIGINT)
    # Only the main thread may set it; where interrupts are ignored they stay so.
    ours = _in_main_thread() and before is not signal.SIG_IGN
    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        source = Source(name, _spooled(blocks(), name, progress))
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
    if interrupted:
        if not source.size:
            source.close()
            raise KeyboardInterrupt
        source.partial = "reading was interrupted; what came before was read"
    return source


def _in_main_thread() -> bool:
    import threading

    return threading.current_thread() is threading.main_thread()


def _spooled(blocks: Iterable[bytes], name: str, progress: Progress | None) -> IO[bytes]:
    """A seekable copy of blocks, on disk so that memory does not grow with it."""
    import tempfile

    copy = tempfile.TemporaryFile(prefix="logdiff-")  # noqa: SIM115 - the Source closes it
    size = 0
    try:
        for block in blocks:
            copy.write(block)
            size += len(block)
            if progress:
                progress(size, None)
    except OSError as error:
        copy.close()
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from error
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy


def _decoded(source: Source, progress: Progress | None) -> Source:
    """What a file holds once it is decompressed and is UTF-8; that may take several steps."""
    from logdiff import decoders

    for _ in range(_NESTED_LIMIT):
        decoder = decoders.decoder_of(source.read_at(0, decoders.HEAD_BYTES))
        if decoder is None:
            break
        source = _decoded_once(source, decoder, progress)
    return source


def _decoded_once(source: Source, decoder: Decoder, progress: Progress | None) -> Source:
    """A copy that one decoder makes; of a damaged file, what comes before the damage."""
    from logdiff import decoders

    name = source.name
    partial = source.partial

    def blocks() -> Iterator[bytes]:
        nonlocal partial
        try:
            yield from decoder.blocks(source.file)
        except decoders.Damaged:
            partial = f"the {decoder.name} file is damaged or cut off; what is before was read"

    source.file.seek(0)
    with source.file:
        try:
            made = Source(name, _spooled(blocks(), name, progress))
        except decoders.Unavailable as missing:
            raise InputError(
                f"{name}: is compressed with {decoder.name}",
                f"Install what reads it, pip install '{missing}', or decompress it first: "
                f"{decoder.name} -dc {name} | logdiff diagnose -",
            ) from None
    made.partial = partial
    made.envelopes = (*source.envelopes, decoder.name) if decoder.is_envelope else source.envelopes
    if partial and not made.size:
        made.close()
        raise InputError(
            f"{name}: the {decoder.name} file is damaged or cut off before its first byte"
        )
    return made


def _refuse_what_is_no_text(source: Source) -> None:
    head = source.read_at(0, SNIFF_BYTES)
    if not head:
        raise InputError(
            f"{source.name}: is empty", "Capture it again: docker logs -t NAME > file 2>&1"
        )
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls * 20 > len(head) or head.count(0) * 4 > len(head):
        raise InputError(f"{source.name}: is binary, not a log", "Name the text log.")
