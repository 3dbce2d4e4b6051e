"""Patterns that were compiled in an earlier run match as those compiled now."""

from __future__ import annotations

import marshal
import re

import pytest

from logdiff import patterns
from logdiff.engine.ruleset import load_builtin

SOURCES = [p[0] for signal in load_builtin().signals for p in signal.patterns]


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_remembered", {})
    monkeypatch.setattr(patterns, "_asked_for", {})


def test_every_built_in_pattern_has_a_program_that_can_be_stored() -> None:
    programs = patterns.programs(SOURCES)
    assert set(programs) == {(source, 0) for source in SOURCES}
    assert marshal.loads(marshal.dumps(programs)) == programs


@pytest.mark.parametrize("source", SOURCES)
def test_a_remembered_pattern_matches_as_a_new_one(source: bytes) -> None:
    patterns.remember(patterns.programs([source]))
    remembered, new = patterns.compiled(source), re.compile(source)
    assert (remembered.pattern, remembered.flags) == (new.pattern, new.flags)
    assert (remembered.groups, remembered.groupindex) == (new.groups, new.groupindex)
    for text in (b"", source, b"2026 Avg prompt throughput: 1.0 tokens/s", b"took 1.5 GB"):
        found, wanted = remembered.search(text), new.search(text)
        assert (found and found.regs) == (wanted and wanted.regs)


@pytest.mark.parametrize(
    ("source", "flags", "text"),
    [
        (r"(?P<word>[a-z]+) # a comment", re.VERBOSE | re.IGNORECASE, "ABC"),
        (r"(?i:api[_-]?key)\Z", 0, "API_KEY"),
        (r"a.b", re.DOTALL, "a\nb"),
        (rb"a.b", re.DOTALL, b"a\nb"),
        (r"日志[:：]", 0, "日志："),
    ],
)
def test_flags_and_kinds_of_text_are_kept_apart(
    source: str | bytes, flags: int, text: str | bytes
) -> None:
    assert patterns.compiled(source, flags).search(text)  # type: ignore[type-var]
    patterns.remember(patterns.programs([]))
    remembered, new = patterns.compiled(source, flags), re.compile(source, flags)  # type: ignore[type-var]
    assert remembered.flags == new.flags
    assert remembered.search(text)


def test_a_program_that_is_none_is_compiled_anew() -> None:
    program = marshal.dumps((0, [1, 2, 3], 1, {}, (None,)))
    damaged = {b"a(b)": program, b"c": marshal.dumps(("x",)), b"d": b"", b"e": b"\xff"}
    patterns.remember({(source, 0): program for source, program in damaged.items()})
    assert patterns.compiled(b"a(b)").match(b"ab")
    assert all(patterns.compiled(source).match(source) for source in (b"c", b"d", b"e"))
