"""What a Dockerfile makes: its stages, what they put where, and what the image runs."""

from __future__ import annotations

import posixpath
import re

from logdiff.submission.deployments import Deployment, deployments, last_part, under
from logdiff.submission.docker_syntax import expanded, json_words, parse, word, words
from logdiff.submission.model import Command, Remark, Span, SubmissionError, Variable, Word
from logdiff.submission.packages import PackageChange, package_changes
from logdiff.submission.shell.commands import COMMANDS_LIMIT, Surroundings, read_script
from logdiff.tuples import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from logdiff.submission.docker_syntax import Instruction
    from logdiff.submission.model import TextFile

_OPTION_LETTERS = re.compile(r"-[a-zA-Z]+")
_SHELL_SHEBANG = re.compile(r"#!.*\b(?:ba|da|z|k)?sh\b")
_BEFORE_STAGES = frozenset(("FROM", "ARG"))


class Start(NamedTuple):
    """What ``ENTRYPOINT`` or ``CMD`` runs."""

    words: tuple[Word, ...]
    span: Span
    """What is behind the name of the instruction."""
    shell: bool
    """Whether a shell reads it; else the words are run as they are."""


class Stage(NamedTuple):
    """What follows one ``FROM``."""

    name: str | None
    base: str
    """The image, or an earlier stage, that it begins with."""
    base_span: Span
    platform: str | None
    instructions: tuple[Instruction, ...]
    commands: tuple[Command, ...]
    """Of ``RUN``, in their order."""
    deployments: tuple[Deployment, ...]
    """Of ``COPY``, ``ADD`` (``how`` is ``copy``, ``add``; the command's words are the
    instruction's) and of ``RUN``. A source from another stage or image is ``stage:/path``."""
    packages: tuple[PackageChange, ...]
    environment: tuple[Variable, ...]
    arguments: tuple[Variable, ...]
    entrypoint: Start | None
    cmd: Start | None


class Dockerfile(NamedTuple):
    """A Dockerfile: its stages, and what those that the image is made of say together."""

    stages: tuple[Stage, ...]
    image: tuple[Stage, ...]
    """The stages that the image is made of, the first base first."""
    remarks: tuple[Remark, ...]
    unread: tuple[Span, ...]
    """Parts of shell scripts that were not understood."""

    @property
    def base(self) -> str:
        """The image from outside that everything is built on."""
        return self.image[0].base

    @property
    def deployments(self) -> tuple[Deployment, ...]:
        """What ends up in the image."""
        return tuple(found for stage in self.image for found in stage.deployments)

    @property
    def packages(self) -> tuple[PackageChange, ...]:
        """The changes to the packages of the image."""
        return tuple(found for stage in self.image for found in stage.packages)

    @property
    def environment(self) -> tuple[Variable, ...]:
        """The variables of ``ENV``; of those with one name the last is in force."""
        return tuple(found for stage in self.image for found in stage.environment)

    @property
    def entrypoint(self) -> Start | None:
        """The last ``ENTRYPOINT``."""
        found = [stage.entrypoint for stage in self.image if stage.entrypoint]
        return found[-1] if found else None

    @property
    def cmd(self) -> Start | None:
        """The last ``CMD``."""
        found = [stage.cmd for stage in self.image if stage.cmd]
        return found[-1] if found else None


def read_dockerfile(file: TextFile) -> Dockerfile:
    """Read a Dockerfile.

    Raises:
        SubmissionError: It is too large, binary, not a Dockerfile, or something is not closed.
    """
    syntax = parse(file)
    reader = _Reader(file, syntax.source)
    for instruction in syntax.instructions:
        reader.read(instruction)
    stages = reader.stages()
    if not stages:
        raise SubmissionError(f"{file.path}:1:1: a Dockerfile without FROM")
    remarks = sorted((*syntax.comments, *reader.remarks), key=lambda remark: remark.span)
    return Dockerfile(stages, _image(stages), tuple(remarks), tuple(reader.unread))


def _image(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """The last stage behind those that it begins with."""
    found = [stages[-1]]
    for stage in reversed(stages[:-1]):
        if stage.name is not None and stage.name == found[0].base.lower():
            found.insert(0, stage)
    return tuple(found)


class _Building:
    """A stage while its instructions are read."""

    def __init__(self, instruction: Instruction, base: Word, name: str | None) -> None:
        self.base = base
        self.name = name
        self.platform = instruction.flag("platform")
        self.variables: dict[str, str] = {}
        self.directory = ""
        self.errexit = False
        self.pipefail = False
        self.instructions: list[Instruction] = [instruction]
        self.commands: list[Command] = []
        self.deployments: list[Deployment] = []
        self.environment: list[Variable] = []
        self.arguments: list[Variable] = []
        self.starts: dict[str, Start] = {}

    def begin_with(self, other: _Building) -> None:
        """Take over what a stage inherits."""
        inherited = {variable.name for variable in other.environment}
        self.variables = {k: v for k, v in other.variables.items() if k in inherited}
        self.directory = other.directory
        self.errexit, self.pipefail = other.errexit, other.pipefail


class _Reader:
    def __init__(self, file: TextFile, source: bytes) -> None:
        self.remarks: list[Remark] = []
        self.unread: list[Span] = []
        self._file = file
        self._source = source
        self._stages: list[_Building] = []
        self._arguments: dict[str, str] = {}
        """Those before the first FROM."""
        self._work = 0
        self._commands_count = 0

    def stages(self) -> tuple[Stage, ...]:
        """The stages that were read."""
        return tuple(
            Stage(
                name=stage.name,
                base=stage.base.text,
                base_span=stage.base.span,
                platform=stage.platform,
                instructions=tuple(stage.instructions),
                commands=tuple(stage.commands),
                deployments=tuple(stage.deployments),
                packages=package_changes(self._file, stage.commands),
                environment=tuple(stage.environment),
                arguments=tuple(stage.arguments),
                entrypoint=stage.starts.get("ENTRYPOINT"),
                cmd=stage.starts.get("CMD"),
            )
            for stage in self._stages
        )

    def read(self, instruction: Instruction) -> None:
        """Add an instruction to the stage that it belongs to."""
        if instruction.name == "FROM":
            self._from(instruction)
            return
        if not self._stages:
            if instruction.name not in _BEFORE_STAGES:
                place = self._file.place(instruction.span.start)
                raise SubmissionError(f"{place}: {instruction.name} before the first FROM")
            for name, value, _ in self._settings(instruction, self._arguments):
                self._arguments[name] = f"${{{name}}}" if value is None else value.text
            return
        stage = self._stages[-1]
        stage.instructions.append(instruction)
        handlers: dict[str, Callable[[_Building, Instruction], None]] = {
            "ARG": self._argument,
            "ENV": self._environment,
            "WORKDIR": self._workdir,
            "SHELL": self._shell,
            "RUN": self._run,
            "COPY": self._copy,
            "ADD": self._copy,
            "CMD": self._start,
            "ENTRYPOINT": self._start,
        }
        if instruction.name in handlers and not instruction.on_build:
            handlers[instruction.name](stage, instruction)

    def _words(self, instruction: Instruction, variables: dict[str, str]) -> tuple[Word, ...]:
        found = json_words(self._source, instruction.body)
        if found is not None:
            return tuple(_with_variables(each, variables) for each in found)
        return words(self._file, self._source, instruction.body, variables)

    def _from(self, instruction: Instruction) -> None:
        found = words(self._file, self._source, instruction.body, self._arguments)
        if not found:
            place = self._file.place(instruction.span.start)
            raise SubmissionError(f"{place}: FROM without an image")
        named = len(found) > 2 and found[1].text.upper() == "AS"
        stage = _Building(instruction, found[0], found[2].text.lower() if named else None)
        for other in self._stages:
            if other.name is not None and other.name == found[0].text.lower():
                stage.begin_with(other)
        self._stages.append(stage)

    def _settings(
        self, instruction: Instruction, variables: dict[str, str]
    ) -> Iterator[tuple[str, Word | None, Span]]:
        """Name, value and place of each ``name=value``; ``ENV name value`` is read, too."""
        body = instruction.body
        plain = words(self._file, self._source, body, {})
        first = self._written(plain[0].span) if plain else ""
        if instruction.name == "ENV" and "=" not in first:
            if len(plain) > 1:
                span = Span(plain[1].span.start, body.end)
                yield first, word(self._written(span), span, variables), body
            return
        for each in plain:
            name, equals, value = self._written(each.span).partition("=")
            start = each.span.end - len(value.encode())
            span = Span(start, each.span.end)
            yield name, word(value, span, variables) if equals else None, each.span

    def _written(self, span: Span) -> str:
        return self._source[span.start : span.end].decode("utf-8", "replace")

    def _argument(self, stage: _Building, instruction: Instruction) -> None:
        settings = list(self._settings(instruction, stage.variables))
        for name, value, span in settings:
            text = self._arguments.get(name) if value is None else value.text
            stage.variables.setdefault(name, f"${{{name}}}" if text is None else text)
            place = instruction.span if len(settings) == 1 else span
            stage.arguments.append(Variable(name, text or "", place, value.span if value else None))

    def _environment(self, stage: _Building, instruction: Instruction) -> None:
        # All values of one instruction see the variables as they were before it.
        settings = list(self._settings(instruction, dict(stage.variables)))
        for name, value, span in settings:
            if value is None:
                continue
            stage.variables[name] = value.text
            text = value.text if value.known else self._written(value.span)
            place = instruction.span if len(settings) == 1 else span
            stage.environment.append(Variable(name, text, place, value.span))

    def _workdir(self, stage: _Building, instruction: Instruction) -> None:
        found = self._words(instruction, stage.variables)
        path = " ".join(each.text for each in found)
        stage.directory = under(stage.directory, path)

    def _shell(self, stage: _Building, instruction: Instruction) -> None:
        texts = [each.text for each in self._words(instruction, {})]
        letters = "".join(text for text in texts if _OPTION_LETTERS.fullmatch(text))
        stage.errexit = "e" in letters or "errexit" in texts
        stage.pipefail = "pipefail" in texts

    def _run(self, stage: _Building, instruction: Instruction) -> None:
        found = json_words(self._source, instruction.body)
        if found is not None:
            commands = [_as_command(instruction, found, stage.directory)]
        else:
            commands = self._script(stage, instruction)
        self._commands_count += len(commands)
        if self._commands_count > COMMANDS_LIMIT:
            place = self._file.place(instruction.span.start)
            raise SubmissionError(f"{place}: the file runs over {COMMANDS_LIMIT} commands")
        stage.commands.extend(commands)
        stage.deployments.extend(deployments(self._file, commands))

    def _script(self, stage: _Building, instruction: Instruction) -> list[Command]:
        """The commands of the shell form, or of a script in a here-document."""
        span = instruction.body
        documents = instruction.here_documents
        if documents and documents[0].marker == span:
            span = documents[0].body
            first = self._written(span).partition("\n")[0]
            if first.startswith("#!") and not _SHELL_SHEBANG.match(first):
                return []
        elif documents:
            span = Span(span.start, instruction.span.end)
        surroundings = Surroundings(
            stage.variables, stage.directory, stage.errexit, stage.pipefail, self._work
        )
        script = read_script(self._file, span, source=self._source, surroundings=surroundings)
        self._work = script.work
        self.remarks.extend(script.remarks)
        self.unread.extend(script.unread)
        return [_of_instruction(command, instruction, span) for command in script.commands]

    def _copy(self, stage: _Building, instruction: Instruction) -> None:
        found = self._words(instruction, stage.variables)
        markers = [document.marker for document in instruction.here_documents]
        operands = [each for each in found if each.span not in markers]
        if not operands:
            return
        *sources, target = operands
        origin = instruction.flag("from")
        command = _as_command(instruction, found, stage.directory)
        several = len(sources) + len(instruction.here_documents) > 1
        for document in instruction.here_documents:
            path = _copied(document.delimiter + ".", target.text, several=several)
            inner = command._replace(here_document=document.body)
            stage.deployments.append(self._deployment(inner, None, path, "write"))
        for source in sources:
            path = _copied(source.text, target.text, several=several)
            text = source.text if origin is None else f"{origin}:{source.text}"
            how = instruction.name.lower()
            stage.deployments.append(self._deployment(command, text, path, how))

    def _deployment(self, command: Command, source: str | None, path: str, how: str) -> Deployment:
        line = self._file.line(command.span.start)
        return Deployment(
            source, under(command.directory, path), how, line, command, (), None, None
        )

    def _start(self, stage: _Building, instruction: Instruction) -> None:
        found = json_words(self._source, instruction.body)
        shell = found is None
        if found is None:
            surroundings = Surroundings(stage.variables, stage.directory, work=self._work)
            script = read_script(
                self._file, instruction.body, source=self._source, surroundings=surroundings
            )
            self._work = script.work
            self.unread.extend(script.unread)
            found = script.commands[-1].words if script.commands else ()
        stage.starts[instruction.name] = Start(found, instruction.body, shell)


def _of_instruction(command: Command, instruction: Instruction, script: Span) -> Command:
    """A command of ``RUN``, with which the instruction has to go where it has no other."""
    statement = command.statement
    whole = statement.start <= script.start and statement.end >= instruction.body.end
    return command._replace(statement=instruction.span) if whole else command


def _with_variables(each: Word, variables: dict[str, str]) -> Word:
    text = expanded(each.text, variables)
    return each._replace(text=text, known="${" not in text)


def _as_command(instruction: Instruction, found: tuple[Word, ...], directory: str) -> Command:
    """An instruction without a shell as a command; that of ``RUN`` is not its own first word."""
    name = Word(instruction.name, Span(instruction.span.start, instruction.body.start), known=True)
    return Command(
        words=found if instruction.name == "RUN" else (name, *instruction.flags, *found),
        span=Span(instruction.span.start, instruction.body.end),
        statement=instruction.span,
        directory=directory,
    )


def _copied(source: str, target: str, *, several: bool) -> str:
    """What one source of ``COPY`` becomes; of a directory, the contents are copied."""
    into = several or target.endswith("/") or target in {".", ".."}
    name = last_part(source)
    if not into or source.endswith("/") or "." not in name.strip("."):
        return target
    return posixpath.join(target, name)
