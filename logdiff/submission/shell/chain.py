"""What stands before and behind each pipeline of an and-or list, and what that means for it."""

from __future__ import annotations

from logdiff.submission.model import Span
from logdiff.submission.shell.conditions import is_test
from logdiff.tuples import TYPE_CHECKING

if TYPE_CHECKING:
    from logdiff.submission.shell.failures import Failures
    from logdiff.submission.shell.syntax import Member
    from logdiff.submission.shell.values import Expander


class Chain:
    """One and-or list. Whatever is asked of it takes a time that its length does not change."""

    def __init__(self, found: list[Member], failures: Failures, expander: Expander) -> None:
        self._found = found
        self._failures = failures
        self._asks = [is_test(member.stages[-1].node, expander) for member in found]
        self._acts = [
            not (asks or failures.harmless([member]))
            for asks, member in zip(self._asks, found, strict=True)
        ]
        self._acting_count = sum(self._acts)
        self._asking_count = [*self._asks, False].index(False)
        # For each pipeline: the next one behind || (the length of the list, if none follows),
        # and the last of the ones behind || that follow it directly.
        size = len(found)
        self._next_or = [size] * (size + 1)
        self._last_or = list(range(size))
        for index in reversed(range(size - 1)):
            falls_back = found[index + 1].operator == "||"
            self._next_or[index] = index + 1 if falls_back else self._next_or[index + 1]
            self._last_or[index] = self._last_or[index + 1] if falls_back else index
        self._hidden_by: dict[int, str | None] = {}

    def acts_alone(self, index: int) -> bool:
        """Whether nothing else in the list does more than ask or print."""
        return self._acting_count == self._acts[index]

    def statement(self, index: int, whole: Span) -> Span:
        """What has to go if one pipeline goes: it, its operator, and ``|| true`` behind it."""
        found, following = self._found, self._last_or[index] + 1
        if following < len(found):
            if index:
                return Span(found[index].operator_start, found[following].operator_start)
            return Span(found[0].span.start, found[following].span.start)
        if index:
            return Span(found[index - 1].span.end, found[-1].span.end)
        return whole

    def may_end_before(self, index: int) -> bool:
        """Whether the list may end before one of its pipelines.

        What asks nothing is taken to succeed, so that what follows ``&&`` runs.
        """
        if self._found[index].operator == "||":
            return True
        return self._asks[index - 1] and self._next_or[index] == len(self._found)

    def guards(self, index: int, guards: tuple[str, ...]) -> tuple[str, ...]:
        """What must hold for a pipeline to run, given that for the one before it."""
        previous = self._found[index - 1]
        if self._found[index].operator == "||":
            return (f"not {self._before(index)}",)
        if previous.operator == "||":
            return ()
        if not self._asks[index - 1]:
            return guards
        start = previous.span.start if index > 1 else previous.operator_start
        return (*guards, self._failures.text(Span(start, previous.span.end)))

    def narrowed(self, index: int) -> tuple[str, ...]:
        """What must have held if the list ended before a pipeline."""
        if index > self._asking_count:
            return ()
        before = self._before(index)
        return (before,) if self._found[index].operator == "||" else (f"not {before}",)

    def _before(self, index: int) -> str:
        start = self._found[0].operator_start
        return self._failures.text(Span(start, self._found[index - 1].span.end))

    def hidden(self, index: int, *, errexit: bool) -> tuple[bool, str | None]:
        """Whether the list decides about the failure of a pipeline, and what hides it.

        Under ``set -e`` only the last pipeline of a list ends the script, so what follows hides it.
        """
        later = self._next_or[index]
        if later < len(self._found):
            if later not in self._hidden_by:
                end = self._next_or[later]
                harmless = self._failures.harmless(self._found[later:end])
                self._hidden_by[later] = self._from(later) if harmless else None
            return True, self._hidden_by[later]
        if errexit and index + 1 < len(self._found):
            return True, self._from(index + 1)
        return False, None

    def _from(self, index: int) -> str:
        member = self._found[index]
        return self._failures.text(Span(member.operator_start, member.span.end))
