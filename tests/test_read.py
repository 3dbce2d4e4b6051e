"""Whatever the user names becomes bounded chunks of whole lines, or one sentence why not."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import signal
import sys
import threading
import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from logdiff import read
from logdiff.errors import InputError, LogdiffError, UsageError
from logdiff.model import Mark
from logdiff.read import Address, Chunk, Source, open_source, parse_address

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOG = b"".join(b"INFO 05-02 10:00:%02d a.py:%d] line\n" % (n % 60, n) for n in range(2_000))


def content(path: Path | str) -> bytes:
    source = open_source(str(path))
    try:
        return b"".join(chunk.data for chunk in source.chunks())
    finally:
        source.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_bytes(LOG)
    return path


# What a path means


def test_number_behind_a_hash_is_a_section(tmp_path: Path) -> None:
    path = str(tmp_path / "a.log")
    assert parse_address(path) == Address(path, None)
    assert parse_address(f"{path}#2") == Address(path, 2)
    assert parse_address("-#3") == Address("-", 3)


def test_file_of_the_literal_name_wins(tmp_path: Path) -> None:
    literal = tmp_path / "a.log#2"
    literal.write_bytes(LOG)
    assert parse_address(str(literal)) == Address(str(literal), None)
    assert parse_address(f"{literal}#1") == Address(str(literal), 1)


@pytest.mark.parametrize("text", ["a.log#", "a.log#x", "a.log#-1", "#2", "a.log#²", "a#1b"])
def test_what_is_no_number_belongs_to_the_name(text: str) -> None:
    assert parse_address(text) == Address(text, None)


@pytest.mark.parametrize("text", ["a.log#0", "a.log#000"])
def test_section_zero_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="counted from 1"):
        parse_address(text)


# What is opened


def test_file_is_read_as_it_is(log: Path) -> None:
    assert content(log) == LOG


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG)))
    source = open_source("-")
    assert source.name == "<stdin>"
    assert source.read_at(0, 4) == LOG[:4]  # seekable
    assert b"".join(chunk.data for chunk in source.chunks()) == LOG
    source.close()


def test_compressed_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(LOG))))
    assert content("-") == LOG


def test_closed_standard_input_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="<stdin>: is closed"):
        open_source("-")


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in the file system")
def test_pipe_is_read_and_its_end_closed(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(LOG,))
    writer.start()
    assert content(path) == LOG  # a handle left open is a ResourceWarning, which is an error
    writer.join()


def test_gzip_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"  # known by its content, not by its name
    path.write_bytes(gzip.compress(LOG[:500]) + gzip.compress(LOG[500:]))
    assert content(path) == LOG


@pytest.mark.parametrize("lines", [5, 2_000, 100_000])
def test_gzip_file_that_is_cut_off_gives_what_is_before(tmp_path: Path, lines: int) -> None:
    text = b"".join(os.urandom(8).hex().encode() + b"\n" for _ in range(lines))
    compressed = gzip.compress(text)
    path = tmp_path / "a.log.gz"
    path.write_bytes(compressed[: len(compressed) * 3 // 4])
    source = open_source(str(path))
    assert source.partial
    got = b"".join(chunk.data for chunk in source.chunks())
    source.close()
    assert text.startswith(got)
    assert len(got) > len(text) // 2


@pytest.mark.parametrize("tail", [b"garbage", b"\x1f\x8b\x08garbage"])
def test_garbage_behind_a_gzip_file_makes_it_partial(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(LOG) + tail)
    source = open_source(str(path))
    assert source.partial
    assert source.read_at(0, len(LOG) + 1) == LOG
    source.close()


def test_gzip_file_damaged_inside_gives_what_is_before(tmp_path: Path) -> None:
    text = os.urandom(2_000_000).hex().encode() + b"\n"
    compressed = bytearray(gzip.compress(text))
    middle = len(compressed) // 2
    compressed[middle : middle + 200] = b"\xff" * 200
    path = tmp_path / "a.gz"
    path.write_bytes(compressed)
    source = open_source(str(path))
    assert source.partial
    assert source.size > 0
    source.close()


@pytest.mark.parametrize("length", [3, 8, 10])
def test_gzip_file_without_a_first_byte_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(LOG)[:length])
    with pytest.raises(InputError, match="damaged or cut off before its first byte"):
        open_source(str(path))


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


CODED = {
    "bzip2": bz2.compress(LOG),
    "several bzip2 streams": bz2.compress(LOG[:500]) + bz2.compress(LOG[500:]),
    "xz": lzma.compress(LOG),
    "zstd": zstd(LOG),
    "several zstd frames": zstd(LOG[:500]) + zstd(LOG[500:]),
    "gzip in gzip": gzip.compress(gzip.compress(LOG)),
    "UTF-16": LOG.decode().encode("utf-16"),
    "UTF-16, big-endian": b"\xfe\xff" + LOG.decode().encode("utf-16-be"),
    "UTF-16 without a mark": LOG.decode().encode("utf-16-le"),
    "UTF-16, big-endian, without a mark": LOG.decode().encode("utf-16-be"),
    "UTF-16 in xz": lzma.compress(LOG.decode().encode("utf-16")),
}


@pytest.mark.parametrize("name", CODED)
def test_what_is_coded_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(CODED[name])
    assert content(path) == LOG


@pytest.mark.parametrize("kind", ["bzip2", "xz", "zstd"])
def test_what_comes_before_the_damage_is_read(tmp_path: Path, kind: str) -> None:
    text = b"".join(os.urandom(8).hex().encode() + b"\n" for _ in range(200_000))
    if kind == "zstd":
        compressed = zstd(text)
    else:
        compressed = bz2.compress(text) if kind == "bzip2" else lzma.compress(text)
    path = tmp_path / "a.log"
    path.write_bytes(compressed[: len(compressed) * 3 // 4])
    source = open_source(str(path))
    assert source.partial == f"the {kind} file is damaged or cut off; what is before was read"
    got = source.read_at(0, len(text))
    source.close()
    assert text.startswith(got)
    assert len(got) > len(text) // 4
    path.write_bytes(compressed[:20])
    with pytest.raises(InputError, match=f"the {kind} file is damaged or cut off before its first"):
        open_source(str(path))


def test_a_decoder_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "a.log"
    path.write_bytes(zstd(LOG))
    with pytest.raises(InputError, match="is compressed with zstd") as caught:
        open_source(str(path))
    assert "pip install 'logdiff[zstd]'" in str(caught.value.hint)
    assert f"zstd -dc {path}" in str(caught.value.hint)


def frame(stream: int, text: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(text).to_bytes(4, "big") + text


def test_frames_of_two_streams_become_lines_that_neither_tears(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    parts = [frame(1, b"one "), frame(2, b"error\n"), frame(1, b"two\nthree"), frame(2, b"end")]
    path.write_bytes(b"".join(parts))
    assert content(path) == b"error\none two\nthree\nend"
    path.write_bytes(b"".join([*parts[:2], b"\1\0\0\0\0"]))
    source = open_source(str(path))
    assert source.partial
    assert source.envelopes == ("docker-api",)
    assert source.read_at(0, 99) == b"error\none "
    source.close()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent to a process")
@pytest.mark.parametrize("before", [b"INFO:     up\nhalf a line", b""])
def test_an_interrupt_ends_standard_input(monkeypatch: pytest.MonkeyPatch, before: bytes) -> None:
    class Following(io.BytesIO):
        """Gives what there is, and waits; then the user has enough."""

        def read1(self, size: int | None = -1, /) -> bytes:
            block = super().read1(-1 if size is None else size)
            if not block:
                os.kill(os.getpid(), signal.SIGINT)
            return block

    stdin = io.TextIOWrapper(Following(before))
    monkeypatch.setattr(sys, "stdin", stdin)
    if before:
        source = open_source("-")
        assert source.partial == "reading was interrupted; what came before was read"
        assert source.read_at(0, 99) == before
        source.close()
    else:
        with pytest.raises(KeyboardInterrupt):
            open_source("-")


def test_progress_of_a_stream_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "CHUNK_BYTES", 1_000)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG)))
    told: list[tuple[int, int | None]] = []
    open_source("-", lambda done, total: told.append((done, total))).close()
    assert told[0] == (1_000, None)
    assert told[-1] == (len(LOG), None)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (gzip.compress(b""), "is empty"),
        ("".encode("utf-16"), "is empty"),
        (gzip.compress(b"\x7fELF" + bytes(range(32)) * 8), "is binary"),
        (b"\x7fELF" + bytes(range(32)) * 8, "is binary"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(data)
    with pytest.raises(InputError, match=says) as caught:
        open_source(str(path))
    assert str(caught.value.message).startswith(str(path))


@pytest.mark.parametrize(
    "data",
    [b"\x1b[31mred\x1b[0m\tx\x08\x0c\r\n", "日志\n".encode(), b"a\x00b\n" * 9, b"\n", b"\xff"],
)
def test_what_terminals_print_is_text(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(data)
    assert content(path) == data


@pytest.mark.parametrize("name", ["missing.log", "nul\x00byte", ""])
def test_missing_file_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        open_source(str(tmp_path / "none" / name) if name else "")


def test_directory_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        open_source(str(tmp_path))


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (PermissionError(13, "Permission denied"), InputError, "permission denied"),
        (OSError(5, "Input/output error"), UsageError, "Input/output error"),
    ],
)
def test_unreadable_file_is_said(
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: OSError,
    kind: type[LogdiffError],
    says: str,
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(read, "open", refuse, raising=False)
    with pytest.raises(kind, match=says):
        open_source(str(log))


class Failing(io.BytesIO):
    def read1(self, *_: object) -> bytes:
        raise OSError(5, "Input/output error")


def test_stream_that_fails_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": Failing()})())
    with pytest.raises(InputError, match="<stdin>: cannot be read: Input/output error"):
        open_source("-")
    stdin.close()


# Chunks


@contextmanager
def limits(chunk: int, line: int) -> Iterator[None]:
    """Small chunks and lines; a fixture would hold for all examples of a property."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "CHUNK_BYTES", chunk)
        patch.setattr(read, "LINE_LIMIT", line)
        yield


def rebuilt(source: Source, data: bytes) -> bytes:
    """The file as its chunks tell it; what they left out is taken from the file."""
    whole = b""
    line = 1
    for chunk in source.chunks():
        assert chunk.offset == len(whole)
        assert chunk.line == line
        assert chunk.data
        whole += chunk.data
        if chunk.dropped:
            assert b"\n" not in chunk.data
            rest = data[len(whole) : len(whole) + chunk.dropped]
            assert len(rest) == chunk.dropped
            assert b"\n" not in rest
            whole += rest + data[len(whole) + chunk.dropped :][:1]
            line += 1
        else:
            line += chunk.data.count(b"\n")
    return whole


LINES = st.lists(st.binary(max_size=24).map(lambda b: b.replace(b"\n", b"")), max_size=20)
TEXTS = st.builds(lambda lines, end: b"\n".join(lines) + end, LINES, st.sampled_from([b"", b"\n"]))


@given(TEXTS, st.integers(1, 12), st.integers(1, 12))
def test_chunks_are_the_file(data: bytes, size: int, limit: int) -> None:
    source = Source("test", io.BytesIO(data))
    with limits(size, limit):
        assert rebuilt(source, data) == data
        for chunk in source.chunks():
            longest = max(map(len, chunk.data.split(b"\n")))
            assert longest <= limit + 2 * size  # held a little longer than it is matched


@given(TEXTS, st.integers(1, 12), st.integers(1, 12), st.data())
def test_chunks_from_a_line_on_are_the_rest(
    data: bytes, size: int, default: int, draw: st.DataObject
) -> None:
    starts = [0, *(i + 1 for i, byte in enumerate(data) if byte == 10)]
    start = draw.draw(st.sampled_from(starts))
    source = Source("test", io.BytesIO(data))
    line = starts.index(start) + 1
    with limits(default, 1 << 16):
        chunks = list(source.chunks(start, line, size))
    assert b"".join(chunk.data for chunk in chunks) == data[start:]
    assert all(data[: chunk.offset].count(b"\n") + 1 == chunk.line for chunk in chunks)


@given(TEXTS, st.integers(1, 12), st.integers(1, 12), st.integers(0, 500))
def test_other_reads_between_chunks_change_nothing(
    data: bytes, size: int, limit: int, where: int
) -> None:
    source = Source("test", io.BytesIO(data))
    disturbed: list[Chunk] = []
    with limits(size, limit):
        alone = list(Source("test", io.BytesIO(data)).chunks())
        other = source.chunks()
        for chunk in source.chunks():
            disturbed.append(chunk)
            source.read_at(where, 3)
            source.line_at(Mark(1, where, 5))
            next(other, None)
    assert disturbed == alone


@pytest.mark.parametrize(("length", "dropped"), [(9, 0), (10, 0), (11, 1), (19, 9), (500, 490)])
@pytest.mark.parametrize("end", [b"", b"\n", b"\nnext\n"])
def test_overlong_line_says_what_was_left_out(
    monkeypatch: pytest.MonkeyPatch, length: int, dropped: int, end: bytes
) -> None:
    monkeypatch.setattr(read, "CHUNK_BYTES", 4)
    monkeypatch.setattr(read, "LINE_LIMIT", 10)
    chunks = list(Source("test", io.BytesIO(b"x" * length + end)).chunks())
    first = chunks[0]
    if first.dropped:
        assert (len(first.data), first.dropped) == (10, dropped)
    else:  # its end was in reach, so the scanner cuts it
        assert first.data.split(b"\n")[0] == b"x" * length
        assert length <= 10 + 2 * 4
    if end == b"\nnext\n":
        last = chunks[-1]
        assert last.data.endswith(b"next\n")
        assert last.line + last.data.count(b"\n") - 1 == 2


class Endless(io.RawIOBase):
    """One line of many bytes that are made when they are read."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.position = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self.position = self.size + offset if whence == os.SEEK_END else offset
        return self.position

    def read(self, size: int = -1, /) -> bytes:
        count = max(0, min(size, self.size - self.position))
        self.position += count
        return b"x" * count


def test_line_of_fifty_megabytes_is_never_held() -> None:
    size = 50_000_000
    source = Source("test", Endless(size))  # type: ignore[arg-type]
    tracemalloc.start()
    try:
        chunks = [(len(chunk.data), chunk.dropped) for chunk in source.chunks()]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert chunks == [(read.LINE_LIMIT, size - read.LINE_LIMIT)]
    assert peak < 5 * read.CHUNK_BYTES


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        (Mark(1, 0, 5), b"first"),
        (Mark(2, 6, 7), b"second"),
        (Mark(3, 14, 5), b"third"),
        (Mark(3, 14, 900), b"third"),
        (Mark(4, 900, 5), b""),
    ],
)
def test_line_is_found_again_by_its_mark(mark: Mark, expected: bytes) -> None:
    source = Source("test", io.BytesIO(b"first\nsecond\r\nthird"))
    assert source.line_at(mark) == expected
    assert source.line_at(mark, 3) == expected[:3]
