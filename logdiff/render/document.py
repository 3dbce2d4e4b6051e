"""The one plain structure from which every format is made: ``logdiff.report/1``.

It holds dictionaries, lists, strings, numbers, booleans and ``None`` only, in a fixed order, so
that the same report always gives the same bytes. :mod:`logdiff.render.dto` describes it.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from logdiff.model import Difference, Evidence, Finding, Fix, Life, Log, Place, Report, Run, Section
from logdiff.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

REPORT_SCHEMA = "logdiff.report/1"
INSPECTION_SCHEMA = "logdiff.inspection/1"

MOST_PLACES = 20
"""Lines of evidence that one fact, difference or finding keeps."""

GONE = "no more: "
"""Before a line that the next run must not show."""
_LONGEST_SIGN = 120
"""Characters of the line that tells whether a fix helped."""

_BARE = frozenset({str, int, bool, type(None)})


def build(report: Report, quote: Callable[[Run, Evidence], Place]) -> dict[str, Any]:
    """Turn a report into its plain structure; ``quote`` reads a line of evidence again."""
    quoter = _Quoter(quote)
    runs = [report.bad] if report.good is None else [report.good, report.bad]
    return {
        "schema": REPORT_SCHEMA,
        "tool": {"name": "logdiff", "version": __version__},
        "verdict": {"status": report.status, "sentence": report.sentence},
        "good": None if report.good is None else _run(report.good, quoter),
        "bad": _run(report.bad, quoter),
        "differences": [_difference(item, quoter) for item in report.differences],
        "findings": [_finding(item, quoter) for item in report.findings],
        "fixes": [_fix(item, report, quoter) for item in report.fixes],
        "novel": [],
        "coverage": _coverage(report, runs),
    }


def build_inspection(logs: Iterable[tuple[Log, int | None]]) -> dict[str, Any]:
    """Say what is in logs, each given with its size in bytes where that is known."""
    inspected = [
        {
            "path": log.path,
            "bytes": size,
            "sections": [_inspected_section(log, section) for section in log.sections],
            "read_errors": _read_errors([log]),
        }
        for log, size in logs
    ]
    return {
        "schema": INSPECTION_SCHEMA,
        "logs": inspected,
        "backends": [row for log in inspected for row in _backends(log)],
    }


def _backends(log: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """What computes in each run of a log that says so: a row of the table of all runs."""
    from logdiff.facts.backends import KINDS

    for section in log["sections"]:
        number = f"#{section['number']}" if len(log["sections"]) > 1 else ""
        if chosen := section["facts"].get("backends"):
            yield {"run": f"{log['path']}{number}", **{kind: chosen.get(kind) for kind in KINDS}}


def plain(value: Any) -> Any:
    """Reduce a fact's value to what JSON can say; a number that is none becomes ``None``."""
    if isinstance(value, dict):
        # Most items are bare: they are not worth a call each.
        return {
            str(key): item if type(item) in _BARE else plain(item) for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        # Points of a series are many and of numbers.
        return [
            item if type(item) in _BARE or (type(item) is float and isfinite(item)) else plain(item)
            for item in value
        ]
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain, value))
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, (int, str)) else str(value)


class _Quoter:
    """Quotes evidence, each line of a run once."""

    def __init__(self, quote: Callable[[Run, Evidence], Place]) -> None:
        self._quote = quote
        self._places: dict[tuple[int, str, int], Place] = {}
        self._plain: dict[tuple[int, Evidence], dict[str, Any]] = {}

    def place(self, run: Run, evidence: Evidence) -> dict[str, Any]:
        """What stands for a line of evidence; the same object wherever it proves something."""
        key = (id(run), evidence)
        plain = self._plain.get(key)
        if plain is None:
            plain = self._plain[key] = self._read(run, evidence)
        return plain

    def _read(self, run: Run, evidence: Evidence) -> dict[str, Any]:
        key = (id(run), evidence.path, evidence.mark.line)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self._quote(run, evidence)
        return {
            "run": place.run,
            "path": place.path,
            "line": place.line,
            # One line may prove two things with other witnesses: only its text is shared.
            "count": evidence.count,
            "workers": list(evidence.workers),
            "text": place.text,
        }

    def places(self, items: Sequence[tuple[Run, Evidence]]) -> list[dict[str, Any]]:
        return [self.place(run, evidence) for run, evidence in items[:MOST_PLACES]]


def _run(run: Run, quoter: _Quoter) -> dict[str, Any]:
    evidence = run.life.evidence
    return {
        **_run_outline(run.label, run.log, run.section, run.life),
        "evidence": {
            name: quoter.places([(run, item) for item in evidence[name]])
            for name in sorted(evidence)
        },
    }


def _run_outline(label: str, log: Log, section: Section, life: Life) -> dict[str, Any]:
    facts = life.facts
    return {
        "label": label,
        "logs": [_log(log, section, life)],
        "engine": {"name": facts.get("engine.name"), "version": facts.get("engine.version")},
        "reached": facts.get("reached"),
        "facts": {name: plain(facts[name]) for name in sorted(facts)},
    }


def _log(log: Log, section: Section, life: Life) -> dict[str, Any]:
    lives = section.lives or [life]
    return {
        "path": log.path,
        "kind": section.kind,
        "envelope": ", ".join(section.envelopes),
        "section": section.number,
        "lives": len(section.lives),
        "life": life.number,
        "lines": section.lines,
        "repeated_lines": section.repeated_lines,
        "repeated_physical_lines": section.repeated_physical_lines,
        "truncated": lives[-1].truncated,
        "started": lives[0].started,
        "ended": lives[-1].ended,
    }


def _difference(difference: Difference, quoter: _Quoter) -> dict[str, Any]:
    return {
        "fact": difference.fact,
        "good": plain(difference.good),
        "bad": plain(difference.bad),
        "change": plain(difference.change),
        "unit": difference.unit,
        "evidence": quoter.places(difference.evidence),
    }


def _finding(finding: Finding, quoter: _Quoter) -> dict[str, Any]:
    return {
        "id": finding.id,
        "rule": finding.rule,
        "run": finding.run,
        "section": finding.section,
        "life": finding.life,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "title": finding.title,
        "explanation": finding.explanation,
        "subject": finding.subject,
        "evidence": quoter.places(finding.evidence),
        "caused_by": list(finding.caused_by),
        "consequences": list(finding.consequences),
        "fixes": list(finding.fixes),
        "suppressed": finding.suppressed,
    }


def _fix(fix: Fix, report: Report, quoter: _Quoter) -> dict[str, Any]:
    return {
        "id": fix.id,
        "kind": fix.kind,
        "file": fix.file,
        "line": fix.line,
        "key": fix.key,
        "action": fix.action,
        "from": plain(fix.old),
        "to": plain(fix.new),
        "reason": fix.reason,
        "confidence": fix.confidence,
        "safety": fix.safety,
        "diff": fix.diff,
        "confirm_by": fix.confirm_by or _gone_with(fix, report, quoter),
    }


def _gone_with(fix: Fix, report: Report, quoter: _Quoter) -> str | None:
    """What the next run must no longer show if a fix helps: the first line that asks for it."""
    for finding in report.findings:
        if fix.id in finding.fixes:
            for run, evidence in finding.evidence:
                if run is report.bad and not evidence.path:
                    return f"{GONE}{_message(quoter.place(run, evidence)['text'])}"
    return None


def _message(line: str) -> str:
    """A line without its envelope and prefix, short enough to be looked for."""
    return line.partition("] ")[2][:_LONGEST_SIGN] or line[-_LONGEST_SIGN:]


def _coverage(report: Report, runs: list[Run]) -> dict[str, Any]:
    sections = [run.section for run in runs]
    lines = sum(section.lines for section in sections)
    recognised = sum(section.recognised for section in sections)
    repeated = sum(section.repeated_physical_lines for section in sections)
    return {
        "lines": lines,
        "recognised": recognised,
        # A repeated line was understood where it stood first.
        "not_understood": max(0, lines - repeated - recognised),
        "not_judged": [dict(item) for item in report.not_judged],
        "not_reached": [dict(item) for item in report.not_reached],
        "read_errors": _read_errors([run.log for run in runs]),
    }


def _read_errors(logs: list[Log]) -> list[dict[str, Any]]:
    # Two runs may be sections of one file, whose errors are reported once.
    errors = dict.fromkeys(error for log in logs for error in log.errors)
    return [
        # The path is told once, whatever the message begins with.
        {"path": path, "line": line, "message": message.removeprefix(f"{path}: ")}
        for path, line, message in errors
    ]


def _inspected_section(log: Log, section: Section) -> dict[str, Any]:
    life = section.lives[-1] if section.lives else Life(1, section.first_line, section.last_line)
    return {
        **_run_outline(f"{log.path}#{section.number}", log, section, life),
        "number": section.number,
        "first_line": section.first_line,
        "last_line": section.last_line,
        "heading": section.heading,
        "lives": [_inspected_life(life) for life in section.lives],
    }


def _inspected_life(life: Life) -> dict[str, Any]:
    return {
        "number": life.number,
        "first_line": life.first_line,
        "last_line": life.last_line,
        "started": life.started,
        "ended": life.ended,
        "reached": life.facts.get("reached"),
        "facts": {name: plain(life.facts[name]) for name in sorted(life.facts)},
    }
