"""``docker run`` and its relatives: options, image, and what runs in the container.

Source: the reference of ``docker container run`` and of ``docker container exec``; podman and
nerdctl take the same options and a few of their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from logdiff.submission.model import Span, Variable
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logdiff.submission.model import Word
    from logdiff.submission.programs import Program

CONTAINER_PROGRAMS = frozenset(("docker", "podman", "nerdctl", "nvidia-docker"))
_WITHOUT_IMAGE = "exec"
_COMMANDS = frozenset(("run", "create", _WITHOUT_IMAGE))
_GROUP = "container"
_GLOBAL_VALUES = frozenset("-c --context -H --host -l --log-level --config -n --namespace".split())
_SWITCHES = frozenset(
    "--detach --interactive --tty --rm --privileged --init --publish-all --read-only"
    " --no-healthcheck --oom-kill-disable --sig-proxy --disable-content-trust --quiet"
    " --use-api-socket --replace --tls-verify --no-hosts --rmi --http-proxy --env-host".split()
)
"""Options that take no value, but one behind ``=``."""
_SHORT_SWITCHES = re.compile(r"-[ditPq]+")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")


class Option(NamedTuple):
    """One option as it is given."""

    name: str
    value: str | None
    span: Span
    """With its value."""
    value_word: Word | None
    """The word that holds the value, be it all of it or behind the name."""


class DockerRun(NamedTuple):
    """A command that runs a program in a container."""

    options: tuple[Option, ...]
    image: Word | None
    """None for ``docker exec``."""
    operand: Word
    """The image, or the name of the container: options stand before it."""
    words: tuple[Word, ...]
    """What runs in the container, with the entry point that is named; the image's own is not."""

    @property
    def name(self) -> str | None:
        """What the container is called."""
        if self.image is None:
            return self.operand.text
        return self.value("--name")

    def value(self, name: str) -> str | None:
        """The value of an option; the last where it is given several times."""
        return next((o.value for o in reversed(self.options) if o.name == name), None)

    def variables(self, surroundings: Sequence[Variable]) -> list[Variable]:
        """The variables that the container is given.

        Args:
            surroundings: those of the shell, of which ``--env NAME`` hands on one.
        """
        known = {variable.name: variable.value for variable in surroundings}
        found = []
        for option in self.options:
            if option.name not in {"-e", "--env"} or option.value_word is None:
                continue
            name, equals, value = (option.value or "").partition("=")
            if not _VARIABLE.fullmatch(name):
                continue
            if equals:
                found.append(Variable(name, value, option.span, _behind_name(option, value)))
            else:
                value = known.get(name, f"${{{name}}}")
                found.append(Variable(name, value, option.span, None))
        return found


def docker_run(running: Program) -> DockerRun | None:
    """What a command runs in a container; None for another command.

    Args:
        running: the program of the command, and the words behind it.
    """
    if running.name not in CONTAINER_PROGRAMS:
        return None
    words = list(running.words)
    while words and words[0].text.startswith("-"):
        del words[: 2 if words[0].text in _GLOBAL_VALUES else 1]
    if words and words[0].text == _GROUP:
        del words[0]
    if not words or words[0].text not in _COMMANDS:
        return None
    command = words.pop(0).text
    options = []
    while words and words[0].text.startswith("-"):
        option, used = _option(words)
        options.append(option)
        del words[:used]
    if not words:
        return None
    operand = words.pop(0)
    return DockerRun(
        tuple(options),
        None if command == _WITHOUT_IMAGE else operand,
        operand,
        (*_entry_point(options), *words),
    )


def _entry_point(options: Sequence[Option]) -> list[Word]:
    given = [o for o in options if o.name == "--entrypoint" and o.value_word]
    return [o.value_word._replace(text=o.value or "") for o in given[-1:] if o.value_word]


def _option(words: Sequence[Word]) -> tuple[Option, int]:
    """The option that some words begin with, and how many of them it takes."""
    word = words[0]
    name, equals, value = word.text.partition("=")
    if word.text.startswith("--"):
        if equals:
            return Option(name, value, word.span, word), 1
        if name in _SWITCHES:
            return Option(name, None, word.span, None), 1
    elif _SHORT_SWITCHES.fullmatch(word.text):
        return Option(word.text, None, word.span, None), 1
    elif len(word.text) > 2:
        return Option(word.text[:2], word.text[2:].removeprefix("="), word.span, word), 1
    if len(words) == 1:
        return Option(name, None, word.span, None), 1
    following = words[1]
    span = Span(word.span.start, following.span.end)
    return Option(name, following.text, span, following), 2


def _behind_name(option: Option, value: str) -> Span | None:
    """Where the value of a variable stands, within the quotes of its word."""
    word = option.value_word
    if word is None or word.origin is None or not word.known:
        return None
    return Span(word.origin.end - len(value.encode()), word.origin.end)
