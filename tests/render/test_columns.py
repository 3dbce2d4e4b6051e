from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.render._columns import NO_BREAK, columns, cut, head, pad, shorten, tail, visible, wrap

ANY_TEXT = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("  a的ー한\u0301\u200d👩🏽\x1b\x00\n\t\u202e\ufeff\ud800…"),
    ),
    max_size=60,
)


def test_what_a_terminal_obeys_is_shown() -> None:
    assert visible("a\x1b[31mb\x07\x9b\u202ec\u2028\ud83d") == (
        r"a\x1b[31mb\x07\x9b\u202ec\u2028\ud83d"
    )
    assert visible("\ufeff\U000e0041") == r"\ufeff\U000e0041"
    assert visible("tab\tand\nline") == "tab and line"
    assert visible("日志 e\u0301 👩\u200d💻") == "日志 e\u0301 👩\u200d💻"


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("日志", 4), ("e\u0301", 1), ("Ａ", 2), ("ｱ", 1), ("👩", 2)]
)
def test_columns(text: str, width: int) -> None:
    assert columns(text) == width


def test_chinese_is_wrapped_between_characters_but_not_before_punctuation() -> None:
    assert wrap("两个镜像的代码不同，内核", 10) == ["两个镜像的", "代码不同，", "内核"]
    assert wrap("两个镜像的，内核", 10) == ["两个镜像", "的，内核"]


def test_words_are_wrapped_at_spaces_and_only_long_ones_broken() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("a abcdefghij", 4) == ["a", "abcd", "efgh", "ij"]
    assert wrap("one two three", 9, first=3) == ["one", "two three"]
    assert wrap("", 9) == [""]


def test_a_little_is_cut_at_the_end_and_much_in_the_middle() -> None:
    assert shorten("Starting to load", 14) == "Starting to l…"
    assert shorten("kernel failed: no attribute topk", 20) == "kernel failed…e topk"
    assert cut("日志日志", 6) == "日志…"
    assert cut("abc", 0) == ""


@given(ANY_TEXT, st.integers(min_value=2, max_value=40))
def test_nothing_is_wider_than_asked(text: str, width: int) -> None:
    for part in (*wrap(text, width), shorten(text, width), cut(text, width)):
        assert columns(part) <= width
        assert all(unicodedata.category(x) not in {"Cc", "Cs", "Zl", "Zp"} for x in part)
    assert columns(head(text, width)) <= width
    assert columns(tail(text, width)) <= width
    assert columns(pad(shorten(text, width), width)) == width


@given(ANY_TEXT, st.integers(min_value=2, max_value=40))
def test_wrapping_loses_nothing_but_spaces(text: str, width: int) -> None:
    spaces = str.maketrans(dict.fromkeys(f" {NO_BREAK}"))
    assert "".join(wrap(text, width)).translate(spaces) == visible(text).translate(spaces)


@pytest.mark.parametrize(
    ("width", "first", "lines"),
    [
        (24, 24, ["add_--flag_(unset_→_on),", "next"]),
        (24, 20, ["add_--flag", "(unset_→_on), next"]),
        (12, 12, ["add_--flag", "(unset_→", "on), next"]),
        (24, 3, ["", "add_--flag_(unset_→_on),", "next"]),
        (7, 7, ["add", "--flag", "(unset", "→_on),", "next"]),
    ],
)
def test_what_belongs_together_is_broken_in_its_gaps_and_what_becomes_what_last(
    width: int, first: int, lines: list[str]
) -> None:
    text = "add_--flag_(unset_→_on), next".replace("_", NO_BREAK)
    assert [part.replace(NO_BREAK, "_") for part in wrap(text, width, first)] == lines


def test_a_word_that_fits_the_next_line_is_not_broken() -> None:
    assert wrap("/a/long/path end", 12, first=6) == ["", "/a/long/path", "end"]
    assert wrap("/a/much/longer/path", 12, first=6) == ["/a/muc", "h/longer/pat", "h"]


@given(ANY_TEXT)
def test_showing_twice_changes_nothing(text: str) -> None:
    assert visible(visible(text)) == visible(text)
