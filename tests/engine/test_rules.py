"""The built-in rules: their examples, and that every condition of theirs is needed for them."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest

from logdiff import cli
from logdiff.engine import check as checker
from logdiff.engine import compile as compiler
from logdiff.engine.ruleset import RULES_DIRECTORY, RuleSet, load_builtin
from logdiff.engine.strict_yaml import load
from logdiff.pipeline import judge_texts, match_line

if TYPE_CHECKING:
    from pathlib import Path

FILES = compiler.rule_files([RULES_DIRECTORY])
RULE_FILES = [path for path in FILES if os.path.basename(os.path.dirname(path)) != "signals"]
REQUIRED = {
    "launch-arg-changed", "source-drift", "kernel-not-loaded", "kernel-fallback",
    "custom-op-missing", "nan-output", "weights-differ", "oom-while-serving", "engine-dead",
    "prefix-cache-disabled", "chunked-prefill-changed", "thread-reduction", "eager-mode",
    "baseline-unhealthy", "log-truncated",
}  # fmt: skip


def document(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        data: dict[str, Any] = load(file.read(), path).data
    return data


def name(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def test_the_rules_hold_together() -> None:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = cli.run(["rules", "check"])
    assert (status, err.getvalue()) == (0, "")
    assert "all their examples are found" in out.getvalue()


def test_the_rules_that_must_be_there() -> None:
    assert {rule.id for rule in load_builtin().rules} >= REQUIRED
    assert {name(path) for path in RULE_FILES} == {rule.id for rule in load_builtin().rules}


@pytest.mark.parametrize("path", RULE_FILES, ids=name)
def test_every_rule_has_both_kinds_of_examples(path: str) -> None:
    finds = [example["finds"] for example in document(path)["examples"]]
    assert "none" in finds
    assert [found for found in finds if found != "none"]


@pytest.mark.parametrize("path", RULE_FILES, ids=name)
def test_examples_quote_no_third_party(path: str) -> None:
    """Examples are written by hand; nothing of the real logs is copied into the project."""
    with open(path, encoding="utf-8") as file:
        text = file.read().lower()
    for word in ("corex", "ixformer", "iluvatar", "qwen3_5"):
        assert word not in text


def conditions() -> list[tuple[str, int]]:
    return [(path, i) for path in RULE_FILES for i in range(len(document(path).get("when", [])))]


def without_condition(path: str, index: int, folder: Path) -> str:
    """Write the rule without one of its conditions, and return the new file."""
    import yaml

    rule = document(path)
    del rule["when"][index]
    if not rule["when"]:
        del rule["when"]
    mutant = folder / os.path.basename(os.path.dirname(path)) / os.path.basename(path)
    mutant.parent.mkdir()
    mutant.write_text(yaml.safe_dump(rule, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return str(mutant)


@pytest.mark.parametrize(
    ("path", "index"), conditions(), ids=lambda v: name(v) if isinstance(v, str) else str(v)
)
def test_without_a_condition_an_example_fails(
    path: str, index: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builtin = load_builtin()
    others = [rule for rule in builtin.rules if rule.id != name(path)]
    monkeypatch.setattr(checker, "load_builtin", lambda: RuleSet(builtin.signals, others))
    mutant = without_condition(path, index, tmp_path)
    problems = checker.check([mutant], match_line=match_line, run_example=judge_texts)
    assert problems, "no example shows what the condition is for"
    assert any("example" in str(problem) for problem in problems), problems


@pytest.mark.parametrize("path", RULE_FILES, ids=name)
def test_examples_come_to_what_they_say(path: str) -> None:
    """The examples of a rule, judged by all rules together."""
    rules = load_builtin()
    for example in document(path)["examples"]:
        files = example.get("good_files"), example.get("bad_files")
        report = judge_texts(rules, example.get("good"), example["bad"], *files)
        found = [finding for finding in report.findings if finding.rule == name(path)]
        wanted = [] if example["finds"] == "none" else example["finds"]
        assert len(found) == len(wanted), example["name"]
        for finding in found:
            assert "unknown" not in finding.title, (example["name"], finding.title)
            assert finding.evidence, example["name"]
