"""Which finding explains which, and in which order they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.engine.causes import in_order, link
from logdiff.engine.ruleset import load_builtin
from logdiff.model import CONFIDENCES, SEVERITIES, Finding
from tests.engine.samples import make_evidence, make_run

if TYPE_CHECKING:
    from collections.abc import Mapping

CAUSES = {"dead": ("oom", "nan"), "nan": ("lost",), "lost": ("drift",), "fallback": ("lost",)}
RUNS = {role: make_run(role, {}) for role in ("good", "bad")}


def make_finding(
    rule: str,
    *lines: int,
    subject: str | None = None,
    run: str = "bad",
    life: int = 1,
    section: int = 1,
    severity: str = "medium",
    topics: str = "",
) -> Finding:
    finding = Finding(rule, subject, run)
    finding.section, finding.life, finding.severity = section, life, severity
    finding.evidence = [(RUNS[run], make_evidence(line)) for line in lines]
    finding.first_line = min(lines, default=0)
    finding.topics = frozenset(topics.split())
    return finding


def ids(findings: list[Finding]) -> list[str]:
    return [finding.id for finding in findings]


def test_a_cause_and_its_consequence_know_each_other() -> None:
    oom, dead = make_finding("oom", 5), make_finding("dead", 9)
    assert link([dead, oom], CAUSES) == [oom, dead]
    assert (oom.consequences, dead.caused_by) == (["dead"], ["oom"])
    assert (oom.caused_by, dead.consequences) == ([], [])


@pytest.mark.parametrize(
    ("cause", "consequence", "explains"),
    [
        (make_finding("oom", 9), make_finding("dead", 9), True),
        (make_finding("oom", 10), make_finding("dead", 9), False),
        # the message of the death holds the error
        (make_finding("oom", 10), make_finding("dead", 9, 10), True),
        # what is absent has no line
        (make_finding("oom"), make_finding("dead", 9), True),
        (make_finding("oom", 9), make_finding("dead"), True),
        (make_finding("oom", 1, run="good"), make_finding("dead", 9), False),
        (make_finding("oom", 1, run="good"), make_finding("dead", 9, run="good"), True),
        (make_finding("oom", 1), make_finding("dead", 9, run="good"), False),
        (make_finding("oom", 1, life=1), make_finding("dead", 9, life=2), False),
        (make_finding("oom", 1, section=1), make_finding("dead", 9, section=2), False),
        (make_finding("oom", 1, topics="moe"), make_finding("dead", 9, topics="gdn"), False),
        (make_finding("oom", 1, topics="moe x"), make_finding("dead", 9, topics="moe"), True),
        (make_finding("oom", 1, topics="moe"), make_finding("dead", 9), True),
        (make_finding("lost", 1), make_finding("dead", 9), False),
    ],
)
def test_what_may_explain_what(cause: Finding, consequence: Finding, explains: bool) -> None:
    for finding in (cause, consequence):
        finding.caused_by, finding.consequences = [], []
    link([consequence, cause], CAUSES)
    assert consequence.caused_by == ([cause.id] if explains else [])
    assert cause.consequences == ([consequence.id] if explains else [])


def test_the_nearest_cause_is_the_one() -> None:
    oom, nan, dead = make_finding("oom", 5), make_finding("nan", 4), make_finding("dead", 9)
    link([nan, oom, dead], CAUSES)
    assert dead.caused_by == ["oom"]
    assert nan.consequences == []


def test_several_findings_of_the_nearest_rule_explain_together() -> None:
    lost = [make_finding("lost", 1, subject=name) for name in "ab"]
    nan = make_finding("nan", 4)
    link([*lost, nan], CAUSES)
    assert nan.caused_by == ["lost:a", "lost:b"]
    assert all(finding.consequences == ["nan"] for finding in lost)


def test_the_order_is_that_of_the_worst_consequence() -> None:
    findings = [
        make_finding("other", 1, severity="high"),
        make_finding("drift", 3, severity="info"),
        make_finding("lost", 5, severity="low"),
        make_finding("nan", 7, severity="critical"),
        make_finding("fallback", 6, severity="high"),
        make_finding("oom", 2, run="good", severity="medium"),
    ]
    assert ids(link(findings, CAUSES)) == ["drift", "lost", "nan", "fallback", "other", "oom:good"]


def test_severity_then_confidence_then_time_then_id() -> None:
    findings = [make_finding("r", line, subject=name, severity=severity)
                for name, line, severity in (("d", 4, "high"), ("c", 4, "high"), ("b", 9, "high"),
                                             ("a", 1, "low"), ("e", 9, "high"))]  # fmt: skip
    findings[2].confidence = "likely"
    assert ids(in_order(findings)) == ["r:c", "r:d", "r:e", "r:b", "r:a"]


def test_what_good_shows_too_is_told_after_what_only_bad_shows() -> None:
    shared = make_finding("shared", 1, severity="info")
    own = make_finding("own", 9, severity="info")
    good = make_finding("shared", 1, severity="info", run="good")
    assert in_order([shared, good, own]) == [own, shared, good]
    assert in_order([shared, own]) == [shared, own]


# Any findings whatever

RULES = ("drift", "lost", "fallback", "nan", "oom", "dead", "other")
findings_of = st.lists(
    st.tuples(
        st.sampled_from(RULES),
        st.lists(st.integers(1, 50), max_size=3),
        st.sampled_from(["good", "bad"]),
        st.integers(1, 2),
        st.sampled_from(SEVERITIES),
        st.sampled_from(CONFIDENCES),
        st.sets(st.sampled_from(["moe", "gdn"])),
    ),
    max_size=12,
)


@given(findings_of, st.permutations(range(12)))
def test_causes_come_first_and_nothing_is_lost(
    rows: list[tuple[str, list[int], str, int, str, str, set[str]]], order: list[int]
) -> None:
    findings = []
    for number, (rule, lines, run, life, severity, confidence, topics) in enumerate(rows):
        finding = make_finding(rule, *lines, subject=str(number), run=run, life=life,
                               severity=severity, topics=" ".join(topics))  # fmt: skip
        finding.confidence = confidence
        findings.append(finding)
    told = link([findings[i] for i in order if i < len(findings)], CAUSES)
    assert sorted(ids(told)) == sorted(ids(findings))
    check_order(told)
    again = in_order(list(reversed(told)))
    assert ids(again) == ids(told), "the order does not depend on that of the input"


def check_order(told: list[Finding]) -> None:
    by_id = {finding.id: finding for finding in told}
    seen: set[str] = set()
    for finding in told:
        for name in finding.caused_by:
            cause = by_id[name]
            assert name in seen
            assert (cause.run, cause.life) == (finding.run, finding.life)
            assert finding.id in cause.consequences
            assert cause.rule in CAUSES[finding.rule]
        seen.add(finding.id)


def test_no_cause_of_a_built_in_rule_leads_back_to_it() -> None:
    causes: Mapping[str, tuple[str, ...]] = {r.id: r.causes for r in load_builtin().rules}

    def ancestors(rule: str, path: tuple[str, ...]) -> None:
        assert rule not in path
        for cause in causes[rule]:
            ancestors(cause, (*path, rule))

    for rule in causes:
        ancestors(rule, ())
