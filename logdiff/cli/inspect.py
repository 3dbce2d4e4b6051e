"""``logdiff inspect``: what is in a log."""

from __future__ import annotations

import click

from logdiff.cli._group import Command
from logdiff.cli._options import Output, emit, output_options, progress

_EPILOG = """\b
Examples:
  logdiff inspect both.log
  logdiff inspect good.log bad.log -f json

\b
Exit status: 0 all logs were read, 2 usage error, 3 a log is empty, binary or unreadable.
"""


@click.command(cls=Command, epilog=_EPILOG)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@output_options
def command(runs: tuple[str, ...], output: Output) -> int:
    """List the sections, starts and main facts of each RUN, so that one can be named."""
    from logdiff.pipeline import Reader
    from logdiff.render.document import build_inspection

    with Reader(progress()) as reader:
        logs = [reader.log(run) for run in runs]
        inspection = build_inspection(
            (read.log, read.size if read.sources else None) for read in logs
        )
        emit(
            lambda renderer, options: renderer.render_inspect(inspection, options),
            output,
            reader.paths,
        )
    return 0 if all(read.sources for read in logs) else 3
