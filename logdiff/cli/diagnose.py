"""``logdiff diagnose``: one run by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from logdiff.cli._group import Command
from logdiff.cli._options import (
    Output,
    emit,
    fail_on_option,
    output_options,
    progress,
    report_status,
    submission_options,
)

if TYPE_CHECKING:
    from logdiff.render import Options
    from logdiff.submission.files import Named

_EPILOG = """\b
Examples:
  logdiff diagnose bad.log
  docker logs -t NAME 2>&1 | logdiff diagnose -
  logdiff diagnose bad.log --fail-on high -f json

\b
Exit status: 0 pass, 1 findings at or above --fail-on, 2 usage error, 3 nothing could be judged; of
several sections the worst of these.
"""

_WORST_LAST = (0, 3, 1)


@click.command(cls=Command, epilog=_EPILOG)
@click.argument("run")
@submission_options
@output_options
@fail_on_option
def command(run: str, output: Output, fail_on: str, files: Named | None) -> int:
    """Say what is wrong in RUN, without a known-good run to compare it with.

    RUN is a log file, FILE#N for section N of a file that holds several runs, a directory with a
    log and the files that made the run, or - for standard input. Every section and every start of
    the server is judged; each section is a report of its own, except in JSON, which is one
    document.
    """
    from itertools import groupby

    from logdiff.pipeline import Reader, diagnose_runs
    from logdiff.quote import quote
    from logdiff.render.document import build

    with Reader(progress()) as reader:
        runs = reader.runs(run, files)
        sections = groupby(runs, key=lambda run: run.section.number)
        reports = [diagnose_runs(list(starts)) for _, starts in sections]

        def produce(renderer: Any, options: Options) -> str:
            joined = renderer.ONE_DOCUMENT and len(reports) > 1
            shown = [diagnose_runs(runs)] if joined else reports
            return "\n".join(renderer.render(build(report, quote), options) for report in shown)

        emit(produce, output, reader.paths)
    return max((report_status(report, fail_on) for report in reports), key=_WORST_LAST.index)
