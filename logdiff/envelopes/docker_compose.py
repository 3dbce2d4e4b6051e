"""``docker compose logs`` and ``up``: the name of the container, blanks and a bar before each line.

Format: https://docs.docker.com/reference/cli/docker/compose/logs/. Names are padded to one width,
which changes within a capture; escape sequences come even into files. With ``-t`` the time stands
behind the bar, as ``docker logs -t`` prints it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.envelopes import Entry
from logdiff.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "docker-compose"

SAMPLES = (
    (b"serving-1  | INFO:     up", b"INFO:     up"),
    (b"\x1b[2K\x1b[36mweb_1    | \x1b[0mlistening", b"listening"),
    (b"\x1b[33mweb_1    |\x1b[0m listening", b"listening"),
    (b"serving-1  | ", b""),
)

_RESET = rb"(?:\x1b\[0?m)?"
_LINE = compiled(
    rb"(?:\x1b\[[\d;]{0,12}[A-Za-z])*"
    # A level in front of a bar is a logger's.
    rb"(?!(?i:trace|debug|info|notice|success|warn|warning|error|critical|fatal) )"
    rb"([\w.-]{1,100}) +\|" + _RESET + rb"(?: |(?=\r*$))" + _RESET
)


def unwrap(line: bytes) -> Entry | None:
    """What a line says; ``None`` for a line that is not in this envelope."""
    match = _LINE.match(line)
    return Entry(line[match.end() :], service=match[1]) if match else None


def is_table(payloads: Sequence[bytes]) -> bool:
    """Whether the bars belong to a table: behind a name there are more of them."""
    return sum(b" |" in payload for payload in payloads) * 10 > len(payloads) * 9


def wrap(line: bytes) -> bytes:
    """A line as this transport would print it."""
    return b"serving-1  | " + line
