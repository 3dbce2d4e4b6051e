"""Which finding explains which, and the order in which they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.model import CONFIDENCES, SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from logdiff.model import Finding


def link(findings: list[Finding], causes: Mapping[str, tuple[str, ...]]) -> list[Finding]:
    """Join causes and consequences and return the findings in telling order.

    Args:
        findings: the findings of one evaluation.
        causes: rule id → rules that may explain it, the nearest first.

    A cause is of the same run and life, and never later than its consequence. Of one message that
    proves both, no part is later than another.
    """
    for finding in findings:
        for rule in causes.get(finding.rule, ()):
            explaining = [cause for cause in findings if cause.rule == rule
                          and _may_explain(cause, finding)]  # fmt: skip
            if explaining:
                finding.caused_by = [cause.id for cause in explaining]
                for cause in explaining:
                    cause.consequences.append(finding.id)
                break
    return in_order(findings)


def _may_explain(cause: Finding, finding: Finding) -> bool:
    if cause is finding or (cause.run, cause.section, cause.life) != (
        finding.run, finding.section, finding.life):  # fmt: skip
        return False
    if cause.topics and finding.topics and not cause.topics & finding.topics:
        return False
    lines = cause.first_line, finding.first_line
    return 0 in lines or lines[0] <= lines[1] or bool(_own_lines(cause) & _own_lines(finding))


def _own_lines(finding: Finding) -> set[int]:
    """Lines of the run that a finding is about which prove it."""
    return {
        evidence.mark.line
        for run, evidence in finding.evidence
        if run.role == finding.run and not evidence.path
    }


def in_order(findings: list[Finding]) -> list[Finding]:
    """Findings in telling order: causes before consequences, then the most severe first."""
    by_id = {finding.id: finding for finding in findings}
    weights: dict[str, int] = {}
    for finding in findings:
        _weigh(finding, by_id, weights)

    of_good = {(finding.rule, finding.subject) for finding in findings if finding.run == "good"}

    def importance(finding: Finding) -> tuple[object, ...]:
        return (
            finding.run == "good",
            weights[finding.id],
            SEVERITIES.index(finding.severity),
            # What the known-good run shows too tells nothing of the bad one.
            finding.severity == "info" and (finding.rule, finding.subject) in of_good,
            CONFIDENCES.index(finding.confidence),
            finding.first_line,
            finding.id,
        )

    told: dict[str, Finding] = {}

    def tell(finding: Finding) -> None:
        if finding.id in told or any(cause not in told for cause in finding.caused_by):
            return
        told[finding.id] = finding
        for consequence in sorted((by_id[i] for i in finding.consequences), key=importance):
            tell(consequence)

    for finding in sorted(findings, key=importance):
        if not finding.caused_by:
            tell(finding)
    return list(told.values())


def _weigh(finding: Finding, by_id: Mapping[str, Finding], weights: dict[str, int]) -> int:
    """How severe the worst of a finding and its consequences is; 0 = most severe."""
    if finding.id not in weights:
        weights[finding.id] = min(
            [SEVERITIES.index(finding.severity)]
            + [_weigh(by_id[i], by_id, weights) for i in finding.consequences]
        )
    return weights[finding.id]
