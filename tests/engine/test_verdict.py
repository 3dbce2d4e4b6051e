"""Pass, fail or cannot judge, and how it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from logdiff.engine.verdict import judge
from logdiff.model import Finding, ReadError, Report, Section
from tests.engine.samples import make_run
from tests.reasoning import HEAD, text
from tests.reasoning import judge as judge_log

if TYPE_CHECKING:
    from logdiff.model import Run


def read(role: str, reached: str | None = "serving") -> Run:
    entered = ["args", "serving"] + (["stopped"] if reached == "stopped" else [])
    run = make_run(role, {"reached": reached, "engine.name": "vllm", "stage.entered": entered})
    run.log.sections = [Section(1, 1, None)]
    return run


def unread(role: str) -> Run:
    run = make_run(role, {"reached": None})
    run.log.errors = [ReadError(role, None, f"{role}.log: is empty")]
    return run


def finding(severity: str, run: str = "bad", title: str = "a thing happened") -> Finding:
    made = Finding(f"rule-{severity}", title, run)
    made.severity, made.title = severity, title
    return made


def judged(good: Run | None, bad: Run, *findings: Finding) -> Report:
    report = Report(good, bad)
    report.findings = list(findings)
    judge(report)
    return report


@pytest.mark.parametrize(
    ("severity", "status"),
    [("critical", "fail"), ("high", "fail"), ("medium", "pass"), ("low", "pass"), ("info", "pass")],
)
def test_severity_decides(severity: str, status: str) -> None:
    assert judged(None, read("bad"), finding(severity)).status == status
    assert judged(read("good"), read("bad"), finding(severity, "good")).status == "pass"


def test_nothing_found() -> None:
    report = judged(None, read("bad"))
    assert (report.status, report.sentence) == (
        "pass", "No fault is found in this log, as far as it goes.")  # fmt: skip
    assert judged(None, read("bad", "stopped")).sentence == "No fault is found in this log."


def test_a_server_that_never_served_is_said_to() -> None:
    run = read("bad", "weights")
    run.life.facts["stage.entered"] = ["args", "load", "weights"]
    until = "No fault is found up to where the log ends, but "
    assert judged(None, run).sentence == f"{until}it never served."
    run.section.lives = [run.life] * 3
    assert judged(None, run).sentence == f"{until}it started 3 times and never served."


def test_refused_requests_are_news() -> None:
    refused = finding("info")
    refused.rule, refused.headline = "requests-failed", "5 of 7 answers are errors"
    report = judged(None, read("bad"), refused)
    assert report.sentence == "Nothing of high severity is found; 5 of 7 answers are errors."


@pytest.mark.parametrize("findings", [[], [finding("info")], [finding("medium", "good")]])
def test_what_was_not_read_is_not_judged(findings: list[Finding]) -> None:
    report = judged(read("good"), unread("bad"), *findings)
    assert (report.status, report.sentence) == ("unjudged", "bad.log: is empty")
    report = judged(unread("good"), read("bad"), *findings)
    assert (report.status, report.sentence) == ("unjudged", "good.log: is empty")


def test_a_fault_of_bad_fails_without_a_good_run() -> None:
    assert judged(unread("good"), read("bad"), finding("high")).status == "fail"


def test_a_log_of_no_server() -> None:
    report = judged(None, read("bad", None))
    assert report.status == "unjudged"
    assert "nothing could be judged" in report.sentence
    assert judged(None, read("bad", None), finding("low")).status == "pass"


def test_the_sentence_tells_the_causes_first() -> None:
    cause, worst = finding("info", title="the cause"), finding("high", title="the harm")
    aside = finding("medium", title="an aside")
    cause.consequences, worst.caused_by = [worst.id], [cause.id]
    assert judged(None, read("bad"), cause, worst, aside).sentence == "The cause; the harm."


def test_the_sentence_is_short_and_says_each_rule_once() -> None:
    findings = [finding("high", title=f"thing {n}") for n in range(9)]
    assert judged(None, read("bad"), *findings).sentence == "Thing 0."
    for number, one in enumerate(findings):
        one.rule = f"rule-{number}"
    assert judged(None, read("bad"), *findings).sentence == "Thing 0; thing 1; thing 2."


def test_a_name_at_the_beginning_is_left_as_it_is() -> None:
    sentence = judged(None, read("bad"), finding("high", title="nimbus.py is gone.")).sentence
    assert sentence == "nimbus.py is gone."


def test_a_headline_is_preferred_to_a_title() -> None:
    one = finding("high", title="long and with figures")
    one.headline = "short"
    assert judged(None, read("bad"), one).sentence == "Short."


@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (HEAD, "pass"),
        (HEAD + text("ERROR 05-02 11:00:00 a.py:65] Engine background task failed"), "fail"),
        ("something of another program\n" * 5, "unjudged"),
        ("\n\n", "unjudged"),
    ],
)
def test_whole_logs(bad: str, status: str) -> None:
    assert judge_log(bad).status == status
