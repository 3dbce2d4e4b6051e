"""YAML 1.2, strictly, with positions."""

from __future__ import annotations

import contextlib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from logdiff.engine import strict_yaml
from logdiff.engine.position import RuleFileError


@pytest.fixture(params=["CSafeLoader", "SafeLoader"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test with libyaml's parser and with the one in Python."""
    monkeypatch.setattr(strict_yaml, "_PARSER", getattr(yaml, request.param))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("off", "off"),
        ("true", True),
        ("False", False),
        ("tRUE", "tRUE"),
        ("null", None),
        ("~", None),
        ("0123", 123),
        ("0o17", 15),
        ("0x1F", 31),
        ("3:20", "3:20"),
        ("1_000", "1_000"),
        ("2024-05-01", "2024-05-01"),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("-7", -7),
        ("-.INF", float("-inf")),
        ("0.6.3", "0.6.3"),
        ("0b11", "0b11"),
        ("=", "="),
        ("'5'", "5"),
        ('"true"', "true"),
        ("|\n  a\n  b\n", "a\nb\n"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_scalar(text: str, value: object) -> None:
    document = strict_yaml.load(f"key: {text}", "f.yaml")
    assert document.data == {"key": value}
    assert type(document.data["key"]) is type(value)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "3:1", "the key 'a' is repeated"),
        ("a: &x 1\nb: *x\n", "1:4", "anchors and aliases"),
        ("a: *x\n", "1:4", "anchors and aliases"),
        ("a: !!python/object:os.system 1\n", "1:4", "the tag"),
        ("a: !!str 1\n", "1:4", "the tag"),
        ("1: a\n", "1:1", "a key must be a text"),
        ("[a]: a\n", "1:1", "a key must be a text"),
        ("a: 1\n---\nb: 2\n", "2:1", "a second document"),
        ("", "1:1", "the file is empty"),
        ("# nothing\n", "1:1", "the file is empty"),
        ("a: [1\n", "2:1", "did not find expected ',' or ']'|expected ',' or ']'"),
        ("a: 'x\n", "2:1", "unexpected end of stream"),
        ("x: 1\na: b: c", "2:5", "mapping values are not allowed"),
        ("a: \x07\n", "1:4", "a control character"),
        ("[" * 40 + "]" * 40, "1:31", "nested deeper than 30 levels"),
        ("a: " + "x" * strict_yaml.MAXIMUM_CHARACTERS, "1:1", "longer than 1,048,576 characters"),
    ],
)
def test_error(text: str, place: str, message: str) -> None:
    with pytest.raises(RuleFileError, match=message) as caught:
        strict_yaml.load(text, "f.yaml")
    assert caught.value.message.startswith(f"f.yaml:{place}: ")


DOCUMENT = """\
list:
  - plain: bad.nan > 1
    single: 'it''s bad.nan'
    double: "bad.nan"
    escaped: "a\\tbad.nan"
    folded: >-
      one
      two bad.nan

    literal: |
      one
        bad.nan
    spread: one
      two bad.nan
"""


@pytest.mark.parametrize(
    ("key", "line", "column"),
    [
        ("plain", 2, 12),
        ("single", 3, 20),
        ("double", 4, 14),
        ("escaped", 5, 14),  # the start of the scalar
        ("folded", 8, 11),
        ("literal", 12, 9),
        ("spread", 14, 11),
    ],
)
def test_position_within_a_scalar(key: str, line: int, column: int) -> None:
    document = strict_yaml.load(DOCUMENT, "f.yaml")
    text = document.data["list"][0][key]
    position = document.origin(("list", 0, key)).at(text.index("bad"), text)
    assert position == ("f.yaml", line, column)


def test_position_with_carriage_returns() -> None:
    document = strict_yaml.load(DOCUMENT.replace("\n", "\r\n"), "f.yaml")
    text = document.data["list"][0]["folded"]
    position = document.origin(("list", 0, "folded")).at(text.index("bad"), text)
    assert position == ("f.yaml", 8, 11)


def test_position_of_values_and_keys() -> None:
    document = strict_yaml.load(DOCUMENT, "f.yaml")
    assert document.position() == ("f.yaml", 1, 1)
    assert document.position(("list", 0, "double")) == ("f.yaml", 4, 13)
    assert document.key_position(("list", 0, "double")) == ("f.yaml", 4, 5)
    assert document.position(("list", 0, "absent")) == ("f.yaml", 2, 5)


@given(st.text(alphabet="ab: -[]{}'\"&*!|>#\n\t%@,?~1", max_size=40))
def test_any_text_loads_or_is_a_rule_error(text: str) -> None:
    with contextlib.suppress(RuleFileError):
        strict_yaml.load(text, "f.yaml")
