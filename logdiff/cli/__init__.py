"""The command line. One module a command; what a command does not use is not imported."""

from __future__ import annotations

import os
import sys

from logdiff.cli import _streams

DEBUG_VARIABLE = "LOGDIFF_DEBUG"
BROKEN_PIPE = 141
INTERNAL_ERROR = 70


def main() -> None:
    """Run the program and exit with its status."""
    try:
        _streams.secure()
        arguments = sys.argv[1:]
        if not _asks_for_version(arguments):
            import gc

            _streams.leave_when_interrupted()
            # What is read is bounded and holds hardly a cycle: collecting costs a twentieth of a
            # run.
            gc.set_threshold(100_000)
        status = run(arguments)
        sys.stderr.flush()
    except KeyboardInterrupt:
        status = _streams.INTERRUPTED
    # All files are closed and everything is written: taking the interpreter down object by
    # object would cost a sixth of a short run.
    os._exit(status)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status.

    0 pass · 1 findings at or above --fail-on · 2 usage, configuration or rule error, or the
    result cannot be written · 3 nothing could be judged · 70 internal error · 130 interrupted ·
    141 the reader of the output has gone.
    """
    try:
        return _run(arguments)
    except _streams.ReaderGone:
        return BROKEN_PIPE
    except KeyboardInterrupt:
        _say("interrupted")
        return _streams.INTERRUPTED
    except MemoryError:
        _say("out of memory; name a smaller part of the log")
        return INTERNAL_ERROR
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        _say(
            f"internal error: {type(error).__name__}: {error}\n"
            f"Please report it with the output of the same command and {DEBUG_VARIABLE}=1."
        )
        return INTERNAL_ERROR


def _asks_for_version(arguments: list[str]) -> bool:
    """Whether the version is all that is asked for; scripts do so on every start."""
    return arguments in (["--version"], ["-V"])


def _run(arguments: list[str]) -> int:
    from logdiff.errors import LogdiffError

    try:
        status = _version() if _asks_for_version(arguments) else _command(arguments)
        sys.stdout.flush()
    except LogdiffError as error:
        _say(error.message, error.hint)
        return error.exit_status
    return status


def _version() -> int:
    # Nothing else is loaded for it.
    from logdiff.version import __version__

    sys.stdout.write(f"logdiff {__version__}\n")
    return 0


def _command(arguments: list[str]) -> int:
    from logdiff.cli._postponed import import_click

    import_click()
    import click

    from logdiff.cli._group import root

    try:
        result = root.main(arguments, prog_name="logdiff", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return 2
    except click.Abort:
        raise KeyboardInterrupt from None
    return result if isinstance(result, int) else 0


def _say(message: str, hint: str | None = None) -> None:
    from logdiff.render._columns import visible

    lines = [f"logdiff: {line}" if not n else line for n, line in enumerate(message.split("\n"))]
    if hint:
        lines.append(hint)
    sys.stderr.write("".join(f"{visible(line)}\n" for line in lines))
