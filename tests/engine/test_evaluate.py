"""Rules judged against runs: what holds, what cannot be told, and what is proposed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.engine import compile as compiler
from logdiff.engine.evaluate import evaluate, joined
from logdiff.engine.ruleset import load_builtin
from logdiff.model import Entry
from tests.engine.samples import make_evidence, make_run
from tests.reasoning import HEAD, judge, severe, text

if TYPE_CHECKING:
    from logdiff.model import Finding, Report, Run
    from tests.engine.samples import MakeFile

STAGES = {"stage.entered": ["args", "load", "weights"], "stage.completed": ["args", "load"],
          "reached": "weights"}  # fmt: skip
THREADS = (
    "WARNING 05-02 10:00:12 executor.py:53] Reducing Torch parallelism from 32 threads to 1 to"
    " avoid unnecessary CPU contention."
)
SERVING = "INFO:     Application startup complete."
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 1 has a total"
    " capacity of 23.50 GiB of which 21.12 MiB is free. Of the allocated memory 22.10 GiB is"
    " allocated by PyTorch, and 512.30 MiB is reserved by PyTorch but unallocated."
)

RULE = """
id: {id}
title: 'about {{default(item, run.weights.gb)}}'
severity: medium
confidence: likely
scope: one-run
{body}
why: because
examples:
  - {{name: one, bad: a, finds: [{{severity: medium}}]}}
  - {{name: none, bad: b, finds: none}}
"""


@pytest.fixture
def judged(make_file: MakeFile) -> Any:
    """Judge runs with given facts by rules that are written in the test."""

    def call(rules: dict[str, str], bad: dict[str, Any], good: dict[str, Any] | None) -> Report:
        paths = [
            make_file(RULE.format(id=name, body=body).replace("default(item, ", "(")
                      if "for_each" not in body
                      else RULE.format(id=name, body=body).replace(
                          "default(item, run.weights.gb)", "item"), f"{name}.yaml")
            for name, body in rules.items()
        ]  # fmt: skip
        compiled = compiler.load(compiler.rule_files(paths))
        runs = [None if facts is None else make_run(role, STAGES | facts)
                for role, facts in (("good", good), ("bad", bad))]  # fmt: skip
        assert runs[1] is not None
        return evaluate(compiled.rules, runs[0], runs[1])

    return call


# What cannot be told


@pytest.mark.parametrize(
    ("body", "lacking"),
    [
        ("when: [run.weights.gb > 1]", "bad.weights.gb is not in the log"),
        ("when: [bad.kv.capacity_tokens > 1]", "bad.kv is not in the log"),
        ("when: [run.weights.gb > 1 and run.workers > 1]", "bad.weights.gb is not in the log"),
        ("when: [run.workers > 1 or run.weights.gb > 1]", "bad.workers is not in the log"),
        ("for_each: run.oom\nsubject: '{item}'", "bad.oom is not in the log"),
        ("needs: [kv]\nwhen: [run.weights.gb > 1]", "the log does not reach the stage 'kv'"),
    ],
)
def test_what_is_unknown_is_not_judged(judged: Any, body: str, lacking: str) -> None:
    report = judged({"a-rule": body}, {}, None)
    assert report.findings == []
    assert report.not_judged == [{"rule": "a-rule", "why": lacking}]


def test_what_is_known_needs_nothing_else(judged: Any) -> None:
    body = "when: [run.weights.gb > 1 or run.workers > 1]"
    report = judged({"a-rule": body}, {"weights.gb": 2.5}, None)
    assert [finding.title for finding in report.findings] == ["about 2.5"]
    assert report.not_judged == []


def test_a_part_of_a_fact_that_is_there_is_named(judged: Any) -> None:
    report = judged({"a-rule": "when: [run.kv.gpu_blocks > 1]"}, {"kv": {"gpu_blocks": None}}, None)
    (entry,) = report.not_judged
    assert "bad.kv.gpu_blocks" in entry["why"]


def test_what_good_lacks_is_not_what_bad_lacks(judged: Any) -> None:
    """A rule of one run that is unknown for good only says nothing about bad."""
    report = judged({"a-rule": "when: [run.weights.gb > 1]"}, {"weights.gb": 2.0}, {})
    assert [(f.run, f.severity) for f in report.findings] == [("bad", "medium")]
    assert report.not_judged == []


def test_a_rule_of_a_pair_is_silent_about_one_run(judged: Any) -> None:
    body = "when: [good.weights.gb > 1]".replace("when", "needs: [good]\nwhen")
    rules = {"a-rule": body}
    assert judged(rules, {"weights.gb": 2.0}, None).findings == []


def test_items_are_judged_one_by_one(judged: Any) -> None:
    entries = [Entry({"device": n, "stage": s}, [make_evidence(n + 1)])
               for n, s in enumerate(("serving", None, "load"))]  # fmt: skip
    body = ("for_each: '[entry.device for entry in run.oom]'\nwhen: [item != 1]\n"
            "subject: 'card {item}'")  # fmt: skip
    report = judged({"a-rule": body}, {"oom": entries}, None)
    assert [finding.subject for finding in report.findings] == ["card 0", "card 2"]


# Findings


def test_findings_about_good_are_information(judged: Any) -> None:
    rules = {"a-rule": "when: [run.weights.gb > 1]"}
    report = judged(rules, {"weights.gb": 2.0}, {"weights.gb": 3.0})
    assert {f.run: f.severity for f in report.findings} == {"bad": "medium", "good": "info"}
    assert {f.id for f in report.findings} == {"a-rule", "a-rule:good"}


def test_two_findings_on_one_subject_have_two_ids(judged: Any) -> None:
    body = "for_each: run.modules_missing\nsubject: the same"
    report = judged({"a-rule": body}, {"modules_missing": ["a", "b", "c"]}, None)
    assert [f.id for f in report.findings] == [
        "a-rule:the same", "a-rule:the same (2)", "a-rule:the same (3)"]  # fmt: skip


@pytest.mark.parametrize(
    ("bad", "good", "severity"),
    [
        (HEAD + text(THREADS), None, "info"),
        (HEAD + text(THREADS), HEAD, "medium"),
        (HEAD + text(THREADS), HEAD + text(THREADS), "info"),
    ],
)
def test_information_rises_only_where_good_has_none(
    bad: str, good: str | None, severity: str
) -> None:
    found = [f for f in judge(bad, good).findings if f.rule == "thread-reduction"]
    assert [f.severity for f in found if f.run == "bad"] == [severity]
    assert all(f.severity == "info" for f in found if f.run == "good")


def test_only_what_the_rule_says_rises() -> None:
    report = judge(HEAD, HEAD + text(SERVING))
    assert [(f.rule, f.severity) for f in report.findings] == [("log-truncated", "info")]


def test_the_death_of_good_is_told_and_never_fails() -> None:
    good = HEAD + text(SERVING, "ERROR 05-02 11:00:00 a.py:65] Engine background task failed", OOM)
    report = judge(HEAD + text(SERVING, "INFO:     Application shutdown complete."), good)
    about_good = {f.rule: f.severity for f in report.findings if f.run == "good"}
    assert about_good == {
        "baseline-unhealthy": "medium",
        "engine-dead": "info",
        "oom-while-serving": "info",
    }
    assert report.status == "pass"
    assert [f for f in report.findings if f.run == "bad"] == []


# Causes


def test_an_error_in_the_message_of_the_death_is_its_cause() -> None:
    bad = HEAD + text(
        SERVING,
        "ERROR 05-02 11:00:00 engine.py:65] Engine background task failed",
        "ERROR 05-02 11:00:00 engine.py:65] Traceback (most recent call last):",
        'ERROR 05-02 11:00:00 engine.py:65]   File "/opt/vllm/worker.py", line 10, in run',
        f"ERROR 05-02 11:00:00 engine.py:65] {OOM}",
    )
    findings = {f.rule: f for f in judge(bad).findings}
    assert findings["engine-dead"].caused_by == ["oom-while-serving:memory"]
    assert list(findings) == ["oom-while-serving", "engine-dead"]


def test_what_comes_after_the_death_is_not_its_cause() -> None:
    bad = HEAD + text(
        SERVING,
        "ERROR 05-02 11:00:00 engine.py:65] Engine background task failed",
        "ERROR 05-02 11:00:00 engine.py:65] ValueError: the page table is full",
        f"ERROR 05-02 11:00:09 other.py:1] {OOM}",
    )
    findings = {f.rule: f for f in judge(bad).findings}
    assert findings["oom-while-serving"].consequences == []
    assert findings["engine-dead"].caused_by == []


# Fixes

PAIR_ARGUMENTS = "INFO 05-02 10:00:09 api_server.py:529] args: Namespace(model='/m', {})"


def test_one_fix_for_a_key_with_all_reasons() -> None:
    good = HEAD + text(PAIR_ARGUMENTS.format("gpu_memory_utilization=0.9"), SERVING)
    bad = HEAD + text(PAIR_ARGUMENTS.format("gpu_memory_utilization=0.97"), SERVING, OOM)
    report = judge(bad, good)
    (fix,) = (fix for fix in report.fixes if fix.key == "--gpu-memory-utilization")
    assert (fix.old, fix.new) == (0.97, 0.9)
    assert "good ran with 0.9" in fix.reason
    assert "; " in fix.reason
    asking = {f.rule for f in report.findings if fix.id in f.fixes}
    assert asking == {"launch-arg-changed", "oom-while-serving"}


def test_a_reason_is_given_once() -> None:
    lost = "WARNING 05-02 10:01:10 nimbus.py:310] Falling back to pure PyTorch experts"
    report = judge(HEAD + text(lost, lost.replace(":310", ":410")), HEAD + text(SERVING))
    (fix,) = (fix for fix in report.fixes if fix.key == "nimbus.py")
    assert fix.reason.count("it takes the slow path") == 1


FIXES = """for_each: run.modules_missing
subject: '{{item}}'
fixes:
  - kind: config
    key: --x
    action: {action}
    confidence: {confidence}
    safety: '"{safety}"'
    reason: {action} it"""


@pytest.mark.parametrize(
    ("one", "other", "action", "reason", "safety"),
    [
        (("set", "likely", "safe"), ("set", "possible", "unsafe"), "set", "set it", "unsafe"),
        (("set", "likely", "safe"), ("remove", "possible", "safe"), "set", "set it", "safe"),
        (("set", "possible", "safe"), ("remove", "likely", "safe"), "remove", "remove it", "safe"),
    ],
)
def test_findings_that_want_opposite_things(
    judged: Any,
    one: tuple[str, str, str],
    other: tuple[str, str, str],
    action: str,
    reason: str,
    safety: str,
) -> None:
    rules = {
        name: FIXES.format(action=a, confidence=c, safety=s).replace("{{", "{").replace("}}", "}")
        for name, (a, c, s) in (("a-rule", one), ("b-rule", other))
    }
    report = judged(rules, {"modules_missing": ["m"]}, None)
    (fix,) = report.fixes
    assert (fix.action, fix.reason, fix.safety) == (action, reason, safety)
    assert all(finding.fixes == [fix.id] for finding in report.findings)


def test_an_error_comes_before_a_difference() -> None:
    """What good did not set is no better than what the error says would fit."""
    too_long = (
        "ERROR 05-02 10:01:30 [core.py:700] ValueError: The model's max seq len (65536) is larger "
        "than the maximum number of tokens that can be stored in KV cache (20480). Try increasing "
        "`gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine."
    )
    good = HEAD + text(PAIR_ARGUMENTS.format("max_model_len=None"), SERVING)
    bad = HEAD + text(PAIR_ARGUMENTS.format("max_model_len=65536"), too_long)
    (fix,) = (fix for fix in judge(bad, good).fixes if fix.key == "--max-model-len")
    assert (fix.action, fix.old, fix.new) == ("set", 65536, 19456)


def test_information_proposes_nothing() -> None:
    assert judge(HEAD + text(THREADS)).fixes == []


def test_unsafe_advice_comes_last() -> None:
    good = HEAD + text(
        PAIR_ARGUMENTS.format("gpu_memory_utilization=0.97, max_num_seqs=2, seed=0"),
        SERVING,
        "ERROR 05-02 11:00:00 engine.py:65] Engine background task failed",
        OOM,
    )
    bad = HEAD + text(PAIR_ARGUMENTS.format("gpu_memory_utilization=0.9, max_num_seqs=1, seed=0"))
    fixes = judge(bad, good).fixes
    assert [(fix.key, fix.safety) for fix in fixes] == [
        ("--max-num-seqs", "safe"), ("--gpu-memory-utilization", "unsafe")]  # fmt: skip


# Several runs of one log


def test_runs_of_one_log_are_named_apart_and_told_in_order() -> None:
    calm, dead = (judge(HEAD + text(THREADS, *more)) for more in ((), (
        SERVING, "ERROR 05-02 11:00:00 engine.py:65] Engine background task failed")))  # fmt: skip
    dead.bad.life.number = 2
    report = joined([calm, dead])
    assert report is dead
    assert [f.id for f in report.findings] == [
        "engine-dead:engine (life 2)",
        "thread-reduction:threads (life 1)",
        "thread-reduction:threads (life 2)",
    ]


def test_one_run_keeps_its_names() -> None:
    report = judge(HEAD + text(THREADS))
    assert joined([report]).findings[0].id == "thread-reduction:threads"


# Whatever the facts are

number = st.none() | st.integers(-5, 200_000) | st.floats(0, 100, allow_nan=False)
short = st.none() | st.text(max_size=12) | st.sampled_from(["nimbus.py:12", "a.so", "vllm"])
kernel = st.fixed_dictionaries(
    {"where": short.filter(bool), "operator": short.filter(bool), "library": short,
     "variant": short, "workers": st.lists(st.sampled_from(["w0", "w1"]), max_size=2)}
)  # fmt: skip
counted = st.fixed_dictionaries(
    {"what": short, "reason": short, "where": short, "file": short, "op": short, "missing": short,
     "package": short, "occurrences": st.integers(1, 9), "workers": st.just(["w0"])}
)  # fmt: skip
oom = st.fixed_dictionaries(
    dict.fromkeys(("device", "tried_mib", "capacity_gib", "free_mib", "allocated_gib",
                   "reserved_unallocated_mib", "kv_usage_percent"), number)
    | {"where": short, "stage": st.sampled_from([None, "load", "serving"]),
       "occurrences": st.integers(1, 5), "time": short}
)  # fmt: skip
nan = st.fixed_dictionaries(
    {"occurrences": st.integers(0, 5), "layers": st.lists(st.integers(0, 60), max_size=3),
     "modules": st.lists(st.text(min_size=1, max_size=8), max_size=2), "phases": st.just([]),
     "fraction_min": st.none() | st.floats(0, 1), "fraction_max": st.none() | st.floats(0, 1),
     "where": short, "file": short, "workers": st.just(["w0", "w1"])}
)  # fmt: skip


def entries(values: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[list[Entry]]:
    entry = st.builds(
        lambda value, line, stage: Entry(value, [make_evidence(line)], stage),
        values,
        st.integers(1, 500),
        st.sampled_from([None, "profile", "serving"]),
    )
    return st.lists(entry, max_size=3)


facts = st.fixed_dictionaries(
    {
        "stage.entered": st.lists(st.sampled_from(["args", "load", "profile", "serving", "dead"]),
                                  unique=True),
        "stage.completed": st.just([]),
        "reached": st.sampled_from([None, "args", "serving", "dead"]),
        "truncated": st.booleans(),
        "weights.gb": number | st.just({"driver": 1.5, "w1": 2.5}),
        "kernels": st.none() | entries(kernel),
        "kernels.fallback": st.none() | entries(counted),
        "ops_missing": st.none() | entries(counted),
        "oom": st.none() | entries(oom),
        "nan": st.none() | nan,
        "engine.version": st.sampled_from([None, "0.6.3"]),
        "engine.name": st.sampled_from([None, "vllm"]),
        "engine_dead": st.none() | st.fixed_dictionaries({"time": short, "error": short}),
        "thread_reduction": st.none() | st.fixed_dictionaries({"before": number, "after": number}),
        "chunked_prefill": st.none()
        | st.fixed_dictionaries({"enabled": st.booleans(), "tokens": number, "reason": short}),
        "prefix_cache_disabled": st.none() | st.fixed_dictionaries({"reason": short}),
        "workers": st.none() | st.integers(1, 8),
        "serving_seconds": st.none() | st.integers(-5, 10_000),
        "args.gpu_memory_utilization": number | short,
        "args.max_num_batched_tokens": number | short,
        "args.enable_chunked_prefill": st.none() | st.booleans(),
        "args.dtype": short,
    }
)  # fmt: skip


@functools.cache
def builtin() -> list[Any]:
    return load_builtin().rules


def run_with(role: str, values: dict[str, Any]) -> Run:
    run = make_run(role, values, {"args": [make_evidence(2)], "nan": [make_evidence(40)]})
    run.life.stage_lines = dict.fromkeys(values["stage.entered"], 10)
    run.life.last_record_line = 600
    return run


@given(st.none() | facts, facts)
def test_no_facts_break_a_rule(good: dict[str, Any] | None, bad: dict[str, Any]) -> None:
    report = evaluate(
        builtin(), None if good is None else run_with("good", good), run_with("bad", bad)
    )
    check_report(report)


def check_report(report: Report) -> None:
    by_id = {finding.id: finding for finding in report.findings}
    assert len(by_id) == len(report.findings)
    assert len({(fix.kind, fix.key) for fix in report.fixes}) == len(report.fixes)
    fixes = {fix.id for fix in report.fixes}
    told: set[str] = set()
    for finding in report.findings:
        assert told >= set(finding.caused_by)
        told.add(finding.id)
        assert set(finding.fixes) <= fixes
        check_causes(finding, by_id)
        if finding.run == "good":
            assert finding.severity == "info" or finding.rule == "baseline-unhealthy"
    assert bool(report.sentence)
    if report.status == "pass":
        assert not [s for s in severe(f for f in report.findings if f.run == "bad")
                    if "(high)" in s or "(critical)" in s]  # fmt: skip


def check_causes(finding: Finding, by_id: dict[str, Finding]) -> None:
    for cause in map(by_id.__getitem__, finding.caused_by):
        assert finding.id in cause.consequences
        assert (cause.run, cause.section, cause.life) == (
            finding.run,
            finding.section,
            finding.life,
        )
