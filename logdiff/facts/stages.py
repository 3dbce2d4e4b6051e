"""How far a life came: its stages, the last of them, and whether the log breaks off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.facts.context import ENDS
from logdiff.model import STAGES, Evidence

if TYPE_CHECKING:
    from logdiff.extract.observations import Observations
    from logdiff.facts.context import Context

_IMPLIED_NEXT = {"weights": "profile"}
"""Stages that print nothing when they begin: entered when the one before is complete and the
engine goes on writing."""
_UNCAUGHT_LINES = 3
"""Lines of text that may follow the last line of a traceback that ended the program."""
_FAREWELL_LINES = 40
"""Lines that Python and torch may print after it, none of them with a logger's prefix: leaked
semaphores, process groups that were not destroyed."""
CLIENTS = ("openai.", "requests.", "httpx.", "aiohttp.client", "urllib3.", "urllib.error.")
"""Libraries of clients, which print tracebacks too; no server dies of them."""


def set_stages(context: Context) -> None:
    """Set the stages that were entered and completed, and how the log begins and ends."""
    seen, life = context.seen, context.life
    lines = _stage_lines(seen)
    life.stage_lines = lines
    entered = [stage for stage in STAGES if stage in lines]
    furthest = max((STAGES.index(s) for s in lines if s in STAGES[:8]), default=-1)
    completed = [
        s for s in STAGES if s in seen.completed or (s in lines and STAGES.index(s) < furthest)
    ]
    reached = entered[-1] if entered else None
    mark = seen.entered.get(reached) if reached else None
    life.truncated = reached not in ENDS
    context.set("stage.entered", entered)
    context.set("stage.completed", completed)
    context.set("reached", reached, [Evidence(mark, 1, ())] if mark else [])
    context.set("truncated", life.truncated)
    context.set("started", life.started)
    context.set("ended", life.ended)


def _stage_lines(seen: Observations) -> dict[str, int]:
    """Stage → the line with which it was entered."""
    lines = {stage: mark.line for stage, mark in seen.entered.items()}
    for done, following in _IMPLIED_NEXT.items():
        mark = seen.completed.get(done)
        if mark and seen.last_record_line > mark.line:
            lines[following] = min(mark.line + 1, lines.get(following, mark.line + 1))
    if "dead" in lines and "stopped" in lines:
        # An engine that is taken down by a shutdown reports its own death; one that died
        # shuts its server down. Only the first of the two is what happened.
        del lines["stopped" if lines["dead"] < lines["stopped"] else "dead"]
    if "dead" not in lines and _uncaught(seen):
        lines["dead"] = seen.tracebacks.last_end
        lines.pop("stopped", None)
    return lines


def _uncaught(seen: Observations) -> bool:
    """Whether the log ends with a bare traceback before anything was served."""
    end = seen.tracebacks.last_end
    if not end or "serving" in seen.entered:
        return False
    farewell = _FAREWELL_LINES if seen.last_record_line <= end else _UNCAUGHT_LINES
    if seen.last_text_line - end > farewell * seen.spread:
        return False
    bare = [r for r in seen.tracebacks.raised.values() if "" in r.places]
    return any(seen.entered or not r.kind.startswith(CLIENTS) for r in bare)
