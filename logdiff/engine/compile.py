"""Reads rule and signal files, checks them and compiles them.

Every mistake is collected with its position, so that an author sees all of them at once.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from logdiff.engine import literals, schema, strict_yaml
from logdiff.engine.conditions import (
    Names,
    compile_choice,
    compile_evidence,
    compile_expression,
    suggestion,
)
from logdiff.engine.position import Origin, Position, Problem, RuleFileError
from logdiff.engine.ruleset import Rule, RuleFix, RuleSet, Signal, Wording
from logdiff.engine.syntax import mentions
from logdiff.engine.texts import compile_text
from logdiff.errors import RuleError
from logdiff.facts_table import FACTS
from logdiff.model import CONFIDENCES, SAFETIES, SEVERITIES
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from types import CodeType

    from logdiff.engine.strict_yaml import Document, Path


class Source(NamedTuple):
    """A file that has the right shape."""

    document: Document
    model: schema.SignalFile | schema.RuleFile

    def problem(self, path: Path, message: str) -> Problem:
        """Return a problem with the value at a path."""
        return Problem(self.document.position(path), message)


def rule_files(paths: Iterable[str]) -> list[str]:
    """Return the YAML files that paths name, those of directories in order of their names.

    Raises RuleError where a path does not exist.
    """
    files: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            files += sorted(_files_below(path))
        elif os.path.exists(path):
            files.append(path)
        else:
            raise RuleError(f"{path}: there is no such file or directory")
    return files


def load(files: Sequence[str], known: RuleSet | None = None) -> RuleSet:
    """Compile files; ``known`` holds the rules that they add to.

    Raises :class:`RuleFileError` for the first mistake, with the number of further ones as hint.
    """
    problems: list[Problem] = []
    rules = compile_sources(read_sources(files, problems), problems, known)
    if problems:
        more = len(problems) - 1
        hint = f"'logdiff rules check' shows {more} more." if more else None
        raise RuleFileError(min(problems), hint)
    return rules


def read_sources(files: Iterable[str], problems: list[Problem]) -> list[Source]:
    """Read files and check their shape; those with mistakes are left out and reported."""
    sources = []
    for file in files:
        try:
            document = strict_yaml.load(_read(file), file)
        except RuleFileError as error:
            problems.append(error.problem)
            continue
        model = _model(document, problems)
        if model is not None:
            sources.append(Source(document, model))
    return sources


def compile_sources(
    sources: Iterable[Source], problems: list[Problem], known: RuleSet | None = None
) -> RuleSet:
    """Compile what has the right shape; signals and rules with mistakes are left out."""
    known = known or RuleSet([], [])
    compiler = _Compiler(problems, known)
    result = RuleSet([], [])
    rule_sources: list[tuple[Source, schema.RuleFile]] = []
    for source in sources:
        if isinstance(source.model, schema.SignalFile):
            result.signals.extend(compiler.signals(source, source.model))
        else:
            rule_sources.append((source, source.model))
    names = _names([*known.signals, *result.signals])
    for source, model in rule_sources:
        result.rules.extend(compiler.rule(source, model, names))
    _check_causes(rule_sources, {rule.id for rule in known.rules}, problems)
    return result


def _names(signals: Iterable[Signal]) -> Names:
    """Return what rules may name: the facts, and the messages of the signals that report them."""
    messages = {signal.fact: signal.id for signal in signals if signal.reported}
    return Names(facts={**FACTS, **messages})


def _files_below(directory: str) -> Iterator[str]:
    for folder, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if name[0] not in "._"]
        for name in names:
            if name.endswith((".yaml", ".yml")) and not name.startswith("."):
                yield os.path.join(folder, name)


def _read(file: str) -> str:
    start = Position(file, 1, 1)
    try:
        with open(file, encoding="utf-8-sig", newline="") as stream:
            return stream.read(strict_yaml.MAXIMUM_CHARACTERS + 1)
    except OSError as error:
        raise RuleFileError(Problem(start, error.strerror or "cannot be read")) from error
    except UnicodeDecodeError as error:
        raise RuleFileError(Problem(start, "the file is not UTF-8")) from error


def _model(
    document: Document, problems: list[Problem]
) -> schema.SignalFile | schema.RuleFile | None:
    is_signal_file = isinstance(document.data, dict) and "signals" in document.data
    model = schema.SignalFile if is_signal_file else schema.RuleFile
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        problems.extend(_shape_problem(document, one) for one in error.errors())
        return None


def _shape_problem(document: Document, error: Any) -> Problem:
    """Say in the words of a rule file what the validator says in its own."""
    path: Path = error["loc"]
    kind, name = error["type"], str(path[-1]) if path else ""
    if kind == "extra_forbidden":
        hint = suggestion(name, schema.keys())
        return Problem(document.key_position(path), f"unknown key {name!r}{hint}")
    if kind == "missing":
        return Problem(document.position(path[:-1]), f"the key {name!r} is missing")
    message = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be", 1)
    if kind == "string_type" and not isinstance(error["input"], (dict, list)):
        message += ": quote it"
    label = next((str(step) for step in reversed(path) if isinstance(step, str)), "the file")
    place = document.position(path)
    return Problem(place, f"{_own_key(document, path) or label}: {message}")


def _own_key(document: Document, path: Path) -> str | None:
    """Return the last key of a path that is in the document, not a branch of a union."""
    node, key = document.root, None
    for step in path:
        if step in node.children:
            node = node.children[step]
            key = step if isinstance(step, str) else key
    return key


class _Compiler:
    """Compiles sources one by one and remembers the ids."""

    def __init__(self, problems: list[Problem], known: RuleSet) -> None:
        self.problems = problems
        self.signal_ids: dict[str, str] = {signal.id: "built in" for signal in known.signals}
        self.rule_ids: dict[str, str] = {rule.id: "built in" for rule in known.rules}

    def signals(self, source: Source, model: schema.SignalFile) -> Iterator[Signal]:
        self.check_file_name(source, "source", model.source)
        for index, signal in enumerate(model.signals):
            path: Path = ("signals", index)
            before = len(self.problems)
            self.check_unique(source, (*path, "id"), signal.id, self.signal_ids)
            compiled = self.signal(source, path, model.source, signal)
            if len(self.problems) == before:
                yield compiled

    def signal(
        self, source: Source, path: Path, file_stem: str, model: schema.SignalModel
    ) -> Signal:
        analyses = list(self.patterns(source, path, model))
        self.check_fields(source, path, model, {g for _, a in analyses for g in a.groups})
        if model.reported and model.keep != "groups":
            message = "only messages that are kept in groups can be reported"
            self.problems.append(source.problem((*path, "reported"), message))
        wordings = [_wording(pattern) for pattern in model.patterns]
        return Signal(
            id=model.id,
            engine=model.engine,
            source=file_stem,
            keep=model.keep,
            enters=model.enters,
            completes=model.completes,
            levels=tuple(model.level or ()),
            scope=model.scope,
            patterns=tuple(
                (text.encode(), a.literal, a.word, a.digit_sensitive) for text, a in analyses
            ),
            fields=tuple(_field(name, shape) for name, shape in model.fields.items()),
            versions=tuple((wording.since, wording.until) for wording in wordings),
            reported=model.reported,
        )

    def patterns(
        self, source: Source, path: Path, model: schema.SignalModel
    ) -> Iterator[tuple[str, literals.Analysis]]:
        for index, pattern in enumerate(model.patterns):
            place: Path = (*path, "patterns", index)
            if not isinstance(pattern, str):
                place = (*place, "pattern")
            text = _wording(pattern).pattern
            problem = _pattern_problem(text, source.document.origin(place))
            if problem is None:
                yield text, literals.analyse(text)
            else:
                self.problems.append(problem)

    def check_fields(
        self, source: Source, path: Path, model: schema.SignalModel, groups: set[str]
    ) -> None:
        for name in model.fields:
            if name not in groups:
                message = f"the field {name!r} is a group of no pattern{suggestion(name, groups)}"
                place = source.document.key_position((*path, "fields", name))
                self.problems.append(Problem(place, message))
        for name in sorted(groups - set(model.fields)):
            message = f"the group {name!r} of a pattern is no field"
            self.problems.append(source.problem((*path, "patterns"), message))

    def rule(self, source: Source, model: schema.RuleFile, names: Names) -> Iterator[Rule]:
        before = len(self.problems)
        self.check_file_name(source, "id", model.id)
        self.check_unique(source, ("id",), model.id, self.rule_ids)
        compiled = _RuleCompiler(source, model, names, self.problems).rule()
        if len(self.problems) == before:
            yield compiled

    def check_file_name(self, source: Source, key: str, name: str) -> None:
        stem = os.path.splitext(os.path.basename(source.document.file))[0]
        if name != stem:
            message = f"{key} {name!r} must be the name of the file, {stem!r}"
            self.problems.append(source.problem((key,), message))

    def check_unique(self, source: Source, path: Path, name: str, ids: dict[str, str]) -> None:
        if name in ids:
            message = f"the id {name!r} is taken: {ids[name]}"
            self.problems.append(source.problem(path, message))
        ids.setdefault(name, str(source.document.position(path)))


class _RuleCompiler:
    """Compiles the expressions and texts of one rule."""

    def __init__(
        self, source: Source, model: schema.RuleFile, names: Names, problems: list[Problem]
    ) -> None:
        self.document = source.document
        self.model = model
        self.problems = problems
        bound = frozenset({"item"} if model.for_each is not None else ())
        self.unbound = names
        self.names = names._replace(variables=bound)

    def rule(self) -> Rule:
        model = self.model
        when, filters = self.conditions()
        return Rule(
            id=model.id,
            area=os.path.basename(os.path.dirname(os.path.abspath(self.document.file))),
            scope=model.scope,
            about=model.about,
            needs=tuple(model.needs),
            when=when,
            for_each=self.optional(("for_each",), model.for_each, self.unbound),
            filters=filters,
            raise_in_compare=model.raise_in_compare,
            unordered=model.unordered,
            causes=tuple(model.causes),
            said=self.wording(),
        )

    def wording(self) -> Wording:
        """Compile what the rule says where it holds."""
        model = self.model
        return Wording(
            title=self.text(("title",), model.title),
            headline=self.optional_text(("headline",), model.headline),
            severity=self.choice(("severity",), model.severity, SEVERITIES),
            confidence=self.choice(("confidence",), model.confidence, CONFIDENCES),
            subject=self.optional_text(("subject",), model.subject),
            topics=self.optional(("topics",), model.topics, self.names),
            evidence=tuple(
                self.attempt(compile_evidence, ("evidence", index), source)
                for index, source in enumerate(model.evidence)
            ),
            why=self.text(("why",), model.why),
            fixes=tuple(self.fix(index, fix) for index, fix in enumerate(model.fixes)),
            references=tuple(model.references),
        )

    def conditions(self) -> tuple[tuple[CodeType, ...], tuple[CodeType, ...]]:
        """Return the conditions that hold for the whole rule, and those for each item."""
        when: list[CodeType] = []
        filters: list[CodeType] = []
        for index, source in enumerate(self.model.when):
            before = len(self.problems)
            code = self.attempt(compile_expression, ("when", index), source)
            if len(self.problems) == before:
                (filters if mentions(source, "item") else when).append(code)
        return tuple(when), tuple(filters)

    def fix(self, index: int, model: schema.FixModel) -> RuleFix:
        path: Path = ("fixes", index)
        outer = self.names
        for_each = self.optional((*path, "for_each"), model.for_each, outer)
        if model.for_each is not None:
            self.names = outer._replace(variables=outer.variables | {"target"})
        fix = RuleFix(
            when=self.optional((*path, "when"), model.when, self.names),
            for_each=for_each,
            kind=model.kind,
            key=self.text((*path, "key"), model.key),
            action=model.action,
            old=self.scalar((*path, "from"), model.from_),
            new=self.scalar((*path, "to"), model.to),
            reason=self.text((*path, "reason"), model.reason),
            confidence=self.optional_choice((*path, "confidence"), model.confidence, CONFIDENCES),
            safety=self.optional_choice((*path, "safety"), model.safety, SAFETIES),
            confirm_by=self.optional_text((*path, "confirm_by"), model.confirm_by),
        )
        self.names = outer
        return fix

    def attempt(
        self, compiler: Callable[..., CodeType], path: Path, *arguments: Any, **options: Any
    ) -> CodeType:
        """Compile; on a mistake report it and return code that is never run."""
        where = self.document.origin(path)
        try:
            return compiler(*arguments, **{"names": self.names, "where": where, **options})
        except RuleFileError as error:
            self.problems.append(error.problem)
            return _NOTHING

    def text(self, path: Path, source: str) -> CodeType:
        return self.attempt(compile_text, path, source)

    def optional_text(self, path: Path, source: str | None) -> CodeType | None:
        return None if source is None else self.text(path, source)

    def optional(self, path: Path, source: str | None, names: Names) -> CodeType | None:
        if source is None:
            return None
        return self.attempt(compile_expression, path, source, names=names)

    def choice(self, path: Path, source: str, allowed: Collection[str]) -> CodeType:
        return self.attempt(compile_choice, path, source, allowed)

    def optional_choice(
        self, path: Path, source: str | None, allowed: Collection[str]
    ) -> CodeType | None:
        return None if source is None else self.choice(path, source, allowed)

    def scalar(self, path: Path, source: schema.Scalar) -> CodeType | None:
        """Compile an expression, or a number or boolean that YAML has read already."""
        if source is None:
            return None
        text = source if isinstance(source, str) else repr(source)
        return self.attempt(compile_expression, path, text)


_NOTHING = compile("None", "<rule>", "eval")


def _wording(pattern: str | schema.Pattern) -> schema.Pattern:
    if isinstance(pattern, str):
        return schema.Pattern(pattern=pattern, since=None, until=None)
    return pattern


def _field(name: str, shape: str | schema.FieldShape) -> tuple[str, str, str | None]:
    return (name, shape, None) if isinstance(shape, str) else (name, shape.type, shape.unit)


def _pattern_problem(pattern: str, where: Origin) -> Problem | None:
    try:
        re.compile(pattern.encode())
    except re.error as error:
        place = where.at(len(pattern.encode()[: error.pos or 0].decode(errors="ignore")), pattern)
        return Problem(place, f"no regular expression: {error.msg}")
    except (RecursionError, OverflowError) as error:
        return Problem(where.start, f"no regular expression: {error}")
    message = literals.objection(pattern)
    return None if message is None else Problem(where.start, message)


def _check_causes(
    sources: list[tuple[Source, schema.RuleFile]], known: set[str], problems: list[Problem]
) -> None:
    causes = {model.id: model.causes for _, model in sources}
    ids = known | set(causes)
    for source, model in sources:
        for index, cause in enumerate(model.causes):
            path: Path = ("causes", index)
            if cause not in ids:
                hint = suggestion(cause, ids)
                problems.append(source.problem(path, f"there is no rule {cause!r}{hint}"))
                continue
            cycle = _way(cause, model.id, causes)
            # Each cycle is reported once, in the rule that comes first by name.
            if cycle and model.id == min(cycle):
                message = f"a cycle of causes: {' ← '.join([model.id, *cycle])}"
                problems.append(source.problem(path, message))


def _way(start: str, goal: str, causes: dict[str, list[str]]) -> list[str]:
    """Return the shortest way from a rule to one that explains it, both included, or nothing."""
    ways = [[start]]
    seen = {start}
    for way in ways:
        if way[-1] == goal:
            return way
        for cause in causes.get(way[-1], ()):
            if cause not in seen:
                seen.add(cause)
                ways.append([*way, cause])
    return []
