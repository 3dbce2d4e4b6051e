"""Launch files: how a server was meant to be started, whatever the file says it in."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from logdiff.submission.model import SubmissionError, TextFile
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from logdiff.submission.model import Argument, Span, Variable
    from logdiff.submission.yaml_nodes import Node


MAXIMUM_BYTES = 1 << 20


class CommandPlace(NamedTuple):
    """Where the command of a server stands, in a script or a Dockerfile."""

    span: Span
    """The command or the instruction, in front of which variables can be set."""
    options_end: Span | None = None
    """The image of ``docker run``, in front of which its options stand."""
    is_list: bool = False
    """Whether its words are strings of a JSON list, as in a Dockerfile's exec form."""


class LaunchConfig(NamedTuple):
    """One server that a launch file starts."""

    file: TextFile
    kind: str
    """``platform`` ``compose`` ``kubernetes`` ``engine-config`` ``shell`` ``docker-run``
    ``dockerfile``."""
    name: str
    """The service, the container or the function; empty where the file starts one server only."""
    program: str
    """How it is started: ``vllm serve``, or the module; empty for an image's entry point."""
    arguments: tuple[Argument, ...]
    environment: tuple[Variable, ...]
    image: str | None = None
    arguments_in: Node | None = None
    """The YAML node that holds the arguments: a sequence of words, a mapping or a text."""
    environment_in: Node | None = None
    """The YAML node that holds the environment, where there is one."""
    program_span: Span | None = None
    """The last word of the program, behind which arguments stand."""
    command: CommandPlace | None = None
    """Where it stands in a file that is no YAML."""

    def argument(self, name: str) -> Argument | None:
        """The argument that counts: of several with one name the last."""
        return next((a for a in reversed(self.arguments) if a.name == name), None)


def open_launch(path: str) -> TextFile:
    """The launch file of a path.

    Raises:
        SubmissionError: there is none, or it cannot be read, or is far too large.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAXIMUM_BYTES + 1)
    except OSError as error:
        raise SubmissionError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(data) > MAXIMUM_BYTES:
        raise SubmissionError(f"{path}: is larger than {MAXIMUM_BYTES:,} bytes: no launch file is")
    return TextFile(path, data)


def read_launch(file: TextFile) -> list[LaunchConfig]:
    """The servers that a launch file starts.

    Raises:
        SubmissionError: the file is damaged, or starts no inference server that is known.
    """
    found = servers(file)
    if not found:
        raise SubmissionError(
            f"{file.path}: starts no inference server that is known",
            "Read are YAML files (with a 'command', of compose, of Kubernetes, vLLM's own), shell "
            "scripts, 'docker run' in them, and Dockerfiles.",
        )
    return found


def servers(file: TextFile) -> list[LaunchConfig]:
    """The servers that a file starts; none where it is something else.

    Raises:
        SubmissionError: the file is damaged.
    """
    from logdiff.submission.kinds import kind_of

    _refuse_binary(file)
    kind = kind_of(file.path, file.data)
    if kind == "yaml":
        return _in_yaml(file)
    if kind:
        return _in_commands(file, kind)
    # Neither the name nor the beginning tells: whichever finds a server is right.
    try:
        found = _in_yaml(file)
    except SubmissionError:
        found = _or_none(file)
        if not found:
            raise
    return found or _or_none(file)


def _in_yaml(file: TextFile) -> list[LaunchConfig]:
    from logdiff.submission.launch import yaml_files

    return yaml_files.read(file)


def _in_commands(file: TextFile, kind: str) -> list[LaunchConfig]:
    from logdiff.submission.launch import command_files

    return (command_files.read_image if kind == "dockerfile" else command_files.read_shell)(file)


def _or_none(file: TextFile) -> list[LaunchConfig]:
    """The servers of a script; none where it is no script."""
    try:
        return _in_commands(file, "script")
    except SubmissionError:
        return []


def _refuse_binary(file: TextFile) -> None:
    if file.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise SubmissionError(f"{file.place(0)}: is UTF-16; save it as UTF-8 text")
    at = file.data.find(b"\0")
    if at >= 0:
        raise SubmissionError(f"{file.place(at)}: a NUL byte: this is no text file")
