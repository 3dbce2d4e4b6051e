"""The report as JSON: the published structure, readable by any parser and on any terminal."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from logdiff.render.document import INSPECTION_SCHEMA, plain

if TYPE_CHECKING:
    from logdiff.render import Options

_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""What the standard encoder lets through and a terminal, a script or UTF-8 stumbles over."""


def render(document: dict[str, Any], options: Options) -> str:  # noqa: ARG001 same for all formats
    """Give the document as indented JSON."""
    text = json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(_escape, text) + "\n"


def render_inspect(inspection: dict[str, Any], options: Options) -> str:
    """Give what ``logdiff inspect`` found as indented JSON."""
    return render({"schema": INSPECTION_SCHEMA, **inspection}, options)


def _escape(match: re.Match[str]) -> str:
    # These characters can only stand inside strings, where an escape means the same. A lone
    # surrogate means nothing, and strict parsers refuse even its escape.
    code = ord(match[0])
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"
