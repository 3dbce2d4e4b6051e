"""Options that a program does not know, and what may have been meant."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from logdiff.engine.ruleset import load_builtin
from logdiff.envelopes import unwrappers
from logdiff.extract.scan import Scanner
from logdiff.facts import derive
from logdiff.facts.flag_names import suggestion
from logdiff.read import Source


@pytest.mark.parametrize(
    ("flag", "engine", "instead"),
    [
        ("--max-model-length", "vllm", "--max-model-len"),
        ("--max_model_length", "vllm", "--max-model-len"),
        ("--max-num-batch-tokens", "vllm", "--max-num-batched-tokens"),
        ("--tensor-parallel", "vllm", "--tensor-parallel-size"),
        ("--context-length", "vllm", "--max-model-len"),
        ("--mem-fraction-static", "vllm", "--gpu-memory-utilization"),
        ("--disable-radix-cache", "vllm", "--no-enable-prefix-caching"),
        ("--enable-reasoning", "vllm", "--reasoning-parser"),
        ("--enable-reasoning", "sglang", "--reasoning-parser"),
        ("--max-model-len", "sglang", "--context-length"),
        ("--gpu-memory-utilization", "sglang", "--mem-fraction-static"),
        ("--max-model-len", "llama.cpp", "--ctx-size"),
        ("--enforce-eager", None, None),
    ],
)
def test_what_may_have_been_meant(flag: str, engine: str | None, instead: str | None) -> None:
    found = suggestion(flag, engine)
    if instead:
        assert found
        assert found.flag == instead
        assert found.reason
    else:
        assert found is None or found.flag != flag


@pytest.mark.parametrize(
    ("flag", "engine"),
    [("--num-scheduler-steps", "vllm"), ("--sampling-backend", "vllm"), ("--swap-space", "vllm")],
)
def test_what_is_left_out(flag: str, engine: str) -> None:
    found = suggestion(flag, engine)
    assert found
    assert found.flag is None
    assert found.reason


@pytest.mark.parametrize("flag", ["--zzz-not-a-thing", "-q", "--"])
def test_what_nobody_can_say(flag: str) -> None:
    assert suggestion(flag, "vllm") is None


def flags(*lines: str) -> Any:
    source = Source("test", BytesIO("\n".join(lines).encode()))
    scanned = Scanner(load_builtin().signals, unwrappers()).scan(source)
    return derive(scanned.sections[0].lives[0], 1).facts["flags_unknown"]


def test_the_program_tells_whose_options_are_meant() -> None:
    [entry] = flags("launch_server.py: error: unrecognized arguments: --max-model-len 4096")
    assert dict(entry) == {
        "flag": "--max-model-len",
        "value": "4096",
        "program": "launch_server.py",
        "engine": "sglang",
        "instead": "--context-length",
        "reason": "vLLM calls it max-model-len",
    }


def test_nothing_is_known_without_a_usage_error() -> None:
    assert flags("INFO 05-03 10:00:09 [api_server.py:1042] vLLM API server version 0.10.1") is None
