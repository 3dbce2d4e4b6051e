"""What several commands share: options, progress, and where the result goes."""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from logdiff.cli import _streams
from logdiff.cli._group import Option
from logdiff.errors import UsageError
from logdiff.model import SEVERITIES
from logdiff.render import FORMATS
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from logdiff.model import Report
    from logdiff.render import Options
    from logdiff.submission.files import Named

_BY_SUFFIX = {".json": "json", ".md": "markdown", ".markdown": "markdown", ".txt": "text"}
_DEFAULT_WIDTH = 80
_WIDTH_DIGITS = 5
"""Digits of ``COLUMNS`` that are read; no terminal has more."""
_PROGRESS_AFTER_SECONDS = 0.5


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``-f``, ``-o``, ``-v`` and ``--color``; a command takes them as one ``output``."""

    @functools.wraps(command)
    def with_output(
        formats: tuple[str, ...],
        outputs: tuple[str, ...],
        color: str,
        verbose: int,
        **others: Any,
    ) -> Any:
        return command(output=Output(formats, outputs, color, verbose), **others)

    decorated: Callable[..., Any] = with_output
    for option in (
        click.option(
            "--color",
            cls=Option,
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            help="Colour in text: on a terminal, always, or never.  [default: auto]",
        ),
        click.option(
            "-v",
            "--verbose",
            cls=Option,
            count=True,
            help="All evidence and all differences.",
        ),
        click.option(
            "-o",
            "outputs",
            cls=Option,
            metavar="FILE",
            multiple=True,
            help="Write the result to FILE. With several -f, the first -o takes the first.",
        ),
        click.option(
            "-f",
            "formats",
            cls=Option,
            type=click.Choice(FORMATS),
            multiple=True,
            help="Format of the result; may be repeated.  [default: text]",
        ),
    ):
        decorated = option(decorated)
    return decorated


def submission_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--launch``, ``--patch``, ``--dockerfile``, ``--service``: files that made BAD.

    A command takes them as one ``files``, None where none is named.
    """

    @functools.wraps(command)
    def with_files(
        launch: str | None,
        patch: tuple[str, ...],
        dockerfile: str | None,
        service: str | None,
        **others: Any,
    ) -> Any:
        return command(files=named_files(launch, patch, dockerfile, service), **others)

    decorated: Callable[..., Any] = with_files
    for name, kind, text in (
        ("--service", "NAME", "Which server of the launch file is meant."),
        ("--dockerfile", "FILE", "Dockerfile of BAD."),
        ("--patch", "FILE", "Script that puts files into the image of BAD; may be repeated."),
        ("--launch", "FILE", "Launch file of BAD."),
    ):
        decorated = click.option(
            name, cls=Option, metavar=kind, multiple=name == "--patch", help=text
        )(decorated)
    return decorated


def good_submission_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for GOOD; a command takes them as ``good_files``."""

    @functools.wraps(command)
    def with_files(
        good_launch: str | None,
        good_patch: tuple[str, ...],
        good_dockerfile: str | None,
        **others: Any,
    ) -> Any:
        return command(good_files=named_files(good_launch, good_patch, good_dockerfile), **others)

    decorated: Callable[..., Any] = with_files
    for name in ("--good-dockerfile", "--good-patch", "--good-launch"):
        decorated = click.option(
            name,
            cls=Option,
            metavar="FILE",
            multiple=name == "--good-patch",
            help=f"The same as {name.replace('good-', '')}, of GOOD.",
        )(decorated)
    return decorated


def named_files(
    launch: str | None,
    patches: tuple[str, ...],
    dockerfile: str | None,
    service: str | None = None,
) -> Named | None:
    """Submission files that the user named, if there are any."""
    if not (launch or patches or dockerfile or service):
        return None
    from logdiff.submission.files import Named

    return Named(launch, patches, dockerfile, service)


def fail_on_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--fail-on``."""
    return click.option(
        "--fail-on",
        cls=Option,
        type=click.Choice([*SEVERITIES, "never"]),
        default="never",
        show_default=True,
        help="Exit with status 1 if a finding about the bad run is at least this severe.",
    )(command)


class Output(NamedTuple):
    """Where a result goes, and how it looks there."""

    formats: tuple[str, ...]
    """Names of formats, in the order given."""
    paths: tuple[str, ...]
    """Files, paired with the formats; a format without a file goes to stdout."""
    color: str
    """``auto``, ``always`` or ``never``."""
    verbose: int


def report_status(report: Report, fail_on: str) -> int:
    """The exit status that a report asks for."""
    if report.status == "unjudged":
        return 3
    if fail_on == "never":
        return 0
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return int(any(f.severity in failing and f.run == "bad" for f in report.findings))


def emit_report(report: Report, output: Output, inputs: Sequence[str]) -> None:
    """Write a report in each of the formats asked for; see :func:`emit`."""
    from logdiff.quote import quote
    from logdiff.render.document import build

    document = build(report, quote)
    emit(lambda renderer, options: renderer.render(document, options), output, inputs)


def emit(produce: Callable[[Any, Options], str], output: Output, inputs: Sequence[str]) -> None:
    """Write a result in each of the formats asked for.

    Args:
        produce: makes the text from a renderer and its options.
        output: the formats and files.
        inputs: the files that were read; none of them is ever written over.

    Raises:
        UsageError: a file cannot be written, is one of those that are read, or is given twice.
    """
    from logdiff import render

    _refuse_overwriting(output.paths, inputs)
    for name, path in _pairs(output.formats, output.paths):
        colored = _colored(output.color, path)
        options = render.Options(_width(path), colored, output.verbose)
        text = produce(render.load(name), options)
        if path is None:
            _print(text)
        else:
            _write(path, text)


def _pairs(formats: Sequence[str], outputs: Sequence[str]) -> list[tuple[str, str | None]]:
    unnamed = outputs[len(formats) :]
    endings = (os.path.splitext(path)[1].lower() for path in unnamed)
    names = [*formats, *(_BY_SUFFIX.get(ending, "text") for ending in endings)]
    paths = [*outputs, *[None] * (len(names) - len(outputs))]
    return list(zip(names, paths, strict=True)) or [("text", None)]


def _width(path: str | None) -> int:
    if path is not None:
        return _DEFAULT_WIDTH
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns[:_WIDTH_DIGITS]):
        return int(columns[:_WIDTH_DIGITS])
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _DEFAULT_WIDTH
    except (OSError, ValueError):
        return _DEFAULT_WIDTH


def _colored(color: str, path: str | None) -> bool:
    if color != "auto" or path is not None:
        return color == "always" and path is None
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        from logdiff.render.text import ascii_fallback

        data = ascii_fallback(text).encode(encoding, "backslashreplace")
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _refuse_overwriting(paths: Sequence[str], inputs: Sequence[str]) -> None:
    """Refuse files that are read, or that two results would be written to."""
    targets = set()
    for path in paths:
        if _is_special(path):
            continue
        if any(_is_same(path, 0 if source == "-" else source) for source in inputs):
            raise UsageError(f"{path}: is a log that is being read; it is not overwritten")
        target = os.path.realpath(path)
        if target in targets:
            raise UsageError(f"{path}: is given to -o twice", "Name a file of its own for each.")
        targets.add(target)


def _is_same(path: str, other: str | int) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _is_special(path: str) -> bool:
    """Whether a path is there but is no file that could be replaced: a device, pipe or folder."""
    return os.path.exists(path) and not os.path.isfile(path)


_PRIVATE = 0o600
"""Mode of a file that nobody else may read before it is complete."""


def _write(path: str, text: str) -> None:
    """Write a file whole or not at all; a link stays, and what it leads to is written."""
    try:
        if _is_special(path):
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        else:
            _replace(os.path.realpath(path), text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None


def _replace(target: str, text: str) -> None:
    """Write beside the file under a name nobody can foresee, then take its place."""
    mode = _mode(target)
    folder, name = os.path.split(target)
    # As tempfile does it, whose import takes a tenth of a short run.
    temporary = os.path.join(folder, f"{name[:50]}.{os.urandom(8).hex()}.tmp")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(temporary, flags | getattr(os, "O_BINARY", 0), _PRIVATE)
    _streams.unfinished.add(temporary)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            if os.chmod in os.supports_fd:
                os.chmod(descriptor, mode)
            file.write(text)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    finally:
        _streams.unfinished.discard(temporary)


def _mode(target: str) -> int:
    """The permissions of a file that is there, or those that a new one gets."""
    try:
        return os.stat(target).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def progress() -> Callable[[str, int, int | None], None] | None:
    """Tells on stderr how far reading has come, on a terminal and after half a second."""
    if not sys.stderr.isatty():
        return None
    import time

    began = time.monotonic()
    last = [0.0]

    def tell(path: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if total is not None and done >= total:
            if last[0]:
                sys.stderr.write("\r\x1b[K")
        elif now - began > _PROGRESS_AFTER_SECONDS and now - last[0] > 0.1:
            last[0] = now
            name = os.path.basename(path)[:40].encode("ascii", "replace").decode()
            if total is None:
                how_to_end = "; Ctrl-C ends the log here" if path == "<stdin>" else ""
                text = f"{done / 1e3:,.0f} kB so far{how_to_end}"
            else:
                rate = done / (now - began) / 1e6
                text = f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB, {rate:,.0f} MB/s"
            sys.stderr.write(f"\r\x1b[K{name}: {text}")
            sys.stderr.flush()

    return tell
