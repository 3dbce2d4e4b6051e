"""Which bytes would have to go if a command was removed."""

from __future__ import annotations

import re

from logdiff.submission.model import Span
from logdiff.tuples import TYPE_CHECKING

if TYPE_CHECKING:
    from logdiff.submission.shell.syntax import Statement

_BLANK_BEFORE = re.compile(rb"[ \t]*\Z")
_REST_OF_LINE = re.compile(rb"[ \t]*(?:;(?!;))?[ \t]*(?:#[^\n]*)?(\r?\n|\Z)")
_SEPARATOR = re.compile(rb"[ \t]*;(?!;)[ \t]*")


def whole_lines(source: bytes, span: Span) -> Span:
    """A statement with the lines that it has for itself, else with the ``;`` behind it."""
    line = source.rfind(b"\n", 0, span.start) + 1
    rest = _REST_OF_LINE.match(source, span.end)
    if rest and _BLANK_BEFORE.match(source, line, span.start):
        return Span(line, rest.end())
    separator = _SEPARATOR.match(source, span.end)
    return Span(span.start, separator.end()) if separator else span


def statement_span(source: bytes, statement: Statement) -> Span:
    """Where a statement stands, with the ``&`` that sends it to the background."""
    start, end = statement.span
    if statement.terminator == "&":
        end = source.index(b"&", end) + 1
    return whole_lines(source, Span(start, end))
