"""What a transport wraps round each line, one module a transport.

There are two kinds. ``docker_timestamps`` is taken off where the line stands, so it may come and go
within a file. All others change the text (quoting, parts of lines, several services in turns): of a
file in one of them, :mod:`logdiff.envelopes._copies` makes plain copies, in which every line keeps
its number.

A module of either kind has ``NAME``, ``SAMPLES`` (line, payload), ``unwrap(line)`` and, for tests,
``wrap(line, time)``. One whose lines depend on others has ``entries(lines)`` besides or instead,
which yields what each says: ``None`` (not in this envelope), one :class:`Entry` or a list of them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

Span = tuple[int, int]
EXAMPLE_TIME = b"2026-05-02T10:00:01.000000001Z"
"""What stands in a line that is wrapped as an example."""


class Unwrapped(NamedTuple):
    """Where the parts of a line that stays as it is are; offsets into the line."""

    envelope: str
    payload: int
    """First byte of what the program itself wrote."""
    time: Span | None
    """The transport's time stamp, to the second, ISO 8601 in UTC."""
    cuts: tuple[Span, ...] = ()
    """What the transport put in the midst of the payload, in order."""

    def moved(self, by: int) -> Unwrapped:
        """The same parts in a line that has ``by`` more bytes in front."""
        time = (self.time[0] + by, self.time[1] + by) if self.time else None
        cuts = tuple((start + by, end + by) for start, end in self.cuts)
        return Unwrapped(self.envelope, self.payload + by, time, cuts)


class Entry(NamedTuple):
    """What one line of a transport that changes the text says."""

    payload: bytes
    """What the program wrote; a line end in its midst stands for itself."""
    time: bytes | None = None
    """RFC 3339 in UTC with nine decimals; ``None`` = the transport gives no complete time."""
    service: bytes | None = b""
    """Whose line it is, where several share a file; ``None`` = it concerns all of them."""
    stream: bytes = b""
    """Parts of one line are joined within a stream of a service."""
    ends: bool = True
    """Whether the line ends here; ``False`` = the rest follows in the same stream."""
    damaged: bool = False
    """Whether the transport's own marks are wrong, so that the payload may be, too."""


def names() -> list[str]:
    """The envelopes there are: the modules of this folder, in order of name."""
    folder = os.path.dirname(__file__)
    return sorted(
        entry[:-3]
        for entry in os.listdir(folder)
        if entry.endswith(".py") and not entry.startswith("_")
    )


def unwrappers() -> list[Callable[[bytes], Unwrapped | None]]:
    """The ``unwrap`` of every envelope that leaves the line as it is."""
    from logdiff.envelopes import docker_timestamps

    return [docker_timestamps.unwrap]
