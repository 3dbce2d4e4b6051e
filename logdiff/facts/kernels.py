"""What computes: kernels, what stands in for them or is missing, and NaN."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from logdiff.facts.context import integer, texts
from logdiff.facts.distributions import distribution_of
from logdiff.model import Entry
from logdiff.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logdiff.extract.observations import Group
    from logdiff.facts.context import Context
    from logdiff.model import Evidence

_NAN = compiled(r"(?i)\bnans?\b|isnan")


def set_kernels(context: Context) -> None:
    """Set the kernels that are used, what is lacking, and what comes of it."""
    context.set_list("kernels", _kernels(context), context.came_to("profile"))
    fallbacks = _counted(context, "kernel-fallback", "what", "reason", "fallback")
    context.set_list("kernels.fallback", fallbacks, context.came_to("weights"))
    context.set_list("ops_missing", _missing_operators(context), context.came_to("weights"))
    _set_nan(context)


def _kernels(context: Context) -> list[Entry]:
    """Kernels that are loaded or used, one entry for what one line of the code says of one."""
    kernels: dict[tuple[str | None, str | None], Entry] = {}
    for group in context.groups("kernel-loaded", "kernel-used"):
        proof = context.proof(group)
        key = group.place, group.texts["operator"]
        if key in kernels:
            kernels[key].evidence.append(proof)
            kernels[key]["workers"] = _workers(kernels[key].evidence)
            continue
        values = {
            "where": group.place,
            "operator": group.texts["operator"],
            "library": group.texts.get("library"),
            "variant": group.texts.get("variant"),
            "workers": list(proof.workers),
        }
        kernels[key] = Entry(values, [proof], context.stage_at(group.first.line))
    return list(kernels.values())


def _counted(context: Context, signal: str, *fields: str) -> list[Entry]:
    """Groups of a signal that agree in place and fields, as entries with counts."""
    merged: dict[tuple[str | None, ...], list[Group]] = {}
    for group in context.groups(signal):
        key = (group.place, *(group.texts.get(field) for field in fields))
        merged.setdefault(key, []).append(group)
    entries = []
    for (place, *values), groups in merged.items():
        proofs = context.proofs(groups)
        entry = dict(zip(fields, values, strict=True)) | {
            "where": place,
            "file": _file(place),
            "occurrences": sum(proof.count for proof in proofs),
            "workers": _workers(proofs),
        }
        entries.append(Entry(entry, proofs, context.stage_at(groups[0].first.line)))
    return entries


def _missing_operators(context: Context) -> list[Entry]:
    fields = ("op", "module", "attribute", "reason", "backend")
    entries = _counted(context, "custom-op-missing", *fields)
    for entry in entries:
        module, attribute = entry.pop("module"), entry.pop("attribute")
        entry["missing"] = f"{module}.{attribute}" if attribute else None
        entry["package"] = _package(module)
        entry["op"] = entry["op"] or attribute
    return entries


def set_fatal_kernels(context: Context) -> None:
    """Say whether the engine died of a missing operator, or of NaN; the death must be known."""
    dead = context.life.facts["engine_dead"]
    error = (dead["error"] or "") if dead else ""
    if nan := context.life.facts["nan"]:
        nan["fatal"] = _NAN.search(error) is not None
    for entry in context.life.facts["ops_missing"] or ():
        name = re.escape(entry["op"] or "")
        entry["fatal"] = bool(name) and re.search(rf"\b{name}\b", error) is not None


def _set_nan(context: Context) -> None:
    groups = context.groups("nan-output", "nan-raised")
    if not groups and "profile" not in context.life.facts["stage.completed"]:
        context.set("nan", None)
        return
    fractions = [float(text) for text in texts(groups, "fraction")]
    # Who prints an exception did not make the values.
    warnings = context.groups("nan-output")
    place = next((group.place for group in warnings if group.place), None)
    proofs = context.proofs(groups)
    value: dict[str, Any] = {
        "occurrences": sum(group.count for group in groups),
        "layers": sorted({n for t in texts(groups, "layer") if (n := integer(t)) is not None}),
        "modules": sorted(texts(groups, "module")),
        "phases": sorted(texts(groups, "phase")),
        "fraction_min": min(fractions, default=None),
        "fraction_max": max(fractions, default=None),
        "where": place,
        "file": _file(place),
        "workers": _workers(proofs),
    }
    context.set("nan", value, proofs)


def _workers(proofs: Iterable[Evidence]) -> list[str]:
    """All workers that some evidence names."""
    return sorted({name for proof in proofs for name in proof.workers})


def _file(place: str | None) -> str | None:
    """The file of ``file.py:line``."""
    return place.rpartition(":")[0] if place else None


def _package(module: str | None) -> str | None:
    """The distribution of a module; compiled extensions (``_C``) are the engine's own."""
    if not module:
        return None
    return "vllm" if module.startswith("_") else distribution_of(module)
