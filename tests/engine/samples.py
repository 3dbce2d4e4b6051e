"""Runs, expressions and rule files for the tests of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from logdiff.engine.conditions import Names, compile_expression
from logdiff.engine.position import Origin, Position
from logdiff.engine.runtime import Context
from logdiff.model import Entry, Evidence, Life, Log, Mark, Run, Section

MakeFile = Callable[..., str]

SIGNALS = r"""
source: demo
signals:
  - id: weights-loaded
    engine: vllm
    about: The weights are in memory.
    patterns:
      - 'Loading weights took (?P<gb>\d+\.\d+) GB'
      - pattern: '^Weights of (?P<gb>[\d.]+) GB are loaded'
        since: '0.7'
    fields:
      gb: {type: float, unit: GiB}
    completes: weights
    examples:
      - line: 'INFO Loading weights took 17.35 GB'
        gives: {gb: 17.35}
      - line: 'INFO Weights of 9.5 GB are loaded'
        pattern: 2
    not:
      - 'INFO Loading weights took a while'
"""

RULE = """
id: weights-differ
title: 'Weights differ: {good.weights.gb} and {bad.weights.gb} GB'
severity: '"high" if bad.weights.gb < good.weights.gb / 2 else "medium"'
confidence: likely
scope: pair
needs: [good, bad, weights]
when:
  - good.weights.gb != bad.weights.gb
evidence: [good.weights.gb, bad.weights.gb]
why: >-
  The loaded weights do not have
  the same size.
fixes:
  - kind: config
    key: '{flag("model")}'
    action: set
    from: bad.args.model
    to: good.args.model
    reason: It is another model.
examples:
  - name: lighter
    good: a
    bad: b
    finds:
      - severity: medium
        fixes: [{key: --model, from: x, to: y}]
  - name: equal
    good: a
    bad: a
    finds: none
"""


def make_run(
    role: str, facts: dict[str, Any], evidence: dict[str, list[Evidence]] | None = None
) -> Run:
    """Return a run with the given facts."""
    life = Life(1, 1, 1)
    life.facts.update(facts)
    life.evidence.update(evidence or {})
    return Run(role, role, Log(role, role), Section(1, 1, None), life, None)


def make_evidence(line: int) -> Evidence:
    """Return evidence on a line."""
    return Evidence(Mark(line, line * 100, 99), 1, ())


ENTRY = Entry({"where": "moe", "what": "topk", "layer": None}, [make_evidence(3)])


def make_context(**options: Any) -> Context:
    """Return the context of two runs that know some facts, with ENTRY as one of bad's."""
    good = make_run(
        "good",
        {
            "weights.gb": 17.3529,
            "args.max_model_len": 4096,
            "args.compilation": {"level": 3},
            "kernels": [{"variant": "a"}, {"variant": "b"}],
            "kernels.fallback": [],
            "http": {"200": 12, "500": 3},
        },
        {"weights.gb": [make_evidence(5)]},
    )
    bad = make_run(
        "bad",
        {
            "weights.gb": None,
            "nan": {"layers": [0, 1, 2], "where": None},
            "kernels.fallback": [ENTRY],
            "reached": "profile",
            "truncated": True,
        },
        {"nan": [make_evidence(8), make_evidence(9)]},
    )
    values: dict[str, Any] = {
        "changes": {"arguments": [{"name": "dtype", "good": "auto", "bad": None}]}
    }
    return Context(good, bad, None, **(values | options))


def origin(text: str = "", file: str = "rule.yaml") -> Origin:
    """Return an origin as of a plain scalar at line 7, column 11."""
    return Origin(Position(file, 7, 11), text)


def evaluate(source: str, context: Context | None = None, *variables: str) -> Any:
    """Return the value of an expression."""
    names = Names(variables=frozenset(variables))
    context = context or Context(None, make_run("bad", {}), None, {})
    return context.evaluate(compile_expression(source, names=names, where=origin(source)))
