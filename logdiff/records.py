"""The prefix that an engine's logger puts before a message: worker, level, time, file and line.

Sources of the format: vLLM's ``vllm/logger.py`` and ``vllm/logging_utils/formatter.py``
(``INFO 08-07 08:26:54 file.py:530] text`` up to 0.7, ``[file.py:530]`` from 0.8), its process
tags (``(VllmWorkerProcess pid=345)``, ``(EngineCore_0 pid=…)``), and uvicorn's ``INFO:     ``.

Everything here works on *shapes*, lines with every digit turned to ``0``: offsets found on a
shape hold for all its lines.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from logdiff.decoders import UTF8_MARK
from logdiff.patterns import compiled
from logdiff.redact import redact
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Span = tuple[int, int]

_ESCAPE_BYTE = 0x1B
"""As a number: to look for a byte in bytes takes ten times as long where it is bytes, too."""
_ESCAPE = compiled(
    rb"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    rb"|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # OSC: titles, links, clipboard
    rb"|\x1b[@-Z\\^_]|[\x1b\x00]"  # other escapes; strays
)
_WORKER_LIMIT = 1_000
"""Workers whose names are remembered."""
_TAGS = compiled(rb"(?:\([A-Za-z][^()\n]{0,80}?\bpid=\d+[^()\n]{0,80}\) ?)+")
_TAG = compiled(rb"\(([^()]+)\) ?")
_RANK = compiled(rb"\[(rank\d+)\]:(?: |$)")
"""What torch puts before each line of an exception that ends a process of several."""
_ENGINE = compiled(
    rb" ?(DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? "
    rb"\[?([\w./-]{1,200}):(\d+)\] ?"
)
_UVICORN = compiled(rb"(DEBUG|INFO|WARNING|ERROR|CRITICAL): {1,9}")
_RAISE = compiled(rb"\s+raise\b")
_RANKED = compiled(rb"(?:[TPDE]+P\d|rank|DP\d|[_-]\d+$)")
_QUOTED_TEXT = compiled(
    rb"(?:Received request|Generated response)\b.{0,300}?\b(?:prompt|output): ", re.DOTALL
)
"""What stands behind it was written by a client or a model, and may look like anything."""


class Clean(NamedTuple):
    """A payload without escape sequences, and where its bytes stood in the line."""

    text: bytes
    start: int
    offsets: list[int] | None
    """Line offset of each byte of ``text``; ``None`` = ``start`` + index."""

    def span(self, start: int, end: int) -> Span:
        """Offsets in the line of ``text[start:end]``."""
        if self.offsets is None:
            return self.start + start, self.start + end
        if start == end:
            return 0, 0
        return self.offsets[start], self.offsets[end - 1] + 1


class Prefix(NamedTuple):
    """The parts of a logger's prefix; spans are offsets into the clean text."""

    worker: Span | None
    level: str | None
    time: Span | None
    file: Span | None
    line: Span | None
    message: int
    """Where the message starts."""


NO_PREFIX = Prefix(None, None, None, None, None, 0)


def clean(line: bytes, payload: int, cuts: Sequence[Span] = ()) -> Clean:
    """Drop the line end, earlier states of a progress bar, escape sequences and NUL bytes.

    Args:
        line: the whole line.
        payload: where what the program wrote begins.
        cuts: what a transport put in the midst of that.
    """
    end = len(line)
    while end > payload and line[end - 1] == 13:
        end -= 1
    start = payload
    if line.startswith(UTF8_MARK, start):
        start += len(UTF8_MARK)
    carriage_return = line.rfind(b"\r", start, end)
    while carriage_return >= 0:
        if strip_escapes(line[carriage_return + 1 : end]).strip():
            start = carriage_return + 1
            break
        # A bar that wiped itself out: its last state that is not blank stays.
        end = carriage_return
        carriage_return = line.rfind(b"\r", start, end)
    text = line[start:end]
    if not cuts and _ESCAPE_BYTE not in text and 0 not in text:
        return Clean(text, start, None)
    escapes = [(start + match.start(), start + match.end()) for match in _ESCAPE.finditer(text)]
    return _without(line, start, end, sorted([*escapes, *cuts]))


def _without(line: bytes, start: int, end: int, dropped: Sequence[Span]) -> Clean:
    """A part of a line without some spans, in order."""
    kept: list[bytes] = []
    offsets: list[int] = []
    for first, last in (*dropped, (end, end)):
        if first > start:
            kept.append(line[start : min(first, end)])
            offsets.extend(range(start, min(first, end)))
        start = max(start, last)
    return Clean(b"".join(kept), offsets[0] if offsets else start, offsets)


def strip_escapes(text: bytes) -> bytes:
    """The text without escape sequences and NUL bytes."""
    return _ESCAPE.sub(b"", text) if _ESCAPE_BYTE in text or 0 in text else text


def cut(line: bytes, span: Span | None) -> bytes:
    """What a span of a line holds, without escape sequences and NUL bytes; empty for no span."""
    return strip_escapes(line[slice(*span)]) if span else b""


def parse_prefix(text: bytes) -> Prefix:
    """Read the prefix of a clean line. Of several worker tags the last one owns the line."""
    position = 0
    worker = None
    if text.startswith(b"("):
        tags = _TAGS.match(text)
        if tags:
            position = tags.end()
            *_, last = _TAG.finditer(text, 0, position)
            worker = last.span(1)
    elif rank := _RANK.match(text):
        return Prefix(rank.span(1), None, None, None, None, rank.end())
    engine = _ENGINE.match(text, position)
    if engine:
        level = engine[1].decode()
        return Prefix(worker, level, engine.span(2), engine.span(3), engine.span(4), engine.end())
    uvicorn = _UVICORN.match(text, position)
    if uvicorn:
        return Prefix(worker, uvicorn[1].decode(), None, None, None, uvicorn.end())
    return Prefix(worker, None, None, None, None, position)


@lru_cache(maxsize=_WORKER_LIMIT)
def worker_name(tag: bytes) -> str:
    """The name of a worker from the inside of its tag.

    A tag that numbers its worker (``Worker_TP1 pid=77``) or names a single process
    (``EngineCore pid=9``) is that name; several processes share ``VllmWorkerProcess``, so there
    the process id stays.
    """
    name, _, _ = strip_escapes(tag).partition(b" pid=")
    if name == b"VllmWorkerProcess" or (b"Ray" in name and not _RANKED.search(name)):
        name = strip_escapes(tag)
    return redact(name.decode("utf-8", "replace"))


def own_words(message: bytes) -> bytes:
    """A message without the text of a client or a model that it quotes.

    Nor is the source code that a traceback shows a message, whatever it would say.
    """
    if _RAISE.match(message):
        return b""
    quoted = _QUOTED_TEXT.match(message)
    return message[: quoted.end()] if quoted else message
