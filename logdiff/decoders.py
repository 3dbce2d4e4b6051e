"""What the bytes of a file are coded as, before they are lines of text.

Known are gzip, bzip2, xz, zstd, UTF-16 and the frames in which Docker's API sends two streams.
They may be nested. Each decoder yields blocks of bytes and raises :class:`Damaged` where its input
ends or breaks before its end; what it yielded before that counts.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BLOCK_BYTES = 1 << 20
HEAD_BYTES = 1 << 12
"""What :func:`decoder_of` wants to see of a file."""
_FRAME_HEADER = 8
_FRAME_LIMIT = 1 << 24
"""Bytes of one frame, at most; the daemon sends 16 KiB and a time."""
_LEAST_UTF16 = 16
"""Bytes that tell UTF-16 without a mark from text with a few NUL bytes."""
UTF8_MARK = b"\xef\xbb\xbf"


class Damaged(Exception):
    """The input ends, or breaks, before its end."""


class Unavailable(Exception):
    """What decodes this is not installed; the text names it."""


class Decoder(NamedTuple):
    """One way in which bytes are coded."""

    name: str
    """As in messages."""
    blocks: Callable[[IO[bytes]], Iterator[bytes]]
    """What a file holds, decoded."""
    is_envelope: bool = False
    """Whether a transport of log lines did this."""


def decoder_of(head: bytes) -> Decoder | None:
    """The decoder for a file that begins with ``head``; ``None`` = it is as it should be."""
    for magic, decoder in _BY_MAGIC:
        if head.startswith(magic):
            return decoder
    if b"\0" not in head:
        return None
    if _are_frames(head):
        return Decoder("docker-api", _unframed, is_envelope=True)
    encoding = _unmarked_utf16(head)
    return Decoder("UTF-16", lambda file: _transcoded(file, encoding)) if encoding else None


def _gzip(file: IO[bytes]) -> Iterator[bytes]:
    import gzip
    import zlib

    with gzip.GzipFile(fileobj=file) as stream:
        yield from _read(stream.read1, (EOFError, gzip.BadGzipFile, zlib.error))


def _bzip2(file: IO[bytes]) -> Iterator[bytes]:
    import bz2

    with bz2.BZ2File(file) as stream:
        yield from _read(stream.read1, (EOFError, OSError))


def _xz(file: IO[bytes]) -> Iterator[bytes]:
    import lzma

    with lzma.LZMAFile(file) as stream:
        yield from _read(stream.read1, (EOFError, lzma.LZMAError))


def _read(read1: Callable[[int], bytes], damages: tuple[type[Exception], ...]) -> Iterator[bytes]:
    # read() would lose what it has gathered when it meets the damage, read1() does not.
    try:
        while block := read1(BLOCK_BYTES):
            yield block
    except damages as error:
        raise Damaged from error


def _zstd(file: IO[bytes]) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise Unavailable("logdiff[zstd]") from None

    # One object a frame: only it tells whether the frame is complete.
    frame = None
    try:
        while block := file.read(BLOCK_BYTES):
            while block:
                frame = frame or zstandard.ZstdDecompressor().decompressobj()
                yield frame.decompress(block)
                block = frame.unused_data if frame.eof else b""
                frame = None if frame.eof else frame
    except zstandard.ZstdError as error:
        raise Damaged from error
    if frame:
        raise Damaged


def _utf16(file: IO[bytes]) -> Iterator[bytes]:
    return _transcoded(file, "utf-16")


def _transcoded(file: IO[bytes], encoding: str) -> Iterator[bytes]:
    from codecs import getincrementaldecoder

    decoder = getincrementaldecoder(encoding)("replace")
    while block := file.read(BLOCK_BYTES):
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _unmarked_utf16(head: bytes) -> str | None:
    """UTF-16 of mostly Latin text has a NUL byte in almost every pair."""
    half = len(head) // 2
    if len(head) < _LEAST_UTF16:
        return None
    if head[1::2].count(0) * 10 > half * 6 and not head[::2].count(0):
        return "utf-16-le"
    if head[::2].count(0) * 10 > half * 6 and not head[1::2].count(0):
        return "utf-16-be"
    return None


def _are_frames(head: bytes) -> bool:
    """Whether a file begins with a frame behind which another one stands, or nothing."""
    position = 0
    for _ in range(2):
        header = head[position : position + _FRAME_HEADER]
        if not header:
            return position > 0
        length = int.from_bytes(header[4:], "big")
        if header[0] > 2 or header[1:4] != bytes(3) or not 0 < length <= _FRAME_LIMIT:
            return False
        position += _FRAME_HEADER + length
        if position > len(head):
            # What follows is not in sight: the text of the frame must do.
            return head.count(0) * 10 < len(head)
    return True


def _unframed(file: IO[bytes]) -> Iterator[bytes]:
    """The text of frames, a line of one stream never torn by the other.

    Format: https://docs.docker.com/reference/api/engine/ (attach): stream (1 = output, 2 =
    errors), three zeros, the length as 32 bits, big-endian.
    """
    unfinished: dict[int, bytes] = {}
    while header := file.read(_FRAME_HEADER):
        length = int.from_bytes(header[4:], "big")
        if len(header) < _FRAME_HEADER or header[0] > 2 or length > _FRAME_LIMIT:
            yield from unfinished.values()
            raise Damaged
        text = unfinished.pop(header[0], b"") + file.read(length)
        whole = text.rfind(b"\n") + 1 or (len(text) if len(text) > BLOCK_BYTES else 0)
        yield text[:whole]
        if text[whole:]:
            unfinished[header[0]] = text[whole:]
    yield b"\n".join(unfinished.values())


_BY_MAGIC = (
    (b"\x1f\x8b", Decoder("gzip", _gzip)),
    (b"BZh", Decoder("bzip2", _bzip2)),
    (b"\xfd7zXZ\x00", Decoder("xz", _xz)),
    (b"\x28\xb5\x2f\xfd", Decoder("zstd", _zstd)),
    (b"\xff\xfe", Decoder("UTF-16", _utf16)),
    (b"\xfe\xff", Decoder("UTF-16", _utf16)),
)
