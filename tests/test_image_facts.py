"""What the parts of an image lack of one another: modules, symbols and signatures."""

from __future__ import annotations

from typing import Any

import pytest

from logdiff.facts.image import readable_symbol
from tests.reasoning import HEAD, facts_of, holds_at_least, text

CALLED = "HelioAttention.__init__() got an unexpected keyword argument 'sinks'"
MODEL = '  File "/opt/lib/site-packages/vllm/models/small.py", line 77, in __init__'
TORCH = '  File "/opt/lib/site-packages/torch/nn/modules/module.py", line 9, in _call_impl'
START = "Traceback (most recent call last):"


@pytest.mark.parametrize(
    ("symbol", "readable"),
    [
        ("_ZN2at4_ops10helio_gate4callERKNS_6TensorE", "at::_ops::helio_gate::call"),
        ("_ZNK3c1010HelioStore4sizeEv", "c10::HelioStore::size"),
        ("_Z13helio_gate_mmRN2at6TensorE", "helio_gate_mm"),
        ("_ZNSt5helioE", "std::helio"),
        ("helio_launch", "helio_launch"),
        ("_Zxyz", "_Zxyz"),
        ("_Z99helio", "helio"),
    ],
)
def test_the_readable_part_of_a_symbol(symbol: str, readable: str) -> None:
    assert readable_symbol(symbol) == readable


@pytest.mark.parametrize(
    ("log", "wanted"),
    [
        (
            HEAD + text(START, MODEL, "ModuleNotFoundError: No module named 'torchvision'"),
            {"module": "torchvision", "package": "torchvision", "known": True, "fatal": True,
             "where": "small.py:77 in __init__", "file": "small.py", "raised": True},
        ),
        (
            text(START, MODEL, "ImportError: cannot import name 'gate' from 'vllm.helio' (/x.py)"),
            {"module": "vllm.helio", "name": "gate", "engine": True, "fatal": True},
        ),
        (
            HEAD + text("WARNING 05-03 10:00:03 plugins.py:20] No module named 'cv2'"),
            {"module": "cv2", "package": "opencv-python-headless", "fatal": False,
             "raised": False, "where": "plugins.py:20"},
        ),
        (
            text("Failed to import helio_npu."),
            {"module": "helio_npu", "known": False, "raised": True, "fatal": False},
        ),
        (
            text(START, MODEL, "ImportError: helio-gate is not installed."),
            {"module": "helio-gate", "fatal": True},
        ),
    ],
)  # fmt: skip
def test_modules(log: str, wanted: dict[str, Any]) -> None:
    (module,) = facts_of(log)["modules_missing"]
    holds_at_least(dict(module), wanted)


def test_a_module_is_one_entry_whoever_lacks_it() -> None:
    line = "(Worker_TP{0} pid=7{0}) ERROR 05-03 10:00:03 [worker.py:20] ModuleNotFoundError: {1}"
    lines = [line.format(rank, "No module named 'helio'") for rank in (0, 1)]
    (module,) = facts_of(HEAD + text(*lines, "ModuleNotFoundError: No module named 'helio'"))[
        "modules_missing"
    ]
    assert module["occurrences"] == 3
    assert module["workers"] == ["Worker_TP0", "Worker_TP1"]


@pytest.mark.parametrize(
    ("log", "wanted"),
    [
        (text(START, MODEL, f"TypeError: {CALLED}"),
         {"where": "small.py:77 in __init__", "argument": "sinks", "fatal": True, "serving": True}),
        (text(START, MODEL, TORCH, f"TypeError: {CALLED}"), {"where": "small.py:77 in __init__"}),
        (text(START, TORCH, f"TypeError: {CALLED}"), {"where": "module.py:9 in _call_impl"}),
        (text(f"TypeError: {CALLED}"), {"where": None, "serving": True}),
        (text(START, '  File "/home/user/ask.py", line 7, in main', f"TypeError: {CALLED}"),
         {"where": "ask.py:7 in main", "serving": False}),
    ],
)  # fmt: skip
def test_signatures(log: str, wanted: dict[str, Any]) -> None:
    (call,) = facts_of(log)["signature_mismatches"]
    holds_at_least(dict(call), {"called": "HelioAttention.__init__"} | wanted)


@pytest.mark.parametrize(
    ("error", "called", "problem", "argument"),
    [
        ("TypeError: gate_fwd(): incompatible function arguments. The following argument types",
         "gate_fwd", "got incompatible function arguments", None),
        ("RuntimeError: _C::gate() expected at most 5 argument(s) but received 6 argument(s). De",
         "_C::gate", "expected at most 5 argument(s) but received 6 argument(s)", None),
        ("RuntimeError: _C::gate() is missing value for argument 'sinks'. Declaration: _C::gate",
         "_C::gate", "is missing value for argument 'sinks'", "sinks"),
    ],
)  # fmt: skip
def test_signatures_of_compiled_functions(
    error: str, called: str, problem: str, argument: str | None
) -> None:
    (call,) = facts_of(text(START, MODEL, error))["signature_mismatches"]
    wanted = {"called": called, "problem": problem, "argument": argument, "fatal": True}
    holds_at_least(dict(call), wanted)


def test_another_type_error_is_no_mismatch() -> None:
    facts = facts_of(text(START, MODEL, "TypeError: 'NoneType' object is not iterable"))
    assert facts["signature_mismatches"] == []


def test_a_model_that_cannot_be_inspected_dies_of_the_import() -> None:
    lines = [
        "ERROR 05-03 10:00:10 registry.py:267] Error in inspecting model architecture 'SmallModel'",
        "ERROR 05-03 10:00:10 registry.py:267] Traceback (most recent call last):",
        f"ERROR 05-03 10:00:10 registry.py:267] {MODEL}",
        "ERROR 05-03 10:00:10 registry.py:267] ImportError: helio is not installed",
        START,
        MODEL,
        "ValueError: Model architectures ['SmallModel'] are not supported for now.",
    ]
    assert facts_of(HEAD + text(*lines))["engine_dead"]["error"] == (
        "ImportError: helio is not installed"
    )
    last = facts_of(HEAD + text(lines[0], *lines[4:]))["engine_dead"]["error"]
    assert last.startswith("ValueError: Model architectures")


def test_the_ranks_of_torch_write_their_tracebacks_apart() -> None:
    lines = [f"[rank{rank}]: {line}" for line in (START, MODEL) for rank in (0, 1)]
    last = [f"[rank{rank}]: TypeError: {CALLED}" for rank in (0, 1)]
    facts = facts_of(HEAD + text(*lines, *last))
    (call,) = facts["signature_mismatches"]
    assert call["where"] == "small.py:77 in __init__"
    assert call["occurrences"] == 2
    assert facts["reached"] == "dead"
