"""The published schema of a report, as pydantic models of ``logdiff.report/1``.

Nothing that renders imports this module: it is the promise to readers, which tests hold against
what :mod:`logdiff.render.document` builds.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from logdiff.model import Confidence, FixAction, FixKind, Role, Safety, Severity, Stage


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)


class Place(_Part):
    """One quoted line of evidence."""

    run: Role = Field(description="Run whose log it is in; bad where a run is judged alone.")
    path: str = Field(description="The log as the user gave it.")
    line: int = Field(ge=1, description="Physical line of the decompressed file, from 1.")
    count: int = Field(ge=0, description="Messages that say the same, repeated pastes dropped.")
    workers: list[str] = Field(description="Workers that wrote them; empty if not known.")
    text: str = Field(
        description="The whole line with its envelope, without line end and escape sequences, "
        "secrets replaced, cut round the match beyond 4 KiB."
    )


class Tool(_Part):
    """The program that made the report."""

    name: Literal["logdiff"] = Field(description="Its name.")
    version: str = Field(description="Its version.")


class Verdict(_Part):
    """What the report comes to."""

    status: Literal["pass", "fail", "unjudged"] = Field(
        description="fail = a finding about bad at high or above; unjudged = nothing could be "
        "judged; else pass."
    )
    sentence: str = Field(description="The verdict in words.")


class LogFile(_Part):
    """The part of a log file that belongs to a run."""

    path: str = Field(description="The log as the user gave it.")
    kind: str = Field(description="What wrote it: build, serve, eval or unknown.")
    envelope: str = Field(description="What a transport wrapped round its lines, outermost first.")
    section: int = Field(ge=1, description="Section of the file, from 1, as in FILE#2.")
    lives: int = Field(ge=0, description="Starts of the server in the section.")
    life: int = Field(ge=1, description="Start whose facts these are, from 1.")
    lines: int = Field(ge=0, description="Physical lines of the section, blank ones included.")
    repeated_lines: int = Field(
        ge=0, description="Lines with a timestamp that an overlapping paste repeats."
    )
    repeated_physical_lines: int = Field(
        ge=0, description="All lines that an overlapping paste repeats; they count once."
    )
    truncated: bool = Field(description="Whether it ends with neither a clean stop nor a death.")
    started: str | None = Field(description="Time of its first line, ISO 8601 or as printed.")
    ended: str | None = Field(description="Time of its last line, ISO 8601 or as printed.")


class Engine(_Part):
    """The inference engine of a run."""

    name: str | None = Field(description="Such as vllm.")
    version: str | None = Field(description="As the engine printed it.")


class RunReport(_Part):
    """One run: its logs and what they add up to."""

    label: str = Field(description="Short name of the run.")
    logs: list[LogFile] = Field(description="Its logs.")
    engine: Engine = Field(description="The engine that wrote them.")
    reached: Stage | None = Field(description="Last stage that the run came to.")
    facts: dict[str, JsonValue] = Field(
        description="Facts by name, sorted. null = not seen; [] or 0 = the stage was passed and "
        "nothing was seen."
    )
    evidence: dict[str, list[Place]] = Field(
        description="Lines that prove a fact, by its name or that of its family (args for "
        "args.max_num_seqs, all of which one line prints), at most 20 each."
    )


class Difference(_Part):
    """A fact that is not the same in both runs."""

    fact: str = Field(description="Name of the fact.")
    good: JsonValue = Field(description="Its value in the good run.")
    bad: JsonValue = Field(description="Its value in the bad run.")
    change: int | float | None = Field(description="bad - good where both are numbers.")
    unit: str | None = Field(description="Unit of the values.")
    evidence: list[Place] = Field(description="Lines that prove it, at most 20.")


class Finding(_Part):
    """A rule that holds."""

    id: str = Field(description="Identifies the finding within the report.")
    rule: str = Field(description="The rule that holds.")
    run: Role = Field(description="The run that it is about.")
    section: int = Field(ge=1, description="Section of the log that it is about.")
    life: int = Field(ge=1, description="Start of the server that it is about.")
    severity: Severity = Field(description="How bad it is.")
    confidence: Confidence = Field(description="How sure it is.")
    title: str = Field(description="What is the matter, in one line.")
    explanation: str = Field(description="Why it matters.")
    subject: str | None = Field(description="Argument, kernel, file, package or step it is about.")
    evidence: list[Place] = Field(description="Lines that prove it, at most 20.")
    caused_by: list[str] = Field(description="Findings that explain it.")
    consequences: list[str] = Field(description="Findings that it explains.")
    fixes: list[str] = Field(description="Fixes that remove it.")
    suppressed: bool = Field(description="Whether the policy says not to count it.")


class Fix(_Part):
    """One change to one target."""

    id: str = Field(description="Identifies the fix within the report.")
    kind: FixKind = Field(description="Kind of its target.")
    file: str | None = Field(description="File to edit, if it is at hand.")
    line: int | None = Field(description="Line of that file.")
    key: str = Field(
        description="The flag as typed, the variable, the distribution, the file or the option."
    )
    action: FixAction = Field(description="What is done to it.")
    from_: JsonValue = Field(alias="from", description="Value before; null = unset.")
    to: JsonValue = Field(description="Value after; null = unset.")
    reason: str = Field(description="Why, or why it is not advised.")
    confidence: Confidence = Field(description="How sure it is that it helps.")
    safety: Safety = Field(description="unsafe = the evidence speaks against doing it blindly.")
    diff: str | None = Field(description="The edit as a unified diff, if the file is at hand.")
    confirm_by: str | None = Field(description="The log line that a run with the fix will print.")


class Novelty(_Part):
    """A message that only one run printed, or one much more often."""

    kind: Literal["new", "count", "gone"] = Field(description="How it differs.")
    template: str = Field(description="The message with its values left out.")
    count_good: int = Field(ge=0, description="How often good printed it.")
    count_bad: int = Field(ge=0, description="How often bad printed it.")
    first: Place = Field(description="Its first line.")
    lines: list[int] = Field(max_length=50, description="Lines that print it, at most 50.")


class NotJudged(_Part):
    """A rule or a fact that could not be judged."""

    rule: str | None = Field(default=None, description="The rule.")
    fact: str | None = Field(default=None, description="The fact.")
    why: str = Field(description="What was lacking.")


class NotReached(_Part):
    """What the bad run did not come to, so that its absence says nothing."""

    fact: str = Field(description="The fact.")
    what: str = Field(description="What of it.")
    why: str = Field(description="Where the run ended.")


class ReadError(_Part):
    """What could not be read as it stands."""

    path: str = Field(description="The file.")
    line: int | None = Field(description="The line.")
    message: str = Field(description="What was wrong and what was done about it.")


class Coverage(_Part):
    """How much of the logs was understood and judged."""

    lines: int = Field(ge=0, description="Physical lines of both runs.")
    recognised: int = Field(ge=0, description="Lines that were understood.")
    not_understood: int = Field(ge=0, description="Lines that were not; repeats are neither.")
    not_judged: list[NotJudged] = Field(description="Rules and facts that could not be judged.")
    not_reached: list[NotReached] = Field(description="What the bad run did not come to.")
    read_errors: list[ReadError] = Field(description="What could not be read as it stands.")


class Report(_Part):
    """What ``logdiff compare``, ``diagnose`` and ``gate`` print with ``-f json``."""

    schema_: Literal["logdiff.report/1"] = Field(
        alias="schema", description="Name and version of this format."
    )
    tool: Tool = Field(description="The program that made the report.")
    verdict: Verdict = Field(description="What the report comes to.")
    good: RunReport | None = Field(description="The known-good run; null if there is none.")
    bad: RunReport = Field(description="The run that is judged.")
    differences: list[Difference] = Field(description="Facts that are not the same in both runs.")
    findings: list[Finding] = Field(
        description="Causes before their consequences, then by severity, confidence, time and id."
    )
    fixes: list[Fix] = Field(description="What to change, the best first.")
    novel: list[Novelty] = Field(description="Messages that only one run printed.")
    coverage: Coverage = Field(description="How much was understood and judged.")


def json_schema() -> dict[str, Any]:
    """Give the JSON schema of a report, as it is published in ``schemas/report.json``."""
    schema = Report.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
