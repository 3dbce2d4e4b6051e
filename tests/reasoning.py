"""Facts and reports of logs that stand in a test as text, and the command line in this process."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import TYPE_CHECKING, Any, NamedTuple

from logdiff import cli
from logdiff.engine.ruleset import RuleSet, load_builtin
from logdiff.pipeline import judge_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pytest

    from logdiff.model import Finding, Report, Run

HEAD = "INFO 05-02 10:00:09 api_server.py:528] vLLM API server version 0.6.3\n"
"""The line with which a server starts."""
HARMLESS = ("info",)


class Result(NamedTuple):
    """What one command line came to."""

    status: int
    out: str
    err: str


def text(*lines: str) -> str:
    """Lines as a log."""
    return "".join(f"{line}\n" for line in lines)


def judge(bad: str, good: str | None = None) -> Report:
    """The report on a log, alone or against a known-good one, by the built-in rules."""
    return judge_texts(load_builtin(), good and dedent(good).lstrip("\n"), dedent(bad).lstrip("\n"))


def run_of(log: str) -> Run:
    """The run that a log shows."""
    return judge_texts(RuleSet(load_builtin().signals, []), None, dedent(log).lstrip("\n")).bad


def facts_of(log: str) -> dict[str, Any]:
    """The facts of a log."""
    return run_of(log).facts


def severe(findings: Iterable[Finding]) -> list[str]:
    """Ids and severities of the findings that are more than information."""
    return [f"{f.id} ({f.severity}): {f.title}" for f in findings if f.severity not in HARMLESS]


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> Result:
    """Run one command line in this process."""
    capsys.readouterr()
    status = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return Result(status, captured.out, captured.err)


def report_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """The report that a command prints as JSON; its status must be 0."""
    result = command(capsys, *arguments, "-f", "json")
    assert result.status == 0, result.err
    report: dict[str, Any] = json.loads(result.out)
    return report


def holds_at_least(found: Any, wanted: Any, where: str = "") -> None:
    """Assert that a value has at least the keys of another, all of them equal."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key, value in wanted.items():
            assert key in found, f"{where}.{key} is not there"
            holds_at_least(found[key], value, f"{where}.{key}")
    elif isinstance(wanted, list) and wanted and isinstance(wanted[0], dict):
        assert isinstance(found, list), where
        assert len(found) == len(wanted), f"{where}: {found}"
        for index, (one, other) in enumerate(zip(found, wanted, strict=True)):
            holds_at_least(one, other, f"{where}[{index}]")
    else:
        assert found == wanted, where


def by_id(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Findings of a report in JSON, by id."""
    return {finding["id"]: finding for finding in report["findings"]}
