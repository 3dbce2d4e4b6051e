"""Messages that are facts as they stand, for rules that need no more than what one line says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.facts.context import integer, iso, real
from logdiff.model import Entry

if TYPE_CHECKING:
    from logdiff.engine.ruleset import Signal
    from logdiff.extract.observations import Group
    from logdiff.facts.context import Context

_ENTRY_LIMIT = 100


def set_messages(context: Context) -> None:
    """Set ``messages.<signal>`` for every signal that reports its messages and was seen.

    An entry is one set of values, whatever printed it: fields by their types, and ``where``,
    ``level``, ``time``, ``stage``, ``occurrences`` and ``workers``.
    """
    for signal in context.seen.reported.values():
        merged: dict[tuple[str | None, ...], list[Group]] = {}
        for group in context.groups(signal.id):
            if not _is_farewell(context, group):
                merged.setdefault(tuple(group.texts.values()), []).append(group)
        entries = [_entry(context, signal, groups) for groups in merged.values()]
        context.set_list(signal.fact, entries[:_ENTRY_LIMIT], known=False)


def _is_farewell(context: Context, group: Group) -> bool:
    """Whether a message comes after a stop that was asked for: then it is no fault."""
    stopped = context.life.stage_lines.get("stopped")
    return stopped is not None and group.first.line > stopped


def _entry(context: Context, signal: Signal, groups: list[Group]) -> Entry:
    proofs = context.proofs(groups)
    first = groups[0]
    stage = context.stage_at(first.first.line)
    values = {name: _typed(kind, first.texts[name]) for name, kind, _ in signal.fields}
    values |= {
        "where": next((group.place for group in groups if group.place), None),
        "level": first.level,
        "time": iso(first.time),
        "stage": stage,
        "occurrences": sum(proof.count for proof in proofs),
        "workers": sorted({name for proof in proofs for name in proof.workers}),
    }
    return Entry(values, proofs, stage)


def _typed(kind: str, text: str | None) -> Any:
    if text is None or kind == "text":
        return text
    return integer(text) if kind in ("int", "count") else real(text)
