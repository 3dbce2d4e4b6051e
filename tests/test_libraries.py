"""Shared libraries that are not found: who asks for them, and for which CUDA."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reasoning import HEAD, facts_of, holds_at_least, text

START = "Traceback (most recent call last):"
MISSING = "{}: cannot open shared object file: No such file or directory"
CUDART = MISSING.format("libcudart.so.13")


def frame(path: str) -> str:
    return f'  File "{path}", line 8, in <module>'


@pytest.mark.parametrize(
    ("log", "wanted"),
    [
        (
            HEAD + text(f"WARNING 05-03 10:00:03 ops.py:20] Failed to import from vllm._moe_C with "
                        f"ImportError('{CUDART}')"),
            {"library": "libcudart.so.13", "kind": "cuda", "asks": "vllm._moe_C of vllm",
             "package": "vllm", "wants": 13, "has": None, "fits": None, "passed_over": True,
             "fatal": False},
        ),
        (
            text("CUDA Version 12.8.1", START, frame("/opt/lib/site-packages/vllm/a.py"),
                 frame("/opt/lib/dist-packages/flash_attn/b.py"), f"ImportError: {CUDART}"),
            {"asks": "flash-attn (b.py:8 in <module>)", "package": "flash-attn", "has": "12.8",
             "fits": False, "passed_over": False, "fatal": True},
        ),
        (
            text("[pip3] torch==2.9.0+cu130", START, frame("/opt/lib/site-packages/vllm/a.py"),
                 frame("/opt/lib/site-packages/torch/_ops.py"), f"OSError: /opt/a/{CUDART}"),
            {"library": "libcudart.so.13", "package": "vllm", "has": "13.0", "fits": True},
        ),
        (
            text(START, frame("/opt/lib/site-packages/vllm/a.py"),
                 frame("/opt/lib/site-packages/torch/__init__.py"), f"ImportError: {CUDART}"),
            {"asks": "torch (__init__.py:8 in <module>)", "package": "torch"},
        ),
        (
            text(f"/opt/bin/helio-server: error while loading shared libraries: {CUDART}"),
            {"asks": "/opt/bin/helio-server", "package": "helio-server"},
        ),
        (
            text(f"ImportError: {MISSING.format('libcudnn.so.9')}"),
            {"kind": "cuda", "wants": None, "asks": None, "package": None},
        ),
        (text(f"ImportError: {MISSING.format('libcuda.so.1')}"), {"kind": "driver"}),
        (text(f"ImportError: {MISSING.format('libamdhip64.so.6')}"), {"kind": "rocm"}),
        (text(f"ImportError: {MISSING.format('libhelio.so.6')}"), {"kind": "system"}),
    ],
)  # fmt: skip
def test_libraries(log: str, wanted: dict[str, Any]) -> None:
    (library,) = facts_of(log)["libraries_missing"]
    holds_at_least(dict(library), wanted)


def test_a_library_is_one_entry_whoever_lacks_it() -> None:
    line = "(Worker_TP{0} pid=7{0}) ERROR 05-03 10:00:03 [worker.py:20] ImportError: {1}"
    (library,) = facts_of(HEAD + text(*(line.format(rank, CUDART) for rank in (0, 1))))[
        "libraries_missing"
    ]
    assert library["occurrences"] == 2
