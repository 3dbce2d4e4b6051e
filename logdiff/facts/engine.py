"""Which engine wrote a log: its name, version, workers, arguments and lines of source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.model import DRIVER, Evidence, Mark
from logdiff.records import worker_name
from logdiff.redact import harmless

if TYPE_CHECKING:
    from logdiff.extract.observations import Event
    from logdiff.facts.context import Context

_OTHERS = {"sglang": "sglang", "tgi": "text-generation-inference", "llama": "llama.cpp"}
"""Field of the signal by which other engines are known → name."""
_ENGINE_SIGNALS = (
    "model-load-started",
    "weights-loaded",
    "kv-blocks",
    "kv-tokens",
    "kv-concurrency",
    "engine-died",
    "engine-ready",
)
"""Messages that only the engine prints: they tell it where it does not name itself."""


def set_engine(context: Context) -> None:
    """Set what is known of the program itself."""
    _set_name(context)
    _set_workers(context)
    _set_arguments(context)
    _set_single_worker(context)
    _set_sources(context)


def _set_name(context: Context) -> None:
    versions = context.groups("server-version")[:1]
    events = context.events("engine-configuration")
    version = versions[0].texts["version"] if versions else None
    proof = context.proofs(versions)
    if version is None and events:
        version = events[0].texts["version"]
        proof = [Evidence(events[0].mark, 1, ())]
    known = (
        version
        or any(signal in context.seen.groups for signal in _ENGINE_SIGNALS)
        or any("/vllm/" in path for path in context.seen.tracebacks.paths.values())
    )
    others = context.groups("other-engine")
    if others and not version:
        printed = next(field for field, text in others[0].texts.items() if text)
        context.set("engine.name", _OTHERS[printed], context.proofs(others[:1]))
    else:
        context.set("engine.name", "vllm" if known else None, proof)
    context.set("engine.version", version, proof)


def _set_workers(context: Context) -> None:
    witnesses = _witnesses(context)
    found = [w for w in witnesses if w[2] == DRIVER or "Worker" in w[2]]
    if not found:
        found = [w for w in witnesses if w[2].startswith("EngineCore")]
    proof = [Evidence(mark, count, (name,)) for mark, count, name in sorted(found)]
    context.set("workers", len(found) or None, proof)


def _witnesses(context: Context) -> list[tuple[Mark, int, str]]:
    """Processes that print: the first line, how many places in the code, and the latest name."""
    witnesses: dict[bytes, tuple[Mark, int, str]] = {}
    for places in context.seen.sources.values():
        for source in places.values():
            for tag, mark in source.workers.items():
                name = worker_name(tag) if tag else context.driver
                if name is None:
                    continue
                # A process may change its name when it learns its rank: its id stays.
                key = tag.rpartition(b"pid=")[2] or name.encode()
                first, count, latest = witnesses.get(key, (mark, 0, name))
                latest = max((latest, name), key=lambda known: ("P" in known, known == name))
                witnesses[key] = min(first, mark), count + 1, latest
    return list(witnesses.values())


def _set_arguments(context: Context) -> None:
    from logdiff.extract import engine_args

    for event in context.events("launch-arguments")[:1]:
        text = event.texts["arguments"] or ""
        parse = engine_args.parse_dict if text.startswith("{") else engine_args.parse_namespace
        _set_family(context, "args", parse(text), event)
    for event in context.events("engine-configuration")[:1]:
        parsed = engine_args.parse_config(event.texts["configuration"] or "")
        _set_family(context, "engine_config", parsed, event)


def _set_family(context: Context, family: str, values: dict[str, object], event: Event) -> None:
    for name, value in values.items():
        context.set(f"{family}.{name}", harmless(name, value))
    context.life.evidence[family] = [Evidence(event.mark, 1, context.names([event.worker]))]


def _set_single_worker(context: Context) -> None:
    """An engine that is asked for one worker has one, whether it names it or not."""
    facts = context.life.facts
    unnamed = facts["workers"] is None and facts["engine.name"]
    if unnamed and context.argument("tensor_parallel_size") == 1:
        context.set("workers", 1, context.life.evidence.get("args", []))


def _set_sources(context: Context) -> None:
    lines: dict[str, str] = {}
    for template, places in context.seen.sources.items():
        if not template:
            continue
        lines[template] = next(iter(places))
        if all(source.level in ("INFO", "WARNING", "DEBUG") for source in places.values()):
            context.life.sources[template] = {
                place: Evidence(source.first, source.count, context.names(source.workers))
                for place, source in places.items()
            }
    context.set("source_lines", lines or None)
    context.set("source_paths", context.seen.tracebacks.paths or None)
