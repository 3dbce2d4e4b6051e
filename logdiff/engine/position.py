"""Places in rule files, and the mistakes that are reported there."""

from __future__ import annotations

from logdiff.errors import RuleError
from logdiff.tuples import NamedTuple


class Position(NamedTuple):
    """A character of a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Problem(NamedTuple):
    """One mistake in a rule file."""

    position: Position
    message: str

    def __str__(self) -> str:
        return f"{self.position}: {self.message}"


class RuleFileError(RuleError):
    """A mistake in a rule file, with its position."""

    def __init__(self, problem: Problem, hint: str | None = None) -> None:
        """Make the message from the problem: ``file:line:column: message``."""
        super().__init__(str(problem), hint)
        self.problem = problem


class Origin:
    """The stretch of a YAML file that a text was read from."""

    __slots__ = ("_raw", "_style", "start")

    def __init__(self, start: Position, raw: str = "", style: str | None = None) -> None:
        """Take where the scalar starts, its source with quotes or ``|``, and its YAML style."""
        self.start = start
        self._raw = raw
        self._style = style

    def at(self, offset: int, text: str) -> Position:
        """Return the position of ``text[offset]``, where ``text`` is the value of the scalar.

        Folding changes blanks only, so the characters that are not blank are counted. In a
        double-quoted scalar with escapes the start is the best that can be said.
        """
        if self._style == '"' and "\\" in self._raw:
            return self.start
        wanted = len("".join(text[:offset].split()))
        index = end = self._content_start()
        while index < len(self._raw):
            character = self._raw[index]
            if not character.isspace():
                if wanted == 0:
                    return self._position(index)
                wanted -= 1
                if self._style == "'" and character == "'":
                    index += 1  # a quote is written twice
                end = index + 1
            index += 1
        return self._position(end)

    def _content_start(self) -> int:
        if self._style in ("'", '"'):
            return 1
        if self._style in ("|", ">"):
            return self._raw.find("\n") + 1
        return 0

    def _position(self, index: int) -> Position:
        line_start = self._raw.rfind("\n", 0, index) + 1
        if line_start == 0:
            return self.start._replace(column=self.start.column + index)
        lines = self._raw.count("\n", 0, index)
        return Position(self.start.file, self.start.line + lines, index - line_start + 1)
