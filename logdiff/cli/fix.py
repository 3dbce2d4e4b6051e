"""``logdiff fix``: the fixes of a comparison as one patch of the files that made the bad run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from logdiff.cli._group import Command, Option
from logdiff.cli._options import good_submission_options, progress, submission_options
from logdiff.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from logdiff.fixes.plan import Plan
    from logdiff.model import Report, Run
    from logdiff.pipeline import Reader
    from logdiff.submission.files import Named, Submission

_EPILOG = """\b
Examples:
  logdiff fix good.log bad/                                   launch file and scripts found in bad/
  logdiff fix good.log bad.log --launch run.yaml --patch patch_ops.sh
  logdiff fix good.log bad.log --launch run.yaml | git apply
  logdiff fix good.log bad.log --launch run.yaml --write      changes run.yaml itself
  logdiff fix good.log bad/ --verify next.log                 did the next run show what it should?

\b
Exit status: 0 done or nothing to do (--verify: every fix confirmed or not reached), 1 --verify: a
fix is not confirmed, 2 usage error or a file that cannot be edited, 3 nothing could be judged.
"""


@click.command(cls=Command, epilog=_EPILOG)
@click.argument("good")
@click.argument("bad")
@submission_options
@good_submission_options
@click.option("--only", cls=Option, multiple=True, metavar="RULE", help="Only fixes of this rule.")
@click.option(
    "--unsafe",
    cls=Option,
    is_flag=True,
    help="Also fixes that are not advised, and other ways to the same end.",
)
@click.option("--write", cls=Option, is_flag=True, help="Change the files, print no patch.")
@click.option(
    "--verify", cls=Option, metavar="LOG", help="Say of each fix whether the next run shows it."
)
def command(
    good: str,
    bad: str,
    files: Named | None,
    good_files: Named | None,
    only: Sequence[str],
    unsafe: bool,
    write: bool,
    verify: str | None,
) -> int:
    """Turn what compare advises into one patch of the files that made BAD.

    BAD is a directory that holds them, or they are named. The patch is on stdout; what it does,
    and what is left to do by hand, on stderr.
    """
    from logdiff.fixes import plan
    from logdiff.pipeline import Reader, compare_runs

    with Reader(progress()) as reader:
        bad_run = reader.run(bad, "bad", files)
        good_run = reader.run(good, "good", good_files)
        report = compare_runs(good_run, bad_run)
        if report.status == "unjudged":
            raise UsageError(f"{bad}: nothing could be judged, so there is nothing to fix")
        if verify:
            return _verify(reader, report, verify, only)
        shown = _shown(report)
    submission = _submission(bad, bad_run)
    fixes = plan.chosen(report, only)
    ways = plan.alternatives(report)
    made = plan.make(fixes, submission, unsafe=unsafe, other_ways=ways)
    agrees = _agrees(submission, bad_run, report)
    _tell(made, shown)
    if not write:
        return _print(made.files, submission)
    if not agrees and not unsafe:
        raise UsageError(f"{bad}: the launch file is not what ran; nothing was written",
                         "--unsafe writes it.")  # fmt: skip
    return _write(made.files, submission)


def _submission(bad: str, run: Run) -> Submission:
    """The files that are edited; all of them, or none."""
    submission: Submission | None = run.submission
    if submission is not None and submission.unread:
        raise UsageError("\n".join(message for _, message in submission.unread))
    if not submission:
        raise UsageError(
            f"{bad}: no file is at hand that could be edited",
            "Name the run's directory, or the files with --launch, --patch and --dockerfile.",
        )
    return submission


def _agrees(submission: Submission, run: Run, report: Report) -> bool:
    """Whether the launch file can be what ran; says where it cannot."""
    from logdiff.fixes.plan import disagreements

    config = submission.launch
    found = disagreements(config, run, report.fixes) if config else []
    for flag, line, in_file, in_log in found:
        assert config is not None  # without one nothing is found
        _say(f"{config.file.path}:{line}: {flag} is {in_file}, but the engine got {in_log}")
    if found:
        _say("launch-file-not-used: this file is not what ran")
    return not found


def _shown(report: Report) -> dict[str, dict[str, Any]]:
    """The fixes of a report as its readers are shown them, by their ids."""
    from logdiff.quote import quote
    from logdiff.render.document import build

    return {fix["id"]: fix for fix in build(report, quote)["fixes"]}


def _words(fix: dict[str, Any]) -> str:
    """What a fix does, in the words of ``compare``."""
    from logdiff.render._columns import NO_BREAK
    from logdiff.render._phrases import fix_words

    return f"{fix['kind']:8} {fix_words(fix).replace(NO_BREAK, ' ')}"


def _tell(made: Plan, shown: Mapping[str, dict[str, Any]]) -> None:
    for number, (fix, path, line, left_out) in enumerate(made.steps, 1):
        known = shown[fix.id]
        _say(f"{number:2}  {_words(known)}\n    {left_out or f'{path}:{line}'}")
        if known["confirm_by"] and not left_out:
            _say(f"    the next run shows: {known['confirm_by']}")
    if not made.steps:
        _say("no fix is known")


def _print(files: Mapping[str, bytes], submission: Submission) -> int:
    from logdiff.fixes.edits import unified_diff
    from logdiff.fixes.plan import names_in_patch

    base, names = names_in_patch(files)
    if base:
        _say(f"the paths of the patch begin in {base}: git -C {base} apply")
    for path, new in files.items():
        diff = unified_diff(names[path], submission.files[path].data, new)
        sys.stdout.buffer.write(diff)
    return 0


def _write(files: Mapping[str, bytes], submission: Submission) -> int:
    from logdiff.fixes import apply

    for path in files:
        apply.check(path, submission.files[path].data)
    for path, new in files.items():
        apply.write(path, submission.files[path].data, new)
        _say(f"written: {path}")
    return 0


def _verify(reader: Reader, report: Report, path: str, rules: Sequence[str]) -> int:
    """Say of each fix what the next run shows of it."""
    from logdiff.fixes.plan import chosen
    from logdiff.fixes.verify import outcomes
    from logdiff.pipeline import compare_runs

    assert report.good is not None  # fix always compares
    after = compare_runs(report.good, reader.run(path, "bad"))
    if after.status == "unjudged":
        raise UsageError(f"{path}: nothing could be judged, so nothing can be confirmed")
    found = outcomes(chosen(report, rules), report, after)
    shown = _shown(report)
    for fix, outcome, why in found:
        words = _line(_words(shown[fix.id]))
        sys.stdout.write(f"{outcome:14} {words}\n{'':14} {_line(why)}\n")
    if not found:
        _say("no fix is known")
    return int(any(outcome == "not confirmed" for _, outcome, _ in found))


def _line(text: str) -> str:
    from logdiff.render._columns import visible

    return visible(text)


def _say(text: str) -> None:
    sys.stderr.write("".join(f"{_line(line)}\n" for line in text.split("\n")))
