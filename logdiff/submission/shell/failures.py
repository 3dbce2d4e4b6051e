"""What hides the failure of a command from the script that runs it."""

from __future__ import annotations

from logdiff.submission.shell.syntax import members, parts, statements
from logdiff.tuples import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from logdiff.submission.model import Span
    from logdiff.submission.shell.syntax import Member, Statement
    from logdiff.submission.shell.values import Expander

_HARMLESS = frozenset((":", "true", "echo", "printf", "continue", "break", "date", "sleep"))
_CALLS_LIMIT = 5
_TEXT_LIMIT = 120


def shown(text: str) -> str:
    """Code as one line of moderate length."""
    line = " ".join(text.replace("\\\n", " ").split())
    return line if len(line) <= _TEXT_LIMIT else f"{line[: _TEXT_LIMIT - 1]}…"


class Failures:
    """Judges the failures of one script, whose functions it looks into."""

    def __init__(self, expander: Expander, functions: Mapping[str, Node]) -> None:
        self._expander = expander
        self._functions = functions

    def harmless(self, found: list[Member], calls: int = 0) -> bool:
        """Whether a list of commands always succeeds and mends nothing."""
        nodes = [member.stages[-1].node for member in found]
        return all(node is not None and self._never_fails(node, calls) for node in nodes)

    def _never_fails(self, node: Node, calls: int) -> bool:
        if node.type in {"compound_statement", "subshell"}:
            return self._all_harmless(node, calls)
        if node.type != "command":
            return False
        name, *words = [self._expander.written(child) for child in parts(node)] or [""]
        if name in self._functions:
            return calls < _CALLS_LIMIT and self._all_harmless(self._functions[name], calls + 1)
        return name in _HARMLESS or (name in {"exit", "return"} and words == ["0"])

    def _all_harmless(self, body: Node, calls: int) -> bool:
        found = statements(body.children)
        return bool(found) and all(
            self.harmless(members(statement.node), calls) for statement in found
        )

    def text(self, span: Span) -> str:
        """Code of the script, as one line of moderate length."""
        end = min(span.end, span.start + 8 * _TEXT_LIMIT)
        return shown(self._expander.source[span.start : end].decode("utf-8", "replace"))

    def by_next(self, statement: Statement, following: Statement | None) -> str | None:
        """``; echo …``, which makes the whole line succeed."""
        if statement.terminator == "&":
            return "&"
        if statement.terminator != ";" or following is None:
            return None
        between = self._expander.source[statement.span.end : following.span.start]
        if b"\n" in between.replace(b"\\\n", b""):
            return None
        if not self.harmless(members(following.node)):
            return None
        return f"; {self.text(following.span)}"

    def by_test(
        self, test: Span, *, negated: bool, taken: list[Node], other: list[Node]
    ) -> str | None:
        """What hides the failure of the condition of an ``if``.

        Nothing, where what then runs may do something about it.
        """
        reaction = statements(taken if negated else other)
        if all(self.harmless(members(statement.node)) for statement in reaction):
            return self.text(test)
        return None
