from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.render import Options
from logdiff.render.json import render


def test_a_document_comes_back_as_it_was(pair_document: dict[str, Any]) -> None:
    text = render(pair_document, Options())
    assert json.loads(text) == pair_document
    assert text.endswith("}\n")
    assert text.startswith('{\n  "schema": "logdiff.report/1",')


def test_chinese_stays_readable_and_what_a_terminal_obeys_is_escaped() -> None:
    text = render({"a": "日志\x1b[31m\x9b\u202e\u2028"}, Options())
    assert text == '{\n  "a": "日志\\u001b[31m\\u009b\\u202e\\u2028"\n}\n'


def test_nothing_invisible_is_passed_on() -> None:
    hidden = [
        character
        for character in map(chr, range(0x110000))
        if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")
    ]
    hidden += map(chr, range(0xE0000, 0xE0080))
    text = render({"a": "".join(hidden), "日志\u200b": "a\u3000b"}, Options())
    assert not set(hidden) - {"\n"} & set(text)
    assert "\\u200b" in text
    assert "\\udb40\\udc41" in text
    assert "a\u3000b" in text
    assert json.loads(text) == {"a": "".join(hidden), "日志\u200b": "a\u3000b"}


def test_numbers_that_are_none_and_half_characters_never_appear() -> None:
    text = render({"a": [float("nan"), float("-inf"), 1.5], "b": "x\ud83dy"}, Options())
    assert json.loads(text) == {"a": [None, None, 1.5], "b": "x\ufffdy"}
    text.encode("utf-8")


@given(
    st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
)
def test_any_text_comes_back(document: dict[str, str]) -> None:
    assert json.loads(render(document, Options())) == document


@pytest.mark.parametrize("hidden", ["\u200b", "\u2060", "\ufff9", "\U000e0041", "\u202e"])
def test_what_nobody_would_see_is_written_as_an_escape(hidden: str) -> None:
    text = render({"a": f"b{hidden}c"}, Options())
    assert text.isascii()
    assert json.loads(text) == {"a": f"b{hidden}c"}
