"""From what the user named to runs with facts, and from runs to a report."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from logdiff.errors import InputError, UsageError
from logdiff.model import Log, ReadError, Run, Section
from logdiff.read import LINE_LIMIT, Source, open_source, parse_address
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from logdiff.engine.ruleset import RuleSet, Signal
    from logdiff.extract.scan import Scanned, ScannedSection, Scanner
    from logdiff.model import Life, Report
    from logdiff.read import Address
    from logdiff.submission.files import Named, Submission

    Progress = Callable[[str, int, int | None], None]
    """Takes a name, the bytes that were read, and how many there are where that is known."""


_STDIN = "<stdin>"
_NESTED_LIMIT = 3
"""Envelopes that are taken off one after the other."""


class ReadLog(NamedTuple):
    """One log, read and still open for quoting."""

    log: Log
    sources: tuple[Source, ...]
    """One for each section; none where the log could not be read."""
    size: int = 0
    """Bytes of the log, decompressed."""

    def source_of(self, section: Section) -> Source | None:
        """Where the lines of a section are quoted from."""
        return self.sources[section.number - 1] if self.sources else None


class Reader:
    """Reads what the user named, each file once, and keeps it open for quoting.

    A context manager: what was opened is closed at the end.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._read: dict[str, ReadLog] = {}
        self._files: list[str] = []
        self._scanner: Scanner | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for read in self._read.values():
            for source in read.sources:
                source.close()

    @property
    def paths(self) -> list[str]:
        """The paths that were read, as the user gave them or as they were found."""
        return [*self._read, *self._files]

    def log(self, text: str) -> ReadLog:
        """The log that an argument of the command line means.

        A log that is empty, binary or unreadable has no sections and an error.

        Raises:
            UsageError: there is no such file.
        """
        path = parse_address(text).path
        if path not in self._read:
            self._read[path] = self._read_log(path)
        return self._read[path]

    def run(self, text: str, role: str, named: Named | None = None) -> Run:
        """The run that an argument of the command line means.

        Args:
            text: a path, ``-``, ``file#N``, or a directory with a log and submission files.
            role: ``good`` or ``bad``.
            named: submission files of the run that are named besides.

        Raises:
            UsageError: no such file or section, the file holds several runs and none is named, or a
                file that is named cannot be read.
        """
        path, submission = self._evidence(text, named)
        run = self._run(path, role) if path else _without_log(text, role)
        _join(run, submission, named)
        self._files += submission.files if submission else ()
        return run

    def _run(self, text: str, role: str) -> Run:
        read = self.log(text)
        log = read.log
        number = parse_address(text).section
        if not log.sections:
            return _unread(text, role, log)
        if number is None:
            number = _only_server(log)
        if number is None:
            raise UsageError(
                f"{log.path}: holds {len(log.sections)} runs; say which one is meant:\n"
                + "\n".join(f"  {_described(log, section)}" for section in log.sections),
                _how_to_see_more(log),
            )
        section = _section_of(log, number)
        life = judged_life(section, role)
        return Run(role, _label(log, section), log, section, life, read.source_of(section))

    def runs(self, text: str, named: Named | None = None) -> list[Run]:
        """Every start of a server in every section that an argument means, each as a bad run.

        Of services that share a file, those that are no server and came to no harm are left out.
        Submission files go with the start that is judged where there is only one run.
        """
        path, submission = self._evidence(text, named)
        self._files += submission.files if submission else ()
        if path is None:
            run = _without_log(text, "bad")
            _join(run, submission, named)
            return [run]
        runs = self._starts(path)
        if len({run.section.number for run in runs}) > 1:
            if submission is None:
                return runs
            raise UsageError(
                f"{path}: holds {len(runs)} runs; say of which one the submission files are",
                f"Name a section of it: '{path}#1'.",
            )
        lives = runs[0].section.lives
        judged = judged_life(runs[0].section, "bad") if lives else runs[0].life
        _join(next(run for run in runs if run.life is judged), submission, named)
        return runs

    def _starts(self, text: str) -> list[Run]:
        read = self.log(text)
        log = read.log
        number = parse_address(text).section
        if not log.sections:
            return [_unread(text, "bad", log)]
        sections = _concerned(log) if number is None else [_section_of(log, number)]
        return [
            Run("bad", _label(log, section), log, section, life, read.source_of(section))
            for section in sections
            for life in section.lives
        ]

    def _evidence(self, text: str, named: Named | None) -> tuple[str | None, Submission | None]:
        """The log that an argument means, if there is one, and the submission files with it."""
        address = parse_address(text)
        path: str | None = text
        found = None
        if os.path.isdir(address.path):
            from logdiff.submission.files import list_directory, read_found

            listing = list_directory(address.path)
            found = read_found(listing.submission)
            path = self._log_among(listing.logs, address)
            if path is None and not found:
                damaged = "".join(f"\n{message}" for _, message in found.unread)
                raise UsageError(
                    f"{address.path}: holds no log and no submission file that can be read{damaged}"
                )
        if named:
            from logdiff.submission.files import Submission, add_named, read_named

            found = add_named(found or Submission(), read_named(named))
        return path, found

    def logs_in(self, text: str) -> tuple[list[ReadLog], Submission | None]:
        """What an argument names: one log, or all logs and submission files of a directory."""
        if not os.path.isdir(text):
            return [self.log(text)], None
        from logdiff.submission.files import list_directory, read_found

        listing = list_directory(text)
        found = read_found(listing.submission)
        if not (listing.logs or listing.submission):
            raise UsageError(f"{text}: holds no log and no submission file")
        return [self.log(path) for path in listing.logs], found

    def _log_among(self, paths: list[str], address: Address) -> str | None:
        """The server's log among the files of a run's directory."""
        read = [path for path in paths if self.log(path).log.sections]
        servers = [path for path in read if _has_server(self.log(path).log)]
        found = servers or read
        if len(found) > 1:
            raise UsageError(
                f"{address.path}: holds {len(found)} logs; say which one is meant:\n"
                + "\n".join(f"  {path}" for path in found),
                "The submission files are then named with --launch, --patch and --dockerfile.",
            )
        if not found:
            return paths[0] if paths else None
        number = f"#{address.section}" if address.section else ""
        return found[0] + number

    def _read_log(self, path: str) -> ReadLog:
        shown = _STDIN if path == "-" else path
        log = Log(shown, os.path.basename(shown))
        if self._scanner is None:
            self._scanner = _scanner()
        tell = self._progress
        told = (lambda done, total: tell(shown, done, total)) if tell else None
        try:
            opened = open_source(path, told)
            size, sources = opened.size, _unwrapped(opened, told)
        except InputError as error:
            message = f"{error.message}. {error.hint}" if error.hint else error.message
            log.errors.append(ReadError(shown, None, message))
            return ReadLog(log, ())
        owners: list[Source] = []
        for source in sources:
            scanned = self._scanner.scan(source, told)
            sections = _sections(scanned, source, len(log.sections) + 1)
            log.sections += sections
            owners += [source] * len(sections)
            log.errors += _read_errors(shown, source, scanned)
        return ReadLog(log, tuple(owners), size)


def _has_server(log: Log) -> bool:
    return any(section.kind == "serve" for section in log.sections)


def _without_log(text: str, role: str) -> Run:
    """A run of which only the submission files are at hand."""
    path = parse_address(text).path
    return _unread(text, role, Log(path, os.path.basename(path.rstrip(os.sep))))


def _join(run: Run, submission: Submission | None, named: Named | None) -> None:
    """Add what the submission files of a run say to its facts."""
    service = named.service if named is not None else None
    if submission is None:
        if service:
            raise UsageError(f"--service {service}: no launch file is at hand")
        return
    from logdiff.facts.submission import set_submission
    from logdiff.submission.files import choose_launch

    logged = {n.removeprefix("args."): v for n, v in run.facts.items() if n.startswith("args.")}
    choose_launch(submission, service, logged)
    # The same start of a server may be both runs, of which one has these files.
    run.life = run.life.copied()
    set_submission(run.life, submission)
    run.submission = submission
    run.log.errors += [ReadError(path, None, why) for path, why in submission.unread]


def _unwrapped(source: Source, progress: Callable[[int, int | None], None] | None) -> list[Source]:
    """A source, or the plain copies of it where its transport changes the text."""
    from logdiff.envelopes._recognise import recognised

    sources = [source]
    for _ in range(_NESTED_LIMIT):
        found = [(source, recognised(source)) for source in sources]
        if not any(envelope for _, envelope in found):
            break
        from logdiff.envelopes._copies import copies

        sources = [
            copy
            for source, envelope in found
            for copy in (copies(source, envelope, progress) if envelope else [source])
        ]
    return sources


def _concerned(log: Log) -> list[Section]:
    """The sections that are judged where none is named."""
    if not all(section.service for section in log.sections):
        return log.sections
    concerned = [
        section
        for section in log.sections
        if section.kind == "serve" or any(life.ended_badly for life in section.lives)
    ]
    return concerned or log.sections


def _only_server(log: Log) -> int | None:
    """The section that is meant where none is named: the only one, or the only server's.

    Of a file that several services share; what a person pasted together may hold another run
    of the server that is not recognised as one.
    """
    if len(log.sections) == 1:
        return 1
    servers = [section.number for section in log.sections if section.kind == "serve"]
    shared = all(section.service for section in log.sections)
    return servers[0] if shared and len(servers) == 1 else None


def compare_runs(good: Run, bad: Run) -> Report:
    """Judge a bad run against a known-good one, by the built-in rules."""
    from logdiff.engine.evaluate import evaluate
    from logdiff.engine.ruleset import load_builtin

    return _annotated(evaluate(load_builtin().rules, good, bad))


def _annotated(report: Report) -> Report:
    """The report with the edits that its fixes come to, where the files are at hand."""
    if report.bad.submission:
        from logdiff.fixes.plan import annotate

        annotate(report)
    return report


def diagnose_runs(runs: list[Run]) -> Report:
    """Judge runs by themselves: the starts and sections of one log, the worst of them first."""
    from logdiff.engine.evaluate import evaluate, joined
    from logdiff.engine.ruleset import load_builtin

    rules = load_builtin().rules
    return joined([_annotated(evaluate(rules, None, run)) for run in runs])


def judge_texts(
    rules: RuleSet,
    good: str | None,
    bad: str,
    good_files: Mapping[str, str] | None = None,
    bad_files: Mapping[str, str] | None = None,
) -> Report:
    """Judge logs that are given as text by a set of rules; the examples of rules are such.

    Submission files are given by their kinds: ``launch``, ``patch``, ``dockerfile``.
    """
    from logdiff.engine.evaluate import evaluate
    from logdiff.envelopes import unwrappers
    from logdiff.extract.scan import Scanner

    def run(role: str, text: str, files: Mapping[str, str] | None) -> Run:
        from io import BytesIO

        source = Source(role, BytesIO(text.encode()))
        log = Log(role, role)
        log.sections = _sections(Scanner(rules.signals, unwrappers()).scan(source), source, 1)
        section = log.sections[0]
        judged = Run(role, role, log, section, judged_life(section, role), source)
        _join(judged, _submission_of_texts(files) if files else None, None)
        return judged

    return evaluate(
        rules.rules, run("good", good, good_files) if good else None, run("bad", bad, bad_files)
    )


def _submission_of_texts(texts: Mapping[str, str]) -> Submission:
    from logdiff.submission.files import read_files
    from logdiff.submission.model import TextFile

    files = {kind: TextFile(kind, text.encode()) for kind, text in texts.items()}
    patches = [files["patch"]] if "patch" in files else []
    return read_files(files.get("launch"), patches, files.get("dockerfile"))


def match_line(signal: Signal, line: str) -> dict[str, object] | None:
    """The fields that a signal reads from a line, by their types; ``None`` = it does not hold."""
    from logdiff.envelopes import unwrappers
    from logdiff.extract.shapes import read_line

    texts = read_line(signal, unwrappers(), line.encode())
    if texts is None:
        return None
    types = {name: kind for name, kind, _ in signal.fields}
    return {name: _typed(types[name], text) for name, text in texts.items()}


def _typed(kind: str, text: str) -> object:
    if kind == "text":
        return text
    return float(text) if kind == "float" else int(text.replace(",", ""))


def _scanner() -> Scanner:
    """A scanner with the built-in signals and envelopes."""
    from logdiff.engine.ruleset import load_builtin

    # Before the modules that have patterns: their programs come with the rules.
    signals = load_builtin().signals
    from logdiff.envelopes import unwrappers
    from logdiff.extract.scan import Scanner

    return Scanner(signals, unwrappers())


def _unread(label: str, role: str, log: Log) -> Run:
    """A run of which nothing could be read: no fact is known of it."""
    from logdiff.extract.observations import Observations
    from logdiff.facts import derive

    return Run(role, label, log, Section(1, 1, None), derive(Observations(1), 1), None)


def _section_of(log: Log, number: int) -> Section:
    if number > len(log.sections):
        have = len(log.sections)
        raise UsageError(
            f"{log.path}: has no section {number}; it has {have}",
            f"'logdiff inspect {log.path}' lists {'it' if have == 1 else 'them'}.",
        )
    return log.sections[number - 1]


def _label(log: Log, section: Section) -> str:
    """How a user names a section: with its number only where the log has several."""
    return f"{log.path}#{section.number}" if len(log.sections) > 1 else log.path


def judged_life(section: Section, role: str) -> Life:
    """The start of a server that is judged, of several in one run.

    Of a bad run the last one that ended badly; of a known-good run the one that served, the
    last if there are several.
    """
    lives = section.lives
    if role == "good":
        served = [life for life in lives if life.facts.get("serving_seconds") is not None]
        return (served or lives)[-1]
    return next((life for life in reversed(lives) if life.ended_badly), lives[-1])


def _how_to_see_more(log: Log) -> str:
    if log.path == _STDIN:
        return "Save it to a file and name a section of that: FILE#1."
    return f"'logdiff inspect {log.path}' shows more of them."


def _described(log: Log, section: Section) -> str:
    life = section.lives[-1]
    name, version = life.facts.get("engine.name"), life.facts.get("engine.version")
    return (
        f"{log.path}#{section.number}   lines {section.first_line}-{section.last_line}"
        f"   {name or 'unknown program'} {version or ''}   {life.started or 'no time'}"
        f"   {section.heading or ''}"
    ).rstrip()


def _sections(scanned: Scanned, source: Source, first: int) -> list[Section]:
    """The sections of a source, numbered from ``first`` on."""
    from logdiff.facts import derive

    sections: list[Section] = []
    for part in scanned.sections:
        lives = [derive(seen, number) for number, seen in enumerate(part.lives, 1)]
        sections.append(_section(first + len(sections), part, lives, source))
    if len(sections) > 1 and all(section.kind == "unknown" for section in sections):
        # Only of a program that is known can it be told where one run ends.
        return [_merged(sections, scanned.lines)]
    return sections


def _section(number: int, part: ScannedSection, lives: list[Life], source: Source) -> Section:
    from logdiff.redact import redact

    heading = part.heading or source.service
    section = Section(number, part.first_line, redact(heading) if heading else None)
    section.service = source.service
    section.last_line = part.last_line
    section.lines = part.last_line - part.first_line + 1
    section.lives = lives
    section.recognised = sum(n for shape, n in part.shapes.items() if shape.recognised)
    section.repeated_lines = part.repeated_lines
    section.repeated_physical_lines = part.repeated_physical_lines
    section.envelopes = _envelopes(part, source)
    if any(life.facts["engine.name"] for life in lives):
        section.kind = "serve"
    return section


def _envelopes(part: ScannedSection, source: Source) -> tuple[str, ...]:
    """What was round the lines, outermost first; the times of a plain copy are our own."""
    inner = {shape.envelope for shape in part.shapes if shape.envelope}
    if source.timed:
        inner.discard("docker-timestamps")
    return (*source.envelopes, *sorted(inner)) or ("none",)


def _merged(sections: list[Section], lines: int) -> Section:
    """One section of a program that is not known."""
    whole = Section(sections[0].number, 1, sections[0].service or None)
    whole.service = sections[0].service
    whole.last_line = whole.lines = lines
    whole.lives = [max((life for s in sections for life in s.lives), key=_size)]
    whole.lives[0].first_line, whole.lives[0].last_line = 1, lines
    whole.recognised = sum(section.recognised for section in sections)
    whole.envelopes = tuple(dict.fromkeys(name for s in sections for name in s.envelopes))
    return whole


def _size(life: Life) -> int:
    return life.last_line - life.first_line


def _read_errors(path: str, source: Source, scanned: Scanned) -> list[ReadError]:
    def at(line: int | None, message: str) -> ReadError:
        return ReadError(path, line, message)

    errors = []
    if source.partial:
        errors.append(at(scanned.lines, source.partial))
    errors += [at(None, note) for note in source.notes]
    if source.lost_lines:
        count = source.lost_lines
        plural = "s" * (count > 1)
        errors.append(at(None, f"journalctl left out {count:,} line{plural} as binary or too long; "
                         "capture the log with journalctl -a"))  # fmt: skip
    if scanned.broken_characters:
        count = scanned.broken_characters
        plural = "s" * (count > 1)
        errors.append(at(None, f"{count:,} broken UTF-8 sequence{plural} replaced by U+FFFD"))
    for line, length in scanned.long_lines:
        errors.append(at(line, f"the line has {length:,} bytes; the first {LINE_LIMIT:,} are read"))
    more = scanned.long_line_count - len(scanned.long_lines)
    if more:
        errors.append(at(None, f"{more:,} more lines of over {LINE_LIMIT:,} bytes were cut"))
    if scanned.merged:
        errors.append(at(None, f"{scanned.merged:,} runs or starts past the limit were taken for "
                         "one with the last that is told apart"))  # fmt: skip
    if scanned.unexamined_jumps:
        count = scanned.unexamined_jumps
        errors.append(at(None, f"time jumps back {count:,} more times; what is repeated there may "
                         "be counted twice"))  # fmt: skip
    lives = (life for section in scanned.sections for life in section.lives)
    dropped = ((signal, count) for life in lives for signal, count in life.dropped.items())
    errors += [at(None, f"{count:,} values of '{signal}' past the limit were not kept")
               for signal, count in dropped]  # fmt: skip
    return errors
