"""What is not the same in two runs: plain differences, and what they say about each other.

``changes`` is what rules reason from. An item is a mapping whose ``_evidence`` holds the lines
of both runs that prove it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff import arguments
from logdiff.model import MESSAGES, STAGES, Difference, Evidence
from logdiff.redact import MASK
from logdiff.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logdiff.model import Run

    Proof = list[tuple[Run, Evidence]]

WEIGHTS_TOLERANCE = 0.005
"""Relative difference of weights below which they count as equal."""
UNITS = {
    "weights.gb": "GB (GiB)",
    "serving_seconds": "s",
}
_SERIES_PARTS = ("count", "min", "max", "median", "kv_usage_percent_max")
_NOT_COMPARED = frozenset(
    ("http_errors", "source_lines", "source_paths", "started", "ended", "stage.entered",
     "stage.completed", "exceptions", "truncated", "launch_file", "deployments",
     "package_changes", "contradictions")
)  # fmt: skip
"""Facts that differ between any two runs, or that are compared piece by piece."""
_OF_LAUNCH_FILES = frozenset(("launch_args", "launch_env"))
_OF_SUBMISSION = frozenset(("base_image",))
"""Facts of submission files, which only one of the runs may have."""
_GENERAL_WORDS = frozenset(
    "fused native kernel operator op pure using prefill decode chunked packed paged grouped loaded "
    "the a of in for custom module layer path".split()
)
"""Words of an operator's name that do not tell which operator it is."""
_STATUSES = ("certain", "likely", "not_reached")
_LEAST_WORDS = 2
_UNSET_SHARE = 10
"""Of a list of all arguments at least one in so many is unset; it is about one in three."""


def differences(good: Run, bad: Run) -> list[Difference]:
    """Facts that both runs know or one run has, and that are not equal, in order of name."""
    found = []
    comparable = _comparable_arguments(good, bad)
    for name in sorted({*good.facts, *bad.facts}):
        if (
            name in _NOT_COMPARED
            or name.startswith(MESSAGES)
            or (name.startswith("args.") and name[5:] not in comparable)
        ):
            continue
        for fact, left, right in _parts(name, good.facts.get(name), bad.facts.get(name)):
            if _of_any_start(left) != _of_any_start(right) and not _incomparable(fact, good, bad):
                found.append(_difference(fact, left, right, name, good, bad))
    found.extend(_source_differences(good, bad))
    found.extend(_deployment_differences(good, bad))
    return found


def _parts(name: str, left: Any, right: Any) -> Iterable[tuple[str, Any, Any]]:
    """A fact as the values that are compared: a series by its figures, the rest whole."""
    if name != "throughput":
        yield name, left, right
        return
    for part in _SERIES_PARTS:
        yield f"{name}.{part}", (left or {}).get(part), (right or {}).get(part)


def _of_any_start(value: Any) -> Any:
    """A value without the names of workers, which hold the ids of their processes."""
    if isinstance(value, list):
        return [_of_any_start(item) for item in value]
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key != "workers"}
    return value


def _incomparable(fact: str, good: Run, bad: Run) -> bool:
    """Whether a difference only shows that one run was asked or says less."""
    family, _, name = fact.partition(".")
    if family in _OF_LAUNCH_FILES:
        return not all(run.facts.get("launch_file") for run in (good, bad))
    if fact in _OF_SUBMISSION:
        return not all(run.facts.get(fact) is not None for run in (good, bad))
    if family == "engine_config":
        return fact not in good.facts or fact not in bad.facts or not arguments.is_typed(
            name, good.facts[fact], bad.facts[fact])  # fmt: skip
    return False


def _difference(fact: str, left: Any, right: Any, name: str, good: Run, bad: Run) -> Difference:
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (left, right))
    change = round(right - left, 6) if numbers else None
    unit = "tokens/s" if fact.startswith("throughput.m") else UNITS.get(fact)
    return Difference(fact, left, right, change, unit, _proof(name, good, bad))


def _proof(fact: str, *runs: Run) -> Proof:
    return [(run, e) for run in runs for e in run.life.proof(fact)[:4]]


def _source_differences(good: Run, bad: Run) -> Iterable[Difference]:
    for template, left, right in _moved_messages(good, bad):
        proof: Proof = [(good, good.life.sources[template][left]),
                        (bad, bad.life.sources[template][right])]  # fmt: skip
        yield Difference(f"source_lines.{template}", left, right, None, None, proof)


def _deployment_differences(good: Run, bad: Run) -> Iterable[Difference]:
    """Files and packages that only one of the runs puts into its image, or in another way."""
    for fact, name in (("deployments", "destination"), ("package_changes", "package")):
        left, right = (_by_name(run, fact, name) for run in (good, bad))
        if left is None or right is None:
            continue
        for key in sorted({*left, *right}):
            here, there = left.get(key), right.get(key)
            if _summed_up(here) != _summed_up(there):
                proof = [
                    (run, line)
                    for run, entry in ((good, here), (bad, there))
                    for line in (entry.evidence if entry else ())
                ]
                yield Difference(
                    f"{fact}.{key}", _summed_up(here), _summed_up(there), None, None, proof
                )


def _by_name(run: Run, fact: str, name: str) -> dict[str, Any] | None:
    entries = run.facts.get(fact)
    if entries is None:
        return None
    return {entry[name]: entry for entry in entries if entry[name]}


def _summed_up(entry: Any) -> str | None:
    """How a file or a package is put into the image, in a few words."""
    if entry is None:
        return None
    if "how" in entry:
        return f"{entry['how']} {entry['source'] or ''}".strip()
    return f"{entry['action']} {entry['specifier']}".strip()


def changes(good: Run, bad: Run) -> dict[str, Any]:
    """What rules reason from, by the names of :data:`logdiff.facts_table.CHANGES`."""
    return {
        "arguments": _arguments(good, bad),
        "source_files": _source_files(good, bad),
        "kernels": _kernels(good, bad),
        "new_files": _new_files(good, bad),
        "weights": _weights(good, bad),
        "stages": _stages(good, bad),
    }


# Launch arguments


def _comparable_arguments(good: Run, bad: Run) -> set[str]:
    """Names of the launch arguments that can be compared.

    A server prints either all its arguments or only those that are not the default. What a list
    of all leaves out its version does not have; what a list of some leaves out beside a list of
    all is not known. Only where both print some is an argument that one leaves out unset.
    """
    left, right = (
        {name[5:] for name in run.facts if name.startswith("args.")} for run in (good, bad)
    )
    if not left or not right:
        return set()
    names = left & right if _prints_all(good) or _prints_all(bad) else left | right
    return {
        name
        for name in names
        if arguments.is_typed(name, good.facts.get(f"args.{name}"), bad.facts.get(f"args.{name}"))
    }


def _arguments_of_launch_files(good: Run, bad: Run) -> set[str]:
    """Names of the arguments that the launch files give, where both runs have one."""
    if not all(run.facts.get("launch_file") for run in (good, bad)):
        return set()
    prefix = "launch_args."
    return {
        name.removeprefix(prefix)
        for run in (good, bad)
        for name in run.facts
        if name.startswith(prefix)
    }


def launch_arguments(run: Run) -> dict[str, Any]:
    """The launch arguments of a run: as it printed them, else as its launch file gives them."""
    given: dict[str, Any] = {}
    for family in ("launch_args.", "args."):
        given |= {
            name.removeprefix(family): value
            for name, value in run.facts.items()
            if name.startswith(family)
        }
    return given


def _prints_all(run: Run) -> bool:
    """Whether the arguments of a run are all there are: then many of them are unset."""
    values = [value for name, value in run.facts.items() if name.startswith("args.")]
    return values.count(None) * _UNSET_SHARE >= len(values)


def _arguments(good: Run, bad: Run) -> list[dict[str, Any]] | None:
    family = "args"
    names = _comparable_arguments(good, bad)
    if not names:
        family = "launch_args"
        names = _arguments_of_launch_files(good, bad)
    if not names:
        return None
    items = []
    for name in sorted(names):
        fact = f"{family}.{name}"
        left, right = good.facts.get(fact), bad.facts.get(fact)
        if left == right:
            continue
        eager = all(run.facts.get("args.enforce_eager") is True for run in (good, bad))
        items.append(
            {
                "name": name,
                "good": left,
                "bad": right,
                "governs": arguments.governs(name),
                "no_effect": arguments.no_effect(name, eager),
                "secret": MASK in repr((left, right)),
                "_evidence": [
                    (run, line._replace(focus=name))
                    for run in (bad, good)
                    for line in _lines_of_argument(run, fact)
                ],
            }
        )
    return items


def _lines_of_argument(run: Run, fact: str) -> list[Evidence]:
    """The lines that give an argument; where none does, those that would."""
    whole = "args" if fact.startswith("args.") else "launch_file"
    return run.life.evidence.get(fact) or run.life.evidence.get(whole, [])


# Source files


def _moved_messages(good: Run, bad: Run) -> list[tuple[str, str, str]]:
    """Messages that one line of a file prints in good and another line of it in bad."""
    moved = []
    for template, left_places in good.life.sources.items():
        right_places = bad.life.sources.get(template, {})
        if len(left_places) != 1 or len(right_places) != 1 or template.count(" ") < _LEAST_WORDS:
            continue
        left, right = next(iter(left_places)), next(iter(right_places))
        if left != right and left.rpartition(":")[0] == right.rpartition(":")[0]:
            moved.append((template, left, right))
    return moved


def drifted_files(good: Run, bad: Run) -> dict[str, Proof]:
    """Files that print the same message from another line, with the lines that show it.

    Only of one version of the engine: another one has other lines.
    """
    if good.facts.get("engine.version") != bad.facts.get("engine.version"):
        return {}
    return {item["file"]: item["_evidence"] for item in _source_files(good, bad)}


def _source_files(good: Run, bad: Run) -> list[dict[str, Any]]:
    files: dict[str, list[tuple[str, str, str]]] = {}
    for template, left, right in _moved_messages(good, bad):
        files.setdefault(left.rpartition(":")[0], []).append((template, left, right))
    items = []
    for file, messages in sorted(files.items()):
        proof: Proof = []
        for template, left, right in messages:
            proof.append((bad, bad.life.sources[template][right]))
            proof.append((good, good.life.sources[template][left]))
        items.append(
            {
                "file": file,
                "messages": [
                    {"text": template, "good": left, "bad": right}
                    for template, left, right in messages
                ],
                "implicated": file in _implicated(bad),
                "path": _path(file, good, bad),
                "_evidence": proof,
            }
        )
    return items


def _new_files(good: Run, bad: Run) -> list[str]:
    """Source files that print a message in bad and none in good."""
    return sorted(_files(bad) - _files(good))


def _files(run: Run) -> set[str]:
    """Source files that print a message."""
    places = {*(run.facts.get("source_lines") or {}).values()}.union(*run.life.sources.values())
    return {place.rpartition(":")[0] for place in places}


def _path(file: str, *runs: Run) -> str | None:
    """The full path of a source file, where a traceback of either run names it."""
    return next((p for run in runs if (p := (run.facts.get("source_paths") or {}).get(file))), None)


def _implicated(run: Run) -> set[str]:
    """Source files that print a fallback, a missing operator or NaN, or raise an exception."""
    return _files_of(run, "kernels.fallback", "ops_missing", "exceptions", "oom")


def files_by_what_they_print(run: Run) -> Iterable[tuple[str, str, list[Evidence]]]:
    """What is wrong, the source file that it is printed from, and the lines that say so."""
    for kind, name in (("fallback", "kernels.fallback"), ("operator", "ops_missing"),
                       ("exception", "exceptions")):  # fmt: skip
        for entry in run.facts.get(name) or ():
            if entry.get("where"):
                yield kind, entry["where"].partition(":")[0], entry.evidence
    if where := (run.facts.get("nan") or {}).get("where"):
        yield "nan", where.partition(":")[0], run.life.evidence.get("nan", [])


def _files_of(run: Run, *lists: str) -> set[str]:
    """Source files that the entries of some facts come from, those of NaN included."""
    entries = [entry for name in lists for entry in run.facts.get(name) or ()]
    places = [entry.get("where") for entry in (*entries, run.facts.get("nan") or {})]
    return {place.partition(":")[0] for place in places if place}


# Kernels


def _kernels(good: Run, bad: Run) -> list[dict[str, Any]] | None:
    if good.facts.get("kernels") is None:
        return None
    shared = _shared_words(good.facts["kernels"])
    left_over = [_identity(kernel) for kernel in bad.facts.get("kernels") or ()]
    items = []
    for kernel in good.facts["kernels"]:
        if _identity(kernel) in left_over:
            left_over.remove(_identity(kernel))
            continue
        items.append(_lost_kernel(kernel, shared, good, bad))
    return sorted(items, key=lambda item: _STATUSES.index(item["status"]))


def _shared_words(kernels: list[dict[str, Any]]) -> frozenset[str]:
    """Words that all operators have in their names, such as their vendor's."""
    words = [tokens(kernel["operator"]) for kernel in kernels]
    return frozenset.intersection(*words) if len(words) > 1 else frozenset()


def _identity(kernel: dict[str, Any]) -> tuple[str, bool]:
    """What makes a kernel the same in two images: its name, and whether it is loaded or used."""
    return kernel["operator"], bool(kernel["library"])


def _lost_kernel(kernel: Any, shared: frozenset[str], good: Run, bad: Run) -> dict[str, Any]:
    words = tokens(kernel["operator"]) - _GENERAL_WORDS - shared
    fallback = next(
        (entry for entry in bad.facts.get("kernels.fallback") or ()
         if words & (tokens(entry["what"] or "") - _GENERAL_WORDS)), None
    )  # fmt: skip
    nan = bad.facts.get("nan") or {}
    nan_words = frozenset(w for module in nan.get("modules", ()) for w in tokens(module))
    is_nan = bool(words & (nan_words - _GENERAL_WORDS))
    status, why = _certainty(kernel.stage, fallback, bad)
    proof: Proof = [(good, evidence) for evidence in kernel.evidence[:1]]
    if fallback is not None and status != "not_reached":
        proof += [(bad, evidence) for evidence in fallback.evidence[:1]]
    elif is_nan and status != "not_reached":
        proof += [(bad, evidence) for evidence in bad.life.evidence.get("nan", [])[:1]]
    place = (fallback or {}).get("where") or (nan.get("where") if is_nan else None)
    return {
        **kernel,
        "stage": kernel.stage,
        "status": status,
        "because": why,
        "fallback": fallback,
        "stand_in": place.partition(":")[0] if place else _only_stand_in(bad),
        "stand_in_known": place is not None,
        "words": words,
        "_evidence": proof,
    }


def _only_stand_in(bad: Run) -> str | None:
    """The file that prints all fallbacks and NaN of a run, if it is one file."""
    files = _files_of(bad, "kernels.fallback")
    return files.pop() if len(files) == 1 else None


def _certainty(stage: str | None, fallback: Any, bad: Run) -> tuple[str, str]:
    """How sure it is that bad does not use what good announced in a stage, and why."""
    entered = bad.facts["stage.entered"]
    if stage is None or stage not in entered:
        later = [s for s in entered if stage and STAGES.index(s) > STAGES.index(stage)]
        side = "begins after" if later else "ends before"
        return "not_reached", f"bad {side} the stage '{stage}', in which good prints it"
    if fallback is not None:
        return "certain", "its fallback is printed"
    if stage in bad.facts["stage.completed"] or (
        stage == "serving" and bad.facts["reached"] in ("stopped", "dead")
    ):
        return "certain", f"bad completed the stage '{stage}' without it"
    if bad.life.last_record_line > bad.life.stage_lines[stage]:
        return "likely", f"bad entered the stage '{stage}' and went on without it"
    return "not_reached", f"bad ends at the beginning of the stage '{stage}'"


# Weights and stages


def _weights(good: Run, bad: Run) -> dict[str, Any] | None:
    left, right = (_of_one_worker(run.facts.get("weights.gb")) for run in (good, bad))
    if left is None or right is None:
        return None
    return {
        "good": left,
        "bad": right,
        "change": round(right - left, 4),
        "differ": abs(right - left) / left > WEIGHTS_TOLERANCE,
        "lighter": right < left,
        "_evidence": _proof("weights.gb", good)[:1] + _proof("weights.gb", bad)[:1],
    }


def _of_one_worker(weights: Any) -> float | None:
    """Weights of a worker; the mean of all where they do not have the same."""
    if isinstance(weights, dict):
        weights = round(sum(weights.values()) / len(weights), 4) if weights else None
    return weights or None


def _stages(good: Run, bad: Run) -> dict[str, Any]:
    order = STAGES[: STAGES.index("serving") + 1]
    left, right = (set(run.facts["stage.entered"]) for run in (good, bad))
    last = max((s for s in order if s in right), key=order.index, default=None)
    limit = order.index(last) if last else -1
    return {
        "missing": [s for s in order if s in left and order.index(s) > limit],
        "last": last,
    }
