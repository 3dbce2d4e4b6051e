"""Where in an inference engine a deployed file stands, told by the path that it is put at."""

from __future__ import annotations

import re

from logdiff.submission.shell.values import opaque
from logdiff.tuples import NamedTuple

_PACKAGES = frozenset("vllm sglang lmdeploy aphrodite tgi transformers torch".split())
_SITE_FOLDERS = frozenset(("site-packages", "dist-packages"))
_LAYERS = (
    (
        "serving",
        re.compile(
            r"(?:^|/)(?:entrypoints|openai|tool_parsers|function_call|reasoning|templates|parser)/"
            r"|(?:^|/)(?:\w*tool_?parser\w*|\w*reasoning_parser\w*|serving_\w+|protocol|api_server"
            r"|chat_utils|serving|middleware)\.py$|\.jinja2?$"
        ),
    ),
    ("model", re.compile(r"(?:^|/)models/|(?:^|/)(?:model_loader|registry)\b")),
    (
        "kernels",
        re.compile(
            r"(?:^|/)(?:layers|attention|ops|kernels|fla|fused_moe|quantization|mamba|csrc)/"
            r"|_ops\.py$|(?:^|/)_C\b|\.(?:so|cu|cuh|cpp)$|(?:^|/)ops\.py$"
        ),
    ),
    (
        "engine",
        re.compile(
            r"(?:^|/)(?:engine|worker|core|executor|v1|srt|managers|distributed|platforms"
            r"|model_executor|spec_decode|lora|multimodal|compilation|usage|device_allocator)/"
            r"|(?:^|/)(?:\w*model_runner\w*|\w*worker\w*|\w*scheduler\w*|block_manager\w*"
            r"|\w*_engine|arg_utils|config|envs|utils|sequence|sampling_params|forward_context"
            r"|outputs|inputs|\w*executor\w*|kv_cache\w*)\.py$"
        ),
    ),
)
"""What the parts of vLLM, and of engines built like it, are for; the first that fits."""


class Module(NamedTuple):
    """A file of a Python package."""

    path: str
    """From the package's folder on: ``worker/model_runner.py``; the name alone where the path does
    not say more."""
    package: str | None
    """The package; None where the path begins with something that is not known."""
    layer: str
    """``serving`` ``model`` ``kernels`` ``engine`` ``other``."""


_BACKUP = re.compile(r"\.(?:orig|bak|backup|old|save)(?:[.-]?\d+)?$|~$")


def is_backup(path: str) -> bool:
    """Whether a file is a copy that somebody made to go back to."""
    return bool(_BACKUP.search(path))


def module_of(destination: str) -> Module | None:
    """The module that a file becomes at a path; None where it is outside of any package.

    A path that begins with a variable (``${VLLM}/worker/…``) is taken to be below the package.
    """
    visible = opaque(destination)
    parts = [destination[start:end] for start, end in _components(visible)]
    for index in reversed(range(len(parts) - 1)):
        if parts[index] in _PACKAGES:
            return _module(parts[index + 1 :], parts[index])
        if parts[index] in _SITE_FOLDERS:
            inside = parts[index + 1 :]
            return _module(inside[1:], inside[0]) if len(inside) > 1 else None
    holes = [index for index, part in enumerate(parts[:-1]) if part.startswith(("${", "$("))]
    if holes:
        return _module(parts[holes[-1] + 1 :], None)
    return None


def _components(path: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"[^/]+", path)]


def _module(parts: list[str], package: str | None) -> Module | None:
    path = "/".join(parts)
    if not path or ".." in parts or is_backup(path):
        return None
    return Module(path, package, layer_of(path))


def layer_of(path: str) -> str:
    """The part of an engine that a module belongs to."""
    return next((name for name, pattern in _LAYERS if pattern.search(path)), "other")
