"""Where a run ends and the next begins in a file, and what of it was pasted twice."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, NamedTuple

import pytest

from logdiff import envelopes, read
from logdiff.engine.ruleset import load_builtin
from logdiff.extract import scan
from logdiff.extract.scan import Scanner
from logdiff.read import Source, open_source
from logdiff.sections import find_repeat, looks_like_heading, seconds_between

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from logdiff.extract.scan import Scanned


def scanned(data: bytes) -> Scanned:
    return Scanner(load_builtin().signals, envelopes.unwrappers()).scan(
        Source("test", io.BytesIO(data))
    )


def scanned_file(path: Path) -> Scanned:
    source = open_source(str(path))
    try:
        return Scanner(load_builtin().signals, envelopes.unwrappers()).scan(source)
    finally:
        source.close()


class Part(NamedTuple):
    """A section, as tests state it."""

    heading: str | None
    first: int
    last: int
    lives: list[tuple[int, int]]
    repeated: tuple[int, int]
    """Lines with a time, all lines."""


def parts(result: Scanned) -> list[Part]:
    return [
        Part(
            section.heading,
            section.first_line,
            section.last_line,
            [(life.first_line, life.last_line) for life in section.lives],
            (section.repeated_lines, section.repeated_physical_lines),
        )
        for section in result.sections
    ]


def stamped(second: int, text: str = "x", day: int = 2) -> bytes:
    time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"2026-05-{day:02}T{time}.000000001Z {text}".encode()


def bare(second: int, text: str = "x", date: str = "05-02") -> bytes:
    time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"INFO {date} {time} a.py:1] {text}".encode()


def log(lines: Sequence[bytes], end: bytes = b"\n") -> bytes:
    return b"".join(line + end for line in lines)


def start(second: int, day: int = 2) -> list[bytes]:
    """The first lines of a server."""
    return [
        stamped(second, f"INFO 05-{day:02} 10:00:02 importing.py:10] Triton not installed; x", day),
        stamped(second + 1, "INFO 05-02 10:00:09 api_server.py:528] vLLM API server version 0.6.3",
                day),
        stamped(second + 1, "INFO 05-02 10:00:09 api_server.py:529] args: Namespace(port=8000)",
                day),
        stamped(second + 2, "INFO 05-02 10:00:12 llm_engine.py:237] Initializing an LLM engine "
                            "(v0.6.3) with config: model='/m', seed=0", day),
    ]  # fmt: skip


def run(second: int, count: int, day: int = 2) -> list[bytes]:
    """Lines of a run, no two alike, three seconds apart."""
    return [stamped(second + 3 * n, f"message {second} {n}", day) for n in range(count)]


# Headings


@pytest.mark.parametrize(
    "line",
    [
        "别人168的docker日志：",
        "我们的最开始（只截取了部分，错误太多了）日志：",
        "参考提交 0091 的容器日志如下:",
        "The good log:",
        "docker logs of submission 508:",
        "# Bad run",
        "### attempt 2",
        "===== submission 508 attempt 1/3 =====",
        "--- before ---",
        "==> good.log <==",
        "  baseline:  ",
    ],
)
def test_heading(line: str) -> None:
    assert looks_like_heading(line.encode())


@pytest.mark.parametrize(
    "line",
    [
        "",
        ":",
        "x" * 200 + " log:",
        "--- Logging error ---",
        "Traceback (most recent call last):",
        "During handling of the above exception, another exception occurred:",
        "Available routes are:",
        "=====",
        "------------------------------",
        "#",
        "#!/bin/sh",
        "the log is below",
        "{'log': 1, 'run':",
        "[1/3] run:",
        "(Worker pid=3) log:",
    ],
)
def test_no_heading(line: str) -> None:
    assert not looks_like_heading(line.encode())


@pytest.mark.parametrize(
    "line",
    [
        b"Traceback (most recent call last):",
        b"The above exception was the direct cause of the following exception:",
        b"RuntimeError: the container log:",
        b"INFO 05-02 10:00:00 a.py:1] docker log:",
        b"(EngineCore_0 pid=9) docker log:",
        b"INFO:     docker log:",
        stamped(5, "docker log:"),
        b"Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.10s/it]",
    ],
)
def test_log_line_starts_no_section(line: bytes) -> None:
    lines = [*start(0), line, *start(0, day=1)]
    # without a heading the second start is told by its time alone
    assert [part.heading for part in parts(scanned(log(lines)))] == [None, None]


def test_section_begins_after_its_last_heading() -> None:
    lines = ["我们的日志：".encode(), *start(0), b"", "别人的日志：".encode(), b"",
             "\x1b[1m别人168的日志：\x1b[0m".encode(), b"", *start(0, day=1)]  # fmt: skip
    assert parts(scanned(log(lines))) == [
        Part("我们的日志：", 2, 6, [(2, 5)], (0, 0)),
        Part("别人168的日志：", 10, 14, [(11, 14)], (0, 0)),
    ]


def test_first_heading_may_stand_behind_a_byte_order_mark() -> None:
    data = b"\xef\xbb\xbf" + log([b"The good log:", *start(0)])
    assert parts(scanned(data)) == [Part("The good log:", 2, 5, [(2, 5)], (0, 0))]


def test_heading_without_another_run_below_is_text() -> None:
    lines = [*start(0), b"Container log:", *run(10, 3)]
    assert parts(scanned(log(lines))) == [Part(None, 1, 8, [(1, 8)], (0, 0))]


@pytest.mark.parametrize(
    "below",
    [run(3_000, 2, day=2), run(10, 2, day=1), start(10)],
    ids=["long after", "earlier", "a new start"],
)
def test_heading_with_another_run_below_starts_a_section(below: list[bytes]) -> None:
    lines = [*start(0), b"Container log:", *below]
    found = parts(scanned(log(lines)))
    assert [(part.heading, part.first) for part in found] == [(None, 1), ("Container log:", 6)]


@pytest.mark.parametrize("size", range(150, 600, 7))
def test_heading_at_the_end_of_a_chunk(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    lines = [b"first log:", *start(0), b"", b"second log:", b"", *start(0, day=1)]
    whole = parts(scanned(log(lines)))
    assert [part.first for part in whole] == [2, 8]
    monkeypatch.setattr(read, "CHUNK_BYTES", size)
    assert parts(scanned(log(lines))) == whole


def test_many_headings_are_looked_at_for_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_LOOKS_AHEAD_LIMIT", 3)
    lines = [*run(0, 1), *[b"# a log"] * 9, *start(0, day=1)]
    assert len(parts(scanned(log(lines)))) == 2
    reads = []

    def nothing(_: Source, *place: int) -> bytes:
        reads.append(place)
        return b""

    monkeypatch.setattr(Source, "read_at", nothing)
    assert len(parts(scanned(log([*run(0, 1), *[b"# a log"] * 9])))) == 1
    assert len(reads) == 3


# Repeated pastes


@pytest.mark.parametrize("ends", [(b"\n", b"\n"), (b"\r\n", b"\n"), (b"\n", b"\r\r\n")])
@pytest.mark.parametrize("count", [20, 21, 300])
def test_overlapping_paste_is_counted_once(ends: tuple[bytes, bytes], count: int) -> None:
    lines = run(0, count + 10)
    data = log(lines, ends[0]) + log(lines[10:], ends[1]) + log(run(9_000, 2), ends[1])
    found = scanned(data)
    total = 2 * count + 12
    assert parts(found) == [Part(None, 1, total, [(1, total)], (count, count))]


def test_paste_below_twenty_lines_is_no_repeat() -> None:
    lines = run(0, 30)
    found = parts(scanned(log([*lines, *lines[11:], *run(9_000, 2)])))
    assert [part.repeated for part in found] == [(0, 0)]  # 57 s back: out of order


def test_lines_without_a_time_belong_to_the_paste() -> None:
    lines: list[bytes] = []
    for n, line in enumerate(run(0, 40)):
        lines += [f"progress {n % 3}".encode(), b"", line]
    # the overlap begins with two lines that have no time
    again = lines[30:]
    found = parts(scanned(log([*lines, *again])))
    assert [part.repeated for part in found] == [(30, 90)]
    # even where the paste begins with the first line of the file
    assert [part.repeated for part in parts(scanned(log([*lines, *lines])))] == [(40, 120)]


def test_unlike_line_before_the_jump_is_kept() -> None:
    lines = [line for n, line in enumerate(run(0, 40)) for line in (f"bar {n}".encode(), line)]
    found = parts(scanned(log([*lines, b"other", *lines[21:]])))
    assert [part.repeated for part in found] == [(30, 59)]


@pytest.mark.parametrize("size", range(64, 2_100, 61))
def test_paste_that_begins_at_the_end_of_a_chunk(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    lines = [line for n, line in enumerate(run(0, 40)) for line in (f"bar {n}".encode(), line)]
    monkeypatch.setattr(read, "CHUNK_BYTES", size)
    found = parts(scanned(log([*lines, *lines[20:], *run(9_000, 1)])))
    assert found == [Part(None, 1, 141, [(1, 141)], (30, 60))]


def test_paste_without_a_last_line_end() -> None:
    lines = run(0, 50)
    data = log([*lines, *lines[10:]])[:-1]
    assert [part.repeated for part in parts(scanned(data))] == [(40, 40)]


def test_paste_that_is_cut_off_in_a_line() -> None:
    lines = run(0, 90)
    data = log([*lines, *lines[10:61]])[:-5]
    assert parts(scanned(data)) == [Part(None, 1, 141, [(1, 90)], (51, 51))]


def test_triple_paste() -> None:
    lines = run(0, 60)
    found = parts(scanned(log([*lines, *lines, *lines, *run(9_000, 1)])))
    assert found == [Part(None, 1, 181, [(1, 181)], (120, 120))]


def test_equal_lines_elsewhere_are_never_dropped() -> None:
    same = [stamped(n // 30, "GET /health 200") for n in range(90)]
    assert [part.repeated for part in parts(scanned(log(same)))] == [(0, 0)]


def test_repeat_of_another_section_is_none() -> None:
    lines = run(0, 30)
    data = log([b"good log:", *start(0), *lines, b"bad log:", *start(0), *lines])
    assert [part.repeated for part in parts(scanned(data))] == [(0, 0), (0, 0)]


def test_paste_of_lines_over_the_limit() -> None:
    lines = run(0, 50)
    lines[20] += b"y" * 200_000
    lines[21] += b"z" * 70_000
    data = log(lines, b"\r\n") + log(lines[10:])
    assert [part.repeated for part in parts(scanned(data))] == [(40, 40)]


def test_search_for_repeats_has_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line for n in range(60) for line in (stamped(90 + n), stamped(60 + n, f"late {n}"))]
    assert scanned(log(lines)).unexamined_jumps == 0
    monkeypatch.setattr(scan, "_LEAST_SEARCH_BUDGET", 1)
    assert scanned(log(lines)).unexamined_jumps > 0


def test_best_of_several_places_is_the_one_that_is_repeated() -> None:
    lines = [stamped(0, "same"), stamped(0, "a"), stamped(0, "same"), *run(1, 30)]
    data = log([*lines, *lines[2:]])
    source = Source("test", io.BytesIO(data))
    offset = len(log(lines))
    assert find_repeat(source, 0, offset, lines[2]) == (len(log(lines[:2])), 31)
    assert find_repeat(source, 0, offset, b"nowhere") == (0, 0)
    assert find_repeat(source, 0, offset, lines[2][:-1]) == (0, 0)  # part of a line is none


# Time that runs back


@pytest.mark.parametrize("make", [stamped, bare])
@pytest.mark.parametrize(("back", "sections"), [(1, 1), (5, 1), (60, 1), (61, 2), (7_200, 2)])
def test_time_that_jumps_back_starts_a_section(make: object, back: int, sections: int) -> None:
    assert callable(make)
    lines = [make(10_000 + n) for n in range(5)] + [make(10_004 - back + n) for n in range(5)]
    found = parts(scanned(log(lines)))
    assert [part.first for part in found] == [1, 6][:sections]


@pytest.mark.parametrize("size", [100, 500, 1_000, 1_100, 5_000])
def test_jump_is_one_from_the_latest_time(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(read, "CHUNK_BYTES", size)
    lines = [stamped(10 * n) for n in range(30)] + [stamped(100 + 10 * n, "y") for n in range(30)]
    assert [part.first for part in parts(scanned(log(lines)))] == [1, 31]


def test_year_that_ends_is_no_jump_back() -> None:
    lines = [bare(86_390 + n, date="12-31") for n in range(5)]
    lines += [bare(n, date="01-01") for n in range(5)]
    assert len(parts(scanned(log(lines)))) == 1
    # and a jump in the new year is one
    lines += [bare(9_000, date="01-02"), bare(0, "again", date="01-02")]
    assert [part.first for part in parts(scanned(log(lines)))] == [1, 12]


def test_section_in_a_file_with_two_forms_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that lost their stamp are another stream, wherever a chunk ends."""
    lines = [line for n in range(40) for line in (stamped(9_000 + n), bare(5 + n, f"b{n}"))]
    lines += [line for n in range(40) for line in (stamped(100 + n), bare(50 + n, f"c{n}"))]
    whole = parts(scanned(log(lines)))
    assert [part.first for part in whole] == [1, 81]
    for size in (40, 100, 333, 1_000):
        monkeypatch.setattr(read, "CHUNK_BYTES", size)
        assert parts(scanned(log(lines))) == whole


def test_chunk_without_a_stamp_keeps_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [*run(9_000, 3), *[bare(n) for n in range(40)], *run(0, 3)]
    monkeypatch.setattr(read, "CHUNK_BYTES", 200)
    assert [part.first for part in parts(scanned(log(lines)))] == [1, 44]


@pytest.mark.parametrize(
    ("earlier", "later", "seconds"),
    [
        ("2026-08-07T08:26:54", "2026-08-07T08:26:55", 1),
        ("2026-08-07T08:26:54", "2026-08-07T08:26:54", 0),
        ("2026-08-07T08:26:54", "2026-08-06T08:26:54", -86_400),
        ("2026-08-07T08:26:54Z", "2026-08-07T08:26:55.5Z", 1.5),
        ("2026-08-07 08:26:54", "2026-08-07T08:27:54", 60),
        ("2024-02-28T00:00:00", "2024-03-01T00:00:00", 2 * 86_400),
        ("2026-12-31T23:59:59", "2027-01-01T00:00:00", 1),
        ("08-07 08:26:54", "08-07 09:26:54", 3_600),
        ("08-07 08:26:54", "08-06 08:26:54", -86_400),
        ("02-29 00:00:00", "03-01 00:00:00", 86_400),
        ("12-31 23:59:59", "01-01 00:00:01", 2),
        ("03-01 00:00:00", "02-28 00:00:00", -2 * 86_400),
        # of no use
        ("08-07 08:26:54", "2026-08-07T08:26:54", 0),
        ("99-99 08:26:54", "08-07 08:26:54", 0),
        ("02-30 08:26:54", "02-27 08:26:54", 0),
        ("08-07 25:00:00", "08-07 08:26:54", 0),
        ("08-07 08:26", "08-07 08:26:54", 0),
        ("", "08-07 08:26:54", 0),
        ("x", "y", 0),
    ],
)
def test_seconds_between(earlier: str, later: str, seconds: float) -> None:
    assert seconds_between(earlier.encode(), later.encode()) == seconds


# Lives


def test_restart_is_a_life_not_a_section() -> None:
    lines = [*start(0), *run(10, 3), *start(100), *run(110, 3)]
    assert parts(scanned(log(lines))) == [Part(None, 1, 14, [(1, 7), (8, 14)], (0, 0))]


def test_import_of_a_process_that_the_server_starts_is_no_restart() -> None:
    child = stamped(50, "INFO 05-02 10:00:50 [__init__.py:239] Automatically detected platform x.")
    lines = [*start(0), child, *run(60, 3)]
    assert [part.lives for part in parts(scanned(log(lines)))] == [[(1, 8)]]


@pytest.mark.parametrize(
    "end", ["INFO:     Shutting down", ("ERROR 05-02 10:00:40 engine.py:1] Engine background task "
            "failed")]
)  # fmt: skip
def test_import_after_the_end_begins_a_life(end: str) -> None:
    again = stamped(50, "INFO 05-02 10:00:50 [__init__.py:239] Automatically detected platform x.")
    lines = [*start(0), stamped(40, end), b"", again, *run(60, 3)]
    assert [part.lives for part in parts(scanned(log(lines)))] == [[(1, 5), (7, 10)]]


def test_crash_over_an_argument_begins_a_life_each_time() -> None:
    crash = [stamped(3, "Traceback (most recent call last):"), stamped(3, '  File "a.py", line 1'),
             stamped(3, "ValueError: wrong")]  # fmt: skip
    once = [*start(0)[:3], *crash]
    lines = [*once, *[line.replace(b"T00:00:0", b"T00:00:3") for line in once]]
    assert [part.lives for part in parts(scanned(log(lines)))] == [[(1, 6), (7, 12)]]


def test_life_has_no_blank_ends() -> None:
    lines = [b"", stamped(0, ""), *run(1, 3), stamped(20, ""), b"  ", b"(EngineCore pid=3) "]
    assert parts(scanned(log(lines))) == [Part(None, 1, 8, [(3, 5)], (0, 0))]


def test_section_whose_lines_end_with_a_blank_record_is_kept() -> None:
    lines = [b"good log:", stamped(0, "only line"), stamped(1, ""), b"",
             b"bad log:", *start(0, day=1)]  # fmt: skip
    assert [part.heading for part in parts(scanned(log(lines)))] == ["good log:", "bad log:"]


def test_first_and_last_time_of_a_life() -> None:
    lines = [b"no time", *run(1, 3), stamped(20, ""), b"no time either"]
    (section,) = scanned(log(lines)).sections
    (life,) = section.lives
    assert (life.started, life.ended) == ("2026-05-02T00:00:01", "2026-05-02T00:00:20")
    assert life.last_text_line == 6


# Files


def test_fixture_with_two_runs(fixtures_directory: Path) -> None:
    folder = fixtures_directory / "two-runs-one-file"
    expected = json.loads((folder / "expected.json").read_text())
    found = scanned_file(folder / "container.log")
    assert found.lines == expected["lines"]
    assert parts(found) == [
        Part(
            part["heading"],
            part["first_line"],
            part["last_line"],
            [(life["first_line"], life["last_line"]) for life in part["lives"]],
            (part["repeated_lines"], part["repeated_physical_lines"]),
        )
        for part in expected["sections"]
    ]


@pytest.mark.parametrize("case", ["memory-while-serving", "lost-kernels", "same-fault-free"])
@pytest.mark.parametrize("role", ["good", "bad"])
def test_fixture_with_one_run(fixtures_directory: Path, case: str, role: str) -> None:
    folder = fixtures_directory / case
    expected = json.loads((folder / "expected.json").read_text())[role]["logs"]
    found = scanned_file(folder / role / "container.log")
    repeated = (expected["repeated_lines"], expected["repeated_physical_lines"])
    lines = expected["lines"]
    assert parts(found) == [Part(None, 1, lines, [(1, lines)], repeated)]
    (life,) = found.sections[0].lives
    times = [str(expected[name]).removesuffix("Z") for name in ("started", "ended")]
    assert [life.started, life.ended] == times


def test_real_pair(shared: Path) -> None:
    found = scanned_file(shared / "real" / "docker-pair-508-168.log")
    assert parts(found) == [
        Part("我们的最开始（只截取了部分，错误太多了）日志：", 2, 200, [(2, 180)], (0, 0)),
        Part("别人168的docker日志：", 221, 3787, [(224, 2025)], (1600, 1762)),
    ]
