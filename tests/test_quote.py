"""Lines of evidence as a report shows them."""

from __future__ import annotations

from io import BytesIO

import pytest

from logdiff.model import Evidence, Log, Mark, Run
from logdiff.quote import LONGEST_QUOTE, quote
from logdiff.read import Source
from tests.engine.samples import make_run


def quoted(line: bytes, focus: str = "") -> str:
    run = make_run("bad", {})
    data = b"first\n" + line + b"\nlast\n"
    run.log, run.source = Log("some/a.log", "a.log"), Source("a.log", BytesIO(data))
    place = quote(run, Evidence(Mark(2, 6, len(line)), 3, ("driver",), focus))
    assert place[:5] == ("bad", "some/a.log", 2, 3, ("driver",))
    return place.text


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            b"2026-05-02T10:00:00Z INFO a.py:1] as it is",
            "2026-05-02T10:00:00Z INFO a.py:1] as it is",
        ),
        (b"with a line end\r", "with a line end"),
        (b"\x1b[1;36m(Worker pid=1)\x1b[0;0m coloured", "(Worker pid=1) coloured"),
        (b"a link \x1b]8;;http://x\x07here\x1b]8;;\x07", "a link here"),
        (b"nul\x00byte", "nulbyte"),
        ("日志 ✓".encode(), "日志 ✓"),
        (b"broken \xff\xfe", "broken \ufffd\ufffd"),
        (b"api_key='not-a-real-secret'", "api_key='***'"),
        (b"\x1b[31mapi_key\x1b[0m=not-a-real-secret", "api_key=***"),
        (b"", ""),
    ],
)
def test_quotes(line: bytes, text: str) -> None:
    assert quoted(line).rstrip() == text


def test_a_long_line_is_cut_and_says_so() -> None:
    text = quoted(b"x" * (LONGEST_QUOTE + 10))
    assert text.startswith("x" * LONGEST_QUOTE + " ")
    assert "10 characters left out" in text


def test_a_long_line_is_cut_round_what_matters() -> None:
    line = b"x" * 9000 + b" max_num_seqs=4 " + b"y" * 9000
    text = quoted(line, "max_num_seqs")
    assert " max_num_seqs=4 " in text
    assert len(text) < LONGEST_QUOTE + 100
    assert text.startswith("[6953 characters left out] … x")
    assert text.endswith("y … [6967 characters left out]")


def test_a_secret_at_the_cut_is_not_laid_open() -> None:
    line = b"x" * (LONGEST_QUOTE - 12) + b" api_key=not-a-real-secret-0001 and more" + b"y" * 100
    text = quoted(line)
    assert "not-a" not in text


def test_a_run_is_named_by_its_role() -> None:
    run = make_run("good", {})
    assert isinstance(run, Run)
    run.source = Source("a", BytesIO(b"x\n"))
    assert quote(run, Evidence(Mark(1, 0, 1), 1, ())).run == "good"
