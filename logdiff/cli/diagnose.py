"""``logdiff diagnose``: one run by itself."""

from __future__ import annotations

import click

from logdiff.cli._options import (
    Output,
    emit_report,
    fail_on_option,
    output_options,
    progress,
    report_status,
)

_EPILOG = """\b
Examples:
  logdiff diagnose bad.log
  docker logs -t NAME 2>&1 | logdiff diagnose -
  logdiff diagnose bad.log --fail-on high -f json

\b
Exit status: 0 pass, 1 findings at or above --fail-on, 2 usage error, 3 nothing could be judged.
"""


@click.command(epilog=_EPILOG)
@click.argument("run")
@output_options
@fail_on_option
def command(run: str, output: Output, fail_on: str) -> int:
    """Say what is wrong in RUN, without a known-good run to compare it with.

    RUN is a log file, FILE#N for section N of a file that holds several runs, or - for standard
    input. Every section and every start of the server is judged.
    """
    from logdiff.pipeline import Reader, diagnose_runs

    with Reader(progress()) as reader:
        report = diagnose_runs(reader.runs(run))
        emit_report(report, output, reader.paths)
    return report_status(report, fail_on)
