"""``check``: the examples of rules and signals, with a scanner and an evaluator of a few lines."""

# ruff: noqa: E501  # a case is one line, however long its message

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from logdiff.engine import check as checker
from logdiff.engine.check import check
from logdiff.engine.ruleset import RuleSet, Signal
from logdiff.errors import InputError, RuleError
from logdiff.model import Finding, Fix, Report
from tests.engine.samples import RULE, SIGNALS, make_run

if TYPE_CHECKING:
    from tests.engine.samples import MakeFile


def match_line(signal: Signal, line: str) -> dict[str, Any] | None:
    message = line.removeprefix("INFO ")
    for pattern, *_ in signal.patterns:
        match = re.search(pattern, message.encode())
        if match:
            return {name: float(match[name]) for name, _, _ in signal.fields}
    return None


def make_fix() -> Fix:
    fix = Fix("config", "--model", "set")
    fix.old, fix.new = "x", "y"
    return fix


def run_example(rules: RuleSet, good: str | None, bad: str, *_files: dict[str, str]) -> Report:
    """Find a difference where the logs differ; three where bad is ``many``."""
    if bad == "empty":
        raise InputError("the log is empty")
    report = Report(None, make_run("bad", {}))
    report.fixes = [make_fix()]
    assert "weights-differ" in {rule.id for rule in rules.rules}
    for number in range(3 if bad == "many" else int(good != bad)):
        finding = Finding("weights-differ", f"part {number}" if bad == "many" else None, "bad")
        finding.severity, finding.confidence = "medium", "likely"
        finding.title = "Weights differ"
        finding.fixes = [report.fixes[0].id]
        report.findings += [finding, Finding("another-rule", None, "bad")]
    return report


@pytest.fixture(autouse=True)
def no_builtin_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "load_builtin", lambda: RuleSet([], []))


def problems_of(*paths: str) -> list[str]:
    problems = check(paths, match_line=match_line, run_example=run_example)
    return [str(problem).removeprefix(f"{problem.position.file}:") for problem in problems]


def test_good_files_have_no_problems(make_file: MakeFile) -> None:
    assert problems_of(make_file(RULE), make_file(SIGNALS, "demo.yaml")) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("line: 'INFO Loading weights took 17.35 GB'", "line: 'INFO Loaded'", "14:15: weights-loaded does not recognise its example"),
        ("gb: 17.35", "gb: 17.0", "15:21: gb is 17.35, not 17.0"),
        ("gb: 17.35", "size: 1", "15:23: size is None, not 1"),
        ("pattern: 2", "pattern: 1", "16:15: weights-loaded does not recognise its example"),
        ("pattern: 2", "pattern: 3", "17:18: there is no pattern 3"),
        ("took a while", "took 1.5 GB", "19:9: weights-loaded recognises a line that it must not"),
    ],
)  # fmt: skip
def test_signal_whose_examples_do_not_hold(
    make_file: MakeFile, old: str, new: str, problem: str
) -> None:
    assert old in SIGNALS
    found = problems_of(make_file(SIGNALS.replace(old, new), "demo.yaml"))
    assert problem in found


def test_a_pattern_that_no_example_reaches(make_file: MakeFile) -> None:
    text = SIGNALS.replace(
        "INFO Weights of 9.5 GB are loaded'\n        pattern: 2", "Loading weights took 1.5 GB'"
    )
    assert problems_of(make_file(text, "demo.yaml")) == ["8:9: no example reaches this pattern"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("bad: b", "bad: a", "25:9: example 'lighter': finds nothing"),
        ("bad: a", "bad: b", "30:12: example 'equal': also finds weights-differ (medium, likely): Weights differ"),
        ("- severity: medium", "- severity: high", "25:9: example 'lighter': finds no such thing; severity is 'medium'"),
        ("- severity: medium", "- title_contains: x", "25:9: example 'lighter': finds no such thing; title is 'Weights differ'"),
        ("- severity: medium", "- subject: x", "25:9: example 'lighter': finds no such thing; subject is None"),
        ("key: --model,", "key: --dtype,", "26:17: example 'lighter': proposes no fix of --dtype, but --model"),
        ("from: x, to: y", "from: z", "26:17: example 'lighter': fix of --model: from is 'x', not 'z'"),
        ("from: x, to: y", "to: null", "26:17: example 'lighter': fix of --model: to is 'y', not None"),
        ("from: x, to: y", "action: add", "26:17: example 'lighter': fix of --model: action is set"),
        ("bad: b", "bad: empty", "21:5: example 'lighter': the log is empty"),
    ],
)  # fmt: skip
def test_rule_whose_examples_do_not_hold(
    make_file: MakeFile, old: str, new: str, problem: str
) -> None:
    assert old in RULE
    found = problems_of(make_file(RULE.replace(old, new, 1)))
    assert problem in found


def test_each_finding_meets_one_expectation(make_file: MakeFile) -> None:
    expected = "finds: [{subject: part 2}, {subject: part 0}, {subject: part 1}]"
    example = f"  - {{name: three, bad: many, {expected}}}\n"
    assert problems_of(make_file(RULE + example)) == []
    repeated = example.replace("part 2", "part 1")
    assert problems_of(make_file(RULE + repeated)) == [
        "31:37: example 'three': also finds weights-differ:part 2 (medium, likely): Weights differ",
        "31:76: example 'three': finds no such thing; subject is 'part 2'",
    ]


def test_a_rule_needs_both_kinds_of_examples(make_file: MakeFile) -> None:
    head, examples = RULE.split("examples:\n")
    positive, negative = examples.split("  - name: equal")
    assert problems_of(make_file(f"{head}examples:\n{positive}")) == [
        "21:3: no example shows what the rule does not find"
    ]
    assert problems_of(make_file(f"{head}examples:\n  - name: equal{negative}")) == [
        "21:3: no example shows what the rule finds"
    ]


def test_all_problems_of_all_files_are_reported(make_file: MakeFile) -> None:
    rule = make_file(RULE.replace("likely", "lik").replace("good.weights.gb !=", "good.x !="))
    signals = make_file(SIGNALS.replace("about:", "abaut:"), "demo.yaml")
    assert problems_of(rule, signals) == [
        "3:5: the key 'about' is missing",
        "5:5: unknown key 'abaut'; did you mean 'about'?",
        "4:13: undefined name 'lik'",
        "8:10: undefined fact 'x'",
    ]


def test_paths_must_exist() -> None:
    with pytest.raises(RuleError, match="there is no such file"):
        problems_of("/nonexistent")


def test_without_paths_the_built_in_files_are_checked(
    make_file: MakeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = make_file(RULE.replace("likely", "lik"))
    monkeypatch.setattr(checker, "RULES_DIRECTORY", broken)
    (problem,) = check(None, match_line=match_line, run_example=run_example)
    assert str(problem) == f"{broken}:4:13: undefined name 'lik'"
