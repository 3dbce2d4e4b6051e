"""The functions that expressions may call."""

from __future__ import annotations

import pytest

from logdiff.engine.functions import FUNCTIONS
from logdiff.engine.values import UNKNOWN
from tests.engine.samples import evaluate


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("len([1, 2])", 2),
        ("min(3, 1, 2)", 1),
        ("max([3, 1])", 3),
        ("sum([1, 2.5])", 3.5),
        ("round(2.567, 1)", 2.6),
        ("round(2.567)", 3),
        ("abs(-2)", 2),
        ("any([])", False),
        ("all([])", True),
        ("sorted([2, 1])", [1, 2]),
        ("unique([2, 1, 2])", [2, 1]),
        ("unique([[1], [1]])", [[1]]),
        ("join(['a', 1234567, None])", "a, 1,234,567, unknown"),
        ("join([1, 2], sep=' ')", "1 2"),
        ("count(1, 'message')", "1 message"),
        ("count(0, 'message')", "0 messages"),
        ("count(1234, 'message')", "1,234 messages"),
        ("count(['a', 'b'], 'entry', 'entries')", "2 entries"),
        ("number(17.3529)", "17.3529"),
        ("number(1234567)", "1,234,567"),
        ("number(-1234.5)", "-1,234.5"),
        ("number(-0.5)", "-0.5"),
        ("number(2.0)", "2"),
        ("number(0.9)", "0.9"),
        ("number(1e-9)", "1e-09"),
        ("number('text')", "text"),
        ("percent(0.9997)", "99.97 %"),
        ("percent(1.0)", "100 %"),
        ("percent(0.99999999)", "99.99 %"),
        ("percent(0.5, 0)", "50 %"),
        ("percent(0)", "0 %"),
        ("gib(18176)", 17.75),
        ("duration(45)", "45 s"),
        ("duration(4680)", "78 min"),
        ("duration(7500)", "2 h 5 min"),
        ("duration(7200)", "2 h"),
        ("flag('max_model_len')", "--max-model-len"),
        ("typed(None)", "unset"),
        ("typed(True)", "on"),
        ("typed(False)", "off"),
        ("typed(['a', 1])", "a 1"),
        ("typed(0.95)", "0.95"),
        ("typed('auto')", "auto"),
        ("shorten('abcdef', 4)", "abc…"),
        ("shorten('abcd', width=4)", "abcd"),
        ("starts('abc', 'ab')", True),
        ("contains('abc', 'bd')", False),
        ("contains([1, 2], 2)", True),
        ("basename('/a/b.py')", "b.py"),
        ("basename('b.py')", "b.py"),
        ("default(None, 1)", 1),
        ("default(0, 1)", 0),
    ],
)
def test_function(source: str, value: object) -> None:
    result = evaluate(source)
    assert result == value
    assert type(result) is type(value)


def test_a_mapping_is_typed_as_json() -> None:
    assert FUNCTIONS["typed"]({"a": [1, True]}) == '{"a": [1, true]}'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("GatedDeltaNet", {"gated", "delta", "net", "gdn"}),
        ("CoreX fused MoE prefill", {"corex", "fused", "moe", "prefill"}),
        ("FusedMoE", {"fused", "moe", "fm"}),
        ("FA2 and FlashAttention2", {"fa2", "and", "flash", "attention"}),
        ("vllm_moe_topk_softmax", {"vllm", "moe", "topk", "softmax"}),
        ("layer 19", {"layer"}),
        ("", set()),
    ],
)
def test_tokens(text: str, words: set[str]) -> None:
    assert FUNCTIONS["tokens"](text) == words
    assert FUNCTIONS["tokens"]([text, "x"]) == words | {"x"}


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"default"}))
def test_unknown_gives_unknown(name: str) -> None:
    assert FUNCTIONS[name](UNKNOWN) is UNKNOWN


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"default", "typed"}))
def test_null_gives_unknown(name: str) -> None:
    assert FUNCTIONS[name](None) is UNKNOWN
