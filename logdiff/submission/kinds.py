"""What a file of a submission is, told by its name and its first bytes."""

from __future__ import annotations

import os
import re

_DOCKERFILE = re.compile(r"(?:Docker|Container)file(?:\..*|-.*|_.*)?|.*\.[Dd]ockerfile")
_SCRIPT_SUFFIXES = (".sh", ".bash")
_YAML_SUFFIXES = (".yaml", ".yml", ".json")
_SHEBANG = re.compile(rb"#![^\n]*\b(?:ba|da|z|k)?sh\b")
_FROM = re.compile(rb"(?:[ \t]*(?:#[^\n]*|ARG[ \t][^\n]*)?\r?\n)*[ \t]*FROM[ \t]", re.IGNORECASE)
BEGINNING = 4096
"""Bytes that tell it."""


def kind_of(path: str, beginning: bytes) -> str | None:
    """``yaml``, ``dockerfile`` or ``script``; None where neither name nor beginning tells.

    Args:
        path: where it is; the name alone may tell.
        beginning: its first bytes, or all.
    """
    name = os.path.basename(path)
    if _DOCKERFILE.fullmatch(name):
        return "dockerfile"
    if name.endswith(_YAML_SUFFIXES):
        return "yaml"
    if name.endswith(_SCRIPT_SUFFIXES) or _SHEBANG.match(beginning):
        return "script"
    return "dockerfile" if _FROM.match(beginning[:BEGINNING]) else None
