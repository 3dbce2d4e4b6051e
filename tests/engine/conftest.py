"""Fixtures for the tests of the engine."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.samples import MakeFile


@pytest.fixture
def make_file(tmp_path: Path) -> MakeFile:
    """Return a function that writes a rule file and returns its path."""

    def write(text: str, name: str = "weights-differ.yaml", area: str = "model") -> str:
        path = tmp_path / "rules" / area / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
        return str(path)

    return write
