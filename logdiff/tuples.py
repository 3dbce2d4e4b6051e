"""Named tuples that are made in a fifth of the time.

``typing.NamedTuple`` compiles every annotation and looks at what it means, and ``namedtuple`` makes
all methods anew and describes them: for the forty of them that a compare needs, that is a
twentieth of the run.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""As in :mod:`typing`, of which nothing else is needed."""
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  # for others to import
else:
    from collections import _tuplegetter
    from types import FunctionType

    class _Fields(tuple):
        """What all named tuples have in common; those of :func:`collections.namedtuple`."""

        __slots__ = ()
        _fields = ()

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **changed):
            made = tuple.__new__(type(self), map(changed.pop, self._fields, self))
            if changed:
                raise ValueError(f"{type(self).__name__} has no field {', '.join(changed)}")
            return made

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            values = (f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({', '.join(values)})"

    _codes = {}
    """Number of fields → code of a function that makes a tuple of as many."""

    def _code(fields):
        # Only a function of just these parameters is called as fast as that of a tuple. Those with
        # as many differ in the names alone, and to compile one takes longer than all the rest.
        code = _codes.get(len(fields))
        if code is None:
            names = ", ".join(fields)
            source = f"lambda cls, {names}: make(cls, ({names},))"
            code = _codes[len(fields)] = eval(source).__code__  # noqa: S307  # made of identifiers
        return code.replace(co_varnames=("cls", *fields))

    class _Maker(type):
        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            new = FunctionType(_code(fields), {"make": tuple.__new__})
            new.__defaults__ = tuple(body[field] for field in fields if field in body)
            getters = {field: _tuplegetter(at, None) for at, field in enumerate(fields)}
            own = {"__new__": new, "__slots__": (), "_fields": fields, "__match_args__": fields}
            return type(name, (_Fields,), {**body, **getters, **own})

    class NamedTuple(metaclass=_Maker):
        """The base of a named tuple: its annotations are the fields, its values their defaults."""
