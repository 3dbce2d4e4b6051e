from __future__ import annotations

from typing import Any

import pytest

from logdiff.render import FORMATS, Options, load


def test_the_formats_are_the_modules() -> None:
    assert FORMATS == ("json", "markdown", "text")
    with pytest.raises(KeyError):
        load("dto")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("report", ["pair_document", "heavy_document", "empty_document"])
@pytest.mark.parametrize("verbose", [0, 1])
def test_every_format_shows_every_report(
    name: str, report: str, verbose: int, request: pytest.FixtureRequest
) -> None:
    document = request.getfixturevalue(report)
    text = load(name).render(document, Options(verbose=verbose))
    assert text == load(name).render(document, Options(verbose=verbose))
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert document["verdict"]["status"] in text.lower()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_shows_an_inspection(name: str, inspection: dict[str, Any]) -> None:
    text = load(name).render_inspect(inspection, Options())
    assert "别人的docker日志：" in text
