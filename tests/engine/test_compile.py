"""Rule and signal files: what is compiled, and each mistake at its place."""

# ruff: noqa: E501  # a case is one line, however long its message

from __future__ import annotations

import os
from typing import TYPE_CHECKING, get_args

import pytest

from logdiff.engine import compile as compiler
from logdiff.engine import schema
from logdiff.engine.position import Problem, RuleFileError
from logdiff.engine.runtime import Context
from logdiff.errors import RuleError
from logdiff.model import STAGES
from tests.engine.samples import RULE, SIGNALS, make_evidence, make_run

if TYPE_CHECKING:
    from logdiff.engine.ruleset import RuleSet
    from tests.engine.samples import MakeFile


def problems_of(*files: str, known: RuleSet | None = None) -> list[str]:
    """Return the problems as ``line:column: message``."""
    problems: list[Problem] = []
    compiler.compile_sources(compiler.read_sources(files, problems), problems, known)
    return [str(problem).removeprefix(f"{problem.position.file}:") for problem in problems]


def test_signal(make_file: MakeFile) -> None:
    (signal,) = compiler.load([make_file(SIGNALS, "demo.yaml", "signals")]).signals
    assert signal.id == "weights-loaded"
    assert signal.source == "demo"
    assert (signal.engine, signal.keep, signal.scope) == ("vllm", "groups", "message")
    assert (signal.enters, signal.completes, signal.levels) == (None, "weights", ())
    assert signal.patterns == (
        (
            rb"Loading weights took (?P<gb>\d+\.\d+) GB",
            b"Loading weights took 0",
            b"weights",
            False,
        ),
        (rb"^Weights of (?P<gb>[\d.]+) GB are loaded", b" GB are loaded", b"Weights", False),
    )
    assert signal.fields == (("gb", "float", "GiB"),)
    assert signal.versions == ((None, None), ("0.7", None))


def test_rule(make_file: MakeFile) -> None:
    (rule,) = compiler.load([make_file(RULE)]).rules
    good = make_run("good", {"weights.gb": 17.5, "args.model": "y"})
    bad = make_run("bad", {"weights.gb": 16.25, "args.model": "x"})
    good.life.evidence["weights.gb"] = [make_evidence(4)]
    context = Context(good, bad, None, {})
    assert (rule.id, rule.area, rule.scope, rule.about) == (
        "weights-differ",
        "model",
        "pair",
        "bad",
    )
    assert rule.needs == ("good", "bad", "weights")
    assert [context.holds(code) for code in rule.when] == [True]
    assert context.text(rule.wording.title) == "Weights differ: 17.5 and 16.25 GB"
    assert context.evaluate(rule.wording.severity) == "medium"
    assert context.evaluate(rule.wording.confidence) == "likely"
    assert context.text(rule.wording.why) == "The loaded weights do not have the same size."
    assert [context.evidence(code) for code in rule.wording.evidence] == [
        [(good, make_evidence(4))],
        [],
    ]
    (fix,) = rule.wording.fixes
    assert (fix.kind, fix.action, context.text(fix.key)) == ("config", "set", "--model")
    assert fix.old is not None
    assert fix.new is not None
    assert (context.evaluate(fix.old), context.evaluate(fix.new)) == ("x", "y")
    assert (rule.for_each, rule.wording.headline, fix.when, fix.safety) == (None, None, None, None)


def test_conditions_on_the_item_are_filters(make_file: MakeFile) -> None:
    text = RULE.replace(
        "when:\n", "for_each: bad.kernels\nwhen:\n  - item.variant != 'x'\n  - bad.kernels\n"
    )
    (rule,) = compiler.load([make_file(text)]).rules
    context = Context(None, make_run("bad", {"kernels": [1]}), None, {}, {"variant": "y"})
    assert [context.holds(code) for code in rule.filters] == [True]
    assert context.holds(rule.when[0]) is True
    assert len(rule.when) == 2


def test_numbers_may_stand_for_expressions(make_file: MakeFile) -> None:
    text = RULE.replace("from: bad.args.model", "from: 0.95").replace(
        "to: good.args.model", "to: true"
    )
    (rule,) = compiler.load([make_file(text)]).rules
    context = Context(None, make_run("bad", {}), None, {})
    old, new = rule.wording.fixes[0].old, rule.wording.fixes[0].new
    assert old is not None
    assert new is not None
    assert (context.evaluate(old), context.evaluate(new)) == (0.95, True)


def test_target_is_unbound_in_the_next_fix(make_file: MakeFile) -> None:
    first, second = (
        "  - for_each: changes.arguments\n    kind",
        "  - kind: env\n    key: '{target}'\n",
    )
    text = RULE.replace("  - kind", first).replace(
        "examples:", f"{second}    action: add\n    reason: so\nexamples:"
    )
    (found,) = problems_of(make_file(text))
    assert found == "22:12: 'target' is bound only beside and below its for_each"


def test_target_is_bound_within_its_fix_only(make_file: MakeFile) -> None:
    each = RULE.replace("  - kind", "  - for_each: changes.arguments\n    kind")
    assert problems_of(make_file(each.replace("It is another model.", "'{target.name}'"))) == []
    assert problems_of(make_file(RULE.replace("It is another model.", "'{target.name}'"))) == [
        "19:15: 'target' is bound only beside and below its for_each"
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("title:", "titel: x\ntitle:", "2:1: unknown key 'titel'; did you mean 'title'?"),
        ("confidence: likely\n", "", "1:1: the key 'confidence' is missing"),
        ("id: weights-differ", "id: other", "1:5: id 'other' must be the name of the file, 'weights-differ'"),
        ("id: weights-differ", "id: Weights", "1:5: id: String should match pattern"),
        ("confidence: likely", "confidence: lik", "4:13: undefined name 'lik'"),
        ("\"medium\"'", "\"mild\"'", "3:64: 'mild' is none of critical, high, medium, low, info"),
        ("scope: pair", "scope: two", "5:8: scope: must be 'one-run' or 'pair'"),
        ("needs: [good, bad, weights]", "needs: [wait]", "6:9: needs: must be"),
        ("good.weights.gb != bad", "good.weights.gb != baad", "8:24: undefined name 'baad'"),
        ("{good.weights.gb} and", "{good.weight.gb} and", "2:31: undefined fact 'weight.gb'"),
        ("the same size", "the {same} size", "12:8: undefined name 'same'"),
        ("evidence: [good.weights.gb, ", "evidence: [good.weights.gb, bad.x, ", "9:33: undefined fact"),
        ("kind: config", "kind: magic", "14:11: kind: must be 'config', 'env'"),
        ("key: '{flag(\"model\")}'", "key: '{flug(\"model\")}'", "15:12: 'flug' is no function of rules; did you mean 'flag'?"),
        ("to: good.args.model", "to: [1]", "18:9: to: must be a text, a number, a boolean or null"),
        ("fixes:\n", "causes: [weights-diffr]\nfixes:\n", "13:10: there is no rule 'weights-diffr'; did you mean 'weights-differ'?"),
        ("fixes:\n", "causes: [weights-differ]\nfixes:\n", "13:10: a cycle of causes: weights-differ ← weights-differ"),
        ("finds: none", "finds: nothing", "30:12: finds: must be 'none'"),
        ("title:", "id: again\ntitle:", "2:1: the key 'id' is repeated"),
        ("good: a\n    bad: a", "good: 1\n    bad: a", "28:11: good: must be a valid string: quote it"),
        ("severity:", "headline: ''\nsubject: '{}'\nseverity:", "4:11: '{}' holds no expression"),
    ],
)  # fmt: skip
def test_mistake_in_a_rule(make_file: MakeFile, old: str, new: str, problem: str) -> None:
    assert old in RULE
    (found,) = problems_of(make_file(RULE.replace(old, new, 1)))
    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("source: demo", "source: other", "1:9: source 'other' must be the name of the file, 'demo'"),
        ("(?P<gb>\\d+\\.\\d+)", "(?P<gb>\\d+", "7:31: no regular expression: missing ), unterminated subpattern"),
        ("\\.\\d+", "\\.(\\d+)+", "7:9: nested repeats over the same characters"),
        ("took (?P<gb>", "toök[ö] (?P<gb>", "7:9: only ASCII characters may stand in a class"),
        ("      gb: {", "      gb: int\n      size: {", "12:7: the field 'size' is a group of no pattern"),
        ("(?P<gb>[\\d.]+)", "(?P<size>[\\d.]+)", "7:7: the group 'size' of a pattern is no field"),
        ("type: float", "type: number", "11:18: type: must be 'text', 'int', 'float' or 'count'"),
        ("since: '0.7'", "since: 0.7", "9:16: since: must be a valid string: quote it"),
        ("completes: weights", "completes: wait", "12:16: completes: must be 'build'"),
        ("completes: weights", "kompletes: weights", "12:5: unknown key 'kompletes'; did you mean 'completes'?"),
        ("    not:\n      - 'INFO Loading weights took a while'\n", "", "3:5: the key 'not' is missing"),
    ],
)  # fmt: skip
def test_mistake_in_a_signal(make_file: MakeFile, old: str, new: str, problem: str) -> None:
    assert old in SIGNALS
    (found,) = problems_of(make_file(SIGNALS.replace(old, new, 1), "demo.yaml"))
    assert found.startswith(problem)


def test_ids_are_unique(make_file: MakeFile) -> None:
    first = make_file(RULE)
    second = make_file(RULE, area="kernel")
    assert problems_of(first, second) == [f"1:5: the id 'weights-differ' is taken: {first}:1:5"]
    known = compiler.load([first])
    assert problems_of(second, known=known) == ["1:5: the id 'weights-differ' is taken: built in"]


def test_a_cycle_of_causes_is_reported_once(make_file: MakeFile) -> None:
    names = {"alpha": "beta", "beta": "gamma", "gamma": "alpha"}
    files = [
        make_file(RULE.replace("weights-differ", name) + f"causes: [{cause}]\n", f"{name}.yaml")
        for name, cause in names.items()
    ]
    (found,) = problems_of(*files)
    assert found.endswith("a cycle of causes: alpha ← beta ← gamma ← alpha")


def test_causes_may_be_built_in(make_file: MakeFile) -> None:
    known = compiler.load([make_file(RULE)])
    text = RULE.replace("weights-differ", "other") + "causes: [weights-differ]\n"
    assert problems_of(make_file(text, "other.yaml"), known=known) == []


def test_load_names_the_first_mistake_and_counts_the_rest(make_file: MakeFile) -> None:
    file = make_file(RULE.replace("likely", "lik").replace("good.weights.gb !=", "good.x !="))
    with pytest.raises(RuleFileError) as caught:
        compiler.load([file])
    assert caught.value.message == f"{file}:4:13: undefined name 'lik'"
    assert caught.value.hint == "'logdiff rules check' shows 1 more."


def test_unreadable_files(make_file: MakeFile) -> None:
    missing, latin = make_file("x") + "x", make_file("x", "latin.yaml")
    with open(latin, "wb") as stream:
        stream.write(b"id: \xe9")
    assert problems_of(missing, latin) == [
        "1:1: No such file or directory",
        "1:1: the file is not UTF-8",
    ]


def test_a_list_is_no_rule(make_file: MakeFile) -> None:
    (found,) = problems_of(make_file("- id: x"))
    assert found.startswith("1:1: the file: ")


def test_rule_files(make_file: MakeFile) -> None:
    paths = [make_file("x", "b.yaml"), make_file("x", "a.yml"), make_file("x", "c.txt")]
    make_file("x", "d.yaml", "__pycache__")
    directory = os.path.dirname(os.path.dirname(paths[0]))
    assert compiler.rule_files([directory]) == [paths[1], paths[0]]
    assert compiler.rule_files([paths[2]]) == [paths[2]]
    with pytest.raises(RuleError, match="there is no such file or directory"):
        compiler.rule_files([directory + "x"])


def test_a_rule_may_need_a_run_or_a_stage() -> None:
    assert get_args(schema.Need) == ("good", "bad", "submission", *STAGES)


@pytest.mark.parametrize("model", [schema.RuleFile, schema.SignalFile])
def test_every_key_is_described(model: type[schema.RuleFile | schema.SignalFile]) -> None:
    published = model.model_json_schema()
    definitions = [published, *published["$defs"].values()]
    undescribed = [
        name
        for definition in definitions
        for name, field in definition["properties"].items()
        if not field.get("description")
    ]
    assert undescribed == []
