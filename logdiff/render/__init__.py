"""Formats of a report: every module here that is no part of the structure is one format.

A format has ``render(document, options)`` for a report and ``render_inspect(inspection, options)``
for what ``logdiff inspect`` found; both give the whole text, which ends with a line feed.
``ONE_DOCUMENT`` says whether several reports have to be joined into one, or can follow one another.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from logdiff import modules
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from types import ModuleType

_STRUCTURE = frozenset({"document", "dto"})
"""Modules that make or describe the structure which the formats show."""


class Options(NamedTuple):
    """How a report is to be shown."""

    width: int = 80
    """Columns of the terminal; formats that do not wrap ignore it."""
    color: bool = False
    verbose: int = 0
    """0 = the first screen, 1 or more = everything."""


def _formats() -> tuple[str, ...]:
    names = (entry.partition(".") for entry in os.listdir(os.path.dirname(__file__)))
    return tuple(
        sorted(
            name
            for name, _, ending in names
            if ending == "py" and not name.startswith("_") and name not in _STRUCTURE
        )
    )


FORMATS = _formats()
"""Names of the formats, sorted."""


def load(format_name: str) -> ModuleType:
    """Give the module of one of :data:`FORMATS`; only that one is imported."""
    if format_name not in FORMATS:
        raise KeyError(format_name)
    return modules.load(f"{__name__}.{format_name}")
