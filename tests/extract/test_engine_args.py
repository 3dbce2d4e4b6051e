"""Launch arguments are parsed as printed, whole or cut off, and nothing in them is run."""

from __future__ import annotations

import json
import re
import time
from argparse import Namespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.extract.engine_args import (
    DEPTH_LIMIT,
    PAIR_LIMIT,
    parse_config,
    parse_dict,
    parse_namespace,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Parser = Callable[[str], dict[str, object]]

PARSERS = (parse_namespace, parse_dict, parse_config)

VALUES = [
    ("None", None),
    ("True", True),
    ("False", False),
    ("0", 0),
    ("-12", -12),
    ("0.95", 0.95),
    ("1e-05", 1e-05),
    ("-1.5e+20", -1.5e20),
    ("'a, b=(c'", "a, b=(c"),
    ('"it\'s"', "it's"),
    (r"'a\'b\n'", "a'b\n"),
    ("''", ""),
    ("[]", []),
    ("{}", {}),
    ("['*']", ["*"]),
    ("['a', 'b, c']", ["a", "b, c"]),
    ("[1, 2.5, None]", [1, 2.5, None]),
    ("('a', 1)", ("a", 1)),
    ("{'image': {'count': 1, 'size': [2]}}", {"image": {"count": 1, "size": [2]}}),
    ("9223372036854775807", 9223372036854775807),
    # no literals: kept as they are printed
    ("auto", "auto"),
    ("torch.float16", "torch.float16"),
    ("LoadFormat.AUTO", "LoadFormat.AUTO"),
    ("<ConfigFormat.AUTO: 'auto'>", "<ConfigFormat.AUTO: 'auto'>"),
    ("<function f at 0x7f0ef3d14860>", "<function f at 0x7f0ef3d14860>"),
    ("<function <lambda> at 0x7f, x>", "<function <lambda> at 0x7f, x>"),
    ("Config(a='x, y', b=[1, 2])", "Config(a='x, y', b=[1, 2])"),
    ("{'mode': <Mode.NONE: 0>, 'a': 1}", "{'mode': <Mode.NONE: 0>, 'a': 1}"),
    ('{"level":3,"use":true}', '{"level":3,"use":true}'),
    ("__import__('os').system('x')", "__import__('os').system('x')"),
    ("007", "007"),
    # literals that a report cannot hold
    ("1e999", "1e999"),
    ("{1, 2}", "{1, 2}"),
    ("b'x'", "b'x'"),
    ("1+2j", "1+2j"),
    ("{1: 'a'}", "{1: 'a'}"),
    (r"'\ud800'", r"'\ud800'"),
    ("9" * 5_000, "9" * 5_000),
    ("0x" + "f" * 5_000, "0x" + "f" * 5_000),
    ("[" + "9" * 30 + "]", "[" + "9" * 30 + "]"),
]

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,12}", fullmatch=True)
PLAIN_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | PLAIN_TEXT,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(PLAIN_TEXT, inner, max_size=3)
    ),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(NAMES, LITERALS, max_size=8)


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_values(text: str, expected: object) -> None:
    wanted = {"first": 1, "value": expected, "last": "z"}
    assert parse_namespace(f"args: Namespace(first=1, value={text}, last='z')") == wanted
    assert parse_dict(f"args: {{'first': 1, 'value': {text}, 'last': 'z'}}") == wanted
    assert parse_config(f"first=1, value={text}, last='z'") == wanted


@given(ARGUMENTS)
def test_reads_what_python_prints(arguments: dict[str, object]) -> None:
    assert parse_namespace(f"x args: {Namespace(**arguments)!r}") == arguments
    assert parse_dict(f"x args: {arguments!r}") == arguments
    text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    assert parse_config(text) == arguments


@given(ARGUMENTS, st.data())
def test_what_is_cut_off_gives_whole_pairs_only(
    arguments: dict[str, object], data: st.DataObject
) -> None:
    pairs = arguments.items()
    for text, parse in (
        (repr(Namespace(**arguments)), parse_namespace),
        (repr(arguments), parse_dict),
        (", ".join(f"{name}={value!r}" for name, value in pairs), _parse_cut_config),
    ):
        end = data.draw(st.integers(0, len(text)))
        part = parse(text[:end])
        assert part == {name: arguments.get(name, "missing") for name in part}


def _parse_cut_config(text: str) -> dict[str, object]:
    return parse_config(text, cut=True)


@pytest.mark.parametrize("parse", PARSERS)
@given(text=st.text() | st.text(alphabet="ab=:,'\"()[]{}<>\\ \n-1", max_size=60))
def test_never_raises(parse: Parser, text: str) -> None:
    for start in ("", "Namespace(a=", "{'a': ", "a="):
        json.dumps(parse(start + text))


def test_a_missing_comma_still_separates_two_pairs_of_the_engine() -> None:
    text = "chunked_prefill_enabled=False multi_step_stream_outputs=True,  seed=0)"
    assert parse_config(text) == {
        "chunked_prefill_enabled": False,
        "multi_step_stream_outputs": True,
        "seed": 0,
    }


@pytest.mark.parametrize(
    ("text", "whole", "cut"),
    [
        ("a=1, b=2", {"a": 1, "b": 2}, {"a": 1}),
        ("a=1, b=2, ", {"a": 1, "b": 2}, {"a": 1, "b": 2}),
        ("a=1, b=2)", {"a": 1, "b": 2}, {"a": 1, "b": 2}),
        ("a=1, b=2) c=3", {"a": 1, "b": 2}, {"a": 1, "b": 2}),
        ("a=1, b=", {"a": 1}, {"a": 1}),
        ("a=1, b", {"a": 1}, {"a": 1}),
        ("a=1, b='x", {"a": 1}, {"a": 1}),
        ("a=1, b=C(d=2, e=3", {"a": 1}, {"a": 1}),
        ("a=1, b=(2]", {"a": 1}, {"a": 1}),
    ],
)
def test_ends_of_a_configuration(
    text: str, whole: dict[str, object], cut: dict[str, object]
) -> None:
    assert parse_config(text) == whole
    assert parse_config(text, cut=True) == cut


def test_namespaces_and_calls_are_found_in_their_line() -> None:
    assert parse_namespace("(pid=1) f(x) argparse.Namespace(a=1) and (b=2)") == {"a": 1}
    assert parse_namespace("server_args=ServerArgs(model_path='/m', tp_size=2)") == {
        "model_path": "/m",
        "tp_size": 2,
    }
    assert parse_namespace("a=1, b=2") == {}
    assert parse_dict("no dictionary") == {}


def test_limits() -> None:
    many = ", ".join(f"a{number}={number}" for number in range(PAIR_LIMIT + 5))
    assert len(parse_config(many)) == PAIR_LIMIT
    deep = "[" * (DEPTH_LIMIT + 1) + "]" * (DEPTH_LIMIT + 1)
    assert parse_config(f"a=1, b={deep}, c=2") == {"a": 1}
    assert parse_config("a=" + "-" * 19_000 + "1") == {"a": "-" * 19_000 + "1"}


HOSTILE = [
    "(", "[", "x=[", "a=<", "'", "'a", "\\'", "a=1,", "a =1 ", "a", "a ", " ", "{1:", "1+", "-",
    "9", "a.", "a(", "Namespace(",
]  # fmt: skip


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_length_only(parse: Parser, piece: str) -> None:
    def seconds(length: int) -> float:
        text = f"Namespace(a={{'b': {piece * (length // len(piece))}"
        return min(_timed(parse, text) for _ in range(3))

    # Eight times the text: a linear pass takes 8 times as long, a quadratic one 64 times.
    assert seconds(160_000) < 24 * seconds(20_000) + 0.01


def _timed(parse: Parser, text: str) -> float:
    started = time.process_time()
    parse(text)
    return time.process_time() - started


def test_real_arguments_of_the_first_releases(shared: Path) -> None:
    lines = (shared / "real" / "docker-pair-508-168.log").read_text(encoding="utf-8").splitlines()
    bad, good = [parse_namespace(line) for line in lines if " args: Namespace(" in line]
    assert len(good) == len(bad) == 114
    changed = {name: (good[name], bad[name]) for name in good if good[name] != bad[name]}
    assert changed == {
        "max_model_len": (256000, 100000),
        "gpu_memory_utilization": (0.95, 0.9),
        "max_num_batched_tokens": (4096, None),
        "max_num_seqs": (2, 1),
        "max_seq_len_to_capture": (32768, 8192),
        "enable_chunked_prefill": (True, None),
    }
    configurations = [
        parse_config(line.split(" with config: ")[1]) for line in lines if _is_engine(line)
    ]
    assert [len(configuration) for configuration in configurations] == [35, 35]
    assert configurations[0]["chunked_prefill_enabled"] is False
    assert configurations[0]["multi_step_stream_outputs"] is True
    assert configurations[0]["dtype"] == "torch.float16"


def _is_engine(line: str) -> bool:
    return re.search(r"LLM engine \(v[^)]+\) with config: ", line) is not None


def test_real_arguments_of_later_releases(shared: Path) -> None:
    logs = sorted((shared / "runs").glob("*.log"))
    if not logs:
        pytest.skip("no logs of later releases in the folder of real logs")
    for log in logs:
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if "non-default args: {" in line:
                assert isinstance(parse_dict(line)["model"], str)
            if _is_engine(line):
                pairs = parse_config(line.split(" with config: ")[1])
                assert len(pairs) > 30
                assert isinstance(pairs["max_seq_len"], int)
