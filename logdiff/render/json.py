"""The report as JSON: the published structure, readable by any parser and on any terminal."""

from __future__ import annotations

from json.encoder import JSONEncoder, encode_basestring
from typing import TYPE_CHECKING, Any

from logdiff.render.document import INSPECTION_SCHEMA, plain

if TYPE_CHECKING:
    import re

    from logdiff.render import Options

ONE_DOCUMENT = True

_OPEN_LEVELS = 4
"""Containers nested no deeper are written one item a line; what is in them, on that line."""

_UNSAFE = "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
"""What the standard encoder lets through and a terminal, a script or UTF-8 stumbles over."""

_encode = JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def render(document: dict[str, Any], options: Options) -> str:  # noqa: ARG001 same for all formats
    """Give the document as JSON, each quoted line and each item of a fact on a line of its own."""
    try:
        text = _written(document, 0)
    except ValueError:
        # A number that JSON cannot say; what ``build`` makes has none.
        text = _written(plain(document), 0)
    return _harmless(text) + "\n"


def render_inspect(inspection: dict[str, Any], options: Options) -> str:
    """Give what ``logdiff inspect`` found as JSON."""
    return render({"schema": INSPECTION_SCHEMA, **inspection}, options)


def _written(value: Any, level: int) -> str:
    """Write the outer levels with line breaks, which the standard encoder does slowly."""
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if level == _OPEN_LEVELS or not value or not isinstance(value, (dict, list)):
        return _encode(value)
    inner = "\n" + "  " * (level + 1)
    outer = "\n" + "  " * level
    if isinstance(value, list):
        return f"[{inner}{f',{inner}'.join(_written(item, level + 1) for item in value)}{outer}]"
    items = (
        f"{encode_basestring(key)}: {_written(item, level + 1)}" for key, item in value.items()
    )
    return f"{{{inner}{f',{inner}'.join(items)}{outer}}}"


def _harmless(text: str) -> str:
    if all(map(str.isprintable, text.split("\n"))):
        return text
    import re

    return re.sub(_UNSAFE, _escape, text)


def _escape(match: re.Match[str]) -> str:
    # These characters can only stand inside strings, where an escape means the same. A lone
    # surrogate means nothing, and strict parsers refuse even its escape.
    code = ord(match[0])
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"
