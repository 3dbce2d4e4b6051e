"""Launch files: how a server was meant to be started, whatever the file says it in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logdiff.submission.model import SubmissionError, TextFile
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from logdiff.submission.model import Argument, Span, Variable
    from logdiff.submission.yaml_nodes import Node


MAXIMUM_BYTES = 1 << 20


class LaunchConfig(NamedTuple):
    """One server that a launch file starts."""

    file: TextFile
    kind: str
    """``platform`` ``compose`` ``kubernetes`` ``engine-config`` ``shell`` ``docker-run``."""
    name: str
    """The service or container; empty where the file starts one server only."""
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
            "Read are YAML files: with a 'command', of compose, of Kubernetes, and vLLM's own.",
        )
    return found


def servers(file: TextFile) -> list[LaunchConfig]:
    """The servers that a file starts; none where it is something else.

    Raises:
        SubmissionError: the file is damaged.
    """
    from logdiff.submission.launch import yaml_files

    _refuse_binary(file)
    return yaml_files.read(file)


def _refuse_binary(file: TextFile) -> None:
    at = file.data.find(b"\0")
    if at >= 0:
        raise SubmissionError(f"{file.place(at)}: a NUL byte: this is no text file")
