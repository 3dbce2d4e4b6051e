"""How a server did its work: answers, throughput, how long, and the settings it runs with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.facts.context import integer, iso, texts
from logdiff.model import Evidence
from logdiff.sections import seconds_between

if TYPE_CHECKING:
    from logdiff.extract.observations import Group
    from logdiff.facts.context import Context

_ERRORS = "400"
"""The lowest status of an answer that is an error."""


def set_serving(context: Context) -> None:
    """Set what was served, how fast and how long, and by which settings."""
    _set_http(context)
    _set_throughput(context)
    _set_seconds(context)
    _set_flag(context, "multimodal", "multimodal-model")
    _set_flag(context, "eager_mode", "eager-mode")
    _set_fields(context, "prefix_cache_disabled", "prefix-cache-disabled")
    _set_fields(context, "thread_reduction", "threads-reduced")
    _set_chunked_prefill(context)


def _set_http(context: Context) -> None:
    statuses: dict[str, int] = {}
    groups = context.groups("http-status")
    for group in groups:
        status = str(group.texts["status"])
        statuses[status] = statuses.get(status, 0) + group.count
    known = statuses or context.entered("serving")
    context.set("http", dict(sorted(statuses.items())) if known else None, context.proofs(groups))
    errors = {status: count for status, count in sorted(statuses.items()) if status >= _ERRORS}
    refused = [group for group in groups if str(group.texts["status"]) >= _ERRORS]
    context.set("http_errors", errors if known else None, context.proofs(refused))


def _set_throughput(context: Context) -> None:
    series = context.seen.series.get("metrics")
    if series is None:
        context.set("throughput", None)
        return
    low, high, middle = series.busy("generation")
    highest = series.highest.get("kv_usage_percent")
    peaks = ("generation", "kv_usage_percent")
    proofs = [Evidence(series.highest[p][2], 1, ()) for p in peaks if p in series.highest]
    value = {
        "unit": "tokens/s",
        "points": [[iso(time), *values] for time, values in series.points],
        "count": series.count,
        "min": low,
        "max": high,
        "median": middle,
        "kv_usage_percent_max": highest[0] if highest else None,
        "kv_usage_percent_max_at": iso(highest[1]) if highest else None,
    }
    context.set("throughput", value, proofs)


def _set_seconds(context: Context) -> None:
    started = context.groups("serving-started")[:1]
    begun = _time_near(context, started[0]) if started else None
    until = _end_of_service(context)
    seconds = None
    # A time of the envelope cannot be set against one of a logger's prefix.
    if begun and until and len(begun) == len(until):
        seconds = int(seconds_between(begun.encode(), until.encode()))
    context.set("serving_seconds", seconds, context.proofs(started))


def _time_near(context: Context, group: Group) -> str | None:
    """The time of a group; where its line has none, that of the first metrics after it."""
    series = context.seen.series.get("metrics")
    return group.time or (series.points[0][0] if series and series.points else None)


def _end_of_service(context: Context) -> str | None:
    """When the engine died, as far as that is known, else when the log ends."""
    if "dead" in context.seen.entered and "dead" in context.life.stage_lines:
        deaths = context.groups("engine-died")
        if deaths and deaths[0].time:
            return deaths[0].time
    return context.seen.ended


def _set_flag(context: Context, fact: str, signal: str) -> None:
    """A fact that is true where a message is printed, and not known where it is not."""
    groups = context.groups(signal)
    context.set(fact, True if groups else None, context.proofs(groups))


def _set_fields(context: Context, fact: str, signal: str) -> None:
    """A fact that is the fields of one message."""
    groups = context.groups(signal)
    value: dict[str, Any] | None = None
    if groups:
        value = {k: integer(v) if v and v.isdigit() else v for k, v in groups[0].texts.items()}
    context.set(fact, value, context.proofs(groups))


def _set_chunked_prefill(context: Context) -> None:
    """By what the engine says, else by the configuration that it prints."""
    said = context.groups("chunked-prefill-enabled", "chunked-prefill-refused")
    refused = context.groups("chunked-prefill-refused")
    value = None
    if said:
        tokens = next(iter(texts(said, "tokens")), None)
        value = {"enabled": not refused, "tokens": integer(tokens),
                 "reason": refused[0].texts["reason"] if refused else None}  # fmt: skip
    for name in ("chunked_prefill_enabled", "enable_chunked_prefill"):
        enabled = context.life.facts.get(f"engine_config.{name}")
        if value is None and isinstance(enabled, bool):
            value = {"enabled": enabled, "tokens": None, "reason": None}
            proof = context.life.proof(f"engine_config.{name}")
            context.set("chunked_prefill", value, [line._replace(focus=name) for line in proof])
            return
    context.set("chunked_prefill", value, context.proofs(said))
