"""Standard output and error: written whole whatever they are, or failing in one known way."""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False
"""As in :mod:`typing`, which takes longer to import than all else that this module needs."""
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

INTERRUPTED = 130

unfinished: set[str] = set()
"""Files that are removed when the program is interrupted."""


class ReaderGone(Exception):
    """Nobody reads standard output any more.

    No ``OSError``: click would end the program with a status of its own.
    """


class _Raw(io.RawIOBase):
    """What is below a standard stream, or nothing where that is closed."""

    def __init__(self, below: Any, failed: Callable[[OSError], None]) -> None:
        self._below = below
        self._failed = failed

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._below is not None and bool(self._below.isatty())

    def fileno(self) -> int:
        return super().fileno() if self._below is None else int(self._below.fileno())

    def write(self, data: Any, /) -> int:
        """Write a part, as any raw stream does; the buffer above asks until all is written."""
        try:
            if self._below is None:
                raise OSError("it is closed")
            while (written := self._below.write(data)) is None:
                # The other side made it non-blocking and is slow.
                import select

                select.select([], [self._below], [])
        except OSError as error:
            self._failed(error)
            return len(data)
        return int(written)


def _refuse(error: OSError) -> None:
    from logdiff.errors import UsageError

    if isinstance(error, BrokenPipeError):
        raise ReaderGone from None
    message = f"standard output cannot be written: {error.strerror or error}"
    raise UsageError(message, "Send it where there is room, for example to another file.") from None


def _ignore(_: OSError) -> None:
    """There is no place left where it could be told."""


def secure() -> None:
    """Make standard output fail as :func:`_refuse` says, and standard error never."""
    sys.stdout = _secured(sys.stdout, _refuse)
    sys.stderr = _secured(sys.stderr, _ignore, line_buffering=True)


def _secured(
    stream: TextIO | None, failed: Callable[[OSError], None], *, line_buffering: bool = False
) -> TextIO:
    # With PYTHONUNBUFFERED, the buffer is the raw stream itself, which may write a part only.
    buffer = stream.buffer if stream else None
    raw = io.BufferedWriter(_Raw(getattr(buffer, "raw", buffer), failed))
    encoding, errors = (stream.encoding, stream.errors) if stream else ("utf-8", "replace")
    return io.TextIOWrapper(raw, encoding, errors, line_buffering=line_buffering)


def leave_when_interrupted() -> None:
    """Have an interrupt end the program at once.

    As an exception it could be lost, or turned into another one, in the midst of an import.
    """
    # Without the names of all signals, which the module around it makes.
    import _signal as signal  # type: ignore[import-not-found]

    # Where it is ignored, as in what a shell runs in the background, it stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)


def _interrupted(*_: object) -> None:
    try:
        for path in filter(os.path.lexists, unfinished):
            os.unlink(path)
        # Not through a stream, which may be in use just now.
        os.write(sys.stderr.fileno(), b"\nlogdiff: interrupted\n")
    finally:
        os._exit(INTERRUPTED)
