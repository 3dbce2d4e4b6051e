"""``logdiff inspect``: what is in a log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from logdiff.cli._group import Command
from logdiff.cli._options import Output, emit, output_options, progress

if TYPE_CHECKING:
    from logdiff.submission.files import Submission

_EPILOG = """\b
Examples:
  logdiff inspect both.log
  logdiff inspect good.log bad.log -f json
  logdiff inspect bad/                          logs, launch files, scripts in there

\b
Exit status: 0 all logs were read, 2 usage error, 3 a log is empty, binary or unreadable.
"""


@click.command(cls=Command, epilog=_EPILOG)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@output_options
def command(runs: tuple[str, ...], output: Output) -> int:
    """List the sections, starts and main facts of each RUN, so that one can be named.

    RUN is a log or a directory; what the submission files of a directory are is said on stderr.
    """
    from logdiff.pipeline import Reader
    from logdiff.render.document import build_inspection

    with Reader(progress()) as reader:
        found = [reader.logs_in(run) for run in runs]
        logs = [read for several, _ in found for read in several]
        inspection = build_inspection(
            (read.log, read.size if read.sources else None) for read in logs
        )
        emit(
            lambda renderer, options: renderer.render_inspect(inspection, options),
            output,
            reader.paths,
        )
    for _, submission in found:
        if submission is not None:
            _tell(submission)
    return 0 if all(read.sources for read in logs) else 3


def _tell(submission: Submission) -> None:
    from logdiff.render._columns import visible
    from logdiff.submission.files import described

    for line in described(submission):
        sys.stderr.write(f"{visible(line)}\n")
