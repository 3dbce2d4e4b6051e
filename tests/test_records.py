"""Prefixes of all engine generations are read, and offsets lead back to the raw line."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logdiff.records import clean, cut, own_words, parse_prefix, strip_escapes, worker_name

V0 = b"INFO 08-07 08:26:54 model_runner.py:1119] Starting to load model /m..."
V1 = b"INFO 11-04 08:47:49 [gpu_model_runner.py:1951] Starting to load model /m..."


def parts(line: bytes) -> tuple[str | None, ...]:
    """Worker, level, time, file, line and message of a line, cut out of its raw bytes."""
    found = clean(line, 0)
    prefix = parse_prefix(found.text)
    spans = [prefix.worker, prefix.time, prefix.file, prefix.line]
    worker, time, file, number = (
        cut(line, found.span(*span)).decode() if span else None for span in spans
    )
    return worker, prefix.level, time, file, number, found.text[prefix.message :].decode()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # vLLM 0.6
        (V0, (None, "INFO", "08-07 08:26:54", "model_runner.py", "1119",
              "Starting to load model /m...")),
        # vLLM 0.8
        (V1, (None, "INFO", "11-04 08:47:49", "gpu_model_runner.py", "1951",
              "Starting to load model /m...")),
        # milliseconds, a path instead of a name
        (b"ERROR 11-04 08:47:49.123 [v1/engine/core.py:5] x",
         (None, "ERROR", "11-04 08:47:49", "v1/engine/core.py", "5", "x")),
        # workers, oldest first
        (b"(RayWorkerWrapper pid=77, ip=10.0.0.2) " + V0,
         ("RayWorkerWrapper pid=77, ip=10.0.0.2", "INFO", "08-07 08:26:54", "model_runner.py",
          "1119", "Starting to load model /m...")),
        (b"\x1b[1;36m(VllmWorkerProcess pid=345)\x1b[0;0m " + V0,
         ("VllmWorkerProcess pid=345", "INFO", "08-07 08:26:54", "model_runner.py", "1119",
          "Starting to load model /m...")),
        (b"(VllmWorker rank=1 pid=8) " + V1,
         ("VllmWorker rank=1 pid=8", "INFO", "11-04 08:47:49", "gpu_model_runner.py", "1951",
          "Starting to load model /m...")),
        (b"(EngineCore_0 pid=219) " + V1,
         ("EngineCore_0 pid=219", "INFO", "11-04 08:47:49", "gpu_model_runner.py", "1951",
          "Starting to load model /m...")),
        (b"\x1b[0;36m(Worker_TP1_EP1 pid=9)\x1b[0;0m INFO 11-04 08:47:49 [a.py:1] x",
         ("Worker_TP1_EP1 pid=9", "INFO", "11-04 08:47:49", "a.py", "1", "x")),
        # torch, of a process that ends with an exception
        (b"[rank3]:   File x", ("rank3", None, None, None, None, "  File x")),
        (b"[rank3]:[W605 12:00:00 ProcessGroupNCCL.cpp:1250] x",
         (None, None, None, None, None, "[rank3]:[W605 12:00:00 ProcessGroupNCCL.cpp:1250] x")),
        # every part coloured (0.11 and later)
        ((b"\x1b[0;36m(EngineCore_DP0 pid=9)\x1b[0;0m \x1b[32mINFO\x1b[0m \x1b[90m11-04 08:47:49"
         b"\x1b[0m \x1b[90m[a.py:1]\x1b[0m x"),
         ("EngineCore_DP0 pid=9", "INFO", "11-04 08:47:49", "a.py", "1", "x")),
        # an escape sequence within a part is no part of it
        (b"(Engine\x1b[0mCore pid=9) INFO 11-04 08:47:49 [a\x1b[1mb.py:1\x1b[0m2] x",
         ("EngineCore pid=9", "INFO", "11-04 08:47:49", "ab.py", "12", "x")),
        # two tags on a line: the last one owns it
        (b"(EngineCore_0 pid=1) (APIServer pid=2) " + V1,
         ("APIServer pid=2", "INFO", "11-04 08:47:49", "gpu_model_runner.py", "1951",
          "Starting to load model /m...")),
        (b"(VllmWorkerProcess pid=1)(VllmWorkerProcess pid=2) torn",
         ("VllmWorkerProcess pid=2", None, None, None, None, "torn")),
        # a tag alone, and text behind a tag
        (b"(EngineCore_0 pid=219) ", ("EngineCore_0 pid=219", None, None, None, None, "")),
        (b'(EngineCore_0 pid=219)   File "a.py", line 1',
         ("EngineCore_0 pid=219", None, None, None, None, '  File "a.py", line 1')),
        # uvicorn
        (b"INFO:     Started server process [1]",
         (None, "INFO", None, None, None, "Started server process [1]")),
        (b"\x1b[32mINFO\x1b[0m:     Started", (None, "INFO", None, None, None, "Started")),
        (b"(APIServer pid=1) ERROR:    Exception in ASGI application",
         ("APIServer pid=1", "ERROR", None, None, None, "Exception in ASGI application")),
        # no prefix
        (b"ValueError: INFO 08-07 08:26:54 a.py:1] x",
         (None, None, None, None, None, "ValueError: INFO 08-07 08:26:54 a.py:1] x")),
        (b"(no process id) INFO", (None, None, None, None, None, "(no process id) INFO")),
        (b"INFORMATION: x", (None, None, None, None, None, "INFORMATION: x")),
        (b"INFO 08-07 08:26 a.py:1] x",
         (None, None, None, None, None, "INFO 08-07 08:26 a.py:1] x")),
        (b"", (None, None, None, None, None, "")),
    ],
)  # fmt: skip
def test_prefix(line: bytes, expected: tuple[str | None, ...]) -> None:
    assert parts(line) == expected


@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"])
def test_levels(level: str) -> None:
    assert parts(f"{level} 08-07 08:26:54 a.py:1] x".encode())[1] == level
    assert parts(f"{level}:     x".encode())[1] == level


BAR = b"Loading shards:  50% Completed | 1/2"
DONE = b"Loading shards: 100% Completed | 2/2"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"plain", b"plain"),
        (b"plain\r", b"plain"),
        (b"plain\r\r", b"plain"),
        (b"\xef\xbb\xbfplain", b"plain"),
        (b"nul\x00s\x00", b"nuls"),
        # progress bars: the last state that is not blank
        (BAR + b"\r" + DONE, DONE),
        (BAR + b"\r" + DONE + b"\r", DONE),
        (b"\r" + BAR + b"\r\r" + DONE + b"\r\r\r", DONE),
        (BAR + b"\r" + b" " * 40, BAR),
        (BAR + b"\r" + b" " * 40 + b"\r", BAR),
        (BAR + b"\r\x1b[K", BAR),
        (BAR + b"\r\x1b[K\r\r\x1b[0m\r", BAR),
        (b"\r" + BAR + b"\r   \r\x00\r", BAR),
        (b"\r\r\r", b""),
        (b" \r \r", b" "),
        (BAR + b"\rERROR: torn", b"ERROR: torn"),
        # escape sequences
        (b"\x1b[1;31mred\x1b[0m", b"red"),
        (b"\x1b[38;5;12mx\x1b[?25h\x1b[2K\x1b[1A", b"x"),
        (b"\x1b]0;title\x07x", b"x"),
        (b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", b"link"),
        (b"\x1b]52;c;Zm9v\x07", b""),
        (b"a\x1bMb\x1b7c", b"ab7c"),
        (b"a\x1b", b"a"),
        (b"a\x1b[", b"a["),
        (b"a\x1b[31", b"a[31"),
        (b"\x1b]unfinished", b"]unfinished"),
        ("█ 日志\x1b[0m".encode(), "█ 日志".encode()),
    ],
)
def test_clean_text(line: bytes, text: bytes) -> None:
    found = clean(line, 0)
    assert found.text == text
    assert b"\x1b" not in found.text
    assert b"\x00" not in found.text


def test_payload_starts_where_the_envelope_ends() -> None:
    found = clean(b"STAMP \xef\xbb\xbfnow\r", 6)
    assert found.text == b"now"
    assert found.span(0, 3) == (9, 12)


PIECES = st.sampled_from(
    [b"\x1b[31m", b"\x1b[0m", b"\x1b]0;t\x07", b"\x1b]8;;u\x1b\\", b"\x1bM", b"\x1b", b"\x00",
     b"\r", b"\xef\xbb\xbf", b"(Worker pid=3) ", b"INFO 05-02 10:00:01 a.py:12] ", b"INFO:     ",
     b"text", b" ", "日".encode(), b"\xff", b"[", b"12"]
)  # fmt: skip
RAW = st.lists(
    PIECES | st.binary(max_size=4).map(lambda b: b.replace(b"\n", b"")), max_size=12
).map(b"".join)


@given(RAW, st.data())
@example(b"a\x1b[0mb", None)
def test_span_holds_what_the_clean_text_holds(line: bytes, draw: st.DataObject | None) -> None:
    found = clean(line, 0)
    length = len(found.text)
    spans = [(a, b) for a in range(length + 1) for b in range(a, length + 1)]
    chosen = spans if draw is None or length < 8 else [draw.draw(st.sampled_from(spans))]
    for start, end in chosen:
        assert cut(line, found.span(start, end)) == found.text[start:end]


@given(RAW)
def test_clean_text_is_the_last_state_that_is_not_blank(line: bytes) -> None:
    states = [strip_escapes(s) for s in line.removeprefix(b"\xef\xbb\xbf").split(b"\r")]
    text = clean(line, 0).text
    full = [state for state in states if state.strip()]
    assert text == full[-1] if full else not text.strip()


@given(RAW, st.integers(0, 9))
def test_digits_do_not_move_offsets(line: bytes, digit: int) -> None:
    other = re.sub(rb"\d", str(digit).encode(), line)
    one, two = clean(line, 0), clean(other, 0)
    assert (one.start, one.offsets, len(one.text)) == (two.start, two.offsets, len(two.text))
    assert parse_prefix(one.text) == parse_prefix(two.text)


@given(RAW)
def test_parts_of_a_prefix_are_in_order(line: bytes) -> None:
    text = clean(line, 0).text
    prefix = parse_prefix(text)
    spans = [s for s in (prefix.worker, prefix.time, prefix.file, prefix.line) if s]
    flat = [offset for span in spans for offset in span]
    assert flat == sorted(flat)
    assert all(offset <= prefix.message <= len(text) for offset in flat)


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        (b"VllmWorkerProcess pid=345", "VllmWorkerProcess pid=345"),
        (b"\x1b[1mVllmWorkerProcess pid=345\x1b[0m", "VllmWorkerProcess pid=345"),
        (b"Worker_TP1 pid=77", "Worker_TP1"),
        (b"Worker_TP1_EP1 pid=77", "Worker_TP1_EP1"),
        (b"VllmWorker rank=1 pid=8", "VllmWorker rank=1"),
        (b"VllmWorker-2 pid=8", "VllmWorker-2"),
        (b"EngineCore_0 pid=219", "EngineCore_0"),
        (b"EngineCore_DP1 pid=219", "EngineCore_DP1"),
        (b"EngineCore pid=9", "EngineCore"),
        (b"APIServer pid=1", "APIServer"),
        (b"RayWorkerWrapper pid=7, ip=10.0.0.2", "RayWorkerWrapper pid=7, ip=10.0.0.2"),
        (b"RayWorkerWrapper_1 pid=7", "RayWorkerWrapper_1"),
    ],
)
def test_worker_name(tag: bytes, name: str) -> None:
    assert worker_name(tag) == name


@pytest.mark.parametrize(
    ("message", "own"),
    [
        (b"Received request cmpl-1: prompt: 'CUDA out of memory', params: x",
         b"Received request cmpl-1: prompt: "),
        (b"Generated response a-1: output: 'NaN', tokens", b"Generated response a-1: output: "),
        (b"Received signal 15", b"Received signal 15"),
        (b"CUDA out of memory. prompt: x", b"CUDA out of memory. prompt: x"),
    ],
)  # fmt: skip
def test_words_of_a_client_are_not_the_engines(message: bytes, own: bytes) -> None:
    assert own_words(message) == own
