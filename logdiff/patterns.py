"""Regular expressions that were compiled in an earlier run.

Compiling a pattern takes :mod:`re` a tenth of a millisecond and more, in Python code; handing the
result to the matching engine takes a microsecond. So what :mod:`re` makes of the patterns that
every start needs is kept in the cache of rules, which is checked against the version of Python
and of this package. The engine checks every program that it is given; where anything does not
fit, the pattern is compiled as usual.
"""

from __future__ import annotations

import marshal
import re
from typing import TYPE_CHECKING, Any, AnyStr

if TYPE_CHECKING:
    from collections.abc import Iterable

Program = tuple[int, list[int], int, dict[str, int], tuple[str | None, ...]]
"""Flags, code, number of groups, number by name, name by number."""
Key = tuple[str | bytes, int]
"""Source and flags of a pattern."""

_remembered: dict[Key, bytes] = {}
"""Programs as marshal writes them: a run needs a part of them only."""
_asked_for: dict[Key, None] = {}


def remember(programs: dict[Key, bytes]) -> None:
    """Take the programs of an earlier run, as :func:`programs` made them."""
    _remembered.update(programs)


def compiled(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The pattern of a source, from a remembered program where there is one."""
    key = (source, int(flags))
    _asked_for[key] = None
    program = _remembered.get(key)
    pattern = _restored(source, program) if program else None
    return re.compile(source, flags) if pattern is None else pattern


def programs(sources: Iterable[bytes]) -> dict[Key, bytes]:
    """What :mod:`re` makes of patterns, marshalled: of some, and of all asked for so far.

    Left out are those for which this Python does not give it away.
    """
    keys = dict.fromkeys([(source, 0) for source in sources]) | _asked_for
    found = {key: _program(*key) for key in keys}
    return {key: marshal.dumps(made) for key, made in found.items() if made is not None}


def _program(source: str | bytes, flags: int) -> Program | None:
    try:
        from re import _compiler, _parser  # type: ignore[attr-defined]

        tree = _parser.parse(source, flags)
        code = [int(word) for word in _compiler._code(tree, flags)]  # noqa: SLF001  # see above
        state = tree.state
        names: list[str | None] = [None] * state.groups
        for name, number in state.groupdict.items():
            names[number] = name
        all_flags = flags | int(state.flags)
        made = (all_flags, code, state.groups - 1, dict(state.groupdict), tuple(names))
    except (ImportError, AttributeError, TypeError):
        return None
    return made if _pattern(source, made) is not None else None


def _restored(source: str | bytes, program: bytes) -> Any:
    try:
        return _pattern(source, marshal.loads(program))  # noqa: S302  # written by programs()
    except (ValueError, TypeError, EOFError):
        return None


def _pattern(source: str | bytes, made: Program) -> Any:
    try:
        import _sre  # type: ignore[import-not-found]

        return _sre.compile(source, *made)
    except (ImportError, AttributeError, TypeError, ValueError, RuntimeError, OverflowError):
        return None
