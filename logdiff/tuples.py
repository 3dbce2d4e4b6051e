"""Named tuples that are made in a third of the time.

``typing.NamedTuple`` compiles every annotation and looks at what it means, which nobody asks for:
for the thirty of them that a compare needs, that is a thirtieth of the run.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
"""As in :mod:`typing`, of which nothing else is needed."""
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  # for others to import
else:
    _OF_THE_CLASS = frozenset(("__annotations__", "__module__", "__qualname__", "__classcell__"))

    class _Maker(type):
        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body.get("__annotations__", {})
            defaults = [body[field] for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for key, value in body.items():
                if key not in _OF_THE_CLASS and key not in fields:
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """The base of a named tuple: its annotations are the fields, its values their defaults."""
