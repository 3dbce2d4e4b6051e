"""The nouns of submission files. Every position is a byte offset into the file as it was read."""

from __future__ import annotations

from logdiff.decoders import UTF8_MARK
from logdiff.errors import UsageError
from logdiff.model import Mark
from logdiff.tuples import NamedTuple


class SubmissionError(UsageError):
    """A submission file that cannot be read or edited; says file, line, column and why."""


class Span(NamedTuple):
    """Bytes ``start`` up to, and without, ``end``."""

    start: int
    end: int


class TextFile:
    """A submission file: UTF-8, with or without a byte-order mark, of any line ends."""

    __slots__ = ("data", "path")

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data

    def mark(self, offset: int) -> Mark:
        """The line of a byte, as evidence names it."""
        start = self.data.rfind(b"\n", 0, offset) + 1
        end = self.data.find(b"\n", start)
        return Mark(self.line(offset), start, (len(self.data) if end < 0 else end) - start)

    def line_at(self, mark: Mark) -> bytes:
        """The bytes of a line, without its end."""
        return self.data[mark.offset : mark.offset + mark.length].rstrip(b"\r")

    def text(self, span: Span) -> str:
        """What is written in a span."""
        return self.data[span.start : span.end].decode("utf-8", "replace")

    def line(self, offset: int) -> int:
        """The 1-based line of a byte."""
        return self.data.count(b"\n", 0, offset) + 1

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of a byte, both from 1; columns count characters."""
        start = self.data.rfind(b"\n", 0, offset) + 1
        before = self.data[start:offset].removeprefix(UTF8_MARK)
        return self.line(offset), len(before.decode("utf-8", "replace")) + 1

    def place(self, offset: int) -> str:
        """``file:line:column`` of a byte, for messages."""
        line, column = self.position(offset)
        return f"{self.path}:{line}:{column}"


class Word(NamedTuple):
    """One word of a command after expansion."""

    text: str
    """Its value; what is not known stays a named hole, ``${NAME}`` or ``$(command)``."""
    span: Span
    """As written, quotes included."""
    known: bool
    """Whether it holds no hole and no pattern of file names."""
    item: Span | None = None
    """The element of a list or an array that it comes from, or the call of the function whose
    argument it is: what would have to go for this word alone not to be there."""
    origin: Span | None = None
    """Where its value stands just like this: within quotes, or where a variable is set."""
    assumed: bool = False
    """Whether it takes a variable for unset that the surroundings of the script may set."""


FILE_OUTPUT = frozenset((">", ">>", "1>", "1>>", ">|", "1>|"))
"""The operators that send what a command prints into a file."""


class Command(NamedTuple):
    """One simple command of a script, as it would run; in a loop, one for each turn."""

    words: tuple[Word, ...]
    span: Span
    """The simple command itself, with what it assigns before and its redirections."""
    statement: Span
    """With the ``|| true`` and the pipe that belong to it; whole lines where it has them alone."""
    assignments: tuple[Variable, ...] = ()
    """Variables that are set for this command only."""
    redirections: tuple[tuple[str, Word], ...] = ()
    """Operator and target: ``(">", word)``, ``("2>", word)``, ``("<<", delimiter)``."""
    here_document: Span | None = None
    """The body of its here-document."""
    guards: tuple[str, ...] = ()
    """Conditions that must hold for it to run, outermost first, as written; ``not …`` for else."""
    swallowed: str | None = None
    """What hides its failure from the script, as written (``|| true``); None where nothing does."""
    silenced: bool = False
    """Whether what it says on stderr is thrown away."""
    items: tuple[Span, ...] = ()
    """The items of lists and arrays that the enclosing loops stand at, outermost first."""
    function: str | None = None
    """The function whose body holds it."""
    strict: bool = False
    """Whether ``set -e`` was in force."""
    directory: str = ""
    """Where it runs, as far as ``cd`` tells; empty where the script was started."""
    exported: int = 0
    """How many of the script's exports are in force."""


class Variable(NamedTuple):
    """An environment variable that a file sets."""

    name: str
    value: str
    """A value with holes is kept as written."""
    span: Span
    """The whole setting: the list item, the mapping entry, the ``export`` statement."""
    value_span: Span | None
    """The value as written, quotes included; None where there is none."""


class Argument(NamedTuple):
    """One option that a launch file gives to the server."""

    name: str
    """Canonical: long form, without dashes, ``_`` for ``-``: ``max_model_len``; ``model`` for the
    positional model of ``vllm serve``."""
    flag: str
    """As typed: ``-tp``, ``--max-model-len``; empty for a positional one."""
    value: str | bool
    """The text of the value; True for a flag without one, False for ``--no-…``."""
    span: Span
    """Flag and value, quotes included, and what lies between them."""
    value_span: Span | None
    """The value as written, quotes included; within ``--flag=value`` only the value."""
    assumed: bool = False
    """Whether the value is only a default of the script, which its surroundings may change."""


class Remark(NamedTuple):
    """A comment, or a text that a command prints: what the author says that the file does."""

    kind: str
    """``comment`` or ``echo``."""
    text: str
    span: Span
    guards: tuple[str, ...] = ()
    """What must hold for a text to be printed, as for a command."""
