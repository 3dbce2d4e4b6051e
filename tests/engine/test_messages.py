"""Messages that are facts: rules that need no more than what one line says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from logdiff.engine.compile import load
from logdiff.engine.position import RuleFileError
from logdiff.pipeline import judge_texts

if TYPE_CHECKING:
    from logdiff.model import Report
    from tests.engine.samples import MakeFile

SIGNALS = r"""
    source: vendor
    signals:
      - id: tile-lost
        about: A tile is lost.
        reported: true
        patterns: ['lost tile (?P<tile>\d+) of (?P<grid>\w+)(?: after (?P<seconds>[\d.]+) s)?']
        fields: {tile: int, grid: text, seconds: float}
        examples:
          - line: 'INFO 05-02 10:01:10 scan.py:41] lost tile 6 of north'
        not: ['INFO 05-02 10:01:10 scan.py:41] no tile is lost']
      - id: served
        about: The server serves.
        patterns: ['startup complete']
        enters: serving
        examples: [{line: 'INFO: startup complete'}]
        not: ['INFO: startup']
      - id: stopped
        about: The server stops.
        patterns: ['shutting down']
        enters: stopped
        examples: [{line: 'INFO: shutting down'}]
        not: ['INFO: shut']
"""
RULE = """
    id: tiles-lost
    title: "{count(run.messages.tile_lost, 'tile')}: {join([e.tile for e in run.messages.tile_lost])}"
    scope: one-run
    when: [run.messages.tile_lost]
    subject: "{run.messages.tile_lost[0].grid} {run.messages.tile_lost[0].occurrences} {run.messages.tile_lost[0].seconds}"
    severity: high
    confidence: certain
    evidence: [run.messages.tile_lost]
    why: It was said.
    examples:
      - {name: a, bad: 'lost tile 6 of north', finds: [{severity: high}]}
      - {name: b, bad: 'nothing', finds: none}
"""  # noqa: E501  a rule's texts are one line each


def judged(make_file: MakeFile, bad: str, good: str | None = None) -> Report:
    files = [make_file(SIGNALS, "vendor.yaml", "signals"), make_file(RULE, "tiles-lost.yaml")]
    return judge_texts(load(files), good, bad)


def test_equal_messages_of_several_processes_are_one_entry(make_file: MakeFile) -> None:
    report = judged(
        make_file,
        "INFO 05-02 10:01:10 a.py:1] lost tile 6 of north after 1.5 s\n"
        "(Worker pid=7) INFO 05-02 10:01:10 b.py:2] lost tile 6 of north after 1.5 s\n"
        "lost tile 7 of north\n",
    )
    (finding,) = report.findings
    assert finding.title == "2 tiles: 6, 7"
    assert finding.subject == "north 2 1.5"
    assert [evidence.mark.line for _, evidence in finding.evidence] == [1, 2, 3]


@pytest.mark.parametrize(
    "text", ["nothing\n", "startup complete\nshutting down\nlost tile 6 of a\n"]
)
def test_a_message_that_is_not_there_or_a_farewell(make_file: MakeFile, text: str) -> None:
    report = judged(make_file, text)
    assert report.findings == []
    assert report.not_judged == []


def test_messages_are_no_differences_between_runs(make_file: MakeFile) -> None:
    report = judged(make_file, "lost tile 6 of north\n", "lost tile 7 of north\n")
    assert [d.fact for d in report.differences if d.fact.startswith("messages")] == []


def test_a_rule_cannot_name_what_no_signal_reports(make_file: MakeFile) -> None:
    files = [
        make_file(SIGNALS.replace("reported: true", "reported: false"), "vendor.yaml", "signals"),
        make_file(RULE, "tiles-lost.yaml"),
    ]
    with pytest.raises(RuleFileError, match=r"undefined fact 'messages\.tile_lost'"):
        load(files)


def test_only_groups_are_reported(make_file: MakeFile) -> None:
    text = SIGNALS.replace("reported: true", "reported: true\n        keep: each")
    with pytest.raises(RuleFileError, match="kept in groups"):
        load([make_file(text, "vendor.yaml", "signals")])
