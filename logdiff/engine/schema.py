"""The shape of signal files and rule files.

The models are published as JSON Schemas, so each field says what it is for. What a schema cannot
say (names, patterns, expressions) is checked in :mod:`logdiff.engine.compile`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from logdiff.model import Confidence, FixAction, FixKind, Role, Severity, Stage

Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
"""Words in lower case, joined by hyphens."""

Version = Annotated[str, Field(pattern=r"^\d+(\.\d+)*$")]
FieldType = Literal["text", "int", "float", "count"]
Need = Literal[Role, "submission", Stage]


def _require_scalar(value: Any) -> Any:
    if isinstance(value, (list, dict)):
        raise ValueError("must be a text, a number, a boolean or null")
    return value


Scalar = Annotated[str | int | float | bool | None, BeforeValidator(_require_scalar)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _shape(value: Any) -> str:
    """Name the branch of a union that a value belongs to, so that errors speak of one only."""
    if isinstance(value, str):
        return "text"
    return "list" if isinstance(value, list) else "mapping"


class Pattern(_Model):
    """One wording of a message."""

    pattern: str = Field(
        min_length=1,
        description="Python regular expression with named groups, searched for in the message "
        "(the line without envelope, escape sequences, worker tag and log prefix); ^ is the start "
        r"of the message. Write \d, never a digit, unless the digit matters.",
    )
    since: Version | None = Field(
        None, description="First engine version that words the message so."
    )
    until: Version | None = Field(
        None, description="Last engine version that words the message so."
    )


class FieldShape(_Model):
    """Type and unit of a value in a message."""

    type: FieldType = Field(description="text, int, float, or count (digits with commas).")
    unit: str | None = Field(None, description="Unit of the value, such as GiB or tokens.")


class SignalExample(_Model):
    """A line that the signal must recognise."""

    line: str = Field(min_length=1, description="A full line of a log, with its prefix.")
    gives: dict[str, Scalar] | None = Field(
        None, description="Values that the line gives, by field."
    )
    pattern: int | None = Field(
        None, ge=1, description="Number of the pattern, from 1, that must recognise the line."
    )


AnyPattern = Annotated[
    Annotated[str, Field(min_length=1), Tag("text")] | Annotated[Pattern, Tag("mapping")],
    Discriminator(_shape),
]
AnyFieldShape = Annotated[
    Annotated[FieldType, Tag("text")] | Annotated[FieldShape, Tag("mapping")],
    Discriminator(_shape),
]


class SignalModel(_Model):
    """A message of an engine, and what it tells."""

    id: Identifier = Field(description="Name of the signal, unique over all files.")
    engine: str = Field("any", description="Engine that prints the message, or any.")
    patterns: list[AnyPattern] = Field(
        min_length=1, description="Wordings of the message; the first that is found holds."
    )
    fields: dict[str, AnyFieldShape] = Field(
        default_factory=dict,
        description="Type, or type and unit, of each named group of the patterns.",
    )
    keep: Literal["groups", "series", "each"] = Field(
        "groups",
        description="What is kept of repeated messages: one entry for each set of values, the "
        "values over time, or each message by itself.",
    )
    reported: bool = Field(
        default=False,
        description="Whether the messages are entries of the fact messages.<id>, written with "
        "underscores, for rules that need no more than them.",
    )
    enters: Stage | None = Field(None, description="Stage that the run enters with the message.")
    completes: Stage | None = Field(None, description="Stage that the message completes.")
    level: list[Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]] | None = Field(
        None, min_length=1, description="Log levels for which the signal holds; all if absent."
    )
    scope: Literal["message", "line"] = Field(
        "message", description="Whether the patterns see the message or the whole line."
    )
    about: str = Field(min_length=1, description="One sentence: what the message means.")
    examples: list[SignalExample] = Field(
        min_length=1, description="Lines that the signal recognises, with the values they give."
    )
    not_: list[str] = Field(
        alias="not", min_length=1, description="Similar lines that the signal must not recognise."
    )


class SignalFile(_Model):
    """The signals of one source: ``rules/signals/<source>.yaml``."""

    source: Identifier = Field(description="Who prints the messages; the name of the file.")
    signals: list[SignalModel] = Field(min_length=1, description="The messages.")


class FixModel(_Model):
    """A change that the rule proposes."""

    when: str | None = Field(None, description="Condition for this fix.")
    for_each: str | None = Field(
        None, description="List: one fix for each item, which expressions call target."
    )
    kind: FixKind = Field(description="What is changed.")
    key: str = Field(
        min_length=1,
        description="Text: the flag as typed, the variable, the distribution, the file, or "
        "docker's option.",
    )
    action: FixAction = Field(description="What is done with it.")
    from_: Scalar = Field(
        None, alias="from", description="Expression: the value before, null for unset."
    )
    to: Scalar = Field(None, description="Expression: the value after, null for unset.")
    reason: str = Field(min_length=1, description="Text: why this helps, in one sentence.")
    confidence: str | None = Field(
        None, description="Confidence, or an expression that yields one; that of the finding if "
        "absent.",
    )  # fmt: skip
    safety: str | None = Field(
        None, description="safe or unsafe, or an expression that yields one; safe if absent."
    )
    confirm_by: str | None = Field(
        None, description="Text: the log line that a run with the fix will print."
    )


class ExpectedFix(_Model):
    """A fix that an example must lead to; what is absent is not compared."""

    key: str = Field(description="Key of the fix.")
    action: FixAction | None = Field(None, description="Its action.")
    from_: Any = Field(None, alias="from", description="Its value before.")
    to: Any = Field(None, description="Its value after.")


class ExpectedFinding(_Model):
    """A finding that an example must lead to; what is absent is not compared."""

    subject: str | None = Field(None, description="What the finding is about.")
    severity: Severity | None = Field(None, description="Its severity.")
    confidence: Confidence | None = Field(None, description="Its confidence.")
    run: Role | None = Field(None, description="The run it is about.")
    title_contains: str | None = Field(None, description="A part of its title.")
    fixes: list[ExpectedFix] | None = Field(None, description="Fixes that it must propose.")


class ExampleFiles(_Model):
    """Files that made the run of an example."""

    launch: str | None = Field(None, description="Its launch file.")
    patch: str | None = Field(None, description="Its patch script.")
    dockerfile: str | None = Field(None, description="Its Dockerfile.")


class RuleExample(_Model):
    """Logs, and what the rule must find in them."""

    name: str = Field(min_length=1, description="What the example shows.")
    good: str | None = Field(None, description="Log of the known-good run, if there is one.")
    bad: str = Field(min_length=1, description="Log of the run that is judged.")
    good_files: ExampleFiles | None = Field(
        None, description="Submission files of the known-good run."
    )
    bad_files: ExampleFiles | None = Field(
        None, description="Submission files of the run that is judged."
    )
    finds: Annotated[
        Annotated[Literal["none"], Tag("text")]
        | Annotated[list[ExpectedFinding], Field(min_length=1), Tag("list")],
        Discriminator(_shape),
    ] = Field(description="All findings of the rule in these logs, or none.")


class RuleFile(_Model):
    """One rule: ``rules/<area>/<rule-id>.yaml``."""

    id: Identifier = Field(description="Name of the rule; the name of the file.")
    title: str = Field(min_length=1, description="Text: the finding in a few words.")
    headline: str | None = Field(
        None, description="Text: a clause about the finding for the verdict sentence."
    )
    severity: str = Field(description="Severity, or an expression that yields one.")
    confidence: str = Field(description="Confidence, or an expression that yields one.")
    scope: Literal["one-run", "pair"] = Field(
        description="one-run: judged for bad, and for good where it is given, each time as run. "
        "pair: judged once, with both runs."
    )
    about: Literal["bad", "good"] = Field(
        "bad",
        description="good where the rule judges the known-good run only, and never without one.",
    )
    needs: list[Need] = Field(
        default_factory=list, description="Runs that must be given and stages they must reach."
    )
    when: list[str] = Field(default_factory=list, description="Conditions; all must hold.")
    for_each: str | None = Field(
        None, description="List: one finding for each item, which expressions call item."
    )
    subject: str | None = Field(None, description="Text: what the finding is about.")
    topics: str | None = Field(
        None,
        description="Expression: words that tell whether another finding is about the same thing.",
    )
    evidence: list[str] = Field(
        default_factory=list, description="Facts or items whose log lines prove the finding."
    )
    why: str = Field(min_length=1, description="Text: the explanation.")
    raise_in_compare: bool = Field(
        default=False, description="An info finding becomes medium where only bad has it."
    )
    unordered: bool = Field(
        default=False,
        description="What proves it may stand below what it caused: other programs say it.",
    )
    causes: list[Identifier] = Field(
        default_factory=list, description="Rules whose findings may explain this one."
    )
    fixes: list[FixModel] = Field(default_factory=list, description="Changes that help.")
    references: list[str] = Field(default_factory=list, description="Where to read more.")
    examples: list[RuleExample] = Field(
        min_length=1, description="At least one that is found and one that is not."
    )


def keys() -> set[str]:
    """Return every key that rule and signal files may hold."""
    models: tuple[type[_Model], ...] = (
        SignalFile, SignalModel, SignalExample, Pattern, FieldShape,
        RuleFile, FixModel, RuleExample, ExampleFiles, ExpectedFinding, ExpectedFix,
    )  # fmt: skip
    return {field.alias or name for m in models for name, field in m.model_fields.items()}
