"""What hides the failure of a command from the script that runs it."""

from __future__ import annotations

from logdiff.submission.shell.syntax import members, parts, statements
from logdiff.tuples import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

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

    def in_list(self, found: list[Member], index: int, *, errexit: bool) -> tuple[bool, str | None]:
        """Whether the list decides about the failure of one of its pipelines, and what hides it.

        Under ``set -e`` only the last pipeline of a list ends the script, so what follows hides it.
        """
        for later in range(index + 1, len(found)):
            if found[later].operator == "||":
                end = later + 1
                while end < len(found) and found[end].operator == "&&":
                    end += 1
                hidden = self.harmless(found[later:end])
                return True, self._from_operator(found, later) if hidden else None
        if errexit and index + 1 < len(found):
            return True, self._from_operator(found, index + 1)
        return False, None

    def _from_operator(self, found: list[Member], index: int) -> str:
        member = found[index]
        raw = self._expander.source[member.operator_start : member.span.end]
        return shown(raw.decode("utf-8", "replace"))

    def in_pipeline(self, member: Member, index: int) -> str:
        """The rest of the pipeline behind one of its commands."""
        start, end = member.stages[index].span.end, member.span.end
        return shown(self._expander.source[start:end].decode("utf-8", "replace"))

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
        return f"; {shown(self._expander.written(following.node))}"

    def by_test(
        self, test: str, *, negated: bool, taken: list[Node], other: list[Node]
    ) -> str | None:
        """What hides the failure of the condition of an ``if``.

        Nothing, where what then runs may do something about it.
        """
        reaction = statements(taken if negated else other)
        if all(self.harmless(members(statement.node)) for statement in reaction):
            return shown(test)
        return None
