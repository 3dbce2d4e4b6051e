"""Texts of rules: what stands between braces is an expression, the rest stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.engine.conditions import Names
from logdiff.engine.position import RuleFileError
from logdiff.engine.syntax import MAXIMUM_CHARACTERS
from logdiff.engine.texts import compile_text
from tests.engine.samples import ENTRY, make_context, origin


def text(template: str) -> str:
    names = Names(variables=frozenset({"item"}))
    context = make_context(item=ENTRY)
    return context.text(compile_text(template, names=names, where=origin(template)))


@pytest.mark.parametrize(
    ("template", "result"),
    [
        ('plain: it\'s "so" \\n', 'plain: it\'s "so" \\n'),
        ("", ""),
        ("{good.weights.gb} GB", "17.3529 GB"),
        ("{good.weights.gb:.1f}|{1234567:,}|{0.5:.0%}|{7:>3}", "17.4|1,234,567|50%|  7"),
        ("{{x}} {1}", "{x} 1"),
        ("{{{1}}}", "{1}"),
        ("{item.what} {count(2, 'layer')}", "topk 2 layers"),
        ("{join(['a}', '{b:'])}", "a}, {b:"),
        ("{'yes' if 1 != 2 else 'no'}", "yes"),
        ('{join(["x\\"}"])}', 'x"}'),
        ("{bad.weights.gb} {bad.weights.gb:.2f} {item.layer}", "unknown unknown unknown"),
        ("{bad.nan.layers}", "0, 1, 2"),
        ("{item.what:.2f}", "topk"),
        ("two\nlines { 1 +\n 1 }\n", "two\nlines 2\n"),
    ],
)
def test_text(template: str, result: str) -> None:
    assert text(template) == result


def test_text_lacks_nothing() -> None:
    context = make_context()
    context.text(compile_text("{bad.weights.gb}", names=Names(), where=origin()))
    assert context.lacking == []


@pytest.mark.parametrize(
    ("template", "column", "message"),
    [
        ("abc {bad.nann}", 10, "undefined fact 'nann'"),
        ("é {1} { bad.nann }", 13, "undefined fact 'nann'"),
        ("a } b", 3, "a single '}'"),
        ("a {1", 3, "'{' is never closed"),
        ("a {1:", 3, "'{' is never closed"),
        ("a {}", 3, "'{}' holds no expression"),
        ("a {1!r}", 5, "conversions such as '!r'"),
        ("{1:{2}}", 4, "is no format"),
        ("{1:999999d}", 4, "'999999d' is no format"),
        ("{1=}", None, "no expression"),
        ("{open('x')}", 2, "no function of rules"),
        ("x" * (MAXIMUM_CHARACTERS + 1), 1, "at most 4,000 characters"),
    ],
)
def test_text_not_allowed(template: str, column: int | None, message: str) -> None:
    with pytest.raises(RuleFileError) as caught:
        compile_text(template, names=Names(), where=origin(template))
    assert message in caught.value.problem.message
    if column is not None:
        assert caught.value.problem.position.column == 10 + column


@given(st.text(alphabet="a{}1:!'\" .,\n\\", max_size=30))
def test_any_text_compiles_or_is_a_rule_error(template: str) -> None:
    try:
        code = compile_text(template, names=Names(), where=origin(template))
    except RuleFileError:
        return
    make_context().text(code)


@given(st.text(max_size=30))
def test_escaped_text_is_kept(literal: str) -> None:
    template = literal.replace("{", "{{").replace("}", "}}")
    code = compile_text(template, names=Names(), where=origin(template))
    assert make_context().text(code) == literal
