"""What every group of facts needs: the observations, the life that is made, and what is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.model import DRIVER, STAGES, Evidence, Life
from logdiff.records import worker_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logdiff.extract.observations import Event, Group, Observations
    from logdiff.model import Entry

_MOST_DIGITS = 24
"""Characters of a number that is meant as one; nothing that a server counts has more."""
ENDS = ("stopped", "dead")
"""Stages that a life ends in."""


class Context:
    """The observations of one life, and the life that is made of them."""

    def __init__(self, observations: Observations, number: int) -> None:
        self.seen = observations
        self.life = Life(number, observations.first_line, observations.last_line)
        self.life.started = iso(observations.started)
        self.life.ended = iso(observations.ended)
        self.life.last_record_line = observations.last_record_line
        self.driver = _driver(observations)
        """Name of the worker whose lines have no tag; ``None`` = they are no worker's."""

    # What was seen

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

    def proofs(self, groups: Iterable[Group]) -> list[Evidence]:
        """The evidence of some groups."""
        return [self.proof(group) for group in groups]

    # What is known so far

    def entered(self, stage: str) -> bool:
        """Whether a stage was entered."""
        return stage in self.life.facts["stage.entered"]

    def came_to(self, stage: str) -> bool:
        """Whether a log that shows the start of the server shows that it came to a stage."""
        entered = [STAGES.index(s) for s in self.life.facts["stage.entered"] if s not in ENDS]
        limit = STAGES.index(stage)
        starts = min(entered, default=limit) <= min(limit, STAGES.index("weights"))
        return starts and any(index >= limit for index in entered)

    def stage_at(self, line: int) -> str | None:
        """The stage that the life was in at a line, its end apart."""
        stages = self.life.stage_lines.items()
        passed = [s for s, first in stages if first <= line and s not in ENDS]
        return max(passed, key=STAGES.index, default=None)

    def argument(self, name: str) -> Any:
        """A launch argument; where it was not printed, what the engine made of it."""
        value = self.life.facts.get(f"args.{name}")
        return self.life.facts.get(f"engine_config.{name}") if value is None else value

    # What is made of it

    def set(self, name: str, value: Any, evidence: Iterable[Evidence] = ()) -> None:
        """Set a fact and what proves it."""
        self.life.facts[name] = value
        proof = list(evidence)
        if proof:
            self.life.evidence[name] = proof

    def set_list(self, name: str, entries: list[Entry], known: bool) -> None:
        """Set a list; nothing seen is ``[]`` only where it is known that there is nothing."""
        proof = [evidence for entry in entries for evidence in entry.evidence]
        self.set(name, entries if entries or known else None, proof)


def _driver(observations: Observations) -> str | None:
    tags = {tag for places in observations.sources.values() for s in places.values()
            for tag in s.workers}  # fmt: skip
    # In V1 the engine has a tag of its own, and what has none is not a worker's.
    if any(b"EngineCore" in tag for tag in tags):
        return None
    several = any(b"VllmWorkerProcess" in tag or b"RayWorker" in tag for tag in tags)
    return DRIVER if several else None


# Values as they are printed


def iso(time: str | None) -> str | None:
    """ISO 8601 in UTC where the envelope gave it, else as printed."""
    return f"{time}Z" if time and "T" in time else time


def integer(text: str | None) -> int | None:
    """A whole number, its thousands set apart by commas or not; of more digits, none."""
    try:
        return int(text.replace(",", "")) if text and len(text) <= _MOST_DIGITS else None
    except ValueError:
        return None


def real(text: str | None) -> float | None:
    """A number that may have a fraction; ``None`` where the text is none."""
    try:
        return float(text.replace(",", "")) if text else None
    except ValueError:
        return None


def texts(groups: Iterable[Group], field: str) -> set[str]:
    """What a field is in some groups, where it is there."""
    return {text for group in groups if (text := group.texts.get(field))}
