"""JSON objects of transports, which keep bytes that are no UTF-8 as they were."""

from __future__ import annotations

import json
from typing import Any


def parsed(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line; ``None`` where it is none, or damaged."""
    try:
        found = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def encoded(text: str) -> bytes:
    """The bytes of a text of :func:`parsed`; half a surrogate pair becomes U+FFFD."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
