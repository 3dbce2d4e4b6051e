"""What launch files say against each other, against the log, and against reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff import arguments, combinations
from logdiff.compare import launch_arguments
from logdiff.redact import MASK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logdiff.model import Evidence, Run

    Proof = list[tuple[Run, Evidence]]


def environment(good: Run | None, bad: Run) -> list[dict[str, Any]] | None:
    """Variables that the two launch files do not set alike."""
    if good is None or not all(run.facts.get("launch_file") for run in (good, bad)):
        return None
    prefix = "launch_env."
    names = {name for run in (good, bad) for name in run.facts if name.startswith(prefix)}
    found = []
    for fact in sorted(names):
        left, right = good.facts.get(fact), bad.facts.get(fact)
        if left == right:
            continue
        name = fact.removeprefix(prefix)
        proof: Proof = [(run, line) for run in (bad, good) for line in run.life.proof(fact)]
        if right is None:
            proof += [(bad, line) for line in bad.life.proof("launch_file")]
        found.append(
            {
                "name": name,
                "good": left,
                "bad": right,
                "of_engine": arguments.is_engine_variable(name),
                "secret": MASK in f"{left} {right}",
                "is_written": "$" not in f"{left or ''}",
                "_evidence": proof,
            }
        )
    return found


# Launch files that are not what ran, and what cannot run


def launch_mismatches(good: Run | None, bad: Run) -> list[dict[str, Any]] | None:
    """Arguments that the launch file gives otherwise than the log says the engine got them.

    What good ran with may be in the file already: then it has been mended since.
    """
    if not bad.facts.get("launch_file"):
        return None
    found = []
    for name, written in _launch_arguments(bad).items():
        logged = bad.facts.get(f"args.{name}")
        if not arguments.is_comparable(written, logged) or arguments.is_same(written, logged):
            continue
        if good and arguments.is_same(written, good.facts.get(f"args.{name}")):
            continue
        proof: Proof = [(bad, line) for line in bad.life.proof(f"launch_args.{name}")]
        proof += [(bad, line._replace(focus=name)) for line in bad.life.evidence["args"]]
        found.append({"name": name, "in_file": written, "in_log": logged, "_evidence": proof})
    return found


def _launch_arguments(run: Run) -> dict[str, Any]:
    prefix = "launch_args."
    return {
        fact.removeprefix(prefix): value
        for fact, value in run.facts.items()
        if fact.startswith(prefix)
    }


def launch_invalid(good: Run | None, bad: Run) -> list[dict[str, Any]] | None:
    """Arguments of the launch file that cannot go together, or not with what is known."""
    if not bad.facts.get("launch_file"):
        return None
    given = _launch_arguments(bad)
    return [
        {**wrong, "given": given, "_evidence": list(_proof_of(wrong, good, bad))}
        for wrong in combinations.invalid(given, _capacity(good, bad), _heads(good, bad))
    ]


def _proof_of(wrong: dict[str, Any], good: Run | None, bad: Run) -> Iterator[tuple[Run, Evidence]]:
    for name in wrong["names"]:
        for line in bad.life.proof(f"launch_args.{name}"):
            yield bad, line
    if wrong["takes_capacity"] and good:
        for line in good.life.proof("kv"):
            yield good, line


def _capacity(good: Run | None, bad: Run) -> int | None:
    """Tokens that the KV cache holds, where good's is what bad's will be."""
    if good is None or (bad.facts.get("kv") or {}).get("capacity_tokens"):
        return None
    capacity = (good.facts.get("kv") or {}).get("capacity_tokens")
    here, there = (launch_arguments(run) for run in (bad, good))
    alike = all(
        arguments.is_same(here.get(name), there.get(name))
        for name in (*arguments.in_area("memory"), "model", "tensor_parallel_size", "dtype",
                     "quantization", "pipeline_parallel_size")
    )  # fmt: skip
    return capacity if alike else None


def _heads(*runs: Run | None) -> int | None:
    """Attention heads of the model, where a log tells them."""
    entries = (
        entry
        for run in runs
        for entry in (run.facts.get("messages.heads_not_divisible") if run else None) or ()
    )
    return next((entry["heads"] for entry in entries if entry["heads"]), None)
