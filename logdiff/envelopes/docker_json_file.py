r"""Docker's json-file: one JSON object a line, ``{"log":"text\n","stream":"stderr","time":"…"}``.

Format: https://docs.docker.com/engine/logging/drivers/json-file/. A line of over 16 KiB is kept in
several objects, of which only the last has the line feed.
"""

from __future__ import annotations

from logdiff.envelopes import EXAMPLE_TIME, Entry
from logdiff.envelopes._clock import in_utc
from logdiff.envelopes._json import encoded, parsed
from logdiff.patterns import compiled

NAME = "docker-json-file"

SAMPLES = (
    (
        rb'{"log":"INFO:     a \u003c b\n","stream":"stderr","time":"2026-05-02T10:00:01.0125Z"}',
        b"INFO:     a < b",
    ),
    (
        rb'{"log":"up\r\n","stream":"stdout","attrs":{"tag":"a"},"time":"2026-05-02T10:00:01Z"}',
        b"up\r",
    ),
    (b'{"time":"2026-05-02T10:00:01Z","stream":"stdout","log":"up"}', b"up"),
)


_LEAST_PART = 1 << 13
"""Bytes of a line from which on the daemon keeps it in several parts, at least."""
_SIMPLE = compiled(
    rb'\{"log":"([^"\\]*)(\\n)?","stream":"(\w{1,20})","time":"([^"\\]{1,40})"\}\r*$'
)
"""A line as the daemon writes it that needs no unquoting, in a fraction of the time."""


def unwrap(line: bytes) -> Entry | None:
    """What a line says; ``None`` for a line that is not in this envelope."""
    if simple := _SIMPLE.match(line):
        text, ends, stream, when = simple.groups()
        whole = ends is not None or len(text) < _LEAST_PART
        return Entry(text, in_utc(when), stream=stream, ends=whole)
    if not (line.startswith(b"{") and b'"log":' in line):
        return None
    found = parsed(line)
    if found is None:
        return None
    log, stream, time = (found.get(key) for key in ("log", "stream", "time"))
    # A program may log objects with a text of the same name.
    if not (isinstance(log, str) and isinstance(stream, str) and isinstance(time, str)):
        return None
    text = encoded(log)
    return Entry(
        text.removesuffix(b"\n"),
        in_utc(encoded(time)),
        stream=encoded(stream),
        # Other collectors keep lines without their ends; parts are far longer.
        ends=text.endswith(b"\n") or len(text) < _LEAST_PART,
    )


def wrap(line: bytes, time: bytes = EXAMPLE_TIME) -> bytes:
    """A line as this transport would keep it."""
    import json

    log = line.decode("utf-8", "replace") + "\n"
    return json.dumps({"log": log, "stream": "stdout", "time": time.decode()}).encode()
