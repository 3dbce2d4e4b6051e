"""Modules that are found by their names."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
"""As in :mod:`typing`, which is not loaded for it."""
if TYPE_CHECKING:
    from types import ModuleType


def load(name: str) -> ModuleType:
    """Import a module by its full name.

    As :func:`importlib.import_module`, whose package loads what it does not need itself.
    """
    __import__(name)
    return sys.modules[name]
