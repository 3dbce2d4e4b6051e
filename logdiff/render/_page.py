"""A page of text for a terminal: it never exceeds its width and never says what one would obey."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.render._columns import columns, head, pad, visible, wrap
from logdiff.render._phrases import NO_BREAK

if TYPE_CHECKING:
    from logdiff.render import Options

_NARROWEST, _WIDEST = 40, 120
"""Narrower, no layout holds; wider, lines are tiring to read."""

_SGR = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "loud": "1;31"}

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
        for command, purpose in entries:
            if 7 + widest + 2 + columns(purpose) <= self.width:
                start = (pad(lead, 7), "bold")
                self.line(start, pad(visible(command), widest), "  ", (purpose, "dim"))
            else:
                # A command that is cut could not be copied: it goes on on the next line.
                self.paragraph(command, 7, lead=(lead, "bold"))
                self.paragraph(purpose, 9, "dim")
            lead = ""
