"""The report as JSON: the published structure, readable by any parser and on any terminal."""

from __future__ import annotations

from json.encoder import JSONEncoder, encode_basestring, encode_basestring_ascii
from typing import TYPE_CHECKING, Any

from logdiff.render.document import INSPECTION_SCHEMA, plain

if TYPE_CHECKING:
    from logdiff.render import Options

ONE_DOCUMENT = True

_OPEN_LEVELS = 4
"""Containers nested no deeper are written one item a line; what is in them, on that line."""

_PRINTED = "\n \u00a0\u3000"
"""Line breaks and the spaces that texts are set with: Python calls some of them unprintable."""

_CONSTANTS = {None: "null", True: "true", False: "false"}

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
    if value is None or value is True or value is False:
        return _CONSTANTS[value]
    if type(value) is int:
        return str(value)
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
    r"""Write as ``\u202e`` what a terminal or a script obeys, and what nobody would see.

    The standard encoder lets it through. It can only stand inside strings, where an escape means
    the same.
    """
    if all(map(str.isprintable, text.split("\n"))):
        return text
    hidden = {c for c in set(text) if not c.isprintable()}.difference(_PRINTED)
    return text.translate({ord(character): _escape(character) for character in hidden})


def _escape(character: str) -> str:
    # A lone surrogate means nothing, and strict parsers refuse even its escape.
    return (
        "\ufffd" if "\ud800" <= character <= "\udfff" else encode_basestring_ascii(character)[1:-1]
    )
