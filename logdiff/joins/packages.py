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
    for what, entries in _against(package, bad).items():
        if entries:
            return {"implicated": True, "because": f"The log shows that {what}."}
    return {"implicated": False, "because": ""}


def _against(package: str, bad: Run) -> dict[str, list[Entry]]:
    """What the log says against a package, each with the entries that say so."""
    module = package.replace("-", "_")
    return {
        f"{package} cannot be imported": [
            entry
            for entry in bad.facts.get("modules_missing") or ()
            if (entry["module"] or "").partition(".")[0] == module
        ],
        f"operators of {package} are missing": [
            entry for entry in bad.facts.get("ops_missing") or () if entry["package"] == package
        ],
        f"compiled libraries ask for what {package} does not have": [
            entry
            for entry in bad.facts.get("symbols_missing") or ()
            if package == "torch" and entry["torch"]
        ],
        f"a compiled library of {package} does not fit": [
            entry for entry in bad.facts.get("symbols_missing") or () if entry["package"] == package
        ],
    }


def _lines_against_package(package: str, bad: Run) -> Iterator[tuple[Run, Evidence]]:
    for entries in _against(package, bad).values():
        for entry in entries:
            for line in entry.evidence[:1]:
                yield bad, line
