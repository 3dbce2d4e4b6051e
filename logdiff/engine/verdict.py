"""Pass, fail or cannot judge, and the one sentence that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.model import SEVERITIES

if TYPE_CHECKING:
    from logdiff.model import Finding, Report, Run

_FAILING = SEVERITIES[: SEVERITIES.index("high") + 1]
_CLAUSES = 3
_LONGEST_ERROR = 240
_REQUESTS = "requests-failed"
"""The rule of which even a finding at info level is news: the server refuses its clients."""


def judge(report: Report) -> None:
    """Set the status and the sentence of a report."""
    about_bad = [finding for finding in report.findings if finding.run == "bad"]
    if any(finding.severity in _FAILING for finding in about_bad):
        report.status = "fail"
        report.sentence = _sentence(_clauses(about_bad))
    elif unread := [run for run in (report.bad, report.good) if run and not _is_read(run)]:
        report.status = "unjudged"
        report.sentence = _why_unread(unread[0])
    elif not report.bad.log.sections:
        report.status = "pass"
        report.sentence = _what_files_say(about_bad)
    elif report.bad.facts.get("reached") is None and not about_bad:
        report.status = "unjudged"
        report.sentence = _why_unjudged(report)
    else:
        report.status = "pass"
        report.sentence = _what_was_not_found(report, about_bad)


def _is_read(run: Run) -> bool:
    """Whether anything of a run is at hand: a log, or the files that made it."""
    return bool(run.log.sections or run.submission)


def _what_files_say(findings: list[Finding]) -> str:
    notable = [finding for finding in findings if finding.severity != "info"]
    clauses = list(dict.fromkeys(f.headline or f.title for f in notable))[: _CLAUSES - 1]
    return _sentence(["no log is at hand, only submission files are judged", *clauses])


def _clauses(findings: list[Finding]) -> list[str]:
    """The headlines that tell the story: of the severe findings and of what caused them."""
    by_id = {finding.id: finding for finding in findings}
    wanted: set[str] = set()
    for finding in findings:
        if finding.severity in _FAILING:
            wanted.add(finding.id)
            wanted.update(_ancestors(finding, by_id))
    clauses: list[str] = []
    rules: set[str] = set()
    for finding in findings:
        if finding.id in wanted and finding.rule not in rules:
            rules.add(finding.rule)
            clauses.append(finding.headline or finding.title)
    return clauses[:_CLAUSES]


def _ancestors(finding: Finding, by_id: dict[str, Finding]) -> set[str]:
    found: set[str] = set()
    for identifier in finding.caused_by:
        found |= {identifier} | _ancestors(by_id[identifier], by_id)
    return found


def _sentence(clauses: list[str]) -> str:
    text = "; ".join(clause.rstrip(".") for clause in clauses)
    word = text.partition(" ")[0]
    # A file or a flag is written as it is.
    return f"{text[:1].upper()}{text[1:]}." if word.isalpha() else f"{text}."


def _why_unread(run: Run) -> str:
    errors = run.log.errors
    return errors[0].message if errors else f"{run.log.name}: nothing could be read."


def _why_unjudged(report: Report) -> str:
    errors = report.bad.facts.get("exceptions") or ()
    quoted = "".join(
        f" It names an error, in line {entry.evidence[0].mark.line}: "
        f"{entry['type']}: {entry['message']}"[:_LONGEST_ERROR]
        for entry in errors[:1]
    )
    return (
        f"{report.bad.log.name}: nothing in it shows a server that starts, serves or dies; "
        f"nothing could be judged.{quoted}"
    )


def _what_was_not_found(report: Report, findings: list[Finding]) -> str:
    reached = report.bad.facts.get("reached")
    facts = report.bad.facts
    notable = [f for f in findings if f.severity != "info" or f.rule == _REQUESTS]
    clauses = list(dict.fromkeys(f.headline or f.title for f in notable))[: _CLAUSES - 1]
    if "serving" not in facts.get("stage.entered", ()) and clauses:
        return _sentence(["nothing of high severity is found, but no serving either", *clauses])
    if "serving" not in facts.get("stage.entered", ()):
        starts = len(report.bad.section.lives)
        never = f"it started {starts} times and never served" if starts > 1 else "it never served"
        return _sentence([f"no fault is found up to where the log ends, but {never}"])
    if clauses:
        return _sentence(["nothing of high severity is found", *clauses])
    until = "" if reached == "stopped" else ", as far as it goes"
    return f"No fault is found in this log{until}."
