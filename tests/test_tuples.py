"""The named tuples of this package are what those of typing are."""

from __future__ import annotations

import pickle
import typing

import pytest

from logdiff import model
from logdiff.tuples import NamedTuple


class Point(NamedTuple):
    """A place."""

    x: int
    y: int = 7

    @property
    def total(self) -> int:
        return self.x + self.y

    def moved(self, by: int) -> Point:
        return self._replace(x=self.x + by)


class Same(typing.NamedTuple):
    x: int
    y: int = 7


def test_fields_defaults_and_methods() -> None:
    point = Point(1)
    assert tuple(point) == tuple(Same(1)) == (1, 7)
    assert Point._fields == Same._fields
    assert point.total == 8
    assert point.moved(2) == Point(3, 7)
    assert repr(point) == "Point(x=1, y=7)"
    assert point._asdict() == {"x": 1, "y": 7}
    assert Point._make([3, 4]) == Point(y=4, x=3)
    with pytest.raises(ValueError, match="z"):
        point._replace(z=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg]
    match point:
        case Point(x, y):
            assert (x, y) == (1, 7)
    assert Point.__doc__ == "A place."
    assert Point.__module__ == __name__
    assert pickle.loads(pickle.dumps(point)) == point


def test_those_of_the_package_are_tuples() -> None:
    mark = model.Mark(3, 10, 5)
    assert isinstance(mark, tuple)
    assert mark.line == 3
