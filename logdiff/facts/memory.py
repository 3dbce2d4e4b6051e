"""Where the memory goes: weights, KV cache, and what there was no room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.facts.context import integer, iso, real
from logdiff.model import Entry, Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logdiff.extract.observations import Event, Group
    from logdiff.facts.context import Context

_MIB = {"B": 2.0**-20, "KiB": 2.0**-10, "MiB": 1.0, "GiB": 1024.0, "TiB": 2.0**20}
_MIB |= {"bytes": 2.0**-20, "KB": 2.0**-10, "MB": 1.0, "GB": 1024.0}


def set_memory(context: Context) -> None:
    """Set what the memory of the devices holds, and where it did not suffice."""
    _set_weights(context)
    _set_skipped_weights(context)
    _set_kv(context)
    _set_oom(context)


def _set_weights(context: Context) -> None:
    groups = context.groups("weights-loaded")
    loaded: dict[str, dict[str | None, float]] = {}
    for group in groups:
        for name in context.names(group.workers) or ("",):
            places = loaded.setdefault(name, {})
            # A worker that says it twice has two models: a draft model, to speculate with.
            places[group.place] = places.get(group.place, 0.0) + float(group.texts["gb"] or 0)
    by_worker = {name: round(max(sizes.values()), 4) for name, sizes in loaded.items()}
    values = set(by_worker.values())
    value = values.pop() if len(values) == 1 else (by_worker or None)
    context.set("weights.gb", value, context.proofs(groups))


def _set_skipped_weights(context: Context) -> None:
    groups = context.groups("weights-skipped")
    count = sum(group.count for group in groups)
    known = groups or context.entered("weights")
    context.set("weights.skipped", count if known else None, context.proofs(groups))


def _set_kv(context: Context) -> None:
    groups = context.groups("kv-blocks", "kv-tokens", "kv-concurrency", "memory-profiled")
    printed = _kv_texts(groups)
    if not printed:
        context.set("kv", None)
        return
    block_size = context.argument("block_size")
    blocks = integer(printed.get("gpu_blocks"))
    capacity = integer(printed.get("capacity"))
    if capacity is None and blocks is not None and isinstance(block_size, int):
        capacity = blocks * block_size
    value = {
        "gpu_blocks": blocks,
        "cpu_blocks": integer(printed.get("cpu_blocks")),
        "block_size": block_size,
        "capacity_tokens": capacity,
        "concurrency": real(printed.get("concurrency")),
        "required_tokens": integer(printed.get("required")),
        "available_gib": real(printed.get("gib")),
    }
    context.set("kv", value, context.proofs(groups))


def _kv_texts(groups: Iterable[Group]) -> dict[str, str]:
    """The first text of each field; tokens are those of the cache or those of one request."""
    found: dict[str, str] = {}
    for group in groups:
        tokens = "required" if group.texts.get("concurrency") else "capacity"
        for field, text in group.texts.items():
            if text:
                found.setdefault(tokens if field == "tokens" else field, text)
    return found


def _set_oom(context: Context) -> None:
    by_device: dict[int | None, list[Event]] = {}
    for event in context.events("out-of-memory"):
        by_device.setdefault(integer(event.texts.get("device")), []).append(event)
    if len(by_device) > 1:
        # Who passes a message on leaves out which card it was.
        tried = {event.texts.get("tried") for device, events in by_device.items()
                 for event in events if device is not None}  # fmt: skip
        unknown = [e for e in by_device.pop(None, []) if e.texts.get("tried") not in tried]
        if unknown:
            by_device[None] = unknown
    entries = [_oom(context, device, events) for device, events in by_device.items()]
    entries.sort(key=lambda entry: (entry["device"] is None, entry["device"] or 0))
    context.set_list("oom", entries, context.came_to("args"))


def _oom(context: Context, device: int | None, events: list[Event]) -> Entry:
    # A message is quoted again by those who pass it on; what counts are the lines that
    # raise it, where there are any.
    final = [event for event in events if event.final] or events
    first = events[0]
    printed = next((e for e in events if e.texts.get("capacity")), first).texts
    metrics = first.last_points.get("metrics")
    stage = context.stage_at(first.mark.line)
    values: dict[str, Any] = {
        "time": iso(first.time),
        "device": device,
        "tried_mib": _mib(printed.get("tried")),
        "capacity_gib": _gib(printed.get("capacity")),
        "free_mib": _mib(printed.get("free")),
        "allocated_gib": _gib(printed.get("allocated")),
        "reserved_unallocated_mib": _mib(printed.get("reserved_unallocated")),
        "where": next((event.where for event in events if event.where), None),
        "stage": stage,
        "kv_usage_percent": metrics[2][4] if metrics else None,
        "occurrences": len(final),
    }
    proof = [Evidence(final[0].mark, len(final), context.names(e.worker for e in final))]
    if metrics:
        proof.append(Evidence(metrics[1], 1, ()))
    return Entry(values, proof, stage)


def _mib(text: str | None) -> float | None:
    """An amount as torch prints it (``1.43 GiB``, ``112.00 MiB``), in MiB."""
    number, _, unit = (text or "").partition(" ")
    value = real(number)
    return round(value * _MIB[unit], 4) if value is not None and unit in _MIB else None


def _gib(text: str | None) -> float | None:
    mib = _mib(text)
    return round(mib / 1024, 4) if mib is not None else None
