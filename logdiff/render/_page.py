"""A page of text for a terminal: it never exceeds its width and never says what one would obey."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.render._columns import NO_BREAK, columns, head, pad, visible, wrap

if TYPE_CHECKING:
    from logdiff.render import Options

_NARROWEST, _WIDEST = 40, 120
"""Narrower, no layout holds; wider, lines are tiring to read."""

_SGR = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "loud": "1;31"}

_WORD = r"(?:\"[^\"]*\"|'(?:[^'\\]|\\.)*'|[^\s\"'])+|[\"']"
"""A word of a command line, or a quote that is never closed."""

Segment = str | tuple[str, str]
"""A piece of a line, or a piece and its style."""


class Page:
    """Lines that never exceed the width and never hold what a terminal would obey."""

    def __init__(self, options: Options) -> None:
        self.width = max(_NARROWEST, min(options.width, _WIDEST))
        self.verbose = options.verbose > 0
        self._color = options.color
        self._lines: list[str] = []

    def text(self) -> str:
        return "\n".join(self._lines).strip("\n") + "\n"

    def gap(self) -> None:
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def line(self, *segments: Segment) -> None:
        """Add one line; what exceeds the width is cut off."""
        pairs = [(item, "") if isinstance(item, str) else item for item in segments]
        while pairs and not pairs[-1][0].rstrip():
            pairs.pop()
        if pairs:
            pairs[-1] = (pairs[-1][0].rstrip(), pairs[-1][1])
        room = self.width
        parts = []
        for raw, style in pairs:
            text = head(visible(raw).replace(NO_BREAK, " "), room)
            room -= columns(text)
            parts.append(self._paint(text, style))
        self._lines.append("".join(parts))

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{_SGR[style]}m{text}\x1b[0m" if self._color and style and text else text

    def heading(self, text: str) -> None:
        self.gap()
        self.line((text, "bold"))

    def paragraph(self, text: str, indent: int, style: str = "", lead: Segment = "") -> None:
        """Add wrapped text; ``lead`` stands in the indentation of its first line."""
        name, lead_style = lead if isinstance(lead, tuple) else (lead, "")
        start = pad(visible(name), indent)
        for part in wrap(text, self.width - indent):
            self.line((start, lead_style), (part, style))
            start, lead_style = " " * indent, ""

    def commands(self, entries: list[tuple[str, str]]) -> None:
        """Add what to type next and what it gives, side by side where that fits."""
        widest = max((columns(visible(command)) for command, _ in entries), default=0)
        lead = "Next:"
        if 7 + widest + 2 + max((columns(what) for _, what in entries), default=0) > self.width:
            widest = 0
        for command, purpose in entries:
            start = (pad(lead, 7), "bold")
            text = pad(visible(command), widest)
            if 7 + columns(text) + 2 + columns(purpose) <= self.width:
                self.line(start, text, "  ", (purpose, "dim"))
            else:
                self._long_command(command, lead)
                self.paragraph(purpose, 9, "dim")
            lead = ""

    def _long_command(self, command: str, lead: str) -> None:
        """Add a command that goes on on the next line, so that it can be copied as it stands."""
        start = pad(lead, 7)
        parts = _shell_lines(visible(command), self.width - 9)
        for number, part in enumerate(parts, 1):
            self.line((start, "bold"), f"{part} \\" if number < len(parts) else part)
            start = " " * 9


def _shell_lines(command: str, width: int) -> list[str]:
    """Break a command between its words; where one word is too long, anywhere."""
    import re

    lines: list[str] = []
    line = ""
    for word in re.findall(_WORD, command):
        joined = f"{line} {word}" if line else word
        if line and columns(joined) + 2 > width:
            lines.append(line)
            joined = word
        line = joined
    lines.append(line)
    if any(columns(line) + 2 > width for line in lines):
        return wrap(command, width - 2)
    return lines
