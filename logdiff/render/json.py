"""The report as JSON: the published structure, readable by any parser and on any terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.render.document import INSPECTION_SCHEMA, plain

if TYPE_CHECKING:
    from logdiff.render import Options

ONE_DOCUMENT = True

_OPEN_LEVELS = 4
"""Containers nested no deeper are written one item a line; what is in them, on that line."""

_PRINTED = " \u00a0\u3000"
"""The spaces that texts are set with: Python calls some of them unprintable."""

try:
    # What the standard encoder is made of: its package prepares to read JSON when it is imported,
    # and makes an encoder for each value.
    from _json import encode_basestring, encode_basestring_ascii, make_encoder

    _parts = make_encoder(None, str, encode_basestring, None, ": ", ", ", *[False] * 3)
except (ImportError, TypeError):
    from json.encoder import JSONEncoder, encode_basestring, encode_basestring_ascii

    _encoder = JSONEncoder(ensure_ascii=False, allow_nan=False)

    def _parts(value: Any, _: int) -> Any:  # type: ignore[misc]
        return _encoder.iterencode(value)


def render(document: dict[str, Any], options: Options) -> str:  # noqa: ARG001 same for all formats
    """Give the document as JSON, each quoted line and each item of a fact on a line of its own."""
    try:
        lines = _Writer(document).lines
    except ValueError:
        # A number that JSON cannot say; what ``build`` makes has none.
        lines = _Writer(plain(document)).lines
    return "\n".join((*map(_harmless, lines), ""))


def render_inspect(inspection: dict[str, Any], options: Options) -> str:
    """Give what ``logdiff inspect`` found as JSON."""
    return render({"schema": INSPECTION_SCHEMA, **inspection}, options)


class _Writer:
    """Writes the outer levels with line breaks, which the standard encoder does slowly."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.lines: list[str] = []
        self._known: dict[int, str] = {}
        """Texts of inner values by their identity: a line may prove many things."""
        self._write(document, 0, "", "")

    def _write(self, value: Any, level: int, before: str, after: str) -> None:
        if isinstance(value, str):
            self.lines.append(f"{before}{encode_basestring(value)}{after}")
            return
        if value is None:
            self.lines.append(f"{before}null{after}")
            return
        if level == _OPEN_LEVELS or not value or not isinstance(value, (dict, list)):
            self.lines.append(f"{before}{self._encoded(value)}{after}")
            return
        indent = "  " * (level + 1)
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        self.lines.append(before + opening)
        if isinstance(value, dict):
            for key, item in value.items():
                self._write(item, level + 1, f"{indent}{encode_basestring(key)}: ", ",")
        else:
            for item in value:
                self._write(item, level + 1, indent, ",")
        self.lines[-1] = self.lines[-1][:-1]
        self.lines.append(f"{indent[2:]}{closing}{after}")

    def _encoded(self, value: Any) -> str:
        if not isinstance(value, dict):
            return "".join(_parts(value, 0))
        text = self._known.get(id(value))
        if text is None:
            text = self._known[id(value)] = "".join(_parts(value, 0))
        return text


def _harmless(text: str) -> str:
    r"""Write as ``\u202e`` what a terminal or a script obeys, and what nobody would see.

    The standard encoder lets it through. It can only stand inside strings, where an escape means
    the same.
    """
    if (text.isascii() and "\x7f" not in text) or text.isprintable():
        return text  # escaped already, or in no need of it
    hidden = {c for c in set(text) if not c.isprintable()}.difference(_PRINTED)
    return text.translate({ord(character): _escape(character) for character in hidden})


def _escape(character: str) -> str:
    # A lone surrogate means nothing, and strict parsers refuse even its escape.
    return (
        "\ufffd" if "\ud800" <= character <= "\udfff" else encode_basestring_ascii(character)[1:-1]
    )
