"""Open what the user named and hand it out as bounded chunks of whole lines.

A source is always seekable: standard input, pipes and compressed files are spooled to a
temporary file first, because evidence is quoted in a second pass.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import IO, TYPE_CHECKING, NamedTuple

from logdiff.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from logdiff.model import Mark

CHUNK_BYTES = 1 << 20
LINE_LIMIT = 1 << 16
"""Bytes of a line that are matched; what is past it is counted and left out."""
SNIFF_BYTES = 1 << 16

_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_TEXT_CONTROLS = frozenset(b"\t\n\r\x1b\x08\x0c\x07\x00")


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


def open_source(path: str) -> Source:
    """Open a path, or ``-`` for standard input.

    Raises:
        UsageError: there is no such path, or it is a directory.
        InputError: it cannot be read, is empty, binary or in an encoding that is not read.
    """
    file, name = _open(path)
    try:
        source = _decompressed(file, name)
        file = source.file
        _refuse_what_is_no_text(source)
    except OSError as error:
        file.close()
        raise InputError(f"{name}: {error.strerror or error}") from error
    except BaseException:
        file.close()
        raise
    return source


def _open(path: str) -> tuple[IO[bytes], str]:
    if path == "-":
        if sys.stdin is None:
            raise InputError("<stdin>: is closed", "Name a file, or pipe the log in.")
        return _spooled(sys.stdin.buffer.read, "<stdin>"), "<stdin>"
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
        return file, name
    with file:
        return _spooled(file.read, name), name


def _spooled(read: Callable[[int], bytes], name: str) -> IO[bytes]:
    """A seekable copy of a stream, on disk so that memory does not grow with it."""
    import tempfile

    copy = tempfile.TemporaryFile(prefix="logdiff-")  # noqa: SIM115 - the Source closes it
    try:
        while block := read(CHUNK_BYTES):
            copy.write(block)
    except OSError as error:
        copy.close()
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from error
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy


class PartialSource(Source):
    """A source that ended before it should have; everything up to there was read."""


def _decompressed(file: IO[bytes], name: str) -> Source:
    file.seek(0)
    head = file.read(6)
    file.seek(0)
    kind = next((kind for magic, kind in _COMPRESSED.items() if head.startswith(magic)), None)
    if kind is None:
        return Source(name, file)
    if kind != "gzip":
        raise InputError(
            f"{name}: is compressed with {kind}, which is not read yet",
            f"Decompress it first, for example: {kind} -dc {name} | logdiff diagnose -",
        )
    return _gunzipped(file, name)


def _gunzipped(file: IO[bytes], name: str) -> Source:
    """What a gzip file holds; of one that is cut off or damaged, what comes before that."""
    import gzip
    import zlib

    whole = True

    def read(size: int) -> bytes:
        nonlocal whole
        try:
            # read() would lose what it has gathered when it meets the damage, read1() does not.
            return stream.read1(size)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            whole = False
            return b""

    with file, gzip.GzipFile(fileobj=file) as stream:
        copy = _spooled(read, name)
    source = (Source if whole else PartialSource)(name, copy)
    if not whole and not source.size:
        source.close()
        raise InputError(f"{name}: the gzip file is damaged or cut off before its first byte")
    return source


def _refuse_what_is_no_text(source: Source) -> None:
    head = source.read_at(0, SNIFF_BYTES)
    if not head:
        raise InputError(
            f"{source.name}: is empty", "Capture it again: docker logs -t NAME > file 2>&1"
        )
    if head.startswith(_UTF16_MARKS):
        raise InputError(
            f"{source.name}: is UTF-16, which is not read yet",
            f"Convert it first: iconv -f UTF-16 -t UTF-8 {source.name}",
        )
    controls = sum(1 for byte in head if byte < 32 and byte not in _TEXT_CONTROLS)
    if controls * 20 > len(head) or head.count(0) * 4 > len(head):
        raise InputError(f"{source.name}: is binary, not a log", "Name the text log.")
