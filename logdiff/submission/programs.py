"""The program that a command runs, and its options and operands."""

from __future__ import annotations

import posixpath
import re
from collections import deque

from logdiff.tuples import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from logdiff.submission.model import Word

# Programs that run another one, with those of their options that take a value.
_WRAPPERS: dict[str, frozenset[str]] = {
    "sudo": frozenset(("-u", "-g", "-h", "-p", "-C", "--user", "--group")),
    "env": frozenset(("-u", "-C", "-S", "--unset", "--chdir")),
    "xargs": frozenset(("-I", "-n", "-P", "-L", "-d", "-a", "-s")),
    "nice": frozenset(("-n",)),
    "ionice": frozenset(("-c", "-n", "-p")),
    "timeout": frozenset(("-k", "-s", "--signal", "--kill-after")),
    "stdbuf": frozenset(("-i", "-o", "-e")),
    "gosu": frozenset(),
    "command": frozenset(),
    "builtin": frozenset(),
    "exec": frozenset(("-a",)),
    "nohup": frozenset(),
    "time": frozenset(("-f", "-o")),
}
_OWN_OPERANDS = {"timeout": 1, "gosu": 1}
_ASSIGNMENT = re.compile(r"\w+=")
_PYTHON = re.compile(r"python(\d+(\.\d+)*)?")


class Program(NamedTuple):
    """What a command runs, without the programs that only run it."""

    name: str
    """The last part of its path; ``python`` for all versions of Python."""
    words: tuple[Word, ...]
    """What is behind the name."""


class Options(NamedTuple):
    """The words behind a program's name."""

    operands: list[Word]
    values: dict[str, list[Word]]
    """Each option that was given, with its values."""

    def has(self, *names: str) -> bool:
        """Whether one of some options is given."""
        return any(name in self.values for name in names)

    def value(self, *names: str) -> Word | None:
        """The last value of some options."""
        found = [word for name in names for word in self.values.get(name, [])]
        return found[-1] if found else None


def program(words: Sequence[Word]) -> Program | None:
    """The program that a command runs; None for a command without words."""
    rest = list(words)
    while rest:
        name = posixpath.basename(rest[0].text)
        if name == "find":
            rest = _executed(rest)
        elif name in _WRAPPERS and len(rest) > 1:
            rest = _wrapped(name, rest[1:])
        else:
            return Program("python" if _PYTHON.fullmatch(name) else name, tuple(rest[1:]))
    return None


def _executed(words: list[Word]) -> list[Word]:
    """What ``find … -exec`` runs."""
    texts = [word.text for word in words]
    start = next((i for i, text in enumerate(texts) if text in {"-exec", "-execdir"}), len(texts))
    return [word for word in words[start + 1 :] if word.text not in {";", "+"}]


def _wrapped(name: str, words: list[Word]) -> list[Word]:
    """The words of the command that a wrapper runs."""
    rest = words[:]
    while rest and (rest[0].text.startswith("-") or _ASSIGNMENT.match(rest[0].text)):
        rest = rest[2 if rest[0].text in _WRAPPERS[name] else 1 :]
    return rest[_OWN_OPERANDS.get(name, 0) :]


def options(words: Sequence[Word], with_value: Collection[str]) -> Options:
    """Tell options from operands.

    Args:
        words: What is behind the name of the program.
        with_value: The options, ``-x`` or ``--long``, whose value may be the next word.
    """
    found = Options([], {})
    rest = deque(words)
    while rest:
        word = rest.popleft()
        if word.text == "--":
            found.operands.extend(rest)
            break
        if not word.text.startswith("-") or word.text == "-":
            found.operands.append(word)
            continue
        for name, value in _named(word, with_value):
            values = found.values.setdefault(name, [])
            if value is not None:
                values.append(value)
            elif name in with_value and rest:
                values.append(rest.popleft())
    return found


def _named(word: Word, with_value: Collection[str]) -> list[tuple[str, Word | None]]:
    """The options of one word, with the value where the word holds it: ``-Dm644``, ``--to=dir``."""
    if word.text.startswith("--"):
        name, equals, value = word.text.partition("=")
        return [(name, word._replace(text=value) if equals else None)]
    found: list[tuple[str, Word | None]] = []
    for index, letter in enumerate(word.text[1:], start=2):
        value = word.text[index:]
        if f"-{letter}" in with_value and value:
            return [*found, (f"-{letter}", word._replace(text=value))]
        found.append((f"-{letter}", None))
    return found
