"""The nouns of logdiff: what a log says, where it says it, and what follows from it.

These are the inner types; they may change freely. What leaves the program is shaped by
:mod:`logdiff.render.dto`.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from logdiff.tuples import NamedTuple

# Each vocabulary is a type, from which the schemas of rules and reports are made.
Stage = Literal[
    "build", "import", "args", "load", "weights", "profile", "kv", "serving", "stopped", "dead"
]
STAGES: tuple[str, ...] = get_args(Stage)
"""Stages of a run in the order in which a server passes them."""

Severity = Literal["critical", "high", "medium", "low", "info"]
SEVERITIES: tuple[str, ...] = get_args(Severity)
"""Most severe first."""

Confidence = Literal["certain", "likely", "possible"]
CONFIDENCES: tuple[str, ...] = get_args(Confidence)
"""Surest first."""

Safety = Literal["safe", "unsafe"]
SAFETIES: tuple[str, ...] = get_args(Safety)
"""Of fixes; safest first."""

FixKind = Literal["config", "env", "patch", "package", "code", "infrastructure"]
FixAction = Literal["set", "add", "remove", "restore", "stop-deploying"]
Role = Literal["good", "bad"]

MESSAGES = "messages."
"""Before the name of a signal whose messages are a fact: lists, empty where there are none."""

DRIVER = "driver"
"""Name of the worker that writes without a tag where others write with one (vLLM V0)."""


class Mark(NamedTuple):
    """Where a physical line stands in a log."""

    line: int
    """1-based number of the physical line in the (decompressed) file."""
    offset: int
    """Byte offset of its first byte."""
    length: int
    """Bytes up to, and without, its line feed."""


class Evidence(NamedTuple):
    """A line that proves something, before it is read again and quoted."""

    mark: Mark
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody calls
    """Messages that say the same, repeats dropped."""
    workers: tuple[str, ...]
    focus: str = ""
    """What matters in the line: a line that is too long to quote is cut round it."""
    path: str = ""
    """The submission file that the line stands in; empty for a line of the log."""


class Entry(dict[str, Any]):
    """One item of a fact that is a list, with the lines that prove it.

    It serialises as a plain object; ``evidence`` stays inside.
    """

    __slots__ = ("evidence", "stage")

    def __init__(
        self, values: dict[str, Any], evidence: list[Evidence], stage: str | None = None
    ) -> None:
        super().__init__(values)
        self.evidence = evidence
        self.stage = stage
        """The stage that the run was in when this was first said."""


class Place(NamedTuple):
    """One quoted line of evidence, as a report shows it."""

    run: str
    """``good`` or ``bad``."""
    path: str
    line: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody calls
    workers: tuple[str, ...]
    text: str
    """The whole line with its envelope; escape sequences gone, secrets replaced."""


class Life:
    """One start of the server within a section, and the facts that hold for it."""

    __slots__ = (
        "ended",
        "evidence",
        "facts",
        "first_line",
        "last_line",
        "last_record_line",
        "number",
        "sources",
        "stage_lines",
        "started",
        "truncated",
    )

    def __init__(self, number: int, first_line: int, last_line: int) -> None:
        self.number = number
        """1-based within its section."""
        self.first_line = first_line
        self.last_line = last_line
        self.last_record_line = 0
        """The last line with a logger's prefix; 0 = none."""
        self.started: str | None = None
        self.ended: str | None = None
        self.truncated = False
        self.facts: dict[str, Any] = {}
        """Facts by name; ``None`` = not seen."""
        self.evidence: dict[str, list[Evidence]] = {}
        """Lines that prove a fact, by its name, or by that of its family (``args``)."""
        self.stage_lines: dict[str, int] = {}
        """Stage → the line with which it was entered."""
        self.sources: dict[str, dict[str, Evidence]] = {}
        """Message template → ``file.py:line`` → the lines it printed."""

    def proof(self, fact: str) -> list[Evidence]:
        """The lines that prove a fact; a family such as ``args`` shares its line."""
        if fact not in self.facts:
            return []
        return self.evidence.get(fact) or self.evidence.get(fact.partition(".")[0], [])

    def copied(self) -> Life:
        """The same start, to whose facts others can be added."""
        twin = Life(self.number, self.first_line, self.last_line)
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.facts, twin.evidence = dict(self.facts), dict(self.evidence)
        return twin

    @property
    def ended_badly(self) -> bool:
        """Whether the server died in this life."""
        return self.facts.get("reached") == "dead"


class Section:
    """The lines of one run in a file that may hold several."""

    __slots__ = (
        "envelopes",
        "first_line",
        "heading",
        "kind",
        "last_line",
        "lines",
        "lives",
        "number",
        "recognised",
        "repeated_lines",
        "repeated_physical_lines",
        "service",
    )

    def __init__(self, number: int, first_line: int, heading: str | None) -> None:
        self.number = number
        """1-based, as in ``file#2``."""
        self.heading = heading
        self.first_line = first_line
        self.last_line = first_line
        self.kind = "unknown"
        """``serve`` or ``unknown``."""
        self.envelopes: tuple[str, ...] = ()
        """What transports put round the lines, outermost first; ``none`` if nothing."""
        self.service = ""
        """Whose lines these are, where a file holds those of several services."""
        self.lives: list[Life] = []
        self.lines = 0
        """Physical lines, blank ones included, headings not."""
        self.recognised = 0
        self.repeated_lines = 0
        """Lines with a timestamp that an overlapping paste repeats."""
        self.repeated_physical_lines = 0


class ReadError(NamedTuple):
    """Something that could not be read as it stands, and what was done about it."""

    path: str
    line: int | None
    message: str


class Log:
    """One log file and what is in it."""

    __slots__ = ("errors", "name", "path", "sections")

    def __init__(self, path: str, name: str) -> None:
        self.path = path
        """As the user gave it, without ``#N``; ``-`` is shown as ``<stdin>``."""
        self.name = name
        self.sections: list[Section] = []
        self.errors: list[ReadError] = []


class Run:
    """All evidence of one submission: one section of one log, and the files that made it."""

    __slots__ = ("label", "life", "log", "role", "section", "source", "submission")

    def __init__(self, role: str, label: str, log: Log, section: Section, life: Life, source: Any):
        self.role = role
        """``good`` or ``bad``."""
        self.label = label
        self.log = log
        self.section = section
        self.life = life
        """The life that is judged."""
        self.source = source
        """The open :class:`logdiff.read.Source`, from which evidence is quoted."""
        self.submission: Any = None
        """The :class:`logdiff.submission.files.Submission`, where files of it are at hand."""

    @property
    def facts(self) -> dict[str, Any]:
        """Facts of the judged life."""
        return self.life.facts


class Difference(NamedTuple):
    """A fact that is not the same in two runs."""

    fact: str
    good: Any
    bad: Any
    change: float | None
    """``bad - good`` where both are numbers."""
    unit: str | None
    evidence: list[tuple[Run, Evidence]]


class Fix:
    """One change to one target. There is one fix for a key, whatever findings ask for it."""

    __slots__ = (
        "action",
        "confidence",
        "confirm_by",
        "diff",
        "file",
        "id",
        "key",
        "kind",
        "line",
        "new",
        "old",
        "reason",
        "safety",
    )

    def __init__(self, kind: str, key: str, action: str) -> None:
        self.id = f"{kind}:{key}"
        self.kind = kind
        """``config`` ``env`` ``patch`` ``package`` ``code`` ``infrastructure``."""
        self.key = key
        """The flag as typed, the variable, the distribution or the file."""
        self.action = action
        """``set`` ``add`` ``remove`` ``restore`` ``stop-deploying``."""
        self.file: str | None = None
        self.line: int | None = None
        self.old: Any = None
        self.new: Any = None
        self.reason = ""
        self.confidence = "possible"
        self.safety = "safe"
        """``unsafe`` = the evidence speaks against doing it blindly."""
        self.diff: str | None = None
        self.confirm_by: str | None = None
        """The log line that a run with the fix will print; without one, the first line of its
        findings must be gone."""


class Finding:
    """A rule that holds, with what proves it and what follows."""

    __slots__ = (
        "caused_by",
        "confidence",
        "consequences",
        "evidence",
        "explanation",
        "first_line",
        "fixes",
        "headline",
        "id",
        "life",
        "rule",
        "run",
        "section",
        "severity",
        "subject",
        "suppressed",
        "title",
        "topics",
    )

    def __init__(self, rule: str, subject: str | None, run: str) -> None:
        self.id = ":".join(part for part in (rule, subject, run if run == "good" else None) if part)
        self.rule = rule
        self.subject = subject
        self.run = run
        """``good`` or ``bad``: whom it is about."""
        self.section = 1
        self.life = 1
        self.severity = "info"
        self.confidence = "certain"
        self.title = ""
        self.headline: str | None = None
        """A clause for the verdict sentence."""
        self.explanation = ""
        self.evidence: list[tuple[Run, Evidence]] = []
        self.topics: frozenset[str] = frozenset()
        self.first_line = 0
        """Line of its first evidence in its own run; 0 = none."""
        self.caused_by: list[str] = []
        self.consequences: list[str] = []
        self.fixes: list[str] = []
        self.suppressed = False


class Report:
    """What one command found out, ready to be rendered."""

    __slots__ = (
        "bad",
        "differences",
        "findings",
        "fixes",
        "good",
        "not_judged",
        "not_reached",
        "sentence",
        "status",
    )

    def __init__(self, good: Run | None, bad: Run) -> None:
        self.good = good
        self.bad = bad
        self.status = "unjudged"
        """``pass``, ``fail`` or ``unjudged``."""
        self.sentence = ""
        self.differences: list[Difference] = []
        self.findings: list[Finding] = []
        self.fixes: list[Fix] = []
        self.not_judged: list[dict[str, str]] = []
        """``{"rule": id, "why": text}``."""
        self.not_reached: list[dict[str, str]] = []
        """``{"fact": name, "what": text, "why": text}``."""
