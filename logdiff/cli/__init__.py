"""The command line. One module a command; what a command does not use is not imported."""

from __future__ import annotations

import os
import sys

DEBUG_VARIABLE = "LOGDIFF_DEBUG"
INTERRUPTED = 130
BROKEN_PIPE = 141
INTERNAL_ERROR = 70


def main() -> None:
    """Run the program and exit with its status."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        # Asked by scripts on every start: answered without loading anything else.
        from logdiff.version import __version__

        sys.stdout.write(f"logdiff {__version__}\n")
        sys.exit(0)
    import gc

    # What is read is bounded and holds hardly a cycle: collecting costs a twentieth of a run.
    gc.set_threshold(100_000)
    status = run(sys.argv[1:])
    sys.stderr.flush()
    # All files are closed and everything is written: taking the interpreter down object by
    # object would cost a sixth of a short run.
    os._exit(status)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status.

    0 pass · 1 findings at or above --fail-on · 2 usage, configuration or rule error ·
    3 nothing could be judged · 70 internal error · 130 interrupted · 141 the reader of the
    output has gone.
    """
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
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
    return status


def _run(arguments: list[str]) -> int:
    import click

    from logdiff.cli._group import root
    from logdiff.errors import LogdiffError

    try:
        result = root.main(arguments, prog_name="logdiff", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        error.show()
        return 2
    except click.Abort:
        raise KeyboardInterrupt from None
    except LogdiffError as error:
        _say(error.message, error.hint)
        return error.exit_status
    return result if isinstance(result, int) else 0


def _say(message: str, hint: str | None = None) -> None:
    from logdiff.render._columns import visible

    lines = [f"logdiff: {line}" if not n else line for n, line in enumerate(message.split("\n"))]
    if hint:
        lines.append(hint)
    sys.stderr.write("".join(f"{visible(line)}\n" for line in lines))
