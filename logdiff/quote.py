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
    line = run.source.line_at(evidence.mark)
    text = redact(strip_escapes(line).decode("utf-8", "replace").replace("\r", " "))
    if len(text) > LONGEST_QUOTE:
        left_out = len(text) - LONGEST_QUOTE
        text = f"{text[:LONGEST_QUOTE]} … [{left_out} characters left out]"
    return Place(run.role, run.log.path, evidence.mark.line, evidence.count, evidence.workers, text)
