"""One match a shape gives what a match on every line gives, and the few exceptions are kept."""

from __future__ import annotations

import io
import json
from functools import cache
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from logdiff import envelopes
from logdiff.engine.literals import analyse
from logdiff.engine.ruleset import RULES_DIRECTORY, Signal, load_builtin
from logdiff.extract import shapes
from logdiff.extract.scan import Scanner
from logdiff.extract.shapes import Classifier
from logdiff.read import Source
from tests.extract import reference

if TYPE_CHECKING:
    from pathlib import Path

    from logdiff.extract.scan import Scanned
    from logdiff.extract.shapes import Shape

STAMP = b"2026-05-02T10:00:01.000000001Z "


def signal(name: str, *patterns: str, keep: str = "groups", scope: str = "message") -> Signal:
    analyses = [(text, analyse(text)) for text in patterns]
    groups = sorted({group for _, found in analyses for group in found.groups})
    return Signal(
        id=name,
        engine="any",
        source="test",
        keep=keep,
        enters=None,
        completes=None,
        levels=(),
        scope=scope,
        patterns=tuple(
            (text.encode(), a.literal, a.word, a.digit_sensitive) for text, a in analyses
        ),
        fields=tuple((group, "text", None) for group in groups),
        versions=((None, None),) * len(patterns),
    )


PICKY = [
    signal("picky-group", r"HTTP/1\.(?P<minor>\d)", r"(?P<minor>\d) of the protocol"),
    signal("picky-line", r"^\(.* (?:INFO|ERROR) .*\bcode=[45]\d\d", scope="line"),
    signal("picky-event", r"rank [0-3] of (?P<size>\d+)", keep="each"),
    signal("picky-series", r"load (?P<load>1\d*\.\d+)", keep="series"),
]


@cache
def all_signals() -> tuple[Signal, ...]:
    return (*load_builtin().signals, *PICKY)


def scan_bytes(data: bytes, signals: tuple[Signal, ...] | list[Signal]) -> Scanned:
    return Scanner(signals, envelopes.unwrappers()).scan(Source("test", io.BytesIO(data)))


def shape_of(line: bytes) -> Shape:
    return Classifier(all_signals(), envelopes.unwrappers()).classify(
        line.translate(shapes.DIGITS_TO_ZERO)
    )


def assert_same(data: bytes, skipped: set[int] | None = None) -> None:
    expected = reference.read(list(all_signals()), data, skipped or set())
    found = reference.scanned(scan_bytes(data, all_signals()))
    assert found.counts == expected.counts
    assert found.firsts == expected.firsts
    assert found.events == expected.events
    assert found.series == expected.series


def fixture_logs() -> list[str]:
    from tests.conftest import REPOSITORY

    folder = REPOSITORY / "fixtures"
    return [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.log"))]


def repeated(log: Path) -> set[int]:
    """Lines of an overlapping paste, by what stands in the fixture's expectations."""
    top = log.parent if (log.parent / "expected.json").exists() else log.parent.parent
    expected = json.loads((top / "expected.json").read_text())
    if "sections" in expected:
        overlaps = [part.get("overlap") for part in expected["sections"]]
    else:
        has = expected[log.parent.name]["logs"]["repeated_physical_lines"]
        overlaps = [expected["details"]["overlap"]] if has else []
    return reference.numbered([range(o["second"][0], o["second"][1] + 1) for o in overlaps if o])


@pytest.mark.parametrize("log", fixture_logs())
def test_fixture_is_read_as_line_by_line(log: str, fixtures_directory: Path) -> None:
    path = fixtures_directory / log
    assert_same(path.read_bytes(), repeated(path))


def test_real_log_is_read_as_line_by_line(shared: Path) -> None:
    data = (shared / "real" / "docker-pair-508-168.log").read_bytes()
    assert_same(data, set(range(2026, 3788)))


def test_logs_of_other_versions_are_read_as_line_by_line(shared: Path) -> None:
    logs = sorted((shared / "runs").glob("*.log"))
    assert logs
    for log in logs:
        data = log.read_bytes()
        if not any(part.repeated_lines for part in scan_bytes(data, []).sections):
            assert_same(data)


@cache
def sample_lines() -> tuple[bytes, ...]:
    """The examples of the built-in signals, and lines that the picky signals tell apart."""
    lines = [
        'INFO:     10.0.0.1:50 - "GET /v1/models HTTP/1.1" 200 OK',
        'INFO:     10.0.0.1:50 - "GET /v1/models HTTP/2.0" 200 OK',
        "version 2 of the protocol HTTP/2.0",
        "(Worker_TP0 pid=7) ERROR 05-02 10:00:01 [a.py:1] code=404",
        "(Worker_TP0 pid=7) INFO 05-02 10:00:01 [a.py:1] code=204",
        "rank 3 of 8", "rank 4 of 8", "load 12.5", "load 22.5",
        "Received request cmpl-1: prompt: 'rank 3 of 8, HTTP/1.1, load 17.5', params: x",
        "Traceback (most recent call last):",
        '  File "/opt/vllm/a.py", line 5, in run',
        "",
    ]  # fmt: skip
    for path in ("vllm",):
        with open(f"{RULES_DIRECTORY}/signals/{path}.yaml", encoding="utf-8") as file:
            for entry in yaml.safe_load(file)["signals"]:
                lines += [sample["line"] for sample in entry["examples"]]
                lines += entry["not"]
    return tuple(line.encode() for line in lines)


TAGS = [b"", b"(VllmWorkerProcess pid=345) ", b"\x1b[1;36m(VllmWorkerProcess pid=346)\x1b[0;0m ",
        b"(EngineCore_0 pid=9) ", b"(Worker_TP0 pid=77)(VllmWorkerProcess pid=3) "]  # fmt: skip
NOISE = [b"\x1b[31m", b"\x1b[0m", b"\x00", b"\r", b" ", b"0", b"7", b"12", b":", b"(", b"'",
         b"\xe6\x97\xa5", b"\xff", b"\x1b]0;title\x07", b"\xef\xbb\xbf"]  # fmt: skip


@st.composite
def mangled_lines(draw: st.DrawFn) -> bytes:
    """A sample line, spliced with another one, with other digits, noise, tags and envelope."""
    line = draw(st.sampled_from(sample_lines()))
    if draw(st.booleans()):
        other = draw(st.sampled_from(sample_lines()))
        cut, start = draw(st.integers(0, len(line))), draw(st.integers(0, len(other)))
        line = line[:cut] + other[start:]
    if draw(st.booleans()):
        shift = draw(st.integers(1, 9))
        table = bytes((b - 48 + shift) % 10 + 48 if 48 <= b <= 57 else b for b in range(256))
        line = line.translate(table)
    for _ in range(draw(st.integers(0, 2))):
        position, length = draw(st.integers(0, len(line))), draw(st.integers(0, 2))
        noise = draw(st.sampled_from(NOISE))
        line = line[:position] + noise + line[position + length :]
    line = draw(st.sampled_from(TAGS)) + line
    return (STAMP + line if draw(st.booleans()) else line).replace(b"\n", b"")


@settings(max_examples=300)
@given(st.lists(mangled_lines(), max_size=12), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
@example([b"(Worker_TP0 pid=7) ERROR 05-02 10:00:01 [a.py:1] code=404"], b"\n", True)
@example([b"version 2 of the protocol HTTP/2.0"], b"\n", True)
@example([b"Received request a: prompt: 'rank 3 of 8 HTTP/1.1'"], b"\n", True)
def test_mangled_lines_are_read_as_line_by_line(
    lines: list[bytes], line_end: bytes, last_has_end: bool
) -> None:
    assert_same(line_end.join([*lines, b""] if last_has_end else lines))
