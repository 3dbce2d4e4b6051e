"""What the observations of one life add up to: facts by name, each with its evidence.

The names and shapes are those of :data:`logdiff.facts_table.FACTS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.extract.observations import median
from logdiff.model import DRIVER, STAGES, Entry, Evidence, Life, Mark
from logdiff.records import worker_name
from logdiff.redact import fingerprint, is_secret_name, redact
from logdiff.sections import seconds_between

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logdiff.extract.observations import Event, Group, Observations
    from logdiff.extract.traceback import Raised

_IMPLIED_NEXT = {"weights": "profile"}
"""Stages that print nothing when they begin: entered when the one before is complete and the
engine goes on writing."""
_ENDS = ("stopped", "dead")
_CONSEQUENCES = (
    "EngineDeadError",
    "AsyncEngineDeadError",
    "MQEngineDeadError",
    "EngineGenerateError",
    "CancelledError",
)
_ECHO_STARTS = (
    "engine core initialization failed",
    "engine process failed to start",
    "worker failed with error",
    "workerproc initialization failed",
    "caught handled exception",
)
_ECHO_PHRASES = ("see stack trace", "see the stack trace", "see root cause", "see the root cause")
"""What those say that pass on the error of another process."""
_MIB = {"B": 2.0**-20, "KiB": 2.0**-10, "MiB": 1.0, "GiB": 1024.0, "TiB": 2.0**20}
_MIB |= {"bytes": 2.0**-20, "KB": 2.0**-10, "MB": 1.0, "GB": 1024.0}
_LONGEST_MESSAGE = 400
_EXCEPTION_LIMIT = 200
_UNCAUGHT_LINES = 3
"""Lines of text that may follow the last line of a traceback that ended the program."""
_FAREWELL_LINES = 40
"""Lines that Python and torch may print after it, none of them with a logger's prefix: leaked
semaphores, process groups that were not destroyed."""
_CLIENTS = ("openai.", "requests.", "httpx.", "aiohttp.client", "urllib3.", "urllib.error.")
"""Libraries of clients, which print tracebacks too; no server dies of them."""


def derive(observations: Observations, number: int) -> Life:
    """The life that its observations show."""
    return _Derivation(observations, number).life


def _iso(time: str | None) -> str | None:
    """ISO 8601 in UTC where the envelope gave it, else as printed."""
    return f"{time}Z" if time and "T" in time else time


class _Derivation:
    """Works out the facts of one life, in the order in which they build on each other."""

    def __init__(self, observations: Observations, number: int) -> None:
        self.seen = observations
        self.life = Life(number, observations.first_line, observations.last_line)
        self.life.started = _iso(observations.started)
        self.life.ended = _iso(observations.ended)
        self.life.last_record_line = observations.last_record_line
        self.driver = self._driver()
        self._stages()
        self._engine()
        self._workers()
        self._arguments()
        self._sources()
        self._weights()
        self._kernels()
        self._nan()
        self._kv()
        self._memory()
        self._exceptions()
        self._serving()
        self._settings()
        self._death()
        self._finish()

    # Helpers

    def set(self, name: str, value: Any, evidence: Iterable[Evidence] = ()) -> None:
        """Set a fact and what proves it."""
        self.life.facts[name] = value
        proof = list(evidence)
        if proof:
            self.life.evidence[name] = proof

    def groups(self, *signals: str) -> list[Group]:
        """The groups of some signals, in the order of their first lines."""
        found = [g for signal in signals for g in self.seen.groups.get(signal, {}).values()]
        return sorted(found, key=lambda group: group.first.line)

    def events(self, signal: str) -> list[Event]:
        """The single lines of a signal."""
        return self.seen.events.get(signal, [])

    def names(self, tags: Iterable[bytes]) -> tuple[str, ...]:
        """Workers by name; a line without a tag is the driver's or nobody's."""
        found = {worker_name(tag) if tag else self.driver for tag in tags}
        return tuple(sorted(name for name in found if name))

    def proof(self, group: Group) -> Evidence:
        """The evidence of a group."""
        focus = next((text for text in group.texts.values() if text), "")
        return Evidence(group.first, group.count, self.names(group.workers), focus)

    def entered(self, stage: str) -> bool:
        """Whether a stage was entered."""
        return stage in self.life.facts["stage.entered"]

    def stage_at(self, line: int) -> str | None:
        """The stage that the life was in at a line, its end apart."""
        stages = self.life.stage_lines.items()
        passed = [s for s, first in stages if first <= line and s not in _ENDS]
        return max(passed, key=STAGES.index, default=None)

    def _driver(self) -> str | None:
        tags = {tag for places in self.seen.sources.values() for s in places.values()
                for tag in s.workers}  # fmt: skip
        # In V1 the engine has a tag of its own, and what has none is not a worker's.
        if any(b"EngineCore" in tag for tag in tags):
            return None
        several = any(b"VllmWorkerProcess" in tag or b"RayWorker" in tag for tag in tags)
        return DRIVER if several else None

    # Facts

    def _stages(self) -> None:
        seen = self.seen
        lines = {stage: mark.line for stage, mark in seen.entered.items()}
        for done, following in _IMPLIED_NEXT.items():
            mark = seen.completed.get(done)
            if mark and seen.last_record_line > mark.line:
                lines[following] = min(mark.line + 1, lines.get(following, mark.line + 1))
        if "dead" in lines and "stopped" in lines:
            # An engine that is taken down by a shutdown reports its own death; one that died
            # shuts its server down. Only the first of the two is what happened.
            del lines["stopped" if lines["dead"] < lines["stopped"] else "dead"]
        if "dead" not in lines and self._uncaught():
            lines["dead"] = seen.tracebacks.last_end
            lines.pop("stopped", None)
        furthest = max((STAGES.index(s) for s in lines if s in STAGES[:8]), default=-1)
        self.life.stage_lines = lines
        self.set("stage.entered", [s for s in STAGES if s in lines])
        completed = [
            s for s in STAGES if s in seen.completed or (s in lines and STAGES.index(s) < furthest)
        ]
        self.set("stage.completed", completed)
        reached = self.life.facts["stage.entered"]
        proof = [Evidence(seen.entered[reached[-1]], 1, ())] if (
            reached and reached[-1] in seen.entered) else []  # fmt: skip
        self.set("reached", reached[-1] if reached else None, proof)

    def _uncaught(self) -> bool:
        """Whether the log ends with a bare traceback before anything was served."""
        seen = self.seen
        end = seen.tracebacks.last_end
        if not end or "serving" in seen.entered:
            return False
        if seen.last_text_line - end > (_FAREWELL_LINES if seen.last_record_line <= end
                                        else _UNCAUGHT_LINES):  # fmt: skip
            return False
        bare = [r for r in seen.tracebacks.raised.values() if "" in r.places]
        return any(seen.entered or not r.kind.startswith(_CLIENTS) for r in bare)

    def _engine(self) -> None:
        versions = self.groups("server-version")
        events = self.events("engine-configuration")
        version = versions[0].texts["version"] if versions else None
        proof = [self.proof(group) for group in versions[:1]]
        if version is None and events:
            version = events[0].texts["version"]
            proof = [Evidence(events[0].mark, 1, ())]
        known = (
            version
            or any(signal in self.seen.groups for signal in _ENGINE_SIGNALS)
            or any("/vllm/" in path for path in self.seen.tracebacks.paths.values())
        )
        self.set("engine.name", "vllm" if known else None, proof)
        self.set("engine.version", version, proof)

    def _workers(self) -> None:
        witnesses: dict[bytes, tuple[Mark, int, str]] = {}
        for places in self.seen.sources.values():
            for source in places.values():
                for tag, mark in source.workers.items():
                    name = worker_name(tag) if tag else self.driver
                    if name is None:
                        continue
                    # A process may change its name when it learns its rank: its id stays.
                    key = tag.rpartition(b"pid=")[2] or name.encode()
                    first, count, latest = witnesses.get(key, (mark, 0, name))
                    latest = max((latest, name), key=lambda known: ("P" in known, known == name))
                    witnesses[key] = min(first, mark), count + 1, latest
        found = [w for w in witnesses.values() if w[2] == DRIVER or "Worker" in w[2]]
        if not found:
            found = [w for w in witnesses.values() if w[2].startswith("EngineCore")]
        proof = [Evidence(mark, count, (name,)) for mark, count, name in sorted(found)]
        self.set("workers", len(found) or None, proof)

    def _arguments(self) -> None:
        from logdiff.extract import engine_args

        for event in self.events("launch-arguments")[:1]:
            text = event.texts["arguments"] or ""
            parse = engine_args.parse_dict if text.startswith("{") else engine_args.parse_namespace
            self._set_family("args", parse(text), event)
        for event in self.events("engine-configuration")[:1]:
            parsed = engine_args.parse_config(event.texts["configuration"] or "")
            self._set_family("engine_config", parsed, event)
        if self.life.facts["workers"] is None and self.life.facts["engine.name"]:
            size = self.life.facts.get("args.tensor_parallel_size")
            if size is None:
                size = self.life.facts.get("engine_config.tensor_parallel_size")
            if size == 1:
                self.set("workers", 1, self.life.evidence.get("args", []))

    def _set_family(self, family: str, values: dict[str, object], event: Event) -> None:
        for name, value in values.items():
            self.set(f"{family}.{name}", _harmless(name, value))
        self.life.evidence[family] = [Evidence(event.mark, 1, self.names([event.worker]))]

    def _sources(self) -> None:
        lines: dict[str, str] = {}
        for printed, places in self.seen.sources.items():
            template = redact(printed)
            if not template:
                continue
            lines[template] = next(iter(places))
            if all(source.level in ("INFO", "WARNING", "DEBUG") for source in places.values()):
                self.life.sources[template] = {
                    place: Evidence(source.first, source.count, self.names(source.workers))
                    for place, source in places.items()
                }
        self.set("source_lines", lines or None)
        self.set("source_paths", self.seen.tracebacks.paths or None)

    def _weights(self) -> None:
        groups = self.groups("weights-loaded")
        loaded: dict[str, dict[str | None, float]] = {}
        for group in groups:
            for name in self.names(group.workers) or ("",):
                places = loaded.setdefault(name, {})
                # A worker that says it twice has two models: a draft model, to speculate with.
                places[group.place] = places.get(group.place, 0.0) + float(group.texts["gb"] or 0)
        by_worker = {name: round(max(sizes.values()), 4) for name, sizes in loaded.items()}
        values = set(by_worker.values())
        value = values.pop() if len(values) == 1 else (by_worker or None)
        self.set("weights.gb", value, [self.proof(group) for group in groups])
        skipped = self.groups("weights-skipped")
        self.set(
            "weights.skipped",
            sum(group.count for group in skipped) if skipped or self.entered("weights") else None,
            [self.proof(group) for group in skipped],
        )

    def _kernels(self) -> None:
        kernels: list[Any] = []
        for group in self.groups("kernel-loaded", "kernel-used"):
            proof = self.proof(group)
            known = next((k for k in kernels if k["where"] == group.place
                          and k["operator"] == group.texts["operator"]), None)  # fmt: skip
            if known is not None:
                known.evidence.append(proof)
                known["workers"] = sorted({*known["workers"], *proof.workers})
                continue
            values = {
                "where": group.place,
                "operator": group.texts["operator"],
                "library": group.texts.get("library"),
                "variant": group.texts.get("variant"),
                "workers": list(proof.workers),
            }
            kernels.append(Entry(values, [proof], self.stage_at(group.first.line)))
        self._set_list("kernels", kernels, "profile")
        self._set_list("kernels.fallback", self._counted("kernel-fallback", "what", "reason"),
                       "weights")  # fmt: skip
        self._set_list("ops_missing", self._missing_operators(), "weights")
        self._set_list("modules_missing", self._counted("module-missing", "module"), "args")
        backends = self.groups("attention-backend")
        attention = backends[0].texts["backend"] if backends else None
        self.set("backends", {"attention": attention} if attention else None,
                 [self.proof(g) for g in backends[:1]])  # fmt: skip

    def _counted(self, signal: str, *fields: str) -> list[Entry]:
        """Groups of a signal that agree in place and fields, as entries with counts."""
        merged: dict[tuple[str | None, ...], list[Group]] = {}
        for group in self.groups(signal):
            key = (group.place, *(group.texts.get(field) for field in fields))
            merged.setdefault(key, []).append(group)
        entries = []
        for (place, *values), groups in merged.items():
            proofs = [self.proof(group) for group in groups]
            entry = dict(zip(fields, values, strict=True)) | {
                "where": place,
                "file": _file(place),
                "occurrences": sum(proof.count for proof in proofs),
                "workers": sorted({name for proof in proofs for name in proof.workers}),
            }
            entries.append(Entry(entry, proofs, self.stage_at(groups[0].first.line)))
        return entries

    def _missing_operators(self) -> list[Entry]:
        entries = self._counted("custom-op-missing", "op", "module", "attribute", "reason")
        for entry in entries:
            module, attribute = entry.pop("module"), entry.pop("attribute")
            entry["missing"] = f"{module}.{attribute}" if attribute else None
            entry["package"] = _package(module)
            entry["op"] = entry["op"] or attribute
        return entries

    def _set_list(self, name: str, entries: list[Any], stage: str) -> None:
        """Set a list; nothing seen is ``[]`` only where the stage was entered."""
        known = entries or (self._entered_or_later(stage))
        proof = [evidence for entry in entries for evidence in entry.evidence]
        self.set(name, entries if known else None, proof)

    def _entered_or_later(self, stage: str) -> bool:
        """Whether a log that shows the start of the server shows that it came to a stage."""
        entered = [STAGES.index(s) for s in self.life.facts["stage.entered"] if s not in _ENDS]
        limit = STAGES.index(stage)
        starts = min(entered, default=limit) <= min(limit, STAGES.index("weights"))
        return starts and any(index >= limit for index in entered)

    def _nan(self) -> None:
        groups = self.groups("nan-output")
        if not groups and "profile" not in self.life.facts["stage.completed"]:
            self.set("nan", None)
            return
        fractions = [float(text) for text in _texts(groups, "fraction")]
        places = [g.place for g in groups if g.place]
        proofs = [self.proof(group) for group in groups]
        self.set(
            "nan",
            {
                "occurrences": sum(group.count for group in groups),
                "layers": sorted({int(layer) for layer in _texts(groups, "layer")}),
                "modules": sorted(_texts(groups, "module")),
                "phases": sorted(_texts(groups, "phase")),
                "fraction_min": min(fractions, default=None),
                "fraction_max": max(fractions, default=None),
                "where": places[0] if places else None,
                "file": _file(places[0]) if places else None,
                "workers": sorted({name for proof in proofs for name in proof.workers}),
            },
            proofs,
        )

    def _kv(self) -> None:
        facts = self.life.facts
        groups = self.groups("kv-blocks", "kv-tokens", "kv-concurrency", "memory-profiled")
        texts: dict[str, str] = {}
        for group in groups:
            name = "required" if group.texts.get("concurrency") else "capacity"
            for field, text in group.texts.items():
                if text:
                    texts.setdefault(name if field == "tokens" else field, text)
        if not texts:
            self.set("kv", None)
            return
        block_size = facts.get("args.block_size")
        if block_size is None:
            block_size = facts.get("engine_config.block_size")
        blocks = _integer(texts.get("gpu_blocks"))
        capacity = _integer(texts.get("capacity"))
        if capacity is None and blocks is not None and isinstance(block_size, int):
            capacity = blocks * block_size
        self.set(
            "kv",
            {
                "gpu_blocks": blocks,
                "cpu_blocks": _integer(texts.get("cpu_blocks")),
                "block_size": block_size,
                "capacity_tokens": capacity,
                "concurrency": _real(texts.get("concurrency")),
                "required_tokens": _integer(texts.get("required")),
                "available_gib": _real(texts.get("gib")),
            },
            [self.proof(group) for group in groups],
        )

    def _memory(self) -> None:
        by_device: dict[int | None, list[Event]] = {}
        for event in self.events("out-of-memory"):
            device = _integer(event.texts.get("device"))
            by_device.setdefault(device, []).append(event)
        entries = [self._oom(device, events) for device, events in by_device.items()]
        entries.sort(key=lambda entry: (entry["device"] is None, entry["device"] or 0))
        self._set_list("oom", entries, "args")

    def _oom(self, device: int | None, events: list[Event]) -> Entry:
        # A message is quoted again by those who pass it on; what counts are the lines that
        # raise it, where there are any.
        final = [event for event in events if event.final] or events
        first = events[0]
        full = next((e for e in events if e.texts.get("capacity")), first).texts
        metrics = first.last_points.get("metrics")
        values: dict[str, Any] = {
            "time": _iso(first.time),
            "device": device,
            "tried_mib": _mib(full.get("tried")),
            "capacity_gib": _gib(full.get("capacity")),
            "free_mib": _mib(full.get("free")),
            "allocated_gib": _gib(full.get("allocated")),
            "reserved_unallocated_mib": _mib(full.get("reserved_unallocated")),
            "where": next((event.where for event in events if event.where), None),
            "stage": self.stage_at(first.mark.line),
            "kv_usage_percent": metrics[2][4] if metrics else None,
            "occurrences": len(final),
        }
        proof = [Evidence(final[0].mark, len(final), self.names(e.worker for e in final))]
        if metrics:
            proof.append(Evidence(metrics[1], 1, ()))
        return Entry(values, proof, values["stage"])

    def _exceptions(self) -> None:
        raised = sorted(self.seen.tracebacks.raised.values(), key=lambda r: r.first.line)
        entries = [
            Entry(
                {
                    "type": exception.kind,
                    "message": redact(exception.message)[:_LONGEST_MESSAGE],
                    "where": str(exception.where) if exception.where else None,
                    "occurrences": exception.count,
                    "first": _iso(exception.time),
                },
                [Evidence(exception.first, exception.count, self.names(exception.workers))],
                self.stage_at(exception.first.line),
            )
            for exception in raised[:_EXCEPTION_LIMIT]
        ]
        self.set("exceptions", entries if entries or self.seen.last_record_line else None,
                 [e for entry in entries for e in entry.evidence])  # fmt: skip

    def _serving(self) -> None:
        statuses: dict[str, int] = {}
        groups = self.groups("http-status")
        for group in groups:
            status = str(group.texts["status"])
            statuses[status] = statuses.get(status, 0) + group.count
        served = self.entered("serving")
        self.set("http", dict(sorted(statuses.items())) if statuses or served else None,
                 [self.proof(group) for group in groups])  # fmt: skip
        self._throughput()
        started = self.groups("serving-started")
        until = self.seen.ended
        if "dead" in self.seen.entered and "dead" in self.life.stage_lines:
            deaths = self.groups("engine-died")
            until = deaths[0].time if deaths and deaths[0].time else until
        begun = self._time_near(started[0]) if started else None
        seconds = None
        if begun and until and len(begun) == len(until):
            seconds = int(seconds_between(begun.encode(), until.encode()))
        self.set("serving_seconds", seconds, [self.proof(group) for group in started[:1]])

    def _time_near(self, group: Group) -> str | None:
        """The time of a group; where its line has none, that of the first metrics after it."""
        series = self.seen.series.get("metrics")
        return group.time or (series.points[0][0] if series and series.points else None)

    def _throughput(self) -> None:
        series = self.seen.series.get("metrics")
        if series is None:
            self.set("throughput", None)
            return
        busy = series.distribution["generation"].copy()
        busy.pop(0.0, None)
        highest = series.highest.get("kv_usage_percent")
        peaks = ("generation", "kv_usage_percent")
        proofs = [Evidence(series.highest[p][2], 1, ()) for p in peaks if p in series.highest]
        self.set(
            "throughput",
            {
                "unit": "tokens/s",
                "points": [[_iso(time), *values] for time, values in series.points],
                "count": series.count,
                "min": min(busy, default=None),
                "max": max(busy, default=None),
                "median": median(busy),
                "kv_usage_percent_max": highest[0] if highest else None,
                "kv_usage_percent_max_at": _iso(highest[1]) if highest else None,
            },
            proofs,
        )

    def _settings(self) -> None:
        for fact, signal in (
            ("multimodal", "multimodal-model"),
            ("eager_mode", "eager-mode"),
        ):
            groups = self.groups(signal)
            self.set(fact, True if groups else None, [self.proof(g) for g in groups])
        self._set_entry("prefix_cache_disabled", "prefix-cache-disabled")
        self._set_entry("thread_reduction", "threads-reduced")
        said = self.groups("chunked-prefill-enabled", "chunked-prefill-refused")
        refused = self.groups("chunked-prefill-refused")
        value = None
        if said:
            tokens = next(iter(_texts(said, "tokens")), None)
            value = {"enabled": not refused, "tokens": _integer(tokens),
                     "reason": refused[0].texts["reason"] if refused else None}  # fmt: skip
        self.set("chunked_prefill", value, [self.proof(group) for group in said])

    def _set_entry(self, fact: str, signal: str) -> None:
        """A fact that is the fields of one message."""
        groups = self.groups(signal)
        value: dict[str, Any] | None = None
        if groups:
            value = {k: int(v) if v and v.isdigit() else v for k, v in groups[0].texts.items()}
        self.set(fact, value, [self.proof(group) for group in groups])

    def _death(self) -> None:
        if self.life.facts["reached"] != "dead":
            self.set("engine_dead", None)
            return
        signs = self.groups("engine-died", "usage-error")
        root = self._root_error(signs)
        time = signs[0].time if signs else None
        if time is None and root:
            time = root.time
        error = None
        proofs = [self.proof(group) for group in signs[:2]]
        if root:
            error = redact(f"{root.kind}: {root.message}".rstrip(": "))[:_LONGEST_MESSAGE]
            proofs.append(Evidence(root.first, root.count, self.names(root.workers)))
        elif refused := next((e for sign in signs if (e := sign.texts.get("error"))), None):
            error = redact(refused)[:_LONGEST_MESSAGE]
        elif code := next((c for sign in signs if (c := _integer(sign.texts.get("exit")))), None):
            error = f"a process of the engine was killed by signal {-code}" if code < 0 else (
                f"a process of the engine ended with status {code}")  # fmt: skip
        self.set("engine_dead", {"time": _iso(time), "error": error}, proofs)

    def _root_error(self, signs: list[Group]) -> Raised | None:
        """The exception that killed the engine: the first one that is not an echo of its death."""
        raised = [
            r
            for r in self.seen.tracebacks.raised.values()
            if r.kind.rpartition(".")[2] not in _CONSEQUENCES and not _is_echo(r.message)
        ]
        raised.sort(key=lambda r: r.first.line)
        places = {sign.place for sign in signs if sign.place}
        same_place = [r for r in raised if places & set(r.places)]
        if same_place:
            return same_place[0]
        if not signs:
            return raised[-1] if raised else None
        near = [r for r in raised if r.first.line >= signs[0].first.line - _NEAR_LINES]
        return near[0] if near else None

    def _finish(self) -> None:
        reached = self.life.facts["reached"]
        self.life.truncated = reached not in ("stopped", "dead")
        self.set("truncated", self.life.truncated)
        self.set("started", self.life.started)
        self.set("ended", self.life.ended)
        for name, value in self.life.facts.items():
            if name.partition(".")[0] not in _CLEAN:
                self.life.facts[name] = _redacted(value)


_CLEAN = frozenset(("args", "engine_config", "source_lines", "throughput"))
"""Facts that hold no secrets, or whose secrets are replaced where they are made."""
_NEAR_LINES = 400
_ENGINE_SIGNALS = (
    "model-load-started",
    "weights-loaded",
    "kv-blocks",
    "kv-tokens",
    "kv-concurrency",
    "engine-died",
    "engine-ready",
)


def _is_echo(message: str) -> bool:
    """Whether an exception passes on what another process said, or was called off with it."""
    text = message.lower()
    return (
        text == "cancelled"
        or text.startswith(_ECHO_STARTS)
        or any(phrase in text for phrase in _ECHO_PHRASES)
    )


def _harmless(name: str, value: object) -> object:
    """An argument without its secrets; equal secrets stay equal."""
    if value is None or isinstance(value, bool) or value == "":
        return value
    if isinstance(value, (list, tuple)):
        return [_harmless(name, item) for item in value]
    if isinstance(value, dict):
        secret = is_secret_name(name)
        return {redact(key): _harmless(name if secret else key, item)
                for key, item in value.items()}  # fmt: skip
    if is_secret_name(name):
        return fingerprint(str(value))
    if isinstance(value, str) and (clean := redact(value)) != value:
        return f"{clean} ({fingerprint(value)})"
    return value


def _redacted(value: Any) -> Any:
    """A fact without secrets; entries stay the objects that they are."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        value[:] = map(_redacted, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            value[key] = _redacted(item)
    return value


def _texts(groups: Iterable[Group], field: str) -> set[str]:
    """What a field is in some groups, where it is there."""
    return {text for group in groups if (text := group.texts.get(field))}


def _file(place: str | None) -> str | None:
    """The file of ``file.py:line``."""
    return place.rpartition(":")[0] if place else None


def _package(module: str | None) -> str | None:
    """The distribution of a module; compiled extensions (``_C``) are the engine's own."""
    if not module:
        return None
    return "vllm" if module.startswith("_") else module.partition(".")[0]


def _integer(text: str | None) -> int | None:
    try:
        return int(text.replace(",", "")) if text else None
    except ValueError:
        return None


def _real(text: str | None) -> float | None:
    try:
        return float(text.replace(",", "")) if text else None
    except ValueError:
        return None


def _mib(text: str | None) -> float | None:
    """An amount as torch prints it (``1.43 GiB``, ``112.00 MiB``), in MiB."""
    number, _, unit = (text or "").partition(" ")
    value = _real(number)
    return round(value * _MIB[unit], 4) if value is not None and unit in _MIB else None


def _gib(text: str | None) -> float | None:
    mib = _mib(text)
    return round(mib / 1024, 4) if mib is not None else None
