"""The reports of :mod:`tests.render.synthetic` as documents."""

from __future__ import annotations

from typing import Any

import pytest

from logdiff.render.document import build, build_inspection
from tests.render.synthetic import (
    bad_run,
    empty_report,
    good_run,
    heavy_report,
    pair_report,
    quote,
)


@pytest.fixture
def pair_document() -> dict[str, Any]:
    """Give the document of the realistic report."""
    return build(pair_report(), quote)


@pytest.fixture
def heavy_document() -> dict[str, Any]:
    """Give the document of the heavy report."""
    return build(heavy_report(), quote)


@pytest.fixture
def empty_document() -> dict[str, Any]:
    """Give the document of the empty, unjudged report."""
    return build(empty_report(), quote)


@pytest.fixture
def inspection() -> dict[str, Any]:
    """Give what is in a file of two runs."""
    log = bad_run().log
    log.sections.append(good_run().section)
    return build_inspection([(log, 692_000)])
