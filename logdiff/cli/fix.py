"""``logdiff fix``: the fixes of a comparison as one patch of the launch file."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from logdiff.cli._group import Command, Option
from logdiff.cli._options import progress
from logdiff.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logdiff.fixes.plan import Step
    from logdiff.model import Fix, Run
    from logdiff.submission.launch import LaunchConfig

_EPILOG = """\b
Examples:
  logdiff fix good.log bad.log --launch run.yaml              the patch, on stdout
  logdiff fix good.log bad.log --launch run.yaml | git apply
  logdiff fix good.log bad.log --launch run.yaml --write      changes run.yaml itself

\b
Exit status: 0 done or nothing to do, 2 usage error or a file that cannot be edited, 3 nothing
could be judged.
"""


@click.command(cls=Command, epilog=_EPILOG)
@click.argument("good")
@click.argument("bad")
@click.option("--launch", cls=Option, required=True, metavar="FILE", help="Launch file of BAD.")
@click.option("--service", cls=Option, metavar="NAME", help="Which server of FILE is meant.")
@click.option("--only", cls=Option, multiple=True, metavar="RULE", help="Only fixes of this rule.")
@click.option("--unsafe", cls=Option, is_flag=True, help="Also fixes that are not advised.")
@click.option("--write", cls=Option, is_flag=True, help="Change FILE instead of printing a patch.")
def command(
    good: str,
    bad: str,
    launch: str,
    service: str | None,
    only: Sequence[str],
    unsafe: bool,
    write: bool,
) -> int:
    """Turn what compare advises into one patch of the launch file of BAD.

    The patch is on stdout; what it does, and what is left to do by hand, on stderr.
    """
    from logdiff.fixes import apply, plan
    from logdiff.fixes.edits import apply_edits, unified_diff
    from logdiff.pipeline import Reader, compare_runs
    from logdiff.submission.launch import open_launch, read_launch

    config = _server(read_launch(open_launch(launch)), launch, service)
    with Reader(progress()) as reader:
        bad_run = reader.run(bad, "bad")
        report = compare_runs(reader.run(good, "good"), bad_run)
    if report.status == "unjudged":
        raise UsageError(f"{bad}: nothing could be judged, so there is nothing to fix")
    agrees = _agrees(config, bad_run, report.fixes)
    steps = plan.steps(plan.chosen(report, only), config, unsafe=unsafe)
    _tell(steps, config)
    old = config.file.data
    new = apply_edits(old, [edit for step in steps for edit in step.edits])
    if not write:
        sys.stdout.buffer.write(unified_diff(_shown(launch), old, new))
        return 0
    if not agrees and not unsafe:
        raise UsageError(f"{launch}: is not what ran; nothing was written", "--unsafe writes it.")
    if new != old:
        apply.write(launch, old, new)
    return 0


def _server(configs: list[LaunchConfig], path: str, name: str | None) -> LaunchConfig:
    found = [config for config in configs if name in (None, config.name)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(config.name or config.program for config in configs)
    what = f"starts no server '{name}'" if name else f"starts {len(found)} servers"
    raise UsageError(f"{path}: {what}; --service says which of these is meant: {names}")


def _agrees(config: LaunchConfig, run: Run, fixes: Sequence[Fix]) -> bool:
    """Whether the file can be what ran; says where it cannot."""
    from logdiff.fixes.plan import disagreements

    found = list(disagreements(config, run, fixes))
    for flag, line, in_file, in_log in found:
        _say(f"{config.file.path}:{line}: {flag} is {in_file}, but the engine got {in_log}")
    if found:
        _say("launch-file-not-used: this file is not what ran")
    return not found


def _tell(steps: Sequence[Step], config: LaunchConfig) -> None:
    from logdiff.fixes.plan import typed

    for number, (fix, _, line, left_out) in enumerate(steps, 1):
        value = f" → {typed(fix.new)}" if fix.new is not None else ""
        where = left_out or f"{config.file.path}:{line}"
        _say(f"{number:2}  {fix.kind} {fix.action} {fix.key}{value}\n    {where}")
    if not steps:
        _say("no fix is known")


def _shown(path: str) -> str:
    """The path as a patch names it: from here, where the file is below."""
    relative = os.path.relpath(path).replace(os.sep, "/")
    return os.path.basename(path) if relative.startswith("../") else relative


def _say(text: str) -> None:
    from logdiff.render._columns import visible

    sys.stderr.write("".join(f"{visible(line)}\n" for line in text.split("\n")))
