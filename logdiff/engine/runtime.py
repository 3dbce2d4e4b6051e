"""Evaluates compiled rule expressions against two runs.

Nothing here raises for what a log says: what cannot be told is UNKNOWN, and the context keeps the
names of what was lacking.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from logdiff.engine.functions import FUNCTIONS
from logdiff.engine.values import UNKNOWN, Unknown, display, is_known, truth
from logdiff.model import MESSAGES, Entry
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

    from logdiff.model import Evidence, Run

__all__ = ["UNKNOWN", "Context", "Reference", "Unknown"]

_ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


def argument_of_another_engine(run: Run, name: str) -> Any:
    """The value of what an engine other than vLLM calls like an argument of vLLM."""
    engine = run.facts.get("engine.name")
    if engine in (None, "vllm"):
        return None
    from logdiff.facts.flag_names import counterpart

    flag = counterpart("--" + name.partition(".")[2].replace("_", "-"), engine)
    return run.facts.get("args." + flag[2:].replace("-", "_")) if flag else None


class Reference(NamedTuple):
    """A fact of a run whose evidence is wanted, not its value."""

    run: Run
    fact: str


class _NotIterableError(Exception):
    """Ends a comprehension over something unknown."""


class Context:
    """What the expressions of a rule see, and what they lacked.

    ``run``, ``item`` and ``target`` may be set between evaluations. ``lacking`` names, in order,
    the facts (``bad.weights.gb``) that made results unknown; callers clear it as they need.
    """

    __slots__ = (
        "_names", "bad", "changes", "good", "item", "lacking", "run", "target",
    )  # fmt: skip

    def __init__(
        self,
        good: Run | None,
        bad: Run,
        run: Run | None,
        changes: dict[str, Any],
        item: Any = None,
    ) -> None:
        """Take the facts of both runs; ``run`` is the judged one, bad where it is None."""
        self.good = good
        self.bad = bad
        self.run = run or bad
        self.changes = changes
        self.item = item
        self.target: Any = None
        self.lacking: list[str] = []
        self._names = _PURE_NAMES | {
            "_fact": self._fact,
            "_reference": self._reference,
            "_present": self._present,
            "_change": self._change,
            "_variable": self._variable,
            "_item": self._item,
            "_and": self._and,
            "_or": self._or,
            "_choose": self._choose,
            "_is_null": self._is_null,
            "_default": self._default,
        }

    def evaluate(self, code: CodeType) -> Any:
        """Return the value of an expression: a plain value, null, or UNKNOWN."""
        mark = len(self.lacking)
        value = self._evaluate(code)
        if is_known(value):
            del self.lacking[mark:]
        return value

    def holds(self, code: CodeType) -> bool | Unknown:
        """Return whether a condition holds: True, False or UNKNOWN."""
        return truth(self.evaluate(code))

    def text(self, code: CodeType) -> str:
        """Return a text with its values filled in; what is unknown reads ``unknown``."""
        return str(self._quietly(lambda: self._evaluate(code)))

    def evidence(self, code: CodeType) -> list[tuple[Run, Evidence]]:
        """Return the lines that an evidence expression refers to, each once, in order."""
        value = self._quietly(lambda: self._evaluate(code))
        found: dict[tuple[int, Any], tuple[Run, Evidence]] = {}
        for run, evidence in self._evidence_in(value):
            found.setdefault((id(run), evidence.mark), (run, evidence))
        return list(found.values())

    def _evaluate(self, code: CodeType) -> Any:
        # The code was made from an allow-listed tree: it can name nothing but these helpers.
        return eval(code, self._names)  # noqa: S307

    def _evidence_in(self, value: Any) -> Iterator[tuple[Run, Evidence]]:
        if isinstance(value, Reference):
            yield from self._evidence_of_fact(value)
        elif isinstance(value, dict) and "_evidence" in value:
            yield from value["_evidence"]
        elif isinstance(value, Entry):
            run = self._owner(value)
            for evidence in value.evidence:
                yield run, evidence
        elif isinstance(value, (list, tuple)):
            for element in value:
                yield from self._evidence_in(element)

    def _evidence_of_fact(self, reference: Reference) -> Iterator[tuple[Run, Evidence]]:
        run, fact = reference
        evidence = run.life.proof(fact)
        if not evidence:  # a list of entries, each with its own
            yield from self._evidence_in(run.facts.get(fact))
            return
        for one in evidence:
            yield run, one

    def _owner(self, entry: Entry) -> Run:
        """Return the run whose facts hold this very entry."""
        for run in (self.good, self.bad):
            if run is not None and any(found is entry for found in _entries_in(run.facts)):
                return run
        return self.run

    def _root(self, name: str) -> Run | None:
        return {"good": self.good, "bad": self.bad}.get(name, self.run)

    def _lacks(self, name: str) -> None:
        root, dot, rest = name.partition(".")
        if root == "run":
            name = self.run.role + dot + rest
        if name not in self.lacking:
            self.lacking.append(name)

    def _quietly(self, operand: Callable[[], Any]) -> Any:
        """Return a value without remembering what it lacked."""
        mark = len(self.lacking)
        value = operand()
        del self.lacking[mark:]
        return value

    def _fact(self, root: str, name: str) -> Any:
        run = self._root(root)
        value = None if run is None else run.facts.get(name)
        if value is None and run is not None and name.startswith(MESSAGES):
            return []  # a message is either there or not
        if value is None and run is not None and name.startswith("args."):
            value = argument_of_another_engine(run, name)
        if value is None:
            self._lacks(f"{root}.{name}")
        return value

    def _reference(self, root: str, name: str) -> Any:
        run = self._root(root)
        return UNKNOWN if run is None else Reference(run, name)

    def _present(self, root: str) -> bool | None:
        return None if self._root(root) is None else True

    def _change(self, key: str) -> Any:
        value = self.changes.get(key)
        if value is None:
            self._lacks(f"changes.{key}")
        return value

    def _variable(self, name: str) -> Any:
        return self.item if name == "item" else self.target

    def _item(self, value: Any, key: Any, label: str) -> Any:
        """Return one item of a mapping or list; UNKNOWN where there is none."""
        if not is_known(value):
            return UNKNOWN
        try:
            item = value[key]
        except (TypeError, LookupError):
            item = UNKNOWN
        if not is_known(item):
            self._lacks(label)
        return item

    def _and(self, *operands: Callable[[], Any]) -> bool | Unknown:
        return self._combine(operands, decisive=False)

    def _or(self, *operands: Callable[[], Any]) -> bool | Unknown:
        return self._combine(operands, decisive=True)

    def _combine(
        self, operands: tuple[Callable[[], Any], ...], *, decisive: bool
    ) -> bool | Unknown:
        mark = len(self.lacking)
        result: bool | Unknown = not decisive
        for operand in operands:
            value = truth(operand())
            if value is decisive:
                result = decisive
                break
            if value is UNKNOWN:
                result = UNKNOWN
        if result is not UNKNOWN:
            del self.lacking[mark:]
        return result

    def _choose(self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        decision = truth(test)
        if decision is UNKNOWN:
            return UNKNOWN
        return then() if decision else otherwise()

    def _is_null(self, operand: Callable[[], Any]) -> bool:
        return not is_known(self._quietly(operand))

    def _default(self, operand: Callable[[], Any], fallback: Callable[[], Any]) -> Any:
        value = self._quietly(operand)
        return value if is_known(value) else fallback()


def _entries_in(value: Any) -> Iterator[Entry]:
    """Entries in a fact: lists of them, and mappings of such lists."""
    if isinstance(value, Entry):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            if isinstance(part, (dict, list)):  # most are texts
                yield from _entries_in(part)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for part in value:
            yield from _entries_in(part)


def _not(value: Any) -> bool | Unknown:
    known = truth(value)
    return UNKNOWN if isinstance(known, Unknown) else not known


def _compare(operation: str, left: Any, right: Any) -> bool | Unknown:
    if not (is_known(left) and is_known(right)):
        return UNKNOWN
    if operation == "==":
        return bool(left == right)
    if operation == "!=":
        return bool(left != right)
    try:
        return bool(_ORDERINGS[operation](left, right))
    except TypeError:
        return UNKNOWN


def _contains(value: Any, container: Any) -> bool | Unknown:
    if not (is_known(value) and is_known(container)):
        return UNKNOWN
    try:
        if value in container:
            return True
    except TypeError:
        return UNKNOWN
    unsure = isinstance(container, (list, tuple)) and not all(map(is_known, container))
    return UNKNOWN if unsure else False


def _arithmetic(operation: str, left: Any, right: Any) -> Any:
    """Return the result; texts and lists can be added, never multiplied, so they stay short."""
    numbers = _is_number(left) and _is_number(right)
    joined = operation == "+" and type(left) is type(right) and isinstance(left, (str, list, tuple))
    if not (numbers or joined):
        return UNKNOWN
    try:
        return _ARITHMETIC[operation](left, right)
    except ArithmeticError:
        return UNKNOWN


def _negative(value: Any) -> Any:
    return -value if _is_number(value) else UNKNOWN


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _list(items: Callable[[], list[Any]]) -> Any:
    try:
        return items()
    except _NotIterableError:
        return UNKNOWN


def _iterate(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)  # the order of a set differs from one start to the next
    if isinstance(value, (list, tuple, dict)):
        return value
    raise _NotIterableError


def _holds(value: Any) -> bool:
    """Whether an item passes the filter of a comprehension; one that is unknown does not."""
    return truth(value) is True


def _format(value: Any, specification: str) -> str:
    if specification and is_known(value):
        try:
            return format(value, specification)
        except (TypeError, ValueError):
            return display(value)
    return display(value)


def _text(*parts: str) -> str:
    return "".join(parts)


_PURE_NAMES: dict[str, Any] = {
    "__builtins__": {},
    **FUNCTIONS,
    "_arithmetic": _arithmetic,
    "_compare": _compare,
    "_contains": _contains,
    "_format": _format,
    "_holds": _holds,
    "_iterate": _iterate,
    "_list": _list,
    "_negative": _negative,
    "_not": _not,
    "_text": _text,
}
"""What compiled expressions may name and needs no context."""
