"""``logdiff compare``: a bad run against a known-good one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from logdiff.cli._group import Command
from logdiff.cli._options import (
    Output,
    emit_report,
    fail_on_option,
    good_submission_options,
    output_options,
    progress,
    report_status,
    submission_options,
)
from logdiff.errors import UsageError

if TYPE_CHECKING:
    from logdiff.submission.files import Named

_EPILOG = """\b
Examples:
  logdiff compare good.log bad.log
  logdiff compare "both.log#2" "both.log#1"      sections of one file; see logdiff inspect
  logdiff compare good.log bad.log -f json -o report.json -f text
  docker logs -t NAME 2>&1 | logdiff compare good.log -
  logdiff compare good.log bad.log --launch run.yaml --patch patch_ops.sh
  logdiff compare good/ bad/                     logs, launch files, scripts found in there

\b
Exit status: 0 pass, 1 findings at or above --fail-on, 2 usage error, 3 nothing could be judged.
"""


@click.command(cls=Command, epilog=_EPILOG)
@click.argument("good")
@click.argument("bad")
@submission_options
@good_submission_options
@output_options
@fail_on_option
def command(
    good: str,
    bad: str,
    output: Output,
    fail_on: str,
    files: Named | None,
    good_files: Named | None,
) -> int:
    """Say what is different in BAD that matters, what caused what, and what to change.

    GOOD and BAD are log files, or directories with a log and the files that made the run; FILE#N
    is section N of a file that holds several runs, and - is standard input.
    """
    from logdiff.pipeline import Reader, compare_runs

    if good == bad == "-":
        raise UsageError("standard input can be only one of the two runs")
    with Reader(progress()) as reader:
        report = compare_runs(reader.run(good, "good", good_files), reader.run(bad, "bad", files))
        emit_report(report, output, reader.paths)
    return report_status(report, fail_on)
