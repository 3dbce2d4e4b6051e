"""One pass gives the same wherever chunks end, within its bounds and whatever the lines are."""

from __future__ import annotations

import io
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from logdiff import envelopes, read
from logdiff.engine.ruleset import load_builtin
from logdiff.extract import observations, scan, shapes
from logdiff.extract.scan import Batch, Scanner
from logdiff.extract.shapes import Classifier, ShapeTable
from logdiff.read import Chunk, Source
from tests.extract import reference
from tests.extract.test_shapes import PICKY, fixture_logs

if TYPE_CHECKING:
    from pathlib import Path

    from logdiff.extract.observations import Observations, Series
    from logdiff.extract.scan import Scanned

STAMP = "2026-05-02T10:00:0{}.000000001Z "
METRICS = (
    "INFO 05-02 10:0{minute}:00 metrics.py:345] Avg prompt throughput: {prompt} tokens/s, Avg "
    "generation throughput: 1.0 tokens/s, Running: 1 reqs, Swapped: 0 reqs, Pending: 2 reqs, "
    "GPU KV cache usage: {kv}%, CPU KV cache usage: 0.0%."
)
OOM = "ERROR 05-02 10:03:00 engine.py:1] RuntimeError: NPU out of memory. Tried to allocate {} GiB"
HTTP = 'INFO:     203.0.113.4:{port} - "POST /v1/chat/completions HTTP/1.1" {status} OK'


def scan_bytes(data: bytes) -> Scanned:
    return scan_with(Scanner([*load_builtin().signals, *PICKY], envelopes.unwrappers()), data)


def scan_with(scanner: Scanner, data: bytes) -> Scanned:
    return scanner.scan(Source("test", io.BytesIO(data)))


def scan_lines(*lines: str) -> Observations:
    """What one life says in some lines."""
    (section,) = scan_bytes("".join(f"{line}\n" for line in lines).encode()).sections
    (life,) = section.lives
    return life


def everything(result: Scanned) -> list[Any]:
    """All that a scan found, in an order that does not hang on chunks."""
    lives = [life for section in result.sections for life in section.lives]
    return [
        (result.lines, result.broken_characters, result.long_lines, result.long_line_count),
        [
            (s.first_line, s.last_line, s.heading, s.repeated_lines, s.repeated_physical_lines,
             sum(n for shape, n in s.shapes.items() if shape.recognised),
             {shape.envelope for shape in s.shapes})
            for s in result.sections
        ],
        [
            (life.first_line, life.last_line, life.last_text_line, life.last_record_line,
             life.started, life.ended, dict(life.entered), dict(life.completed), life.dropped)
            for life in lives
        ],
        reference.scanned(result),
        [life.events for life in lives],
        [{name: figures(series) for name, series in life.series.items()} for life in lives],
        [
            {key: (r.kind, r.message, r.where, r.first, r.time, r.count, r.workers, r.places)
             for key, r in life.tracebacks.raised.items()}
            for life in lives
        ],
        [
            {template: {place: (seen.count, seen.first, seen.level, seen.workers)
                        for place, seen in places.items()}
             for template, places in life.sources.items()}
            for life in lives
        ],
    ]  # fmt: skip


def figures(series: Series) -> tuple[object, ...]:
    return series.count, series.points, series.highest, series.distribution


CHUNKS = [4 << 10, 64 << 10, 1 << 20]


@pytest.mark.parametrize("name", fixture_logs())
def test_fixture_is_the_same_wherever_chunks_end(
    monkeypatch: pytest.MonkeyPatch, fixtures_directory: Path, name: str
) -> None:
    data = (fixtures_directory / name).read_bytes()
    whole = everything(scan_bytes(data))
    for size in [*range(900, 1_000, 9), *CHUNKS]:
        monkeypatch.setattr(read, "CHUNK_BYTES", size)
        assert everything(scan_bytes(data)) == whole


def test_real_pair_is_the_same_wherever_chunks_end(
    monkeypatch: pytest.MonkeyPatch, shared: Path
) -> None:
    data = (shared / "real" / "docker-pair-508-168.log").read_bytes()
    whole = everything(scan_bytes(data))
    for size in [*CHUNKS, 4_099, 16_411]:
        monkeypatch.setattr(read, "CHUNK_BYTES", size)
        assert everything(scan_bytes(data)) == whole


def test_line_ends_make_no_difference(fixtures_directory: Path) -> None:
    data = (fixtures_directory / "two-runs-one-file" / "container.log").read_bytes()
    assert b"\r" not in data
    plain = reference.scanned(scan_bytes(data))
    carriage = reference.scanned(scan_bytes(data.replace(b"\n", b"\r\n")))
    assert (plain.counts, plain.firsts) == (carriage.counts, carriage.firsts)


def test_file_with_a_byte_order_mark_keeps_its_first_line() -> None:
    line = STAMP.format(1) + "INFO 05-02 10:00:09 api_server.py:528] vLLM API server version 0.6.3"
    (section,) = scan_bytes(b"\xef\xbb\xbf" + line.encode()).sections
    (life,) = section.lives
    assert [group.texts for group in life.groups["server-version"].values()] == [
        {"version": "0.6.3"}
    ]
    assert life.started == "2026-05-02T10:00:01"


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    data = b"line\n" * 9
    scanner = Scanner([], envelopes.unwrappers())
    scanner.scan(Source("test", io.BytesIO(data)), lambda done, all_: told.append((done, all_)))
    assert told == [(45, 45)]


# Marks


@pytest.mark.parametrize("size", [16, 64, 1 << 20])
def test_mark_leads_back_to_the_line(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(read, "CHUNK_BYTES", size)
    monkeypatch.setattr(read, "LINE_LIMIT", 40)
    monkeypatch.setattr(scan, "LINE_LIMIT", 40)
    lines = [b"short", b"", b"x" * 39 + "日".encode() + b"y" * 200, b"crlf\r", b"z" * 41, b"end"]
    data = b"\n".join(lines)
    source = Source("test", io.BytesIO(data))
    table = ShapeTable(Classifier([], []))
    found = []
    for chunk in source.chunks():
        batch = Batch(chunk, table)
        for index in range(len(batch)):
            mark = batch.mark(index)
            found.append(source.read_at(mark.offset, mark.length))
            assert mark.line == len(found)
            assert batch.lines[index] == lines[mark.line - 1][:40]
    assert found == lines


def test_long_lines_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_NAMED_LONG_LINES", 2)
    limit = read.LINE_LIMIT
    lines = [b"a" * limit, b"b" * (limit + 1), b"short", b"c" * 3_000_000, b"d" * (limit + 7)]
    result = scan_bytes(b"\n".join(lines))
    assert result.lines == 5
    assert result.long_line_count == 3
    assert result.long_lines == [(2, limit + 1), (4, 3_000_000)]


# Broken characters


@pytest.mark.parametrize(
    ("data", "broken"),
    [
        (b"plain", 0),
        ("日志\n".encode(), 0),
        ("a \ufffd b\n".encode(), 0),
        (b"\xff\n", 1),
        ("日".encode()[:2] + b"\n", 1),
        (b"\xe6\n\xe6\n", 2),
        ("\ufffd".encode() + b"\xff\n", 1),
        (b"\xff\n\n", 1),  # in lines that wait for the next chunk
        (STAMP.format(1).encode() + b"\xff\n\xff\n", 2),
    ],
)
def test_broken_characters_are_counted(data: bytes, broken: int) -> None:
    assert scan_bytes(data).broken_characters == broken


@pytest.mark.parametrize("size", range(5, 40))
def test_character_at_the_end_of_a_chunk_is_not_broken(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(read, "CHUNK_BYTES", size)
    data = "日志日志\n容器日志日志日志日志\nb\n".encode() * 5 + b"\xff\n"
    assert scan_bytes(data).broken_characters == 1


@pytest.mark.parametrize("shift", range(3))
def test_character_at_the_limit_of_a_line_is_not_broken(shift: int) -> None:
    line = b"x" * shift + "日".encode() * 1_000_000
    assert scan_bytes(line + b"\nnext\n").broken_characters == 0
    assert scan_bytes(b"\xff" + line + b"\n").broken_characters == 1


# Bounds


@pytest.mark.parametrize("limit", [0, 1, 7])
@pytest.mark.parametrize("name", fixture_logs())
def test_full_table_of_shapes_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, fixtures_directory: Path, name: str, limit: int
) -> None:
    data = (fixtures_directory / name).read_bytes()
    whole = scan_bytes(data)
    assert whole.overflow == 0
    monkeypatch.setattr(shapes, "SHAPE_LIMIT", limit)
    full = scan_bytes(data)
    assert full.overflow > 0
    # source lines are learnt from the first lines of each shape, so their counts may differ
    assert everything(full)[:-1] == everything(whole)[:-1]


def test_full_table_of_shapes_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "SHAPE_LIMIT", 10)
    scanner = Scanner([], envelopes.unwrappers())
    data = b"".join(b"word" * n + b"\n" for n in range(1, 200))
    (section,) = scan_with(scanner, data).sections
    assert len(scanner.table) == 10
    assert section.shapes.total() == 199
    assert len(section.shapes) <= 2


def test_groups_past_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "GROUP_LIMIT", 3)
    statuses = [200, 201, 202, 203, 204, 203, 200]
    life = scan_lines(*[HTTP.format(port=1, status=status) for status in statuses])
    groups = {str(g.texts["status"]): g.count for g in life.groups["http-status"].values()}
    assert groups == {"200": 2, "201": 1, "202": 1}
    assert life.dropped == {"http-status": 3}


def test_events_past_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logdiff.extract.collect.EVENT_LIMIT", 2)
    life = scan_lines(*[OOM.format(n) for n in range(5)])
    assert [event.texts["tried"] for event in life.events["out-of-memory"]] == ["0 GiB", "1 GiB"]
    assert life.dropped == {"out-of-memory": 3}


def test_events_that_a_pattern_does_not_match_are_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("logdiff.extract.collect.EVENT_LIMIT", 1)
    life = scan_lines("rank 3 of 8", "rank 7 of 8", "rank 2 of 8", "rank 9 of 8")
    assert [event.mark.line for event in life.events["picky-event"]] == [1]
    assert life.dropped == {"picky-event": 1}


def test_points_past_the_limit_are_thinned_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "POINT_LIMIT", 4)
    lines = [METRICS.format(minute=0, prompt=n, kv=n % 50) for n in range(100)]
    series = scan_lines(*lines).series["metrics"]
    assert series.count == 100
    assert 4 <= len(series.points) <= 8
    prompts = [values[0] for _, values in series.points]
    assert prompts[0] == 0
    steps = {b - a for a, b in itertools.pairwise(prompts) if a is not None and b}
    assert len(steps) == 1
    assert series.highest["prompt"][0] == 99
    assert series.distribution["kv_usage_percent"][49.0] == 2


def test_templates_past_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "TEMPLATE_LIMIT", 2)
    life = scan_lines(*[f"INFO 05-02 10:00:00 a.py:1] message {w}" for w in ("a", "b", "c")])
    assert list(life.sources) == ["message a", "message b"]
    assert life.dropped == {"source_lines": 1}


# Order


def test_event_knows_the_point_before_it() -> None:
    life = scan_lines(
        METRICS.format(minute=1, prompt=1, kv=10),
        OOM.format(1).replace("10:03", "10:01"),
        METRICS.format(minute=2, prompt=1, kv=20.5),
        OOM.format(2),
    )
    points = [event.last_points["metrics"] for event in life.events["out-of-memory"]]
    assert [(time, mark.line, values[-1]) for time, mark, values in points] == [
        ("05-02 10:01:00", 1, 10.0),
        ("05-02 10:02:00", 3, 20.5),
    ]


@pytest.mark.parametrize("size", [200, 350, 1 << 20])
def test_series_is_in_order_whatever_its_shapes(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(read, "CHUNK_BYTES", size)
    values = [5, 1000, 7, 20_000, 9, 333]  # numbers of other lengths have other shapes
    life = scan_lines(*[METRICS.format(minute=1, prompt=n, kv=1) for n in values])
    assert [row[0] for _, row in life.series["metrics"].points] == values


def test_numbers_without_end_are_no_numbers() -> None:
    life = scan_lines(METRICS.format(minute=1, prompt="9" * 5_000, kv=1))
    assert [row[0] for _, row in life.series["metrics"].points] == [None]


# Hostile lines


HOSTILE = ["(", 'File "', "\x1b[", "\x1b]", "1", "a: ", "A.", "\r ", "[", "=", " ", "a.b:", "{'",
           "(Worker pid=1) ", "x:", "INFO:  ", "0x", "Received request prompt: ", "Error: ",
           '  File "x", line 1, in ', "NaN in layer", "kernel failed ", "Using a ", "out of memory",
           "no attribute '", "# ", "\xa0", "logits contain "]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_line_takes_linear_time(unit: str) -> None:
    from time import process_time

    def seconds(size: int) -> float:
        data = (unit * (size // len(unit) + 1))[:size].encode() + b"\nend\n"
        scanner = Scanner(load_builtin().signals, envelopes.unwrappers())
        best = float("inf")
        for _ in range(3):
            scanner.table.clear()
            begin = process_time()
            scan_with(scanner, data)
            best = min(best, process_time() - begin)
        return best

    # Four times the text, and by far not sixteen times the time; below a floor nothing is told.
    small, large = seconds(15_000), seconds(60_000)
    assert large < max(12 * small, 0.05)


def test_lines_without_a_time_wait_for_a_bounded_number_of_bytes() -> None:
    reading = scan._Reading(Source("test", io.BytesIO(b"")), ShapeTable(Classifier([], [])))
    stamped = STAMP.format(1).encode() + b"x\n"
    reading.table = Scanner([], envelopes.unwrappers()).table
    held = []
    for text in (stamped + b"a\nb\n", b"c" * scan.LOOK_AHEAD_BYTES + b"\n"):
        reading.take(Chunk(0, 1, text, 0))
        held.append(reading.held)
    assert held == [Chunk(len(stamped), 2, b"a\nb\n", 0), None]
    assert reading.result().lines == 4


# Bounds


START = "INFO 05-02 10:00:0{} api_server.py:528] vLLM API server version 0.6.3\n"
LOADING = "INFO 05-02 10:00:0{} model_runner.py:1056] Starting to load model /m...\n"


def test_starts_past_the_limit_are_one_with_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "LIFE_LIMIT", 3)
    log = "".join(START.format(n) + LOADING.format(n) for n in range(6))
    found = scan_bytes(log.encode())
    (section,) = found.sections
    assert [life.first_line for life in section.lives] == [1, 3, 5]
    assert section.lives[-1].last_line == 12
    assert found.merged == 3


def test_runs_past_the_limit_are_one_with_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "SECTION_LIMIT", 2)
    times = ("10:00:00", "09:00:00", "08:00:00", "07:00:00")
    log = "".join(f"INFO 05-02 {time} a.py:1] number {n}\n" for n, time in enumerate(times))
    found = scan_bytes(log.encode())
    assert [(s.first_line, s.last_line) for s in found.sections] == [(1, 1), (2, 4)]
    assert found.merged == 2


def test_a_clock_that_runs_back_is_read_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def bytes_read(lines: int) -> int:
        times = (86_399 - n for n in range(lines))
        log = "".join(
            f"INFO 05-02 {t // 3600:02}:{t // 60 % 60:02}:{t % 60:02} a.py:1] x {t}\n"
            for t in times
        )
        source = Source("log", io.BytesIO(log.encode()))
        read: list[int] = []
        plain = source.read_at

        def counted(offset: int, length: int) -> bytes:
            data = plain(offset, length)
            read.append(len(data))
            return data

        monkeypatch.setattr(source, "read_at", counted)
        Scanner(load_builtin().signals, envelopes.unwrappers()).scan(source)
        return sum(read)

    assert bytes_read(8_000) <= 6 * bytes_read(2_000) + (1 << 26)


def test_long_fields_are_cut() -> None:
    log = f"INFO 05-02 10:00:00 a.py:1] Using {'x' * 5000} kernel.\nValueError: {'y' * 5000}\n"
    life = scan_bytes(log.encode()).sections[0].lives[0]
    (group,) = life.groups["kernel-used"].values()
    assert group.texts["operator"] == "x" * 1000
    (raised,) = life.tracebacks.raised.values()
    assert raised.message == "y" * 1000
