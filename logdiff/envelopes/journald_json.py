"""``journalctl -o json``: one object of strings a line; what is no text is a list of byte values.

Format: https://systemd.io/JOURNAL_EXPORT_FORMATS/#journal-json-format. Without ``-a`` a message of
over 4,096 bytes is ``null``: what it said is not in the log.
"""

from __future__ import annotations

import re
from typing import Any

from logdiff.envelopes import EXAMPLE_TIME, Entry, _journal
from logdiff.envelopes._clock import microseconds
from logdiff.envelopes._json import encoded, parsed
from logdiff.patterns import compiled

NAME = "journald-json"

SAMPLES = (
    (
        b'{"MESSAGE":"INFO:     up","PRIORITY":"6","__REALTIME_TIMESTAMP":"1777716001000001"}',
        b"INFO:     up",
    ),
    (b'{"__REALTIME_TIMESTAMP":"1777716001000001","MESSAGE":[27,91,109,97]}', b"\x1b[ma"),
    (b'{"__REALTIME_TIMESTAMP":"1777716001000001","MESSAGE":null}', b"[too long"),
)

_TOO_LONG = b"[too long for journalctl -o json]"
LOST = compiled(re.escape(_TOO_LONG) + rb"$")
"""What stands in place of a message that is not in the log."""


def unwrap(line: bytes) -> Entry | None:
    """What a line says; ``None`` for a line that is not in this envelope."""
    if not line.startswith(b"{") or b'"__REALTIME_TIMESTAMP"' not in line:
        return None
    found = parsed(line)
    if found is None or "MESSAGE" not in found:
        return None
    fields = {name: _bytes(value) for name, value in found.items()}
    return _journal.entry(fields | {"MESSAGE": fields["MESSAGE"] or _of_none(found["MESSAGE"])})


def wrap(line: bytes, time: bytes = EXAMPLE_TIME) -> bytes:
    """A line as this transport would print it."""
    import json

    when = str(microseconds(time))
    return json.dumps({"MESSAGE": list(line), "__REALTIME_TIMESTAMP": when}).encode()


def _of_none(message: Any) -> bytes:
    return _TOO_LONG if message is None else b""


def _bytes(value: Any) -> bytes:
    """A field: a string, a list of byte values, or several values, the first of which counts."""
    if isinstance(value, list):
        if all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
            return bytes(value)
        return _bytes(value[0])
    return encoded(value) if isinstance(value, str) else b""
