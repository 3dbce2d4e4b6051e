"""Launch files that are commands: start scripts, ``docker run`` in a script, and Dockerfiles."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from logdiff.submission.deployments import last_part
from logdiff.submission.docker_syntax import parse
from logdiff.submission.dockerfile import read_dockerfile
from logdiff.submission.kinds import kind_of
from logdiff.submission.launch import CommandPlace, LaunchConfig
from logdiff.submission.launch.arguments import read_words
from logdiff.submission.launch.docker_run import CONTAINER_PROGRAMS, docker_run
from logdiff.submission.model import FILE_OUTPUT, Argument, Span, SubmissionError, Variable, Word
from logdiff.submission.programs import program
from logdiff.submission.shell.commands import Surroundings, read_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from logdiff.submission.dockerfile import Dockerfile, Start
    from logdiff.submission.launch.docker_run import DockerRun
    from logdiff.submission.model import Command, TextFile
    from logdiff.submission.shell.commands import Script

_NO_STARTERS = frozenset(
    "echo printf grep egrep fgrep pgrep pkill kill killall ps sed awk cat tee test [ [[ which type"
    " pip pip3 uv apt apt-get git cp mv ln rm ls mkdir touch chmod chown curl wget alias trap find"
    " diff head tail read eval".split()
)
"""Programs for which the name of a server is a text; what ``eval`` runs is read by itself."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELL = re.compile(r"(?:.*/)?(?:ba|da|z|k)?sh")
_WITH_SCRIPT = re.compile(r"-[a-z]*c")


def read_shell(file: TextFile) -> list[LaunchConfig]:
    """The servers that a shell script starts, itself or with ``docker run``.

    Where it starts none itself, those of the scripts that it writes with here-documents.

    Raises:
        SubmissionError: the script is damaged.
    """
    script = read_script(file)
    found = list(_servers(file, script))
    if not found:
        for body in dict.fromkeys(_written_scripts(file, script)):
            with suppress(SubmissionError):
                found += _servers(file, read_script(file, body))
    return _told_apart(found)


def read_image(file: TextFile) -> list[LaunchConfig]:
    """The servers that the image of a Dockerfile starts.

    Raises:
        SubmissionError: the Dockerfile is damaged.
    """
    made = read_dockerfile(file)
    starts = _starts(made)
    if not starts:
        return []
    words = [word for start in starts for word in start.words]
    instruction = _instruction(made, starts[-1])
    line = None if starts[0].shell else read_words(file, words)
    if line:
        found = [
            LaunchConfig(
                file, "dockerfile", "", line.program, line.arguments, (),
                program_span=_end_of_program(words, line.start),
                command=CommandPlace(instruction, is_list=True),
            )
        ]  # fmt: skip
    else:
        found = [
            config._replace(command=CommandPlace(instruction))
            for script in _scripts(file, made, starts[0], words)
            for config in _servers(file, script)
        ]
    return _told_apart(
        [
            config._replace(
                kind="dockerfile",
                image=made.base,
                environment=(*made.environment, *config.environment),
            )
            for config in found
        ]
    )


# Scripts


def _written_scripts(file: TextFile, script: Script) -> Iterator[Span]:
    """The here-documents that are scripts, by the name of their file or their first line."""
    for command in script.commands:
        body = command.here_document
        if body and kind_of(_file_written(command), file.data[body.start : body.end]) == "script":
            yield body


def _file_written(command: Command) -> str:
    targets = [target.text for operator, target in command.redirections if operator in FILE_OUTPUT]
    if not targets:
        targets = [word.text for word in command.words[1:]]
    return targets[-1] if targets else ""


def _servers(file: TextFile, script: Script) -> Iterator[LaunchConfig]:
    """The servers of a script, each once however often a loop starts it."""
    seen: set[Span] = set()
    containers: list[tuple[Command, DockerRun]] = []
    for command in script.commands:
        running = program(command.words)
        if running is None or running.name in _NO_STARTERS or command.span in seen:
            continue
        container = docker_run(running)
        if container is None and running.name in CONTAINER_PROGRAMS:
            continue
        if container:
            containers.append((command, container))
        around = next((pair for pair in reversed(containers) if _holds(pair[0], command)), None)
        words = _in_their_places(container.words if container else command.words)
        line = read_words(file, words)
        if line is None:
            continue
        seen.add(command.span)
        outer, inside = around or (command, None)
        yield LaunchConfig(
            file,
            "docker-run" if inside else "shell",
            (inside.name if inside else command.function) or "",
            line.program,
            tuple(_where_set(file, argument, words) for argument in line.arguments),
            tuple(_environment(file, script, command, around)),
            inside.image.text if inside and inside.image else None,
            program_span=_end_of_program(words, line.start),
            command=CommandPlace(outer.span, inside.operand.span if inside else None),
        )


def _holds(outer: Command, inner: Command) -> bool:
    return outer.span.start <= inner.span.start and inner.span.end <= outer.span.end


def _in_their_places(words: Iterable[Word]) -> list[Word]:
    """Words with the place of each: of those of a variable or an array where it is set."""
    found = list(words)
    several = Counter(word.span for word in found)
    return [_in_its_place(word) if several[word.span] > 1 else word for word in found]


def _in_its_place(word: Word) -> Word:
    if word.origin is None:
        return word
    item = word.item
    quotes = 2
    is_element = (
        item is not None
        and item.start <= word.origin.start
        and word.origin.end <= item.end
        and item.end - item.start <= word.origin.end - word.origin.start + quotes
    )
    return word._replace(span=item if item and is_element else word.origin)


def _where_set(file: TextFile, argument: Argument, words: Sequence[Word]) -> Argument:
    """An argument with the place at which its value is written out."""
    given = argument.value_span
    start, end = argument.span
    if any(word.assumed and start <= word.span.start < end for word in words):
        argument = argument._replace(assumed=True)
    origins = [word.origin for word in words if word.span == given and word.origin]
    if origins:
        return argument._replace(value_span=origins[0])
    flag = f"{argument.flag}=".encode()
    if given is None and isinstance(argument.value, str):
        written = file.data[argument.span.start : argument.span.end]
        if written.startswith(flag):
            span = Span(argument.span.start + len(flag), argument.span.end)
            return argument._replace(value_span=span)
    return argument


def _end_of_program(words: Sequence[Word], start: int) -> Span | None:
    return words[start - 1].span if start else None


def _environment(
    file: TextFile, script: Script, command: Command, around: tuple[Command, DockerRun] | None
) -> Iterator[Variable]:
    """The variables that a server is started with."""
    exported = _in_force(script.exports[: command.exported])
    if around is None:
        yield from exported
    else:
        outer, container = around
        yield from container.variables([*exported, *outer.assignments])
        if command is outer:
            return
        yield from _in_force(script.exports[outer.exported : command.exported])
    yield from command.assignments
    yield from _of_env(file, command)


def _in_force(exports: Sequence[Variable]) -> list[Variable]:
    """Exports; of a variable with several values it is not known which of them is in force."""
    values: dict[str, set[str]] = {}
    for variable in exports:
        values.setdefault(variable.name, set()).add(variable.value)
    return [
        variable
        if len(values[variable.name]) == 1
        else variable._replace(value=f"${{{variable.name}}}")
        for variable in exports
    ]


def _of_env(file: TextFile, command: Command) -> Iterator[Variable]:
    """The variables of ``env NAME=value program``."""
    for index, word in enumerate(command.words):
        if last_part(word.text) != "env":
            continue
        for setting in command.words[index + 1 :]:
            if not _ASSIGNMENT.match(setting.text):
                return
            name, _, value = setting.text.partition("=")
            start = setting.span.start + len(name.encode()) + 1
            plain = file.data[setting.span.start : start] == f"{name}=".encode()
            place = Span(start, setting.span.end) if plain else None
            yield Variable(name, value, setting.span, place)


def _told_apart(found: list[LaunchConfig]) -> list[LaunchConfig]:
    """Servers with names of their own, by number where a name stands for several."""
    names = Counter(config.name for config in found)
    numbers: Counter[str] = Counter()
    told = []
    for config in found:
        numbers[config.name] += 1
        if names[config.name] > 1:
            name = " ".join(filter(None, (config.name, str(numbers[config.name]))))
            told.append(config._replace(name=name))
        else:
            told.append(config)
    return told


# Dockerfiles


def _starts(made: Dockerfile) -> list[Start]:
    """What makes up the command of an image: the arguments of ``CMD`` follow its entry point."""
    entry, cmd = made.entrypoint, made.cmd
    if entry is None:
        return [cmd] if cmd else []
    return [entry] if entry.shell or cmd is None or cmd.shell else [entry, cmd]


def _instruction(made: Dockerfile, start: Start) -> Span:
    """The whole instruction that starts something."""
    spans = [i.span for stage in made.image for i in stage.instructions]
    return next(s for s in spans if s.start <= start.span.start and start.span.end <= s.end)


def _scripts(
    file: TextFile, made: Dockerfile, start: Start, words: Sequence[Word]
) -> Iterator[Script]:
    """The scripts that an image is started with, as far as they stand in the Dockerfile."""
    variables = {variable.name: variable.value for variable in made.environment}
    surroundings = Surroundings(variables)
    source = parse(file).source
    if start.shell:
        yield read_script(file, start.span, source=source, surroundings=surroundings)
        return
    if _SHELL.fullmatch(words[0].text):
        behind = words[1:]
        if len(behind) > 1 and _WITH_SCRIPT.fullmatch(behind[0].text):
            text = Span(behind[1].span.start + 1, behind[1].span.end - 1)
            if file.text(text) == behind[1].text:
                yield read_script(file, text, source=source, surroundings=surroundings)
            return
    names = {last_part(word.text) for word in words[:2]}
    for placed in made.deployments:
        body = placed.command.here_document
        if body and placed.destination and last_part(placed.destination) in names:
            yield read_script(file, body, surroundings=surroundings)
