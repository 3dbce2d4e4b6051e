"""YAML files as nodes that know their bytes, and what is refused of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.submission.model import SubmissionError, TextFile
from logdiff.submission.yaml_nodes import MAXIMUM_DEPTH, Node, read_documents


def document(text: str) -> tuple[TextFile, Node]:
    file = TextFile("a.yaml", text.encode())
    [root] = read_documents(file)
    return file, root


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("'it''s'", "it's"),
        ('"a\\tb"', "a\tb"),
        ("&x 12", "12"),
        ("!!str 12", "12"),
        ("[a, b]", ""),
        ("no", "no"),
        ("模型", "模型"),
    ],
)
@pytest.mark.parametrize("before", ["", "\ufeff", "# 注释 é\n", "first: 1\r\n"])
def test_a_span_is_what_is_written(before: str, value: str, text: str) -> None:
    file, root = document(f"{before}key: {value}  # behind\n")
    found = root.get("key")
    assert found
    assert found.text == text
    assert file.text(found.span) == value.rpartition(" ")[2] if "," not in value else value


def test_what_is_merged_or_repeated_is_an_alias() -> None:
    _, root = document("base: &base {a: 1, b: 2}\nown:\n  <<: *base\n  b: 3\nsame: *base\n")
    own, same = root.get("own"), root.get("same")
    assert own
    assert same
    assert same.is_alias
    merged, given_again = own.get("a"), own.get("b")
    assert merged
    assert given_again
    assert (merged.text, merged.is_alias) == ("1", True)
    assert (given_again.text, given_again.is_alias) == ("3", False)


ANCHORS = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 1000))


def test_a_thousand_anchors_are_read() -> None:
    _, root = document(ANCHORS + "key: value\n")
    found = root.get("key")
    assert found
    assert found.text == "value"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("key: 'open\nother: 1\n", r"a.yaml:3:1: .*quoted scalar, begun in line 1"),
        ("a: [1, 2\nb: 3\n", r"a.yaml:2:\d"),
        ("a:\n\t- b\n", r"a.yaml:2:1"),
        ("a: *gone\n", r"a.yaml:1:4: 'gone' is no anchor"),
        ("[" * (MAXIMUM_DEPTH + 2), r"a.yaml:1:\d+: is nested"),
        ("- " * 2000, r"a.yaml:1:\d+: is nested"),
        ("[" + "a," * 60_000 + "]", r"a.yaml:1:\d+: holds more than"),
        ("a: \x07\n", r"a.yaml: is no YAML|a.yaml:1"),
    ],
)
def test_one_message_says_where(text: str, message: str) -> None:
    with pytest.raises(SubmissionError, match=message) as caught:
        document(text)
    assert "\n" not in caught.value.message


def test_other_encodings_are_refused() -> None:
    with pytest.raises(SubmissionError, match=r"a.yaml:2:4: is not UTF-8"):
        read_documents(TextFile("a.yaml", b"a: 1\nb: \xff\n"))


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#\n \té", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    file = TextFile("a.yaml", text.encode())
    try:
        found = read_documents(file)
    except SubmissionError:
        return
    for root in found:
        assert 0 <= root.span.start <= root.span.end <= len(file.data)
