from __future__ import annotations

from typing import Any

from logdiff.model import Difference, Evidence, Place, ReadError, Run
from logdiff.render import Options
from logdiff.render import json as json_format
from logdiff.render.document import MOST_PLACES, build, build_inspection, plain
from logdiff.render.json import render
from tests.render.synthetic import (
    bad_run,
    empty_report,
    finding,
    make_run,
    pair_report,
    quote,
    seen,
)


def test_the_parts_stand_in_the_published_order(pair_document: dict[str, Any]) -> None:
    assert list(pair_document) == [
        "schema", "tool", "verdict", "good", "bad", "differences", "findings", "fixes", "novel",
        "coverage",
    ]  # fmt: skip
    assert pair_document["schema"] == "logdiff.report/1"
    assert pair_document["bad"]["logs"] == [
        {
            "path": "pair.log",
            "kind": "serve",
            "envelope": "docker_timestamps",
            "section": 1,
            "lives": 1,
            "life": 1,
            "lines": 199,
            "repeated_lines": 0,
            "repeated_physical_lines": 0,
            "truncated": True,
            "started": "2026-03-02T10:00:00.1Z",
            "ended": "2026-03-02T10:01:21.2Z",
        }
    ]
    assert pair_document["good"]["engine"] == {"name": "vllm", "version": "0.6.3"}
    assert list(pair_document["bad"]["facts"]) == sorted(pair_document["bad"]["facts"])


def test_facts_are_plain_and_finite(pair_document: dict[str, Any]) -> None:
    facts = pair_document["bad"]["facts"]
    assert facts["nan"]["fraction_max"] is None
    assert type(facts["kernels.fallback"][0]) is dict
    assert plain({1: (float("inf"), {"b", "a"}, b"x")}) == {"1": [None, ["a", "b"], "b'x'"]}


def test_evidence_is_quoted_once_a_line_with_its_own_witnesses() -> None:
    asked: list[tuple[str, int]] = []

    def counting(run: Run, evidence: Evidence) -> Place:
        asked.append((run.role, evidence.mark.line))
        return quote(run, evidence)

    report = pair_report()
    report.findings.append(
        finding("other", None, "low", "likely", "title", [(report.bad, seen(40, 1, ("driver",)))])
    )
    document = build(report, counting)
    assert len(asked) == len(set(asked))
    first, last = document["findings"][0], document["findings"][-1]
    assert first["evidence"][0]["count"] == 4
    assert last["evidence"][0]["workers"] == ["driver"]
    assert first["evidence"][0]["text"] == last["evidence"][0]["text"]


def test_evidence_is_bounded(heavy_document: dict[str, Any]) -> None:
    assert len(heavy_document["findings"][-1]["evidence"]) == MOST_PLACES


def test_coverage_is_summed_and_repeats_are_not_held_against_it(
    pair_document: dict[str, Any],
) -> None:
    coverage = pair_document["coverage"]
    assert (coverage["lines"], coverage["recognised"]) == (199 + 3006, 150 + 1200)
    assert coverage["not_understood"] == 199 + 3006 - 1503 - 150 - 1200


def test_errors_of_a_file_that_holds_both_runs_are_told_once() -> None:
    report = pair_report()
    assert report.good is not None
    report.good.log = report.bad.log
    report.bad.log.errors = [ReadError("pair.log", None, "the end is damaged")]
    assert build(report, quote)["coverage"]["read_errors"] == [
        {"path": "pair.log", "line": None, "message": "the end is damaged"}
    ]


def test_a_run_alone_has_no_good() -> None:
    document = build(empty_report(), quote)
    assert document["good"] is None
    assert document["verdict"] == {"status": "unjudged", "sentence": ""}


def test_the_same_report_gives_the_same_bytes() -> None:
    one, two = (render(build(pair_report(), quote), Options()) for _ in range(2))
    assert one == two


def test_an_inspection_lists_sections_and_lives(inspection: dict[str, Any]) -> None:
    (log,) = inspection["logs"]
    assert (log["path"], log["bytes"]) == ("pair.log", 692_000)
    assert [section["label"] for section in log["sections"]] == ["pair.log#1", "pair.log#2"]
    assert log["sections"][1]["lives"][0]["reached"] == "dead"


def test_an_inspection_of_nothing() -> None:
    run = make_run("bad")
    run.section.lives.clear()
    section = build_inspection([(run.log, None)])["logs"][0]["sections"][0]
    assert (section["lives"], section["reached"]) == ([], None)


def test_differences_keep_their_unit() -> None:
    report = pair_report()
    report.differences = [Difference("x", 1, float("nan"), float("nan"), "GB", [])]
    assert build(report, quote)["differences"][0] == {
        "fact": "x", "good": 1, "bad": None, "change": None, "unit": "GB", "evidence": [],
    }  # fmt: skip


def test_json_of_an_inspection_names_its_schema_first() -> None:
    text = json_format.render_inspect(build_inspection([(bad_run().log, 1)]), Options())
    assert text.startswith('{\n  "schema": "logdiff.inspection/1",')
