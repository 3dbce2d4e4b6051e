"""Checks rule and signal files as their authors and CI do: everything, down to the examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from logdiff.engine import schema
from logdiff.engine.compile import Source, compile_sources, read_sources, rule_files
from logdiff.engine.ruleset import RULES_DIRECTORY, RuleSet, Signal, load_builtin
from logdiff.errors import LogdiffError
from logdiff.model import Finding, Fix, Report

if TYPE_CHECKING:
    from logdiff.engine.position import Problem
    from logdiff.engine.strict_yaml import Path

MatchLine = Callable[[Signal, str], dict[str, Any] | None]
"""Matches a full line against one signal; returns the values of its fields, or None."""

_Files = dict[str, str]
RunExample = Callable[[RuleSet, str | None, str, _Files, _Files], Report]
"""Judges the text of a bad log by the given rules, with that of a good one if given, and with the
submission files of good and of bad, by their kinds."""


def check(
    paths: Sequence[str] | None, *, match_line: MatchLine, run_example: RunExample
) -> list[Problem]:
    """Return every mistake in the files, in order of their place; the built-in ones for None.

    A user's examples are run with the built-in rules and the user's own. RuleError where a path
    does not exist.
    """
    problems: list[Problem] = []
    known = RuleSet([], []) if paths is None else load_builtin()
    sources = read_sources(rule_files([RULES_DIRECTORY] if paths is None else paths), problems)
    compiled = compile_sources(sources, problems, known)
    signals = {signal.id: signal for signal in compiled.signals}
    rules = {rule.id for rule in compiled.rules}
    everything = known.merged(compiled)
    for source in sources:
        if isinstance(source.model, schema.SignalFile):
            problems.extend(_signal_problems(source, source.model, signals, match_line))
            continue
        problems.extend(_kinds_of_examples(source, source.model))
        if source.model.id in rules:
            problems.extend(_rule_problems(source, source.model, everything, run_example))
    return sorted(set(problems))


def _signal_problems(
    source: Source, file: schema.SignalFile, signals: dict[str, Signal], match_line: MatchLine
) -> Iterator[Problem]:
    for index, model in enumerate(file.signals):
        signal = signals.get(model.id)
        if signal is None:  # it has mistakes that are reported already
            continue
        path: Path = ("signals", index)
        yield from _line_problems(source, path, model, signal, match_line)
        yield from _unreached_patterns(source, path, model, signal, match_line)


def _line_problems(
    source: Source,
    path: Path,
    model: schema.SignalModel,
    signal: Signal,
    match_line: MatchLine,
) -> Iterator[Problem]:
    for index, example in enumerate(model.examples):
        place: Path = (*path, "examples", index)
        chosen = _chosen(signal, example.pattern)
        if chosen is None:
            message = f"there is no pattern {example.pattern}"
            yield source.problem((*place, "pattern"), message)
            continue
        values = match_line(chosen, example.line)
        if values is None:
            message = f"{signal.id} does not recognise its example"
            yield source.problem((*place, "line"), message)
            continue
        for name, wanted in (example.gives or {}).items():
            found = values.get(name)
            if found != wanted:
                message = f"{name} is {found!r}, not {wanted!r}"
                yield source.problem((*place, "gives", name), message)
    for index, line in enumerate(model.not_):
        if match_line(signal, line) is not None:
            message = f"{signal.id} recognises a line that it must not"
            yield source.problem((*path, "not", index), message)


def _chosen(signal: Signal, number: int | None) -> Signal | None:
    """Return the signal with the pattern of that number only, with all for None."""
    if number is None:
        return signal
    return _with_pattern(signal, number - 1) if number <= len(signal.patterns) else None


def _with_pattern(signal: Signal, index: int) -> Signal:
    return signal._replace(
        patterns=signal.patterns[index : index + 1], versions=signal.versions[index : index + 1]
    )


def _unreached_patterns(
    source: Source,
    path: Path,
    model: schema.SignalModel,
    signal: Signal,
    match_line: MatchLine,
) -> Iterator[Problem]:
    for index in range(len(signal.patterns)):
        alone = _with_pattern(signal, index)
        if all(match_line(alone, example.line) is None for example in model.examples):
            yield source.problem((*path, "patterns", index), "no example reaches this pattern")


def _kinds_of_examples(source: Source, model: schema.RuleFile) -> Iterator[Problem]:
    if all(example.finds == "none" for example in model.examples):
        yield source.problem(("examples",), "no example shows what the rule finds")
    if all(example.finds != "none" for example in model.examples):
        yield source.problem(("examples",), "no example shows what the rule does not find")


def _rule_problems(
    source: Source, model: schema.RuleFile, rules: RuleSet, run_example: RunExample
) -> Iterator[Problem]:
    for index, example in enumerate(model.examples):
        path: Path = ("examples", index)
        try:
            report = run_example(
                rules, example.good, example.bad, _files(example.good_files),
                _files(example.bad_files),
            )  # fmt: skip
        except LogdiffError as error:
            yield source.problem(path, f"example {example.name!r}: {error.message}")
            continue
        for place, message in _mismatches(model.id, example, report):
            yield source.problem((*path, *place), f"example {example.name!r}: {message}")


def _files(given: schema.ExampleFiles | None) -> _Files:
    return given.model_dump(exclude_none=True) if given else {}


def _mismatches(
    rule: str, example: schema.RuleExample, report: Report
) -> Iterator[tuple[Path, str]]:
    """Compare what was found with what was expected, each finding with one expectation."""
    left = [finding for finding in report.findings if finding.rule == rule]
    fixes = {fix.id: fix for fix in report.fixes}
    for index, expected in enumerate([] if example.finds == "none" else example.finds):
        match = next((finding for finding in left if not _unlike(finding, expected)), None)
        if match is None:
            yield ("finds", index), _not_found(left, expected)
            continue
        left.remove(match)
        own = [fixes[name] for name in match.fixes if name in fixes]
        for number, fix in enumerate(expected.fixes or ()):
            message = _fix_mismatch(own, fix)
            if message:
                yield ("finds", index, "fixes", number), message
    for finding in left:
        yield ("finds",), f"also finds {_described(finding)}"


def _unlike(finding: Finding, expected: schema.ExpectedFinding) -> list[str]:
    """Return in which respects a finding is not the expected one."""
    unlike = [
        f"{name} is {getattr(finding, name)!r}"
        for name in ("subject", "severity", "confidence", "run")
        if getattr(expected, name) not in (None, getattr(finding, name))
    ]
    if expected.title_contains and expected.title_contains not in finding.title:
        unlike.append(f"title is {finding.title!r}")
    return unlike


def _not_found(left: list[Finding], expected: schema.ExpectedFinding) -> str:
    if not left:
        return "finds nothing"
    nearest = min(left, key=lambda finding: len(_unlike(finding, expected)))
    return f"finds no such thing; {', '.join(_unlike(nearest, expected))}"


def _described(finding: Finding) -> str:
    return f"{finding.id} ({finding.severity}, {finding.confidence}): {finding.title}"


def _fix_mismatch(fixes: list[Fix], expected: schema.ExpectedFix) -> str | None:
    fix = next((fix for fix in fixes if fix.key == expected.key), None)
    if fix is None:
        proposed = ", ".join(fix.key for fix in fixes) or "none"
        return f"proposes no fix of {expected.key}, but {proposed}"
    if expected.action not in (None, fix.action):
        return f"fix of {fix.key}: action is {fix.action}"
    for name, wanted, found in (
        ("from_", expected.from_, fix.old),
        ("to", expected.to, fix.new),
    ):
        if name in expected.model_fields_set and wanted != found:
            return f"fix of {fix.key}: {name.rstrip('_')} is {found!r}, not {wanted!r}"
    return None
