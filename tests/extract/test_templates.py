"""The constant part of a message is the same in two runs, whatever its values are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.extract.templates import message_template


@pytest.mark.parametrize(
    ("message", "template"),
    [
        ("Loading model weights took 16.2303 GB", "Loading model weights took"),
        ("Starting to load model /models/a-b_c.d...", "Starting to load model"),
        ("# GPU blocks: 2211, # CPU blocks: 1024", "# GPU blocks"),
        ("Available routes are:", "Available routes are:"),
        ("args: Namespace(host=None, port=8000)", "args: Namespace(host=None, port"),
        ("Using FA2 kernel 3", "Using FA2 kernel"),  # a digit of a name is no value
        ("Received request cmpl-0123456789abcdef: x", "Received request"),
        ("", ""),
        ("   ", ""),
    ],
)
def test_template(message: str, template: str) -> None:
    assert message_template(message) == template


@pytest.mark.parametrize(
    ("message", "template"),
    [
        ("served 'cirrus' now", "served <*> now"),
        ("took 5 s", "took <*> s"),
        ("rank 0 in 8", "rank <*> in <*>"),
        ("/opt/a/b.so gone", "<*> gone"),
        ("0x7f00ab is at 12", "<*> is at <*>"),
        ("\"a\" or 'b'", "<*> or <*>"),
        ("id 0123456789ab up", "id <*> up"),
    ],
)
def test_message_whose_head_says_too_little_is_masked(message: str, template: str) -> None:
    assert message_template(message) == template


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 1e6).map(lambda x: f"{x:.4f}"))
def test_values_do_not_change_a_template(one: int, other: int, real: str) -> None:
    text = "Maximum concurrency for {} tokens per request is {}x of {}"
    assert message_template(text.format(one, real, one)) == message_template(
        text.format(other, real, other)
    )


@given(st.text(max_size=400))
def test_template_is_short_and_has_no_blank_ends(text: str) -> None:
    template = message_template(text)
    assert len(template) <= 160
    assert template[:1].strip() == template[:1]
