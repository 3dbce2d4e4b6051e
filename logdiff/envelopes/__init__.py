"""What a transport wraps round each line, one module a transport.

A module has ``NAME``, ``SAMPLES`` (line, payload), ``sniff(line)`` and ``unwrap(line)``.
Envelopes are recognised line by line, so they may change within a file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Unwrapped(NamedTuple):
    """Where the parts of a wrapped line are; offsets into the line."""

    envelope: str
    payload: int
    """First byte of what the program itself wrote."""
    time: tuple[int, int] | None
    """The transport's time stamp, to the second, ISO 8601 in UTC."""

    def moved(self, by: int) -> Unwrapped:
        """The same parts in a line that has ``by`` more bytes in front."""
        time = (self.time[0] + by, self.time[1] + by) if self.time else None
        return Unwrapped(self.envelope, self.payload + by, time)


def names() -> list[str]:
    """The envelopes there are: the modules of this folder, in order of name."""
    folder = os.path.dirname(__file__)
    return sorted(
        entry[:-3]
        for entry in os.listdir(folder)
        if entry.endswith(".py") and not entry.startswith("_")
    )


def unwrappers() -> list[Callable[[bytes], Unwrapped | None]]:
    """The ``unwrap`` of every envelope; the caller takes the first that recognises a line."""
    from importlib import import_module

    return [import_module(f"{__name__}.{name}").unwrap for name in names()]
