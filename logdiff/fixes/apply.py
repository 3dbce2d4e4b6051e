"""Writes an edited file, so that nothing is lost whatever happens meanwhile."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress

from logdiff.errors import UsageError


def check(path: str, old: bytes) -> tuple[str, int]:
    """Make sure that a file may be replaced.

    Args:
        path: the file; a link is followed where it stays within the file's own directory.
        old: what was read of it, and must still be there.

    Returns:
        The file that the path leads to, and its mode.

    Raises:
        UsageError: the file has changed, cannot be read, or is a link out of its directory.
    """
    target = os.path.realpath(path)
    folder = os.path.realpath(os.path.dirname(path) or ".")
    if os.path.commonpath((folder, target)) != folder:
        raise UsageError(f"{path}: is a link to a file of another directory; nothing was written",
                         f"Name that file itself: {target}")  # fmt: skip
    try:
        with open(target, "rb") as file:
            if file.read() != old:
                raise UsageError(f"{path}: has changed since it was read; nothing was written")
            return target, os.fstat(file.fileno()).st_mode
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def write(path: str, old: bytes, new: bytes) -> None:
    """Replace the content of a file at once.

    Args:
        path: as in :func:`check`.
        old: what was read of it, and must still be there.
        new: what it is to hold.

    Raises:
        UsageError: as in :func:`check`, or the file cannot be written.
    """
    target, mode = check(path, old)
    try:
        _replace(target, new, mode)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error


def _replace(path: str, content: bytes, mode: int) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".logdiff-")
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode & 0o7777)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
