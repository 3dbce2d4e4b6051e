"""Shared libraries that are not found: who asks for them, and for which toolkit it was built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.facts.context import integer
from logdiff.facts.distributions import distribution_of
from logdiff.model import Entry
from logdiff.patterns import compiled

if TYPE_CHECKING:
    from logdiff.extract.observations import Group
    from logdiff.extract.traceback import Frame, Raised
    from logdiff.facts.context import Context

_KINDS = {
    "driver": ("libcuda.so", "libnvidia-", "libascend_hal", "libix", "libmusa.so", "libdrm"),
    "cuda": (
        "libcudart", "libcublas", "libcudnn", "libnvrtc", "libcusparse", "libcusolver", "libcurand",
        "libcufft", "libcufile", "libcupti", "libnccl", "libnvJitLink", "libnvToolsExt",
        "libnvshmem",
    ),
    "rocm": ("libamdhip", "librocblas", "libhipblas", "librccl", "libMIOpen", "libhsa-runtime"),
    "cann": ("libascendcl", "libhccl", "libopapi", "libatb", "libge_runner", "libruntime"),
    "torch": ("libtorch", "libc10"),
}  # fmt: skip
"""What a library belongs to, by the start of its name."""
_NUMBERED = ("libcudart", "libcublas", "libnvrtc", "libcupti", "libnvJitLink")
"""Libraries that carry the number of their CUDA; the others count for themselves."""
_VERSION = compiled(r"\.so\.(\d{1,3})")
_PACKAGES = compiled(r"/(?:site|dist)-packages/(\w+)")
_CHECKOUT = compiled(r"/(vllm|sglang|lmdeploy|sgl_kernel|vllm_\w+)/")
_EXTENSION = compiled(r"_OpNamespace|\b_(?:\w+_)?C\b|\b_C_")
"""How a death names the compiled part of an engine."""


def missing_libraries(context: Context, death: str) -> list[Entry]:
    """Shared libraries that are not found, one entry each; ``death`` is the error that killed."""
    merged: dict[str, list[Group]] = {}
    for group in context.groups("shared-library-missing"):
        merged.setdefault((group.texts["library"] or "").rpartition("/")[2], []).append(group)
    return [_library(context, name, groups, death) for name, groups in merged.items()]


def _library(context: Context, name: str, groups: list[Group], death: str) -> Entry:
    proofs = context.proofs(groups)
    raised = next((r for r in context.seen.tracebacks.raised.values() if name in r.message), None)
    frame = _asking(raised) if raised else None
    importer = next((who for group in groups if (who := group.texts.get("importer"))), None)
    package = _package(importer, frame)
    kind = _kind(name)
    has, proof = _toolkit(context) if kind == "cuda" else (None, [])
    wants = _wanted_cuda(name)
    values: dict[str, Any] = {
        "library": name,
        "kind": kind,
        "asks": _asks(importer, package, frame),
        "package": package,
        "wants": wants,
        "has": has,
        "fits": has.partition(".")[0] == str(wants) if has and wants else None,
        "passed_over": all(group.level in ("WARNING", "INFO", "DEBUG") for group in groups),
        "fatal": name in death or _EXTENSION.search(death) is not None,
        "occurrences": sum(one.count for one in proofs),
    }
    return Entry(values, proofs + proof, context.stage_at(groups[0].first.line))


def _kind(name: str) -> str:
    kinds = (kind for kind, starts in _KINDS.items() if name.startswith(starts))
    return next(kinds, "system")


def _wanted_cuda(name: str) -> int | None:
    match = _VERSION.search(name) if name.startswith(_NUMBERED) else None
    return integer(match[1]) if match else None


def _asking(raised: Raised) -> Frame | None:
    """The frame that imports what asks for the library.

    torch loads the extensions of others: only where it imports its own is it the one that asks.
    """
    own = raised.where is not None and raised.where.path.endswith("/torch/__init__.py")
    return raised.where if own else raised.caller


def _package(importer: str | None, frame: Frame | None) -> str | None:
    """The distribution whose compiled extension asks for a library."""
    if importer:
        return distribution_of(importer.rpartition("/")[2])
    return package_of(frame.path) if frame else None


def package_of(path: str) -> str | None:
    """The distribution that a file of Python code, or a compiled extension, belongs to."""
    match = _PACKAGES.search(path) or _CHECKOUT.search(path)
    return distribution_of(match[1]) if match else None


def _asks(importer: str | None, package: str | None, frame: Frame | None) -> str | None:
    """What asks for a library, in words."""
    if importer is None:
        return f"{package} ({frame})" if package else str(frame) if frame else None
    of = f" of {package}" if package and package != importer and "." in importer else ""
    return importer + of


def _toolkit(context: Context) -> tuple[str | None, list[Any]]:
    """The CUDA that torch was built for, else that of the image, as far as the log tells."""
    for signal in ("torch-cuda", "image-cuda"):
        for group in context.groups(signal):
            text = group.texts["cuda"] or ""
            # torch writes its wheels' CUDA without the dot: cu128 is 12.8.
            return text if "." in text else f"{text[:-1]}.{text[-1]}", [context.proof(group)]
    return None, []
