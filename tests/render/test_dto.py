from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from logdiff.pipeline import Reader, compare_runs
from logdiff.quote import quote
from logdiff.render import Options
from logdiff.render.document import build
from logdiff.render.dto import Report, json_schema
from logdiff.render.json import render

FIXTURES = Path(__file__).parents[2] / "fixtures"
PAIRS = [
    *(
        (str(case / "good" / "container.log"), str(case / "bad" / "container.log"))
        for case in sorted(FIXTURES.iterdir())
        if (case / "good" / "container.log").exists()
    ),
    *(
        (f"{case / 'container.log'}#1", f"{case / 'container.log'}#2")
        for case in sorted(FIXTURES.iterdir())
        if (case / "container.log").exists()
    ),
]
COMMITTED = Path(__file__).parents[2] / "schemas" / "report.json"


@pytest.mark.parametrize("name", ["pair_document", "heavy_document", "empty_document"])
def test_documents_keep_the_published_promise(name: str, request: pytest.FixtureRequest) -> None:
    document = request.getfixturevalue(name)
    text = render(document, Options())
    report = Report.model_validate_json(text)
    assert json.loads(report.model_dump_json(exclude_unset=True)) == json.loads(text)
    jsonschema.Draft202012Validator(json_schema()).validate(json.loads(text))


@pytest.mark.parametrize(("good", "bad"), PAIRS, ids=lambda path: Path(path).parent.name)
def test_real_documents_keep_the_published_promise(good: str, bad: str) -> None:
    with Reader() as reader:
        document = build(compare_runs(reader.run(good, "good"), reader.run(bad, "bad")), quote)
        text = render(document, Options())
    Report.model_validate_json(text)
    for run in (document["good"], document["bad"]):
        # One line prints all arguments: it is quoted once, not once for each of them.
        assert not [name for name in run["evidence"] if name.startswith("args.")]


def test_what_is_not_promised_is_refused(pair_document: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Report.model_validate({**pair_document, "extra": 1})


def test_the_committed_schema_is_the_generated_one() -> None:
    assert json.loads(COMMITTED.read_text(encoding="utf-8")) == json_schema()


def test_every_field_is_described() -> None:
    for definition in json_schema()["$defs"].values():
        fields = definition.get("properties", {})
        assert "description" in definition or not fields
        assert all("description" in field for field in fields.values())
