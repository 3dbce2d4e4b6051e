"""The expression language: values, the third truth value, and what is not allowed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.engine.conditions import Names, compile_choice, compile_evidence, compile_expression
from logdiff.engine.position import RuleFileError
from logdiff.engine.runtime import UNKNOWN, Context
from logdiff.engine.syntax import MAXIMUM_CHARACTERS, mentions
from logdiff.model import Entry
from tests.engine.samples import ENTRY, evaluate, make_context, make_evidence, make_run, origin


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 2 * 3", 7),
        ("7 // 2 + 7 % 4 - -1", 7),
        ("1 / 4", 0.25),
        ("'a' + 'b'", "ab"),
        ("[1] + [2]", [1, 2]),
        ("1 < 2 < 3", True),
        ("1 < 2 > 3", False),
        ("'a' in 'cat'", True),
        ("3 not in (1, 2)", True),
        ("not 0", True),
        ("0 or 'text'", True),
        ("1 and []", False),
        ("'yes' if 1 == 1.0 else 'no'", "yes"),
        ("None", None),
        ("1 == '1'", False),
        ("good.weights.gb > 17", True),
        ("good.args.max_model_len", 4096),
        ("good.args.compilation.level", 3),
        ("[word for word in tokens('b c a d')]", ["a", "b", "c", "d"]),
        ("len([x for x in [1]]) + len([x for x in [1]]) + len([x for x in [1]])", 3),
        ("bad.kernels.fallback[0].what", "topk"),
        ("bad.nan.layers", [0, 1, 2]),
        ("bad.nan.layers[-1]", 2),
        ("run.nan.layers == bad.nan.layers", True),
        ("good.http['500']", 3),
        ("sum(good.http[status] for status in good.http)", 15),
        ("[k.variant for k in good.kernels if k.variant != 'a']", ["b"]),
        ("[x + y for x in [1, 2] for y in [10, 20]]", [11, 21, 12, 22]),
        ("any(k.variant == 'b' and len(good.kernels) == 2 for k in good.kernels)", True),
        ("changes.arguments[0].name", "dtype"),
        ("good is not None and bad is not None", True),
        ("item.where", "moe"),
        ("target + 1", 5),
        ("  1\n  + 1  ", 2),
        ("len('#')", 1),
    ],
)
def test_value(source: str, value: object) -> None:
    context = make_context(item=ENTRY)
    context.target = 4
    assert evaluate(source, context, "item", "target") == value
    assert context.lacking == []


@pytest.mark.parametrize(
    ("source", "lacking"),
    [
        ("bad.weights.gb > 10", ["bad.weights.gb"]),
        ("run.weights.gb + 1", ["bad.weights.gb"]),
        ("not bad.weights.gb", ["bad.weights.gb"]),
        ("'x' if bad.weights.gb else 'y'", ["bad.weights.gb"]),
        ("bad.nan.modules == 3", ["bad.nan.modules"]),
        ("run.nan.where == 'x'", ["bad.nan.where"]),
        ("bad.nan.layers[9] == 1", ["bad.nan.layers[9]"]),
        ("bad.oom[0].time == 1", ["bad.oom"]),
        ("changes.kernels == 1", ["changes.kernels"]),
        ("[x for x in bad.oom]", ["bad.oom"]),
        ("any(x == 1 for x in bad.oom)", ["bad.oom"]),
        ("max([1, bad.weights.gb])", ["bad.weights.gb"]),
        ("bad.weights.gb in [1]", ["bad.weights.gb"]),
        ("1 in bad.oom", ["bad.oom"]),
        ("bad.weights.gb == 1 or bad.http == 2", ["bad.weights.gb", "bad.http"]),
        ("3 in [1, bad.weights.gb]", ["bad.weights.gb"]),
        ("1 < '2'", []),
        ("{} < 1".format("good.http"), []),
        ("1 / 0", []),
        ("1 % 0", []),
        ("good.http * 2", []),
        ("bad.reached * 3", []),
        ("1 + 'a'", []),
        ("-bad.reached", []),
        ("len(5)", []),
        ("max([])", []),
        ("[x for x in 'text']", []),
        ("1 in 2", []),
        ("1e308 * 10 // 0", []),
    ],
)
def test_unknown_and_what_was_lacking(source: str, lacking: list[str]) -> None:
    context = make_context()
    assert evaluate(source, context) is UNKNOWN
    assert context.lacking == lacking


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("bad.weights.gb is None", True),
        ("bad.weights.gb is not None", False),
        ("bad.oom.devices is None", True),
        ("good.weights.gb is None", False),
        ("bad.weights.gb > 1 and 1 > 2", False),
        ("1 > 2 and bad.weights.gb > 1", False),
        ("bad.weights.gb > 1 or 2 > 1", True),
        ("default(bad.weights.gb, 3)", 3),
        ("default(good.weights.gb, 3)", 17.3529),
        ("any(x == 2 for x in [bad.weights.gb, 2])", True),
        ("all(x == 2 for x in [bad.weights.gb, 1])", False),
        ("typed(changes.arguments[0].bad)", "unset"),
    ],
)
def test_known_in_spite_of_a_null_fact(source: str, value: object) -> None:
    context = make_context()
    assert evaluate(source, context) == value
    assert [name for name in context.lacking if name != "changes.arguments[0].bad"] == []


def test_what_is_known_does_not_forget_what_an_earlier_one_lacked() -> None:
    context = make_context()
    evaluate("bad.weights.gb > 1", context)
    evaluate("1 == 1", context)
    assert context.lacking == ["bad.weights.gb"]


def test_without_a_good_run_its_facts_are_unknown() -> None:
    context = Context(None, make_run("bad", {"nan": {}}), None, {})
    assert evaluate("good.nan == 1", context) is UNKNOWN
    assert context.lacking == ["good.nan"]
    assert evaluate("good is None", context) is True
    assert evaluate("run is None", context) is False


def test_run_is_the_judged_one() -> None:
    context = make_context()
    assert context.good is not None
    context.run = context.good
    assert evaluate("run.weights.gb", context) == 17.3529


def test_holds_is_unknown_for_a_null_fact() -> None:
    context = make_context()
    code = compile_expression("bad.weights.gb", names=Names(), where=origin())
    assert context.evaluate(code) is None
    assert context.holds(code) is UNKNOWN


def test_unknown_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(UNKNOWN)


LEAVES = st.sampled_from([("1 == 1", True), ("1 == 2", False), ("bad.weights.gb == 1", None)])


def combine(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Combine formulas, each a source and its value by Kleene's tables, None for unknown."""
    return st.one_of(
        children.map(lambda a: (f"not ({a[0]})", None if a[1] is None else not a[1])),
        st.tuples(children, children).map(
            lambda p: (
                f"({p[0][0]}) and ({p[1][0]})",
                min(p[0][1], p[1][1], key=(False, None, True).index),
            )
        ),
        st.tuples(children, children).map(
            lambda p: (
                f"({p[0][0]}) or ({p[1][0]})",
                max(p[0][1], p[1][1], key=(False, None, True).index),
            )
        ),
    )


@given(st.recursive(LEAVES, combine, max_leaves=12))
def test_logic_is_kleenes(formula: tuple[str, bool | None]) -> None:
    source, expected = formula
    context = make_context()
    value = evaluate(source, context)
    assert value is (UNKNOWN if expected is None else expected)
    assert context.lacking == (["bad.weights.gb"] if expected is None else [])


VALUES = st.one_of(st.integers(-3, 3), st.floats(), st.text(max_size=2), st.booleans(), st.none())


@given(VALUES, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), VALUES)
def test_comparisons_are_pythons_or_unknown(left: object, operation: str, right: object) -> None:
    context = make_context(item={"left": left, "right": right})
    value = evaluate(f"item.left {operation} item.right", context, "item")
    if left is None or right is None:
        assert value is UNKNOWN
        return
    try:
        expected: object = eval(f"left {operation} right", {"left": left, "right": right})
    except TypeError:
        expected = UNKNOWN
    assert value is expected


@given(VALUES, st.sampled_from("+ - * / // %".split()), VALUES)
def test_arithmetic_never_raises(left: object, operation: str, right: object) -> None:
    context = make_context(item={"left": left, "right": right})
    value = evaluate(f"item.left {operation} item.right", context, "item")
    assert value is UNKNOWN or isinstance(value, (int, float, str))


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        ("bad.nann", 5, "undefined fact 'nann'; did you mean 'nan'?"),
        ("1 == bad.kernel.fallback", 10, "undefined fact 'kernel.fallback'; did you mean"),
        ("bad.weights > 1", 5, "undefined fact 'weights'; did you mean 'weights.gb'?"),
        ("'é' + bad.nann", 11, "undefined fact"),
        ("bad.args", 5, "name one of bad.args"),
        ("bad > 1", 1, "'bad' is a run"),
        ("changes.argument", 9, "undefined key 'argument' of changes; did you mean 'arguments'?"),
        ("1 + changes", 5, "name one of the changes"),
        ("1 == foo", 6, "undefined name 'foo'"),
        ("baad.nan", 1, "undefined name 'baad'; did you mean 'bad'?"),
        ("item.x", 1, "'item' is bound only"),
        ("len == 1", 1, "'len' is a function: call it"),
        ("bad.nan == None", 12, "write 'is None'"),
        ("1 is 2", 6, "'is' tests for None only"),
        ("lambda: 1", 1, "a lambda is not allowed"),
        ("{'a': 1}", 1, "a mapping is not allowed"),
        ("{1, 2}", 1, "a set is not allowed"),
        ("f'{1}'", 1, "an f-string is not allowed"),
        ("2 ** 9", 1, "the operator '**' is not allowed"),
        ("1 | 2", 1, "the operator '|' is not allowed"),
        ("~1", 1, "the operator '~' is not allowed"),
        ("+1", 1, "a unary '+' is not allowed"),
        ("(x := 1)", 2, "':=' is not allowed"),
        ("b'a'", 1, "a constant must be"),
        ("1j", 1, "a constant must be"),
        ("...", 1, "a constant must be"),
        ("good.http[1:2]", 11, "a slice is not allowed"),
        ("bad.nan.__class__", 9, "may not start with an underscore"),
        ("bad.nan['_evidence']", 1, "may not start with an underscore"),
        ("bad.nan.get('x')", 9, "'bad.nan.get' is no function of rules"),
        ("open('x')", 1, "'open' is no function of rules"),
        ("lenn([1])", 1, "did you mean 'len'?"),
        ("len(*[1])", 5, "'*' is not allowed"),
        ("len(**bad.nan)", 11, "'**' is not allowed"),
        ("len(1, 2)", 1, "len: too many positional arguments"),
        ("count(1)", 1, "count: missing a required argument: 'noun'"),
        ("count(1, nun='x')", 1, "count: missing a required argument: 'noun'"),
        ("'a' * 3", 1, "'*' takes numbers only"),
        ("3 * [1]", 5, "'*' takes numbers only"),
        ("[x for x, y in bad.oom]", 8, "'for' takes one simple name"),
        ("[x for bad in good.oom]", 8, "'bad' cannot be the name of a loop"),
        ("[_x for _x in bad.oom]", 9, "cannot be the name of a loop"),
        ("[[x for x in y] for x in bad.oom for y in x]", 2, "more than 2 'for's"),
        ("[x for x in bad.oom] + x", 24, "undefined name 'x'"),
        ("1 +", 4, "no expression: invalid syntax"),
        ("a b", 3, "no expression"),
        ("1) or (2", 2, "no expression: unmatched ')'"),
        ("1 # why", 3, "a comment is not allowed"),
        ("", 1, "the expression is empty"),
        ("x = 1", 3, "no expression"),
        ("(" * 300 + ")" * 300, None, "no expression"),
        ("not " * 50 + "True", None, "nested deeper than 40 levels"),
        ("[" + "1," * 500 + "]", 1, "more than 400 nodes"),
        ("'" + "a" * MAXIMUM_CHARACTERS + "'", 1, "at most 4,000 characters"),
        ("1\x00", None, "no expression"),
    ],
)
def test_not_allowed(source: str, column: int | None, message: str) -> None:
    with pytest.raises(RuleFileError) as caught:
        compile_expression(source, names=Names(), where=origin(source))
    problem = caught.value.problem
    assert message in problem.message
    assert problem.position.line == 7
    if column is not None:
        assert problem.position.column == 10 + column
    assert caught.value.message.startswith(f"rule.yaml:7:{problem.position.column}: ")
    assert caught.value.exit_status == 2


@given(st.text(alphabet="bad.nkers[](){}'\"+-*/%<>=!,:\n 01", max_size=40))
def test_any_source_compiles_or_is_a_rule_error(source: str) -> None:
    try:
        code = compile_expression(source, names=Names(), where=origin(source))
    except RuleFileError:
        return
    make_context().evaluate(code)


def test_the_deepest_expression_that_is_allowed_works() -> None:
    assert evaluate("not " * 38 + "True") is True


def test_compiled_code_reaches_no_builtins() -> None:
    code = compile("open", "<test>", "eval")
    with pytest.raises(NameError):
        make_context().evaluate(code)


@pytest.mark.parametrize(
    ("source", "value"),
    [("high", "high"), ("'high' if 1 < 2 else 'low'", "high"), ("bad.reached", "profile")],
)
def test_choice(source: str, value: str) -> None:
    code = compile_choice(source, ("high", "low"), names=Names(), where=origin(source))
    assert make_context().evaluate(code) == value


def test_choice_of_something_else() -> None:
    source = "'high' if 1 < 2 else 'bad'"
    with pytest.raises(RuleFileError, match=r"rule.yaml:7:32: 'bad' is none of high, low"):
        compile_choice(source, ("high", "low"), names=Names(), where=origin(source))


def test_mentions() -> None:
    assert mentions("any(x == item.y for x in [1])", "item")
    assert not mentions("changes.item == 'item'", "item")


def lines(source: str, context: Context) -> list[tuple[str, int]]:
    names = Names(variables=frozenset({"item"}))
    code = compile_evidence(source, names=names, where=origin(source))
    return [(run.role, evidence.mark.line) for run, evidence in context.evidence(code)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("bad.nan", [("bad", 8), ("bad", 9)]),
        ("bad.nan.layers", [("bad", 8), ("bad", 9)]),
        ("run.nan", [("bad", 8), ("bad", 9)]),
        ("good.weights.gb", [("good", 5)]),
        ("bad.weights.gb", []),
        ("[good.weights.gb, bad.nan]", [("good", 5), ("bad", 8), ("bad", 9)]),
        ("[bad.nan, bad.nan]", [("bad", 8), ("bad", 9)]),
        ("bad.nan if bad.nan is not None else good.nan", [("bad", 8), ("bad", 9)]),
        ("bad.kernels.fallback", [("bad", 3)]),
        ("bad.kernels.fallback[0]", [("bad", 3)]),
        ("[f for f in bad.kernels.fallback if f.where == 'moe']", [("bad", 3)]),
        ("item", [("bad", 3)]),
        ("[f for f in bad.oom]", []),
        ("1", []),
    ],
)
def test_evidence(source: str, expected: list[tuple[str, int]]) -> None:
    context = make_context(item=ENTRY)
    assert lines(source, context) == expected
    assert context.lacking == []


def test_evidence_of_a_change_names_its_runs() -> None:
    context = make_context()
    pairs = [(context.good, make_evidence(1)), (context.bad, make_evidence(1))]
    context.item = {"file": "x.py", "_evidence": pairs}
    assert lines("item", context) == [("good", 1), ("bad", 1)]


def test_evidence_of_an_entry_belongs_to_the_run_that_holds_it() -> None:
    context = make_context()
    entry = Entry({"where": "moe"}, [make_evidence(4)])
    assert context.good is not None
    context.good.facts["backends"] = {"moe": [entry]}
    context.item = entry
    assert lines("item", context) == [("good", 4)]


def test_evidence_without_a_good_run() -> None:
    context = Context(None, make_run("bad", {}), None, {})
    assert lines("good.nan", context) == []
