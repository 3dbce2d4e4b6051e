"""Regular expressions that were compiled in an earlier run.

Compiling a pattern takes :mod:`re` a tenth of a millisecond and more, in Python code; handing the
result to the matching engine takes a microsecond. So what :mod:`re` makes of a pattern is kept in
the cache of rules, which is checked against the version of Python. The engine checks every
program that it is given; where anything does not fit, the pattern is compiled as usual.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Program = tuple[int, list[int], int, dict[str, int], tuple[str | None, ...]]
"""Flags, code, number of groups, number by name, name by number."""


_remembered: dict[bytes, Program] = {}


def remember(programs: dict[bytes, Program]) -> None:
    """Take the programs of an earlier run."""
    _remembered.update(programs)


def compiled(source: bytes) -> re.Pattern[bytes]:
    """The pattern of a source, from a remembered program where there is one."""
    program = _remembered.get(source)
    pattern = _pattern(source, program) if program else None
    return re.compile(source) if pattern is None else pattern


def programs(sources: Iterable[bytes]) -> dict[bytes, Program]:
    """What :mod:`re` makes of patterns, of those for which this Python gives it away."""
    found = {source: _program(source) for source in sources}
    return {source: program for source, program in found.items() if program is not None}


def _program(source: bytes) -> Program | None:
    try:
        from re import _compiler, _parser  # type: ignore[attr-defined]

        tree = _parser.parse(source)
        code = [int(word) for word in _compiler._code(tree, 0)]  # noqa: SLF001  # see above
        state = tree.state
        names: list[str | None] = [None] * state.groups
        for name, number in state.groupdict.items():
            names[number] = name
        made = (state.flags, code, state.groups - 1, dict(state.groupdict), tuple(names))
    except (ImportError, AttributeError, TypeError):
        return None
    return made if _pattern(source, made) is not None else None


def _pattern(source: bytes, made: Program) -> Any:
    try:
        import _sre  # type: ignore[import-not-found]

        return _sre.compile(source, *made)
    except (ImportError, AttributeError, TypeError, ValueError, RuntimeError, OverflowError):
        return None
