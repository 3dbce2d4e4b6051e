"""From two runs and the rules to a report: findings, fixes, and what could not be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff import compare
from logdiff.engine import causes
from logdiff.engine.runtime import Context
from logdiff.engine.values import is_known
from logdiff.engine.verdict import judge
from logdiff.model import CONFIDENCES, SAFETIES, SEVERITIES, Finding, Fix, Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from logdiff.engine.ruleset import Rule, RuleFix, Wording
    from logdiff.model import Run

_RAISED = "medium"
_STAGE_FACTS = {
    "kv": ("kv", "the size of the KV cache"),
    "serving": ("http", "requests, throughput and memory while serving"),
}
"""What can only be known of a run that came to a stage."""


def evaluate(rules: Iterable[Rule], good: Run | None, bad: Run) -> Report:
    """Judge a run, alone or against a known-good one.

    Args:
        rules: the compiled rules.
        good: the known-good run, if there is one.
        bad: the run that is judged.
    """
    return _Evaluation(list(rules), good, bad).report


def joined(reports: list[Report]) -> Report:
    """Several runs of one log as one report, which shows the run that fared worst."""
    if len(reports) == 1:
        return reports[0]
    order = ("fail", "pass", "unjudged")
    whole = min(reversed(reports), key=lambda report: order.index(report.status))
    others = [report for report in reports if report is not whole]
    several_sections = len({report.bad.section.number for report in reports}) > 1
    for report in reports:
        _name_apart(report, several_sections)
    for report in others:
        whole.findings += report.findings
        known = {fix.id for fix in whole.fixes}
        whole.fixes += [fix for fix in report.fixes if fix.id not in known]
    whole.findings = causes.in_order(whole.findings)
    return whole


def _name_apart(report: Report, several_sections: bool) -> None:
    """Give findings of several runs different ids."""
    run = report.bad
    place = f"life {run.life.number}"
    if several_sections:
        place = f"section {run.section.number}, {place}"
    names = {finding.id: f"{finding.id} ({place})" for finding in report.findings}
    for finding in report.findings:
        finding.id = names[finding.id]
        finding.caused_by = [names[i] for i in finding.caused_by]
        finding.consequences = [names[i] for i in finding.consequences]


class _Evaluation:
    """One evaluation of all rules."""

    def __init__(self, rules: list[Rule], good: Run | None, bad: Run) -> None:
        self.good = good
        self.bad = bad
        self.report = Report(good, bad)
        self.changes = compare.changes(good, bad) if good else {}
        if bad.submission:
            from logdiff import joins

            self.changes |= joins.changes(good, bad)
        self.fixes: dict[tuple[str, str], Fix] = {}
        self.asked_by: dict[tuple[str, str], list[str]] = {}
        """Rules that ask for a fix; each adds its reason once."""
        self.ranks: dict[tuple[str, str], int] = {}
        """How severe the finding is that a fix is mainly for."""
        self.wordings: dict[str, Wording] = {}
        """What the rules say that hold."""
        self.ids: dict[str, int] = {}
        """Ids of findings, with how often each was wanted."""
        self.contexts: dict[int, Context] = {}
        """What the texts of a finding's fixes see, by the finding."""
        if good:
            self.report.differences = compare.differences(good, bad)
        for rule in rules:
            self._apply(rule)
        self._raise_what_only_bad_has({rule.id for rule in rules if rule.raise_in_compare})
        self._propose()
        self.report.findings = causes.link(
            self.report.findings, {rule.id: rule.causes for rule in rules}
        )
        self._order_fixes()
        self.report.not_reached = list(self._not_reached())
        judge(self.report)
        if self.report.status == "pass":
            # Nothing is broken that the log shows: no change is more than a possibility.
            for fix in self.report.fixes:
                fix.confidence = CONFIDENCES[-1]

    def _apply(self, rule: Rule) -> None:
        if rule.scope == "pair" or rule.about == "good":
            if self.good:
                self._apply_to(rule, self.good if rule.about == "good" else self.bad)
            return
        self._apply_to(rule, self.bad)
        # Submission files are asked what is wrong in bad; those of good only show the difference.
        if self.good and "submission" not in rule.needs:
            self._apply_to(rule, self.good)

    def _apply_to(self, rule: Rule, run: Run) -> None:
        if "submission" in rule.needs and not run.submission:
            self._not_judged(rule, run, "no launch file, patch script or Dockerfile is at hand")
            return
        missing = [
            need
            for need in rule.needs
            if need not in ("good", "bad", "submission")
            and need not in run.facts.get("stage.entered", ())
        ]
        if missing:
            self._not_judged(rule, run, f"the log does not reach the stage '{missing[0]}'")
            return
        context = Context(self.good, self.bad, run, self.changes)
        if not self._all_hold(rule, rule.when, context, run):
            return
        for item in self._items(rule, context, run):
            context = Context(self.good, self.bad, run, self.changes, item)
            if self._all_hold(rule, rule.filters, context, run):
                self.report.findings.append(self._finding(rule, context, run))

    def _all_hold(self, rule: Rule, conditions: Any, context: Context, run: Run) -> bool:
        for condition in conditions:
            context.lacking.clear()
            holds = context.holds(condition)
            if not is_known(holds):
                lacking = context.lacking[0] if context.lacking else "a value"
                self._not_judged(rule, run, f"{lacking} is not in the log")
                return False
            if not holds:
                return False
        return True

    def _items(self, rule: Rule, context: Context, run: Run) -> list[Any]:
        if rule.for_each is None:
            return [None]
        context.lacking.clear()
        items = context.evaluate(rule.for_each)
        if is_known(items):
            return list(items)
        lacking = context.lacking[0] if context.lacking else "a list"
        self._not_judged(rule, run, f"{lacking} is not in the log")
        return []

    def _not_judged(self, rule: Rule, run: Run, why: str) -> None:
        entry = {"rule": rule.id, "why": why}
        if (run is self.bad or rule.about == "good") and entry not in self.report.not_judged:
            self.report.not_judged.append(entry)

    def _finding(self, rule: Rule, context: Context, run: Run) -> Finding:
        wording = self.wordings.get(rule.id) or self.wordings.setdefault(rule.id, rule.wording)
        subject = context.text(wording.subject) if wording.subject else None
        finding = Finding(rule.id, subject, run.role)
        number = self.ids[finding.id] = self.ids.get(finding.id, 0) + 1
        if number > 1:  # the same thing for another reason
            finding.id = f"{finding.id} ({number})"
        finding.section, finding.life = run.section.number, run.life.number
        finding.severity = _one_of(SEVERITIES, context.evaluate(wording.severity), "info")
        if run is self.good and rule.about != "good":
            finding.severity = "info"
        finding.confidence = _one_of(CONFIDENCES, context.evaluate(wording.confidence), "possible")
        finding.title = context.text(wording.title)
        finding.headline = context.text(wording.headline) if wording.headline else None
        finding.explanation = context.text(wording.why).strip()
        for code in wording.evidence:
            finding.evidence += [e for e in context.evidence(code) if e not in finding.evidence]
        if wording.topics:
            words = context.evaluate(wording.topics)
            finding.topics = frozenset(words) if is_known(words) else frozenset()
        if not rule.unordered:
            lines = (e.mark.line for of, e in finding.evidence if of is run and not e.path)
            finding.first_line = min(lines, default=0)
        self.contexts[id(finding)] = context
        return finding

    def _raise_what_only_bad_has(self, rules: set[str]) -> None:
        if not self.good:
            return
        in_good = {f.rule for f in self.report.findings if f.run == "good"}
        for finding in self.report.findings:
            if finding.run == "bad" and finding.rule in rules - in_good:
                finding.severity = _RAISED if finding.severity == "info" else finding.severity

    def _propose(self) -> None:
        for finding in self.report.findings:
            if finding.run == "good" or finding.severity == "info":
                continue
            for rule_fix in self.wordings[finding.rule].fixes:
                for fix in self._fixes(rule_fix, finding):
                    if fix.id not in finding.fixes:
                        finding.fixes.append(fix.id)

    def _order_fixes(self) -> None:
        """What mends the first findings comes first; within one finding, the surest."""
        ranks: dict[str, int] = {}
        for rank, finding in enumerate(self.report.findings):
            for identifier in finding.fixes:
                ranks.setdefault(identifier, rank)
        self.report.fixes = sorted(
            self.fixes.values(),
            key=lambda fix: (
                fix.safety != "safe",
                fix.confidence == "possible",
                ranks[fix.id],
                CONFIDENCES.index(fix.confidence),
            ),
        )

    def _fixes(self, rule_fix: RuleFix, finding: Finding) -> Iterator[Fix]:
        context = self.contexts[id(finding)]
        targets: list[Any] = [None]
        if rule_fix.for_each is not None:
            found = context.evaluate(rule_fix.for_each)
            targets = list(found) if is_known(found) else []
        for target in targets:
            context.target = target
            if rule_fix.when is None or context.holds(rule_fix.when) is True:
                key = self._key(rule_fix, context)
                if key:
                    yield self._fix(rule_fix, key, finding, context)

    def _key(self, rule_fix: RuleFix, context: Context) -> str | None:
        """The target of a fix as the engine calls it; None where it has nothing like it."""
        key = context.text(rule_fix.key)
        engine = self.bad.facts.get("engine.name")
        if rule_fix.kind != "config" or engine in (None, "vllm") or not key.startswith("--"):
            return key
        from logdiff.facts.flag_names import counterpart

        return counterpart(key, engine)

    def _fix(self, rule_fix: RuleFix, key: str, finding: Finding, context: Context) -> Fix:
        """The fix for a key: made where it is new, else made surer by this finding."""
        fix = Fix(rule_fix.kind, key, rule_fix.action)
        wanted = context.evaluate(rule_fix.confidence) if rule_fix.confidence else None
        fix.confidence = _one_of(CONFIDENCES, wanted, finding.confidence)
        safety = context.evaluate(rule_fix.safety) if rule_fix.safety else "safe"
        fix.safety = _one_of(SAFETIES, safety, "unsafe")
        fix.old, fix.new = (
            context.evaluate(code) if code else None for code in (rule_fix.old, rule_fix.new)
        )
        fix.old, fix.new = (v if is_known(v) else None for v in (fix.old, fix.new))
        if fix.old is None and key != context.text(rule_fix.key):
            fix.new = None  # it was reckoned from what vLLM does by itself
        fix.reason = context.text(rule_fix.reason).strip()
        fix.confirm_by = context.text(rule_fix.confirm_by) if rule_fix.confirm_by else None
        known = self.fixes.setdefault((fix.kind, fix.key), fix)
        asked_by = self.asked_by.setdefault((fix.kind, fix.key), [finding.rule])
        rank = SEVERITIES.index(finding.severity)
        known_rank = self.ranks.setdefault((fix.kind, fix.key), rank)
        surer = CONFIDENCES.index(fix.confidence) < CONFIDENCES.index(known.confidence)
        if fix.action != known.action:
            # Two findings want opposite things of one target. What is reckoned from an error
            # comes before what merely differs from the good run; else the surer one is right.
            if rank < known_rank or (rank == known_rank and surer):
                self.fixes[fix.kind, fix.key] = fix
                self.asked_by[fix.kind, fix.key] = [finding.rule]
                self.ranks[fix.kind, fix.key] = rank
            return fix
        if finding.rule not in asked_by:
            asked_by.append(finding.rule)
            parts = [*known.reason.split("; "), *fix.reason.split("; ")]
            known.reason = "; ".join(dict.fromkeys(parts))
        known.confidence = fix.confidence if surer else known.confidence
        known.safety = max(known.safety, fix.safety, key=SAFETIES.index)
        known.confirm_by = known.confirm_by or fix.confirm_by
        return known

    def _not_reached(self) -> Iterator[dict[str, str]]:
        for kernel in self.changes.get("kernels") or ():
            if kernel["status"] == "not_reached":
                what = f"{kernel['operator']} ({kernel['where']})"
                yield {"fact": "kernels", "what": what, "why": kernel["because"]}
        if not self.good:
            return
        for stage in self.changes["stages"]["missing"]:
            if stage in _STAGE_FACTS:
                fact, what = _STAGE_FACTS[stage]
                why = f"bad ends before the stage '{stage}', which good reached"
                yield {"fact": fact, "what": what, "why": why}


def _one_of(allowed: tuple[str, ...], value: Any, otherwise: str) -> str:
    return value if is_known(value) and value in allowed else otherwise
