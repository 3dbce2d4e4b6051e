"""Whole cases: our own fixtures, healthy and broken real runs, and public reports."""

from __future__ import annotations

import itertools
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from logdiff.pipeline import Reader, compare_runs, diagnose_runs
from tests.conftest import REPOSITORY
from tests.reasoning import command, holds_at_least, report_json, severe

if TYPE_CHECKING:
    from pathlib import Path

SEVERE = ("critical", "high", "medium")
SECONDS = 5.0
"""No log of a few hundred lines takes longer, on a busy machine too."""
PAIRS = sorted(
    path.parent for path in REPOSITORY.glob("fixtures/*/expected.json")
    if (path.parent / "good").is_dir()
)  # fmt: skip
SINGLE = REPOSITORY / "fixtures" / "two-runs-one-file"
RUNS = "runs"


def log_of(case: Path, role: str) -> str:
    (path,) = (case / role).iterdir()
    return str(path)


def wanted_of(case: Path) -> dict[str, Any]:
    wanted: dict[str, Any] = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    return wanted


@pytest.fixture(params=PAIRS, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture
def report(case: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return report_json(capsys, "compare", log_of(case, "good"), log_of(case, "bad"))


# Our own pairs

ABOUT_THE_FILE = {"line_end", "last_line_has_line_end"}


@pytest.mark.parametrize("role", ["good", "bad"])
def test_facts_of_a_fixture(case: Path, role: str, report: dict[str, Any]) -> None:
    run = report[role]
    facts = run["facts"]
    for name, wanted in wanted_of(case)[role].items():
        if name == "logs":
            log = {key: value for key, value in wanted.items() if key not in ABOUT_THE_FILE}
            log["envelope"] = log["envelope"] or "none"
            holds_at_least(run["logs"][0], log, "logs")
        elif name == "args_count":
            assert sum(fact.startswith("args.") for fact in facts) == wanted
        elif name == "source_lines":
            for message, place in wanted.items():
                assert {w for t, w in facts[name].items() if t.startswith(message)} == {place}
        elif name == "oom" and wanted:
            check_oom(facts[name], wanted)
        elif name == "throughput":
            holds_at_least(facts[name] or {"count": 0}, wanted, name)
        elif name == "kernels":
            check_kernels(facts[name], wanted)
        else:
            holds_at_least(facts[name], wanted, name)


def check_oom(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    assert len(found) == len(wanted)
    for entry, expected in zip(found, wanted, strict=True):
        file, function = expected["where"].split(", ")
        assert entry["where"].startswith(f"{file}:")
        assert entry["where"].endswith(f" in {function}")
        holds_at_least(entry, expected | {"where": entry["where"]}, "oom")


def check_kernels(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    by_place = {kernel["where"]: kernel for kernel in found}
    assert by_place.keys() == {kernel["where"] for kernel in wanted}
    for kernel in wanted:
        holds_at_least(by_place[kernel["where"]], kernel, "kernels")


def test_arguments_of_a_fixture(case: Path, report: dict[str, Any]) -> None:
    found = {
        d["fact"].removeprefix("args."): [d["good"], d["bad"]]
        for d in report["differences"]
        if d["fact"].startswith("args.")
    }
    wanted = wanted_of(case)["argument_differences"]
    assert found == wanted
    subjects = [f["subject"] for f in report["findings"] if f["rule"] == "launch-arg-changed"]
    assert sorted(subjects) == sorted(wanted)


def test_findings_of_a_fixture(case: Path, report: dict[str, Any]) -> None:
    for wanted in wanted_of(case)["findings"]:
        found = [
            finding
            for finding in report["findings"]
            if finding["rule"] == wanted["rule"]
            and finding["run"] == wanted.get("run", "bad")
            and wanted.get("subject", finding["subject"]) == finding["subject"]
        ]
        assert found, wanted
        if "caused_by" in wanted:
            rules = {f["id"]: f["rule"] for f in report["findings"]}
            assert [rules[cause] for cause in found[0]["caused_by"]] == [wanted["caused_by"]]
        for confidence in ("certain", "likely"):
            for kernel in wanted.get(confidence, []):
                assert is_among(kernel, [f for f in found if f["confidence"] == confidence])
        for kernel in wanted.get("not_reached", []):
            assert any(e["what"].startswith(kernel) for e in report["coverage"]["not_reached"])
            assert not is_among(kernel, found) or "(" not in kernel


def is_among(kernel: str, findings: list[dict[str, Any]]) -> bool:
    return any(finding["subject"].startswith(kernel) for finding in findings)


def test_what_a_fixture_must_not_find(case: Path, report: dict[str, Any]) -> None:
    unwanted = set(wanted_of(case)["not_found"])
    found = {f["rule"]: f["title"] for f in report["findings"] if f["severity"] in SEVERE}
    assert not unwanted & found.keys(), found


# Our own file of two runs


def test_two_runs_in_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = wanted_of(SINGLE)
    with Reader() as reader:
        sections = reader.log(str(SINGLE / "container.log")).log.sections
    assert len(sections) == len(wanted["sections"])
    for section, expected in zip(sections, wanted["sections"], strict=True):
        for name in ("first_line", "last_line", "lines", "heading", "repeated_lines",
                     "repeated_physical_lines"):  # fmt: skip
            assert getattr(section, name) == expected[name], name
        assert len(section.lives) == len(expected["lives"])
        for life, one in zip(section.lives, expected["lives"], strict=True):
            assert life.facts["reached"] == one["reached"]
            for fact in (name for name in one if name.startswith("args.")):
                assert life.facts[fact] == one[fact]
            if "kv.concurrency" in one:
                assert life.facts["kv"]["concurrency"] == one["kv.concurrency"]
            if "error" in one:
                assert life.facts["engine_dead"]["error"].startswith(one["error"])
        holds_at_least(section.lives[-1].facts["kv"], expected["kv"])
        holds_at_least(section.lives[-1].facts["http"], expected["http"])
    judged = report_json(capsys, "diagnose", f"{SINGLE / 'container.log'}#2")
    assert judged["bad"]["reached"] == "dead"
    lives = {finding["life"] for finding in judged["findings"] if finding["run"] == "bad"}
    assert wanted["sections"][1]["judged_life"] in lives


# Any pair whatever

LOGS = [log_of(case, role) for case in PAIRS for role in ("good", "bad")]
LOGS += [f"{SINGLE / 'container.log'}#{number}" for number in (1, 2)]


@pytest.mark.parametrize(("good", "bad"), list(itertools.product(LOGS, repeat=2)))
def test_no_pair_crashes(good: str, bad: str) -> None:
    with Reader() as reader:
        report = compare_runs(reader.run(good, "good"), reader.run(bad, "bad"))
    ids = [finding.id for finding in report.findings]
    assert len(set(ids)) == len(ids)
    assert len({(fix.kind, fix.key) for fix in report.fixes}) == len(report.fixes)
    known = {fix.id for fix in report.fixes}
    assert all(set(finding.fixes) <= known for finding in report.findings)
    told: set[str] = set()
    for finding in report.findings:
        assert told >= set(finding.caused_by)
        told.add(finding.id)


@pytest.mark.parametrize("case", PAIRS, ids=lambda case: case.name)
def test_good_against_itself_is_nothing(case: Path) -> None:
    with Reader() as reader:
        good = log_of(case, "good")
        report = compare_runs(reader.run(good, "good"), reader.run(good, "bad"))
    assert severe(report.findings) == []
    assert report.differences == []
    assert report.status == "pass"


@pytest.mark.parametrize("format_name", ["text", "markdown", "json"])
@pytest.mark.parametrize("case", PAIRS, ids=lambda case: case.name)
def test_every_format_of_both_directions(
    case: Path, format_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = (log_of(case, role) for role in ("good", "bad"))
    for pair in ((good, bad), (bad, good)):
        for verbose in ([], ["-v"]):
            result = command(capsys, "compare", *pair, "-f", format_name, *verbose)
            assert result.status == 0
            assert result.err == ""
            assert result.out == command(capsys, "compare", *pair, "-f", format_name, *verbose).out


# Real runs of vLLM, good and bad


def index(folder: Path) -> list[dict[str, Any]]:
    path = folder / RUNS / "index.jsonl"
    if not path.is_file():
        pytest.skip(f"no real runs at {path.parent}")
    entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [entry for entry in entries if (folder / RUNS / entry["file"]).is_file()]


def test_healthy_real_runs_are_healthy(shared: Path) -> None:
    entries = [entry for entry in index(shared) if entry["outcome"] == "good"]
    assert entries
    for entry in entries:
        with Reader() as reader:
            report = diagnose_runs(reader.runs(str(shared / RUNS / entry["file"])))
        assert severe(report.findings) == [], entry["file"]
        assert report.status == "pass", entry["file"]


def test_two_healthy_runs_of_one_configuration(shared: Path) -> None:
    entries = index(shared)
    firsts = [e["file"] for e in entries if e["file"].endswith("good-1.log")]
    assert firsts
    for first in firsts:
        second = first.replace("good-1", "good-2")
        for good, bad in ((first, second), (second, first)):
            with Reader() as reader:
                report = compare_runs(
                    reader.run(str(shared / RUNS / good), "good"),
                    reader.run(str(shared / RUNS / bad), "bad"),
                )
            other = [f for f in report.findings if f.rule != "launch-arg-changed"]
            assert severe(other) == [], (good, bad)
            for finding in report.findings:
                if finding.rule == "launch-arg-changed":
                    fact = f"args.{finding.subject}"
                    assert report.good is not None
                    assert report.good.facts.get(fact) != report.bad.facts.get(fact)


def test_another_file_of_a_vendor_is_all_that_is_found(shared: Path) -> None:
    pair = [shared / RUNS / f"0.32.0-good-{name}.log" for name in ("1", "vendor-shifted")]
    if not all(path.is_file() for path in pair):
        pytest.skip("no run with shifted files")
    with Reader() as reader:
        report = compare_runs(reader.run(str(pair[0]), "good"), reader.run(str(pair[1]), "bad"))
    assert {f.rule for f in report.findings if f.severity != "info"} == {"source-drift"}
    assert all(f.severity == "medium" for f in report.findings if f.rule == "source-drift")


def test_every_bad_real_run_is_judged_in_no_time(shared: Path) -> None:
    for entry in index(shared):
        began = time.process_time()
        with Reader() as reader:
            report = diagnose_runs(reader.runs(str(shared / RUNS / entry["file"])))
        assert time.process_time() - began < SECONDS, entry["file"]
        # A server that lives may be useless all the same: it refuses every chat.
        assert report.status == "fail" or not report.bad.life.ended_badly, entry["file"]


def test_no_bad_real_run_crashes_a_comparison(shared: Path) -> None:
    entries = [entry for entry in index(shared) if entry.get("compare_with")]
    for entry in entries:
        good = shared / RUNS / entry["compare_with"]
        if not good.is_file():
            continue
        with Reader() as reader:
            bad = reader.run(str(shared / RUNS / entry["file"]), "bad")
            report = compare_runs(reader.run(str(good), "good"), bad)
        assert report.sentence, entry["file"]


def test_public_reports(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = sorted((shared / "cases").glob("*/log.txt"))
    if not logs:
        pytest.skip(f"no public reports at {shared / 'cases'}")
    for log in logs:
        for format_name in ("text", "json", "markdown"):
            result = command(capsys, "diagnose", log, "-f", format_name)
            assert result.status in (0, 3), (log, result.err)
            assert result.out, log
        healthy = log.parent.name.split("-")[1] == "healthy"
        expected = yaml.safe_load((log.parent / "case.yaml").read_text(encoding="utf-8"))
        assert expected
        if healthy:
            report = json.loads(command(capsys, "diagnose", log, "-f", "json").out)
            assert [f["id"] for f in report["findings"] if f["severity"] in SEVERE] == [], log
