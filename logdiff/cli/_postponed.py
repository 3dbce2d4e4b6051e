"""Imports click without the modules that it needs for what is hardly ever asked of it.

They are a third of what importing click costs: ``inspect`` lays out help, ``gettext`` translates
messages, ``uuid`` and ``datetime`` are types of options, and of ``threading`` one class is used.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from logdiff.modules import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _StandIn(ModuleType):
    """Stands for a module, which is loaded when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # an import asks for the __path__ of packages
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(load(self.__name__), name)


def import_click() -> None:
    """Import click; what it does with the modules that are not loaded loads them."""
    if "click" in sys.modules:
        return
    try:
        from _datetime import datetime  # type: ignore[import-not-found]
        from _thread import _local as local
    except ImportError:  # another Python than CPython
        from datetime import datetime
        from threading import local
    with ExitStack() as stack:
        stack.enter_context(standing_in("inspect"))
        # The class is named as the parameter of another one, and not looked at.
        stack.enter_context(standing_in("uuid", UUID=type("UUID", (), {})))
        stack.enter_context(standing_in("datetime", datetime=datetime))
        stack.enter_context(standing_in("threading", local=local))
        functions = {name: _function("gettext", name) for name in ("gettext", "ngettext")}
        stack.enter_context(standing_in("gettext", **functions))
        load("click")


@contextmanager
def standing_in(name: str, **attributes: Any) -> Iterator[None]:
    """Let a module be imported without being loaded.

    The lazy loader of Python 3.11 does not do: it loads what is imported a second time, and what
    a name is imported from.

    Args:
        name: the module.
        attributes: what may be imported from it by name. Afterwards they are those of the module.
    """
    if name in sys.modules:
        yield
        return
    module = sys.modules[name] = _StandIn(name)
    vars(module).update(attributes)
    try:
        yield
    finally:
        if sys.modules.get(name) is module:
            del sys.modules[name]
        for attribute in attributes:
            delattr(module, attribute)


def _function(module: str, name: str) -> Callable[..., Any]:
    def function(*arguments: Any) -> Any:
        if isinstance(sys.modules.get(module), _StandIn):
            del sys.modules[module]
        return getattr(load(module), name)(*arguments)

    return function
