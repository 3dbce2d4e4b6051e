"""Compiles the texts of rule files: templates in the manner of f-strings."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from logdiff.engine.conditions import rewritten
from logdiff.engine.position import Problem, RuleFileError
from logdiff.engine.syntax import MAXIMUM_CHARACTERS, Expression, assembled, call
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from logdiff.engine.conditions import Names
    from logdiff.engine.position import Origin

_FORMAT = re.compile(r"[<>^]?\d{0,2},?(?:\.\d)?[defg%]?")


def compile_text(template: str, *, names: Names, where: Origin) -> CodeType:
    """Compile a text for ``Context.text``.

    A text is written like the body of an f-string: ``{expression}``, ``{expression:.2f}``, and
    ``{{`` and ``}}`` for braces. The rest is kept as it is.
    """
    splitter = _Splitter(template, where)
    parts: list[ast.expr] = []
    for piece in splitter.pieces():
        if isinstance(piece, str):
            parts.append(ast.Constant(piece))
        else:
            expression = Expression(template, where, piece.start, piece.end)
            value = rewritten(expression, names)
            parts.append(call("_format", value, ast.Constant(piece.format)))
    return assembled(call("_text", *parts))


class _Hole(NamedTuple):
    """An expression within a text."""

    start: int
    end: int
    format: str


class _Splitter:
    """Splits a text into literal parts and holes."""

    def __init__(self, template: str, where: Origin) -> None:
        self.template = template
        self.where = where
        if len(template) > MAXIMUM_CHARACTERS:
            raise self.error(0, f"a text may have at most {MAXIMUM_CHARACTERS:,} characters")

    def error(self, offset: int, message: str) -> RuleFileError:
        return RuleFileError(Problem(self.where.at(offset, self.template), message))

    def pieces(self) -> Iterator[str | _Hole]:
        template, literal, index = self.template, "", 0
        while index < len(template):
            if template.startswith(("{{", "}}"), index):
                literal += template[index]
                index += 2
            elif template[index] == "}":
                raise self.error(index, "a single '}' in a text: write '}}'")
            elif template[index] == "{":
                yield literal
                literal = ""
                hole, index = self.hole(index)
                yield hole
            else:
                literal += template[index]
                index += 1
        yield literal

    def hole(self, opening: int) -> tuple[_Hole, int]:
        """Return the hole whose brace is given, and the offset after it."""
        start = opening + 1
        end = self.end_of_expression(opening)
        if not self.template[start:end].strip():
            raise self.error(opening, "'{}' holds no expression")
        if self.template[end] == "!":
            raise self.error(end, "conversions such as '!r' are not allowed in a text")
        if self.template[end] == "}":
            return _Hole(start, end, ""), end + 1
        closing = self.template.find("}", end)
        if closing < 0:
            raise self.error(opening, "'{' is never closed")
        specification = self.template[end + 1 : closing]
        if not _FORMAT.fullmatch(specification):
            raise self.error(end + 1, f"{specification!r} is no format such as ',' or '.2f'")
        return _Hole(start, end, specification), closing + 1

    def end_of_expression(self, opening: int) -> int:
        """Return the offset of the ``}``, ``:`` or ``!`` that ends the expression."""
        template, depth, quote = self.template, 0, ""
        for index in range(opening + 1, len(template)):
            character = template[index]
            if quote:
                # A quote after a backslash does not end a string.
                quote = "" if character == quote and template[index - 1] != "\\" else quote
            elif character in "'\"":
                quote = character
            elif character in "([{":
                depth += 1
            elif depth and character in ")]}":
                depth -= 1
            elif not depth and self.ends_expression(index):
                return index
        raise self.error(opening, "'{' is never closed")

    def ends_expression(self, index: int) -> bool:
        character = self.template[index]
        return character in "}:" or (character == "!" and self.template[index + 1 :][:1] != "=")
