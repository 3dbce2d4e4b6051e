"""What the forms of the systemd journal share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from logdiff.envelopes import Entry

_OF_THE_HOST = frozenset((b"kernel", b"systemd"))
"""What they say concerns the services: that one was killed, or has ended."""
_NAMES = ("CONTAINER_NAME", "SYSLOG_IDENTIFIER", "_SYSTEMD_UNIT", "_COMM")


def service(identifier: bytes) -> bytes | None:
    """Whose line it is; ``None`` for what concerns all."""
    return None if identifier in _OF_THE_HOST else identifier


def entry(fields: Mapping[str, bytes]) -> Entry | None:
    """What the fields of one journal entry say; ``None`` where they hold no message.

    Fields: https://systemd.io/JOURNAL_EXPORT_FORMATS/ and, for what docker adds,
    https://docs.docker.com/engine/logging/drivers/journald/.
    """
    from logdiff.envelopes import Entry
    from logdiff.envelopes._clock import of_microseconds

    message = fields.get("MESSAGE")
    if message is None:
        return None
    time = fields.get("_SOURCE_REALTIME_TIMESTAMP") or fields.get("__REALTIME_TIMESTAMP") or b""
    name = next((fields[name] for name in _NAMES if fields.get(name)), b"")
    part = fields.get("CONTAINER_PARTIAL_MESSAGE") == b"true"
    return Entry(
        message,
        of_microseconds(int(time)) if time.isdigit() and len(time) < 20 else None,
        service(name),
        fields.get("CONTAINER_PARTIAL_ID") or fields.get("PRIORITY", b""),
        ends=fields.get("CONTAINER_PARTIAL_LAST") == b"true" if part else True,
    )
