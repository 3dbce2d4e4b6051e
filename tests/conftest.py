"""Fixtures that several tests need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parent.parent

# A busy machine is no failure, and a change is judged by the same examples every time.
settings.register_profile("logdiff", deadline=None, derandomize=True)
settings.load_profile("logdiff")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real logs that is kept beside the repository, not in it.

    ``LOGDIFF_SHARED`` names another place. Tests that need it are skipped where it is missing.
    """
    folder = Path(os.environ.get("LOGDIFF_SHARED") or REPOSITORY.parent / "shared")
    if not folder.is_dir():
        pytest.skip(f"no folder of real logs at {folder}; set LOGDIFF_SHARED to where it is")
    return folder


@pytest.fixture(scope="session")
def fixtures_directory() -> Path:
    """The folder of hand-written cases, one folder each."""
    return REPOSITORY / "fixtures"
