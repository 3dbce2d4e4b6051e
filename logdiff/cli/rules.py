"""``logdiff rules``: the rules there are, what each means, and whether they hold together."""

from __future__ import annotations

import os
from typing import Any

import click

from logdiff.cli._group import SuggestingGroup
from logdiff.errors import UsageError

_LIST_EPILOG = """\b
Examples:
  logdiff rules list
  logdiff rules explain source-drift
  logdiff rules check                   the built-in rules
  logdiff rules check my-rules/         your own, together with them
"""


@click.group(cls=SuggestingGroup, epilog=_LIST_EPILOG)
def command() -> None:
    """List, explain and check rules."""


@command.command("list")
def list_rules() -> None:
    """List the built-in rules, by area."""
    for area, identifier, document in _rule_documents():
        severity = document["severity"] if " " not in document["severity"] else "by case"
        click.echo(f"{area:10} {identifier:26} {severity}")


@command.command()
@click.argument("identifier", metavar="RULE")
def explain(identifier: str) -> None:
    """Say what RULE looks for, why, what it proposes, and show an example."""
    known = {name: (area, document) for area, name, document in _rule_documents()}
    if identifier not in known:
        from difflib import get_close_matches

        near = get_close_matches(identifier, known, 1)
        hint = f"Did you mean '{near[0]}'?" if near else "'logdiff rules list' lists them."
        raise UsageError(f"there is no rule '{identifier}'", hint)
    area, document = known[identifier]
    click.echo(_explained(area, document))


@command.command()
@click.argument("paths", nargs=-1)
def check(paths: tuple[str, ...]) -> int:
    """Check rule and signal files, and run their examples.

    PATHS are files or directories; without any, the built-in ones are checked.
    """
    from logdiff.engine.check import check as check_files
    from logdiff.pipeline import judge_texts, match_line

    problems = check_files(paths or None, match_line=match_line, run_example=judge_texts)
    for problem in problems:
        click.echo(str(problem), err=True)
    if problems:
        count = len(problems)
        raise UsageError(f"{count} {'problem' if count == 1 else 'problems'} in the rule files")
    click.echo("The rules hold together, and all their examples are found.")
    return 0


def _rule_documents() -> list[tuple[str, str, dict[str, Any]]]:
    """Area, id and content of each built-in rule file."""
    from logdiff.engine.compile import rule_files
    from logdiff.engine.ruleset import RULES_DIRECTORY
    from logdiff.engine.strict_yaml import load

    found = []
    for path in rule_files([RULES_DIRECTORY]):
        area = os.path.basename(os.path.dirname(path))
        with open(path, encoding="utf-8") as file:
            document = load(file.read(), path).data
        if "id" in document:
            found.append((area, document["id"], document))
    return found


def _explained(area: str, rule: dict[str, Any]) -> str:
    parts = [f"{rule['id']}  ({area})", ""]
    for key, label in (("title", "Says"), ("severity", "Severity"), ("confidence", "Confidence"),
                       ("for_each", "For each"), ("when", "When"), ("why", "Why"),
                       ("causes", "May be explained by")):  # fmt: skip
        if value := rule.get(key):
            text = " and ".join(map(str, value)) if isinstance(value, list) else str(value)
            parts.append(f"{label + ':':20} {text.strip()}")
    for fix in rule.get("fixes") or ():
        condition = f", when {fix['when']}" if fix.get("when") else ""
        parts.append(f"{'Fix:':20} {fix['kind']}: {fix['action']} {fix['key']}{condition}")
        parts.append(f"{'':20} {fix['reason'].strip()}")
    parts += [f"{'Read more:':20} {reference}" for reference in rule.get("references") or ()]
    for example in rule["examples"][:2]:
        parts += ["", f"Example: {example['name']}"]
        for run in ("good", "bad"):
            lines = (example.get(run) or "").rstrip().splitlines()
            parts += [f"  {run + ':':5} {line}" for line in lines]
        found = example["finds"]
        names = found if found == "none" else ", ".join(f.get("subject", "") for f in found)
        parts.append(f"  finds: {names}")
    return "\n".join(parts)
