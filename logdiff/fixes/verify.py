"""Whether the next run shows what a fix was to bring about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from logdiff import arguments
from logdiff.fixes.plan import typed
from logdiff.model import STAGES
from logdiff.submission.launch.arguments import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logdiff.model import Finding, Fix, Report, Run

CONFIRMED, NOT_CONFIRMED, NOT_REACHED = "confirmed", "not confirmed", "not reached"


class Outcome(NamedTuple):
    """A fix, and what the next run shows of it."""

    fix: Fix
    outcome: str
    """``confirmed``, ``not confirmed`` or ``not reached``."""
    why: str


def outcomes(fixes: Sequence[Fix], before: Report, after: Report) -> list[Outcome]:
    """What the next run shows of some fixes.

    Args:
        fixes: of the report before.
        before: the known-good run against the bad one.
        after: the known-good run against the next one.
    """
    return [_outcome(fix, before, after) for fix in fixes]


def _outcome(fix: Fix, before: Report, after: Report) -> Outcome:
    if fix.kind == "config" and fix.key.startswith("-"):
        told = _argument(fix, after.bad)
        if told:
            return told
    asking = [finding for finding in before.findings if fix.id in finding.fixes]
    in_log = [finding for finding in asking if finding.first_line]
    if not in_log:
        return Outcome(fix, NOT_REACHED, "no log shows it; look into the files of the next run")
    still = {(finding.rule, finding.subject): finding for finding in after.findings}
    for finding in in_log:
        same = still.get((finding.rule, finding.subject))
        if same and same.run == "bad":
            line = f":{same.first_line}" if same.first_line else ""
            why = f"{same.rule} still holds: {same.title} ({after.bad.log.path}{line})"
            return Outcome(fix, NOT_CONFIRMED, why)
    stage = max((_stage(before.bad, finding) for finding in in_log), key=STAGES.index)
    if not _is_past(after.bad, stage):
        reached = after.bad.facts.get("reached") or "nothing that is known"
        why = f"the next run shows nothing past the stage '{reached}'; it shows at '{stage}'"
        return Outcome(fix, NOT_REACHED, why)
    rules = ", ".join(dict.fromkeys(finding.rule for finding in in_log))
    return Outcome(fix, CONFIRMED, f"past the stage '{stage}' and no more: {rules}")


def _argument(fix: Fix, run: Run) -> Outcome | None:
    """What the next run says of an option; None where it does not print its arguments."""
    fact = f"args.{canonical(fix.key)}"
    if fact not in run.facts and not any(name.startswith("args.") for name in run.facts):
        return Outcome(fix, NOT_REACHED, "the next run prints no arguments")
    if fact not in run.facts and fix.action != "remove":
        return None
    logged = run.facts.get(fact)
    wanted = fix.new
    if fix.action == "remove":
        holds = logged in (None, False) or arguments.is_same(logged, wanted)
    else:
        holds = arguments.is_same(wanted if wanted is not None else True, logged)
    lines = run.life.proof(fact) or run.life.evidence.get("args", [])
    place = f"{run.log.path}:{lines[0].mark.line}" if lines else run.log.path
    shown = "unset" if logged is None else typed(logged)
    return Outcome(fix, CONFIRMED if holds else NOT_CONFIRMED, f"{place}: it is {shown}")


def _stage(run: Run, finding: Finding) -> str:
    """The stage that the run was in when a finding showed."""
    entered = [stage for stage, line in run.life.stage_lines.items() if line <= finding.first_line]
    serving = [stage for stage in entered if stage in STAGES[: STAGES.index("stopped")]]
    return max(serving, key=STAGES.index, default=STAGES[0])


def _is_past(run: Run, stage: str) -> bool:
    """Whether a run went on behind a stage, or is in a stage that goes on as long as it serves."""
    order = STAGES[: STAGES.index("stopped")]
    entered = [s for s in run.facts.get("stage.entered") or () if s in order]
    last = max(entered, key=STAGES.index, default=STAGES[0])
    if stage in (run.facts.get("stage.completed") or ()):
        return True
    return STAGES.index(last) > STAGES.index(stage) or (stage == last == "serving")
