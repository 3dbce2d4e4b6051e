"""The values of the rule language: Python's own, and UNKNOWN for what nobody can tell."""

from __future__ import annotations

from typing import Any, NoReturn


class Unknown:
    """The third truth value. There is one instance, :data:`UNKNOWN`."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        # Python would take an object for true; a caller that forgets to ask is a defect.
        raise TypeError("UNKNOWN is neither true nor false: test 'is UNKNOWN' first")

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()
"""A value that depends on a fact that was not seen."""


def is_known(value: Any) -> bool:
    """Say whether a value is neither null nor UNKNOWN."""
    return value is not None and value is not UNKNOWN


def truth(value: Any) -> bool | Unknown:
    """Return whether a value counts as true; UNKNOWN for null and UNKNOWN."""
    return bool(value) if is_known(value) else UNKNOWN


def display(value: Any) -> str:
    """Return a value as a text shows it: lists joined by commas, null as ``unknown``."""
    if not is_known(value):
        return "unknown"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(display, value))
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(display, value)))
    return str(value)
