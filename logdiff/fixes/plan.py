"""Which of a report's fixes become edits of a launch file, and why the others do not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from logdiff.fixes.edits import EditRefusedError
from logdiff.fixes.launch_edits import remove_argument, set_argument, set_variable
from logdiff.submission.launch.arguments import canonical
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from logdiff.fixes.edits import Edit
    from logdiff.model import Fix, Report, Run
    from logdiff.submission.launch import LaunchConfig

_EDITED = frozenset(("config", "env"))


class Step(NamedTuple):
    """A fix, and what becomes of it."""

    fix: Fix
    edits: tuple[Edit, ...]
    line: int | None
    """Line of the launch file that it changes."""
    left_out: str | None
    """Why it is not made; None where it is."""


class Disagreement(NamedTuple):
    """An argument that the launch file gives otherwise than the log says the engine got it."""

    flag: str
    line: int
    in_file: str
    in_log: str


def chosen(report: Report, rules: Sequence[str]) -> list[Fix]:
    """The fixes of a report, in its order; only those that findings of some rules ask for."""
    if not rules:
        return report.fixes
    wanted = {fix for finding in report.findings if finding.rule in rules for fix in finding.fixes}
    return [fix for fix in report.fixes if fix.id in wanted]


def steps(fixes: Sequence[Fix], config: LaunchConfig, *, unsafe: bool) -> list[Step]:
    """What is made of fixes in a launch file.

    Args:
        fixes: in the order in which they are to be done.
        config: the server of the launch file.
        unsafe: whether those are made, too, that the evidence speaks against.
    """
    return [_step(fix, config, unsafe=unsafe) for fix in fixes]


def _step(fix: Fix, config: LaunchConfig, *, unsafe: bool) -> Step:
    if fix.kind not in _EDITED or not _is_definite(fix):
        return Step(fix, (), None, "by hand: " + (fix.reason or "no edit of this file"))
    if fix.safety != "safe" and not unsafe:
        return Step(fix, (), None, f"not advised: {fix.reason} (--unsafe writes it)")
    try:
        edits = _edits(fix, config)
    except EditRefusedError as error:
        return Step(fix, (), None, error.message)
    if not edits:
        return Step(fix, (), None, "the file says so already")
    return Step(fix, tuple(edits), config.file.line(edits[0].span.start), None)


def _is_definite(fix: Fix) -> bool:
    return fix.action == "remove" or fix.new is not None or fix.action == "add"


def _edits(fix: Fix, config: LaunchConfig) -> list[Edit]:
    if fix.kind == "env":
        if fix.action == "remove":
            raise EditRefusedError(f"{config.file.path}: take {fix.key} out by hand")
        return set_variable(config, fix.key, typed(fix.new))
    if fix.action == "remove":
        return remove_argument(config, fix.key)
    return set_argument(config, fix.key, None if fix.new in (None, True) else typed(fix.new))


def typed(value: Any) -> str:
    """A value as it is typed behind a flag or a variable."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def disagreements(config: LaunchConfig, run: Run, fixes: Sequence[Fix]) -> Iterator[Disagreement]:
    """Where the log says that the engine got something else than the launch file gives.

    Compared are plain values only: what a server prints of lists and objects is its own. What a
    fix asks for may be in the file already.
    """
    wanted = {canonical(fix.key): fix.new for fix in fixes if fix.kind == "config"}
    for argument in config.arguments:
        logged = run.facts.get(f"args.{argument.name}")
        if argument.name in wanted and _same(argument.value, wanted[argument.name]):
            continue
        if logged is None or isinstance(logged, (dict, list)) or "***" in str(logged):
            continue
        if "$" in str(argument.value) or _same(argument.value, logged):
            continue
        line = config.file.line(argument.span.start)
        flag = argument.flag or argument.name
        yield Disagreement(flag, line, typed(argument.value), typed(logged))


def _same(written: str | bool, logged: Any) -> bool:
    if typed(written) == typed(logged):
        return True
    try:
        return float(written) == float(logged)
    except (TypeError, ValueError):
        return str(written).rstrip("/") == str(logged).rstrip("/")
