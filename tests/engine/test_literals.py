"""What is known about patterns without running them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.engine.literals import analyse, objection

MASK = bytes.maketrans(b"0123456789", b"0" * 10)


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (r"Loading weights took (?P<s>[\d.]+)", b"Loading weights took "),
        (r"GPU blocks: (?P<n>\d+), CPU", b"GPU blocks: 0"),
        (r"a\d+, CPU blocks", b"0, CPU blocks"),
        (r"HTTP/1\.\d", b"HTTP/0.0"),
        (r"\d{3} OK", b"000 OK"),
        (r"^\[core\.py:\d+\] done$", b"[core.py:0"),
        (r"short|a longer one", None),
        (r"(?:x|y) common tail", b" common tail"),
        (r"(?:optional )?word", b"word"),
        (r"(?:ab)+cd", b"abcd"),
        (r"(?i)Error", None),
        (r"(?i:Error) in Layer", b" in Layer"),
        (r".*", None),
        (r"foo(?=bar)baz", b"foobaz"),
        (r"foo(?!bar)\b baz", b"foo baz"),
        (r"[x]y[z]", b"xyz"),
        (r"\S+ \w+", b" "),
        ("█ version", "█ version".encode()),
    ],
)
def test_literal(pattern: str, literal: bytes | None) -> None:
    assert analyse(pattern).literal == literal


@pytest.mark.parametrize(
    ("pattern", "sensitive"),
    [
        (r"\d+ \w \S . [^\"] [\d.] x{3} [a-z0-9] \D \s \W", False),
        (r"[0-9]+", False),
        (r"(?:\d|x)(?!\d)", False),
        (r"layer 1", True),
        (r"[1-9]\d*", True),
        (r"5\d\d", True),
        (r"[0-4]", True),
        (r"[^0]", True),
        (r"(?:x|FA2)?", True),
        (r"(?=3)", True),
        (r"(?P<a>\w+) (?P=a)", True),
        (r"[ -4]", True),
    ],
)
def test_digit_sensitivity(pattern: str, sensitive: bool) -> None:
    assert analyse(pattern).digit_sensitive is sensitive


def test_groups() -> None:
    assert analyse(r"(?P<a>x)(y)(?P<b>z)?").groups == {"a", "b"}


PATTERNS = [
    r"ab?\d+c",
    r"(?:a|b)+\d\dc{2}",
    r"a(?:b\d)+?c",
    r"[ab]1?c",
    r"(?:ab){1,2}c\d",
    r"(?>a+)b(?:c|1)",
    r"(?i:a)b",
]


@given(st.sampled_from(PATTERNS), st.data())
def test_each_match_contains_the_literal(pattern: str, data: st.DataObject) -> None:
    line = data.draw(st.from_regex(re.compile(pattern.encode(), re.DOTALL)))
    literal = analyse(pattern).literal
    assert re.search(pattern.encode(), line)
    assert literal is None or literal in line.translate(MASK)


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        (r"Loading weights took (?P<s>[\d.]+)", b"weights"),
        (r"^Loading (?P<s>[\d.]+)", b"Loading"),
        (r"\bLoading\b", b"Loading"),
        (r"Loading (?P<s>[\d.]+)", None),
        (r"^Load(?:ing)? ", None),
        (r"^Loading\s*$", None),
        (r"[ :]Loading[:,]", b"Loading"),
        (r"[\w:]Loading[:,]", None),
        (r"(?:x|y)?Loading ", None),
        (r"(?: x)*\bkind of", b"kind"),
        (r"^(?:a|b)Loading ", None),
        (r"(?i:a)b c d", b"c"),
        (r"\d+ of \d+,", b"of"),
    ],
)
def test_word(pattern: str, word: bytes | None) -> None:
    assert analyse(pattern).word == word


@given(st.sampled_from([*PATTERNS, r"^a \w+", r"\bab\b", r"[ .]+b[,;]\d", r"^a?\bb\b"]), st.data())
def test_each_match_contains_the_word(pattern: str, data: st.DataObject) -> None:
    line = data.draw(st.from_regex(re.compile(pattern.encode(), re.DOTALL)))
    word = analyse(pattern).word
    assert word is None or word in re.findall(rb"\w+", line.translate(MASK))


@given(st.sampled_from(PATTERNS), st.text(alphabet="abc0123", max_size=12))
def test_insensitive_patterns_match_the_shape(pattern: str, line: str) -> None:
    if not analyse(pattern).digit_sensitive:
        match = re.search(pattern.encode(), line.encode())
        masked = re.search(pattern.encode(), line.encode().translate(MASK))
        assert (match and match.span()) == (masked and masked.span())


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+",
        r"(.*)*",
        r"(?:\w+)*x",
        r"(?:\d+,?)+",
        r"(?:a|b+)+",
        r"(\w+\w)+",
        r"(?:x(?:y+)*)?",
        r"(?:[ab]+[bc]*)+",
    ],
)
def test_nested_repeats_are_rejected(pattern: str) -> None:
    assert objection(pattern) == "nested repeats over the same characters take exponential time"


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:\w+ )*\w+",
        r"(?:[\w.@+-]+/)+",
        r"(?:, \d+)*",
        r"a+b+",
        r"(?:a+){3}",
        r"é x",
        r"(?:é|ü)?",
        r"\[é\]",
    ],
)
def test_harmless_patterns(pattern: str) -> None:
    assert objection(pattern) is None


@pytest.mark.parametrize("pattern", ["[é]", "é+", "[^é]", "[a-é]", "[]é]", r"[\]é]"])
def test_characters_of_several_bytes(pattern: str) -> None:
    assert objection(pattern) == "only ASCII characters may stand in a class or be repeated"
