"""From what the user named to runs, and from runs to a report."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from logdiff.engine.ruleset import load_builtin
from logdiff.errors import UsageError
from logdiff.model import Life, Section
from logdiff.pipeline import (
    Reader,
    compare_runs,
    diagnose_runs,
    judge_texts,
    judged_life,
    match_line,
)
from tests.reasoning import HEAD, text

if TYPE_CHECKING:
    from pathlib import Path

SERVING = "INFO:     Application startup complete.\n"
DIED = "ERROR 05-02 11:00:00 a.py:65] Engine background task failed\n"
TWO = f"good log:\n{HEAD}{SERVING}\nbad log:\n{HEAD.replace('05-02', '05-01')}{DIED}"


@pytest.fixture
def two(tmp_path: Path) -> str:
    path = tmp_path / "both.log"
    path.write_text(TWO)
    return str(path)


def test_a_file_of_one_run(tmp_path: Path) -> None:
    path = tmp_path / "one.log"
    path.write_text(HEAD + SERVING)
    with Reader() as reader:
        run = reader.run(str(path), "good")
        assert (run.role, run.label, run.section.kind) == ("good", str(path), "serve")
        assert run.facts["reached"] == "serving"
        assert reader.run(f"{path}#1", "good").life is run.life
        assert reader.paths == [str(path)]


def test_sections_are_named_by_their_number(two: str) -> None:
    with Reader() as reader:
        first, second = (reader.run(f"{two}#{number}", "bad") for number in (1, 2))
    assert (first.facts["reached"], second.facts["reached"]) == ("serving", "dead")
    assert (first.label, second.label) == (f"{two}#1", f"{two}#2")


def test_of_several_runs_one_must_be_named(two: str) -> None:
    with Reader() as reader, pytest.raises(UsageError) as caught:
        reader.run(two, "bad")
    assert "holds 2 runs" in caught.value.message
    assert f"{two}#1" in caught.value.message
    assert "bad log:" in caught.value.message
    assert "logdiff inspect" in str(caught.value.hint)


def test_a_section_that_is_not_there(two: str) -> None:
    with Reader() as reader, pytest.raises(UsageError, match="has no section 3; it has 2"):
        reader.run(f"{two}#3", "bad")


def test_every_section_and_every_life_is_a_run(two: str) -> None:
    with Reader() as reader:
        assert [run.section.number for run in reader.runs(two)] == [1, 2]
        assert [run.section.number for run in reader.runs(f"{two}#2")] == [2]


COMPOSE = "".join(
    f"proxy-1    | listening on {number}\n" + f"serving-1  | {line}\n"
    for number, line in enumerate((HEAD + SERVING).splitlines())
)


def test_the_only_server_of_several_services_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "compose.log"
    path.write_text(COMPOSE)
    with Reader() as reader:
        assert [section.heading for section in reader.log(str(path)).log.sections] == [
            "proxy-1",
            "serving-1",
        ]
        run = reader.run(str(path), "good")
        assert run.label == f"{path}#2"
        assert "serving" in run.facts["stage.entered"]
        assert [run.label for run in reader.runs(str(path))] == [f"{path}#2"]
        assert [run.label for run in reader.runs(f"{path}#1")] == [f"{path}#1"]


def test_a_service_that_died_is_judged_even_if_nobody_knows_it(tmp_path: Path) -> None:
    died = 'Traceback (most recent call last):\n  File "/a/b.py", line 1, in c\nKeyError: 1\n'
    path = tmp_path / "compose.log"
    path.write_text(COMPOSE + "".join(f"worker-1   | {line}\n" for line in died.splitlines()))
    with Reader() as reader:
        assert [run.section.heading for run in reader.runs(str(path))] == ["serving-1", "worker-1"]


def test_two_servers_in_one_file_have_to_be_named(tmp_path: Path) -> None:
    path = tmp_path / "swarm.log"
    path.write_text("".join(
        f"serving.{task}.abcdefghijk{task}@node-7    | {line}\n"
        for line in (HEAD + SERVING).splitlines()
        for task in (1, 2)
    ))  # fmt: skip
    with Reader() as reader:
        with pytest.raises(UsageError, match="holds 2 runs"):
            reader.run(str(path), "bad")
        assert len(reader.runs(str(path))) == 2


def test_a_file_is_read_once(two: str) -> None:
    with Reader() as reader:
        assert reader.log(f"{two}#1") is reader.log(f"{two}#2") is reader.log(two)


def test_what_was_opened_is_closed(two: str) -> None:
    with Reader() as reader:
        [source, _] = reader.log(two).sources
    with pytest.raises(ValueError, match="closed"):
        source.read_at(0, 1)


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02" * 500])
def test_what_cannot_be_read_is_a_run_without_facts(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "some.log"
    path.write_bytes(content)
    whole = tmp_path / "whole.log"
    whole.write_text(HEAD + SERVING)
    with Reader() as reader:
        run = reader.run(str(path), "bad")
        assert run.facts["reached"] is None
        assert run.log.errors
        other = reader.run(str(whole), "good")
        for good, bad in ((other, run), (run, other), (run, run)):
            report = compare_runs(good, bad)
            assert report.status == "unjudged"
            assert report.sentence == run.log.errors[0].message
        assert diagnose_runs(reader.runs(str(path))).status == "unjudged"


def test_a_compressed_file_that_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.log.gz"
    lines = text(*(f"INFO 05-02 10:00:{n % 60:02} a.py:{n}] line {n}" for n in range(5000)))
    path.write_bytes(gzip.compress((HEAD + lines).encode())[:-200])
    with Reader() as reader:
        run = reader.run(str(path), "bad")
    assert run.facts["engine.version"] == "0.6.3"
    assert any("cut off" in error.message for error in run.log.errors)


def test_broken_characters_and_long_lines_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(HEAD.encode() + b"INFO 05-02 10:00:09 a.py:1] \xff\xfe\n" + b"x" * 70_000)
    with Reader() as reader:
        messages = [error.message for error in reader.log(str(path)).log.errors]
    assert any("2 broken UTF-8 sequences" in message for message in messages)
    assert any("70,000 bytes" in message for message in messages)


def test_an_unknown_program_is_one_section(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("first log:\n2026-05-02T10:00:00Z a\nbad log:\n2026-05-01T10:00:00Z b\n")
    with Reader() as reader:
        assert len(reader.log(str(path)).log.sections) == 1


def test_a_heading_is_shown_without_its_secrets(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(TWO.replace("bad log:", "bad log with api_key=not-a-real-secret-1:"))
    with Reader() as reader:
        headings = [section.heading for section in reader.log(str(path)).log.sections]
    assert len(headings) == 2
    assert "not-a-real" not in repr(headings)


def life(number: int, reached: str | None, *, served: bool = False) -> Life:
    made = Life(number, 1, 1)
    made.facts = {"reached": reached, "serving_seconds": 5 if served else None}
    return made


@pytest.mark.parametrize(
    ("lives", "good", "bad"),
    [
        ([life(1, "serving", served=True)], 1, 1),
        ([life(1, "dead"), life(2, "serving", served=True)], 2, 1),
        ([life(1, "dead"), life(2, "dead"), life(3, "stopped", served=True)], 3, 2),
        ([life(1, "stopped", served=True), life(2, "args")], 1, 2),
        ([life(1, "args"), life(2, "args")], 2, 2),
    ],
)
def test_which_start_is_judged(lives: list[Life], good: int, bad: int) -> None:
    section = Section(1, 1, None)
    section.lives = lives
    assert judged_life(section, "good").number == good
    assert judged_life(section, "bad").number == bad


def test_a_container_that_restarts() -> None:
    log = HEAD + DIED + HEAD.replace("10:00", "11:01") + SERVING
    report = judge_texts(load_builtin(), None, log)
    assert (report.bad.life.number, len(report.bad.section.lives)) == (1, 2)
    assert report.status == "fail"


def test_fields_have_their_types() -> None:
    signals = {signal.id: signal for signal in load_builtin().signals}
    line = "INFO 05-02 10:01:30 [kv_cache_utils.py:864] GPU KV cache size: 65,920 tokens"
    assert match_line(signals["kv-tokens"], line) == {"tokens": 65920}
    assert match_line(signals["weights-loaded"], line) is None
