"""Which implementation computes each kind of operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logdiff.facts.context import Context
    from logdiff.model import Entry, Evidence

KINDS = ("attention", "moe", "gdn", "quantisation", "all_reduce")
"""Kinds of operators of which an engine says what it takes for them."""
_ENUMS = ("AttentionBackendEnum.", "_Backend.")
_NO_CUSTOM = "Custom allreduce is disabled"
_OF_OPERATORS = {
    "moe": frozenset(("moe", "expert", "experts")),
    "gdn": frozenset(("gdn", "deltanet", "mamba", "ssm", "kda")),
    "attention": frozenset(("fa", "fa2", "fa3", "flash", "attention", "mla", "paged")),
}
"""Words by which the operator that a vendor's library announces is of a kind."""


def set_backends(context: Context) -> None:
    """Set what computes, as the engine and the libraries of a vendor say; kernels must be known."""
    value: dict[str, str] = {}
    proofs: list[Evidence] = []
    for kind in KINDS:
        names, proof = _said(context, kind)
        if not names and kind in _OF_OPERATORS:
            names, proof = _announced(context, kind)
        elif not names and kind == "quantisation":
            names, proof = _asked_for(context)
        if names:
            value[kind] = ", ".join(names)
            proofs += proof
    context.set("backends", value or None, proofs)


def _said(context: Context, kind: str) -> tuple[list[str], list[Evidence]]:
    groups = [g for g in context.groups("backend-chosen") if g.texts.get(kind)]
    names = dict.fromkeys(_plain(str(group.texts[kind])) for group in groups)
    return list(names), context.proofs(groups[:2])


def _plain(name: str) -> str:
    """A name without what is the same in all of them."""
    for prefix in _ENUMS:
        name = name.removeprefix(prefix)
    if name.startswith(_NO_CUSTOM):
        reason = name.removeprefix(_NO_CUSTOM).strip()
        return f"no custom kernel ({reason})" if reason else "no custom kernel"
    return name.replace("'", "").replace("==", " ")


def _announced(context: Context, kind: str) -> tuple[list[str], list[Evidence]]:
    """Operators of a kind that a library announced, and what stands in for them."""
    facts = context.life.facts
    entries: list[Entry] = [
        entry for entry in facts.get("kernels") or () if _is_of(kind, [entry["operator"]])
    ]
    names = [entry["operator"] for entry in entries]
    for entry in facts.get("kernels.fallback") or ():
        if _is_of(kind, [entry["what"], entry["fallback"]]):
            entries.append(entry)
            names.append(f"{entry['fallback'] or 'a slow path'} (fallback)")
    proofs = [proof for entry in entries for proof in entry.evidence[:1]]
    return list(dict.fromkeys(names)), proofs


def _is_of(kind: str, texts: Iterable[str | None]) -> bool:
    return any(text and tokens(text) & _OF_OPERATORS[kind] for text in texts)


def _asked_for(context: Context) -> tuple[list[str], list[Evidence]]:
    """The quantisation of the configuration, where no layer says how it is computed."""
    name = context.argument("quantization")
    family = "args" if context.life.facts.get("args.quantization") else "engine_config"
    return ([name], context.life.evidence.get(family, [])) if isinstance(name, str) else ([], [])
