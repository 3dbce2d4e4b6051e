"""Read evidence again and quote it: whole, harmless, and no longer than a screen can bear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.model import Place
from logdiff.records import strip_escapes
from logdiff.redact import redact

if TYPE_CHECKING:
    from logdiff.model import Evidence, Run

LONGEST_QUOTE = 4096
"""Characters of a line that are quoted; a longer one is cut and says so."""


def quote(run: Run, evidence: Evidence) -> Place:
    """The line of evidence as a report shows it."""
    source = run.submission.files[evidence.path] if evidence.path else run.source
    line = source.line_at(evidence.mark)
    text = redact(strip_escapes(line).decode("utf-8", "replace").replace("\r", " "))
    return Place(
        run.role,
        evidence.path or run.log.path,
        evidence.mark.line,
        evidence.count,
        evidence.workers,
        _cut(text, evidence.focus),
    )


def _cut(text: str, focus: str) -> str:
    """Cut a long line round what matters in it, and say how much is left out."""
    if len(text) <= LONGEST_QUOTE:
        return text
    found = max(text.find(focus), 0)
    start = max(0, min(found - LONGEST_QUOTE // 2, len(text) - LONGEST_QUOTE))
    end = start + LONGEST_QUOTE
    before = f"[{start} characters left out] … " if start else ""
    after = f" … [{len(text) - end} characters left out]" if end < len(text) else ""
    return f"{before}{text[start:end]}{after}"
