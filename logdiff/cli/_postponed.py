"""Modules that click imports for what is hardly ever asked of it."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Postponed(ModuleType):
    """Stands for a module, which is loaded when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def postpone(name: str) -> None:
    """Load a module no sooner than it is used, even where it is imported before that.

    The lazy loader of Python 3.11 does not do: it loads what is imported a second time.
    """
    sys.modules.setdefault(name, _Postponed(name))
