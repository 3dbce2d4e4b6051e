"""Which module a deployed file becomes, and what part of the engine that is."""

from __future__ import annotations

import pytest

from logdiff.submission.places import Module, is_backup, module_of


@pytest.mark.parametrize(
    ("destination", "module"),
    [
        (
            "/usr/lib/python3/dist-packages/vllm/worker/model_runner.py",
            Module("worker/model_runner.py", "vllm", "engine"),
        ),
        ("${VLLM}/core/scheduler.py", Module("core/scheduler.py", None, "engine")),
        ("${A}/x/$(b c/d)/models/nimbus.py", Module("models/nimbus.py", None, "model")),
        ("/opt/vendor/vllm/_custom_ops.py", Module("_custom_ops.py", "vllm", "kernels")),
        (
            "/opt/vllm/model_executor/layers/fla/ops/delta.py",
            Module("model_executor/layers/fla/ops/delta.py", "vllm", "kernels"),
        ),
        (
            "/opt/vllm/entrypoints/openai/protocol.py",
            Module("entrypoints/openai/protocol.py", "vllm", "serving"),
        ),
        (
            "/opt/sglang/srt/managers/scheduler.py",
            Module("srt/managers/scheduler.py", "sglang", "engine"),
        ),
        (
            "/usr/lib/python3/site-packages/heliox/driver.py",
            Module("driver.py", "heliox", "other"),
        ),
        ("/usr/lib/python3/site-packages/plugin.pth", None),
        ("/srv/templates/chat.jinja", None),
        ("/usr/local/bin/vllm", None),
        ("${VLLM}/../plugin.py", None),
        ("${VLLM}/worker/worker.py.orig", None),
        ("${VLLM}", None),
        ("", None),
    ],
)
def test_the_module_of_a_path(destination: str, module: Module | None) -> None:
    assert module_of(destination) == module


@pytest.mark.parametrize(
    ("path", "backup"),
    [
        ("a.py.orig", True),
        ("a.py.bak.2", True),
        ("a.py~", True),
        ("a.py", False),
        ("bak.py", False),
    ],
)
def test_backups(path: str, backup: bool) -> None:
    assert is_backup(path) is backup
