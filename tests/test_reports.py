"""How often logdiff is right: thirty public reports with their accepted answer, and real bad runs.

Both tables are printed, so that a rule that gets worse is seen before the share falls too low.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml

from tests.reasoning import command, report_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

FIRST = 2
"""What is read at midnight: the first findings, not the twentieth."""
SHARE_OF_REPORTS = 0.8
RIGHT_RUNS = 38
JUDGED = (0, 3)
"""Statuses of a command that read the log: something could be judged, or nothing."""
HEALTHY = "no-fault"
NOTHING = "nothing"

NAMED: dict[str, frozenset[str]] = {
    cause: frozenset(rules.split())
    for cause, rules in {
        "kv-cache-smaller-than-max-model-len": "kv-capacity-exceeded",
        "cuda-oom-fragmentation": "out-of-memory oom-at-load oom-at-profiling oom-at-warmup "
        "oom-while-serving",
        "oom-load-single-gpu-of-many": "oom-at-load out-of-memory",
        "oom-serving-activation-spike": "oom-while-serving out-of-memory",
        "oom-warmup-sampler": "oom-at-warmup",
        "mm-limit-per-prompt": "multimodal-limit",
        "structured-output-request-kills-engine": "engine-dead request-kills-engine",
        "garbage-output-attention-backend": "nan-output garbage-output",
        "garbage-output-wrong-gpu-arch-kernels": "nan-output garbage-output",
        "vendor-custom-op-not-installed": "custom-op-missing undefined-symbol",
        "extension-abi-mismatch": "undefined-symbol",
        "engine-too-old-for-model": "weights-not-loaded",
        "weights-shard-missing": "weights-not-loaded",
        "nccl-p2p-hang": "worker-divergence",
        "attention-backend-import-failed": "module-missing attention-backend-missing",
        "tool-parser-not-enabled": "tool-choice-not-enabled",
        "unknown-cli-flag-from-other-engine": "unknown-flag",
        "chat-template-missing": "chat-template-missing",
        "shm-too-small": "shm-too-small",
        "driver-older-than-image-cuda": "driver-too-old",
        "vendor-torch-missing-from-image": "module-missing",
        "model-path-not-found-in-container": "model-path-missing hub-unreachable",
        "hf-cache-not-writable": "cache-not-writable",
    }.items()
}
"""Accepted cause → the rules that state it. A cause that no rule states is not here."""

CLOCK = re.compile(r"\b\d\d:\d\d:\d\d\b")
GENERIC = frozenset("a client docker file files host image model of or run server the with".split())
"""Words of an accepted fix that say nothing about which one it is."""


class Judged(NamedTuple):
    """What was said about one log."""

    first: list[dict[str, Any]]
    """The first findings."""
    fixes: list[dict[str, Any]]
    """The fixes that these ask for."""


# The public reports


class Answer(NamedTuple):
    """One row of the table of reports."""

    case: str
    engine: str
    cause: str
    found: str
    cause_hit: bool | None
    """``None``: no rule names this cause."""
    fix_hit: bool | None


def spaced(text: str) -> str:
    """A text in one line, without the time of day: of equal messages the first is quoted."""
    return " ".join(CLOCK.sub("", text).split())


def is_above_info(finding: dict[str, Any]) -> bool:
    return str(finding["severity"]) != "info"


def judged(report: dict[str, Any], findings: Iterable[dict[str, Any]]) -> Judged:
    first = list(findings)[:FIRST]
    wanted = {fix for finding in first for fix in finding["fixes"]}
    return Judged(first, [fix for fix in report["fixes"] if fix["id"] in wanted])


def quotes(finding: dict[str, Any]) -> list[str]:
    return [spaced(place["text"]) for place in finding["evidence"]]


def states_cause(finding: dict[str, Any], expected: dict[str, Any]) -> bool:
    return finding["rule"] in NAMED[expected["cause"]["id"]] and any(
        spaced(proof) in quote for proof in expected["evidence"] for quote in quotes(finding)
    )


def words_of(key: str) -> list[str]:
    """The flags and variables that a fix names; where it names none, its telling words."""
    exact = re.findall(r"--[a-z][a-z-]+|\b[A-Z]+_[A-Z_]+\b", key)
    words = [word.strip("*.") for word in re.split(r"[\s(),/]+", key)]
    return exact or [word for word in words if len(word) > 2 and word not in GENERIC] or [key]


def is_fix(fix: dict[str, Any], wanted: dict[str, Any]) -> bool:
    said = f"{fix['key']} {fix['to']} {fix['reason']}".lower()
    words = words_of(wanted["key"])
    return fix["kind"] == wanted["kind"] and any(word.lower() in said for word in words)


def answer(case: Path, accepted: dict[str, Any], report: dict[str, Any]) -> Answer:
    expected = accepted["expected"]
    cause, fix = expected["cause"]["id"], expected["fix"]
    said = judged(report, filter(is_above_info, report["findings"]))
    named = cause in NAMED
    return Answer(
        case.name,
        accepted["engine"]["name"].split()[0],
        cause,
        rules_of(said),
        any(states_cause(finding, expected) for finding in said.first) if named else None,
        any(is_fix(one, wanted) for one in said.fixes for wanted in [fix, *also(fix)])
        if named
        else None,
    )


def also(fix: dict[str, Any]) -> list[dict[str, Any]]:
    other: list[dict[str, Any]] = fix.get("also_accept", [])
    return other


def rules_of(said: Judged) -> str:
    return " ".join(finding["rule"] for finding in said.first) or NOTHING


def mistakes(expected: dict[str, Any], report: dict[str, Any]) -> list[str]:
    """What a report must not say: a fault where only the words look like one, a wrong change."""
    severe = list(filter(is_above_info, report["findings"]))
    baits = list(map(spaced, expected.get("bait", [])))
    wrong = [f["id"] for f in severe for bait in baits if any(bait in q for q in quotes(f))]
    if expected["cause"]["id"] == HEALTHY:
        wrong += [finding["id"] for finding in severe]
    named = {f"{fix['kind']} {fix['key']}" for fix in report["fixes"]}
    return wrong + sorted(named & set(expected.get("not_expected", [])))


def mark(hit: bool | None) -> str:
    return "not named" if hit is None else "yes" if hit else "NO"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
    return "\n" + "\n".join(texts) + "\n"


def test_public_reports_are_answered(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = sorted(path.parent for path in (shared / "cases").glob("*/case.yaml"))
    if not cases:
        pytest.skip(f"no public reports at {shared / 'cases'}")
    answers, wrong = [], {}
    for case in cases:
        accepted = yaml.safe_load((case / "case.yaml").read_text(encoding="utf-8"))
        result = command(capsys, "diagnose", case / "log.txt", "-f", "json")
        assert result.status in JUDGED, result.err
        report = json.loads(result.out)
        answers.append(answer(case, accepted, report))
        if found := mistakes(accepted["expected"], report):
            wrong[case.name] = found
    named = [row for row in answers if row.cause_hit is not None]
    right = sum(bool(row.cause_hit and row.fix_hit) for row in named)
    rows = [(*row[:4], mark(row.cause_hit), mark(row.fix_hit)) for row in answers]
    with capsys.disabled():
        head = ("case", "engine", "accepted cause", "first findings", "cause", "fix")
        sys.stdout.write(table(head, rows))
        sys.stdout.write(f"cause and fix: {right} of {len(named)} whose cause a rule names\n")
    assert wrong == {}
    assert right >= SHARE_OF_REPORTS * len(named)


# Real runs


class Bad(NamedTuple):
    """One row of the table of bad runs."""

    file: str
    wrong: str
    found: str
    alone: frozenset[str]
    """Rules among the first findings that quote a line which tells what is wrong."""
    compared: frozenset[str] | None
    """``None``: the known-good run is not there."""


STAMP = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z ")


SYMPTOMS = frozenset({"engine-dead", "requests-failed"})
"""Rules that say that it went wrong and quote the words of the log, whatever went wrong."""


def telling(run: dict[str, Any], lines: Sequence[str], said: Judged) -> frozenset[str]:
    """Rules among the first findings that quote a line which tells what is wrong."""
    texts = {STAMP.sub("", lines[number - 1]).strip() for number in run["lines"]}
    return frozenset(
        finding["rule"]
        for finding in said.first
        for place in finding["evidence"]
        if place["run"] == "bad"
        and (place["line"] in run["lines"] or STAMP.sub("", place["text"]).strip() in texts)
    )


def bad_run(folder: Path, run: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> Bad:
    path = folder / run["file"]
    lines = path.read_text(encoding="utf-8").splitlines()
    report = report_json(capsys, "diagnose", path)
    said = judged(report, report["findings"])
    row = Bad(
        run["file"].removesuffix(".log"),
        run["wrong"][:50],
        rules_of(said),
        telling(run, lines, said),
        None,
    )
    good = folder / run["compare_with"]
    if not good.is_file():
        return row
    report = report_json(capsys, "compare", good, path)
    said = judged(report, report["findings"])
    return row._replace(found=f"{row.found} / {rules_of(said)}", compared=telling(run, lines, said))


def test_bad_runs_are_told_by_their_lines(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shared / "runs"
    if not (folder / "index.jsonl").is_file():
        pytest.skip(f"no real runs at {folder}")
    texts = (folder / "index.jsonl").read_text(encoding="utf-8").splitlines()
    index = [json.loads(text) for text in texts]
    rows = [bad_run(folder, run, capsys) for run in index if run["outcome"] == "bad"]
    hits = [row.alone | (row.compared or frozenset()) for row in rows]
    right = sum(map(bool, hits))
    causes = sum(bool(hit - SYMPTOMS) for hit in hits)
    marks = [
        (
            *row[:3],
            mark(bool(row.alone)),
            mark(None if row.compared is None else bool(row.compared)),
        )
        for row in rows
    ]
    with capsys.disabled():
        head = ("run", "what is wrong", "first findings alone / compared", "alone", "compared")
        sys.stdout.write(table(head, marks).replace("not named", "no good run"))
        sys.stdout.write(f"told by its lines: {right} of {len(rows)}; by a cause: {causes}\n")
    alarms = {
        run["file"]: found
        for run in index
        if run["outcome"] == "good"
        for report in [report_json(capsys, "diagnose", folder / run["file"])]
        if (found := rules_of(judged(report, filter(is_above_info, report["findings"])))) != NOTHING
    }
    assert alarms == {}
    assert right >= RIGHT_RUNS
