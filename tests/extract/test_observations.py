"""What is kept of a life is exact where it counts, and bounded."""

from __future__ import annotations

import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.extract import observations
from logdiff.extract.observations import Observations, median
from logdiff.model import Mark
from tests.extract.test_scan import scan_bytes, scan_lines
from tests.extract.test_shapes import signal

WORKER = "(VllmWorkerProcess pid={}) INFO 05-02 10:00:0{} model_runner.py:{}] {}"
WEIGHTS = "Loading model weights took {} GB"


@given(st.lists(st.integers(-9, 9), min_size=1))
def test_median_is_the_lower_middle(values: list[int]) -> None:
    assert median(Counter(map(float, values))) == statistics.median_low(values)


def test_median_of_nothing_is_none() -> None:
    assert median(Counter()) is None


def test_workers_that_say_the_same_are_witnesses_of_one_group() -> None:
    life = scan_lines(*[WORKER.format(n, 1, 1072, WEIGHTS.format(3.5)) for n in (11, 12, 11)])
    (group,) = life.groups["weights-loaded"].values()
    assert (group.count, group.first.line, group.place) == (3, 1, "model_runner.py:1072")
    assert group.time == "05-02 10:00:01"
    assert {tag: mark.line for tag, mark in group.workers.items()} == {
        b"VllmWorkerProcess pid=11": 1, b"VllmWorkerProcess pid=12": 2
    }  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [WORKER.format(1, 1, 1072, WEIGHTS.format(3.25)), WORKER.format(1, 1, 99, WEIGHTS.format(3.5))],
    ids=["another value", "another place"],
)
def test_what_differs_is_a_group_of_its_own(other: str) -> None:
    life = scan_lines(WORKER.format(1, 1, 1072, WEIGHTS.format(3.5)), other)
    assert [group.count for group in life.groups["weights-loaded"].values()] == [1, 1]


def test_colour_makes_no_difference() -> None:
    plain = WORKER.format(1, 1, 1072, WEIGHTS.format(3.5))
    coloured = plain.replace("(", "\x1b[36m(").replace(")", ")\x1b[0m").replace("3.5", "3\x1b[1m.5")
    life = scan_lines(plain, coloured)
    (group,) = life.groups["weights-loaded"].values()
    assert (group.count, list(group.workers)) == (2, [b"VllmWorkerProcess pid=1"])


def test_first_line_is_the_first_of_all_shapes() -> None:
    lines = [
        WORKER.format(11, 1, 1072, WEIGHTS.format(3.5)),
        WORKER.format(12, 2, 1072, WEIGHTS.format(4.5)) + "\r",  # another shape
        WORKER.format(11, 3, 1072, WEIGHTS.format(4.5)),
        WORKER.format(12, 4, 1072, WEIGHTS.format(4.5)),
    ]
    groups = scan_lines(*lines).groups["weights-loaded"].values()
    assert [(group.first.line, group.time) for group in groups] == [
        (1, "05-02 10:00:01"), (2, "05-02 10:00:02")
    ]  # fmt: skip
    assert [[mark.line for mark in group.workers.values()] for group in groups] == [[1], [3, 2]]


def test_stages_are_entered_once_and_completed_by_the_last_worker() -> None:
    lines = [WORKER.format(n, n, 1072, WEIGHTS.format(3.5)) for n in (1, 2, 3)]
    life = scan_lines(*lines, "INFO:     Application startup complete.", "x")
    assert {stage: mark.line for stage, mark in life.entered.items()} == {
        "weights": 1, "serving": 4, "kv": 4
    }  # fmt: skip
    assert {stage: mark.line for stage, mark in life.completed.items()} == {"weights": 3, "kv": 4}


def test_further_than_a_stage() -> None:
    life = Observations(1)
    assert not life.further_than("build")
    life.entered["load"] = Mark(1, 0, 1)
    assert life.further_than("args")
    assert not life.further_than("load")


def test_source_lines_of_a_message() -> None:
    life = scan_lines(
        WORKER.format(1, 1, 1072, WEIGHTS.format(3.5)),
        WORKER.format(2, 1, 1072, WEIGHTS.format(13.5)),
        WORKER.format(1, 1, 1130, WEIGHTS.format(3.5)),
    )
    places = life.sources["Loading model weights took"]
    assert {place: (seen.count, seen.first.line, len(seen.workers))
            for place, seen in places.items()} == {
        "model_runner.py:1072": (2, 1, 2), "model_runner.py:1130": (1, 3, 1)
    }  # fmt: skip


def test_source_line_of_a_path_is_its_file() -> None:
    life = scan_lines("INFO 05-02 10:00:00 [v1/engine/core.py:71] Waiting for the message")
    assert list(life.sources["Waiting for the message"]) == ["core.py:71"]


def test_source_lines_are_learnt_from_the_first_lines_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "WITNESS_LINES", 3)
    life = scan_lines(*["INFO 05-02 10:00:00 a.py:1] the message"] * 9)
    assert life.sources["the message"]["a.py:1"].count == 3


def test_shapes_with_source_lines_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "WITNESS_SHAPES", 2)
    life = scan_lines(*[f"INFO 05-02 10:00:00 a.py:1] message {w}" for w in "abcab"])
    assert sorted(life.sources) == ["message a", "message b"]


def test_last_record_and_last_text() -> None:
    life = scan_lines("INFO 05-02 10:00:00 a.py:1] x", "text", "(Worker pid=3) ", "  ")
    assert (life.last_record_line, life.last_text_line, life.last_line) == (1, 2, 2)


def test_signal_of_the_line_sees_the_prefix() -> None:
    from logdiff.extract.shapes import read_line

    whole = signal("whole", r"^INFO (?P<month>\d\d)-", scope="line")
    message = signal("message", r"^INFO (?P<month>\d\d)-")
    line = b"INFO 05-02 10:00:00 a.py:1] x"
    assert read_line(whole, [], line) == {"month": "05"}
    assert read_line(message, [], line) is None


def test_what_a_client_quotes_is_no_statement() -> None:
    said = "NPU out of memory. Tried to allocate 2.00 GiB rank 3 of 8"
    quoted = f"INFO 05-02 10:00:00 logger.py:1] Received request a-1: prompt: '{said}'"
    assert not scan_lines(quoted).events
    assert scan_lines(said).events.keys() == {"out-of-memory", "picky-event"}


def test_empty_sections_of_blank_lines_are_none() -> None:
    result = scan_bytes(b"\n\n  \n")
    assert (len(result.sections), result.lines) == (1, 3)
    assert result.sections[0].blank
