"""Which packages of the image's own build a script replaces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logdiff.model import Entry, Evidence, Run

    Proof = list[tuple[Run, Evidence]]

_COMPILED = frozenset(
    "torch torchvision torchaudio torch-npu torch-musa triton vllm xformers flash-attn flashinfer"
    " flashinfer-python vllm-flash-attn sgl-kernel".split()
)
"""Packages whose compiled parts fit one another and the cards."""
_BUILT_FOR_CARDS = _COMPILED | {"transformers", "tokenizers", "numpy", "ray", "sglang"}
"""Packages that an image of an inference server comes with, in versions that fit each other."""
_PLAIN_IMAGE = re.compile(
    r"(?:docker\.io/)?(?:library/)?(?:ubuntu|debian|alpine|python|fedora|rockylinux|almalinux"
    r"|centos|busybox|scratch|nvidia/cuda)(?::|@|$)"
)
"""Images that hold none of these packages."""


def vendor_packages(bad: Run) -> list[dict[str, Any]] | None:
    """Packages of the image's own build that a script replaces; what is done last counts."""
    if bad.facts.get("package_changes") is None:
        return None
    last = {
        entry["package"]: entry
        for entry in bad.facts["package_changes"]
        if entry["package"] in _BUILT_FOR_CARDS
    }
    if _PLAIN_IMAGE.match(bad.facts.get("base_image") or ""):
        return []
    return [
        {**entry, **_package_grounds(package, bad), "_evidence": [
            *((bad, line) for line in entry.evidence), *_lines_against_package(package, bad)]}
        for package, entry in last.items()
        if not _is_own_build(entry)
    ]  # fmt: skip


def _is_own_build(entry: Entry) -> bool:
    """Whether a chosen wheel is installed: a file, or a local version (``+vendor``)."""
    source = entry["source"] or ""
    is_file = source.endswith(".whl") and "://" not in source
    return entry["action"] != "uninstall" and (is_file or "+" in entry["specifier"])


def _package_grounds(package: str, bad: Run) -> dict[str, Any]:
    """Why a log speaks against the replacement of a package."""
    lacking = [name for name in ("ops_missing", "symbols_missing") if bad.facts.get(name)]
    words = {"ops_missing": "operators", "symbols_missing": "symbols of compiled libraries"}
    if lacking and package in _COMPILED:
        said = " and ".join(words[name] for name in lacking)
        return {"implicated": True, "because": f"The log shows that {said} are missing."}
    if _missing_module(package, bad):
        return {"implicated": True, "because": f"The log shows that {package} cannot be imported."}
    return {"implicated": False, "because": ""}


def _missing_module(package: str, bad: Run) -> list[Entry]:
    module = package.replace("-", "_")
    return [
        entry
        for entry in bad.facts.get("modules_missing") or ()
        if (entry["module"] or "").partition(".")[0] == module
    ]


def _lines_against_package(package: str, bad: Run) -> Iterator[tuple[Run, Evidence]]:
    entries = _missing_module(package, bad)
    if package in _COMPILED:
        for name in ("ops_missing", "symbols_missing"):
            entries += bad.facts.get(name) or ()
    for entry in entries:
        for line in entry.evidence[:1]:
            yield bad, line
