"""The instructions of a Dockerfile and their words, with places."""

from __future__ import annotations

import json
import re

from logdiff.decoders import UTF8_MARK
from logdiff.submission.model import Remark, Span, SubmissionError, Word
from logdiff.submission.shell.commands import unix_lines
from logdiff.tuples import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from logdiff.submission.model import TextFile

SIZE_LIMIT = 1 << 18

NAMES = frozenset(
    "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL"
    " STOPSIGNAL USER VOLUME WORKDIR".split()
)
_WITH_HERE_DOCUMENTS = frozenset(("RUN", "COPY", "ADD"))
_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*(\w+)[ \t]*=[ \t]*(\S+)[ \t]*\n")
_LINE = re.compile(rb"[^\n]*(?:\n|\Z)")
_KEYWORD = re.compile(rb"[ \t]*([A-Za-z]+)(?=\s|\Z)")
_SKIPPED = re.compile(rb"[ \t]*(#[^\n]*)?(?:\n|\Z)")
_HERE_DOCUMENT = re.compile(rb"(?<![<\w])<<(-?)[ \t]*([\"']?)(\w+)\2(?!<)")
_FLAG = re.compile(rb"(?:\s|\\\n)*(--[a-z]+(?:=\S*)?)(?=\s)")
_BLANK = re.compile(rb"(?:\s|\\\n)*")
_JSON_ARRAY = re.compile(
    rb'\s*\[(?:\s|\\\n)*("(?:[^"\\\n]|\\.)*"(?:(?:\s|\\\n)*,(?:\s|\\\n)*"(?:[^"\\\n]|\\.)*")*)?'
    rb"(?:\s|\\\n)*\]\s*\Z"
)
_JSON_STRING = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
_QUOTED = re.compile(rb"\"(?:[^\"\\]|\\.)*\"|'[^']*'", re.DOTALL)
_WORD = re.compile(rb"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\[^\n]|[^\s\"'\\])+", re.DOTALL)
_PART = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|((?:\\.|[^'\"\\])+)", re.DOTALL)
_VARIABLE = re.compile(r"\\(.)|\$\{(\w+)(?::?([-+?])([^{}]*))?\}|\$(\w+)", re.DOTALL)


class HereDocument(NamedTuple):
    """Text behind an instruction that is read as a file."""

    delimiter: str
    body: Span
    marker: Span
    """Where ``<<EOF`` stands."""


class Instruction(NamedTuple):
    """One instruction of a Dockerfile."""

    name: str
    """In upper case."""
    span: Span
    """Its whole lines, those of its here-documents included."""
    flags: tuple[Word, ...]
    """``--from=builder``, ``--mount=…``."""
    body: Span
    """What is behind the name and the flags, up to the end of the last continued line."""
    here_documents: tuple[HereDocument, ...]
    on_build: bool = False
    """Whether it only runs in images that are built from this one."""

    def flag(self, name: str) -> str | None:
        """The value of a flag; None where it is not given."""
        values = [word.text.partition("=")[2] for word in self.flags]
        names = [word.text.partition("=")[0] for word in self.flags]
        return values[names.index(f"--{name}")] if f"--{name}" in names else None


class Syntax(NamedTuple):
    """A Dockerfile as a list of instructions."""

    source: bytes
    """What Docker makes of the file, at the same offsets: continued lines end in ``\\``, and there
    are no comments between them."""
    instructions: tuple[Instruction, ...]
    comments: tuple[Remark, ...]


def parse(file: TextFile) -> Syntax:
    """The instructions of a Dockerfile.

    Raises:
        SubmissionError: It is too large, binary, holds what is no instruction, or a here-document
            does not end.
    """
    if len(file.data) > SIZE_LIMIT:
        raise SubmissionError(f"{file.path}:1:1: over {SIZE_LIMIT >> 10} KB is no Dockerfile")
    nul = file.data.find(b"\0")
    if nul >= 0:
        raise SubmissionError(f"{file.place(nul)}: binary data is no Dockerfile")
    return _Parser(file).parse()


class _Parser:
    def __init__(self, file: TextFile) -> None:
        self._file = file
        source = unix_lines(file.data)
        if source.startswith(UTF8_MARK):
            source = b"   " + source[3:]
        self._source = bytearray(source)
        self._comments: list[Remark] = []
        self._escape = ord("\\")

    def parse(self) -> Syntax:
        found: list[Instruction] = []
        position = self._directives()
        while position < len(self._source):
            line = self._line(position)
            if _SKIPPED.fullmatch(self._source, line.start, line.end):
                self._comment(line)
                position = line.end
            else:
                found.append(self._instruction(line.start))
                position = found[-1].span.end
        return Syntax(bytes(self._source), tuple(found), tuple(self._comments))

    def _line(self, position: int) -> Span:
        match = _LINE.match(self._source, position)
        return Span(position, match.end() if match else position)

    def _directives(self) -> int:
        """Read ``# escape=`` and its like; returns where they end."""
        position = 0
        while match := _DIRECTIVE.match(self._source, position):
            if match[1].lower() == b"escape" and match[2] == b"`":
                self._escape = ord("`")
            elif match[1].lower() not in {b"escape", b"syntax", b"check"}:
                break
            position = match.end()
        return position

    def _comment(self, line: Span) -> None:
        text = self._source[line.start : line.end].decode("utf-8", "replace").strip()
        if text:
            start = self._source.index(b"#", line.start)
            end = start + len(self._source[start : line.end].rstrip())
            self._comments.append(Remark("comment", text.lstrip("#").strip(), Span(start, end)))

    def _instruction(self, start: int) -> Instruction:
        end = self._logical_line(start)
        name, rest, on_build = self._name(start, end)
        flags: list[Word] = []
        while match := _FLAG.match(self._source, rest, end):
            place = Span(*match.span(1))
            flags.append(Word(match[1].decode("utf-8", "replace"), place, known=True))
            rest = match.end()
        blank = _BLANK.match(self._source, rest, end)
        rest = blank.end() if blank else rest
        last = rest + len(self._source[rest:end].rstrip())
        documents: list[HereDocument] = []
        if name in _WITH_HERE_DOCUMENTS:
            documents = self._here_documents(Span(rest, last), end)
        if documents:
            end = self._line(documents[-1].body.end).end
        return Instruction(
            name, Span(start, end), tuple(flags), Span(rest, last), tuple(documents), on_build
        )

    def _name(self, start: int, end: int) -> tuple[str, int, bool]:
        on_build = False
        position = start
        while True:
            match = _KEYWORD.match(self._source, position, end)
            name = match[1].decode().upper() if match else ""
            if match is None or name not in NAMES:
                written = self._source[position:end].decode("utf-8", "replace").split()
                shown = written[0][:40] if written else "this"
                raise SubmissionError(f"{self._file.place(position)}: {shown} is no instruction")
            if name != "ONBUILD":
                return name, match.end(), on_build
            on_build, position = True, match.end()

    def _logical_line(self, start: int) -> int:
        """Where an instruction ends; on the way its continuation becomes that of a shell."""
        line = self._line(start)
        while self._continues(line) and line.end < len(self._source):
            line = self._line(line.end)
            while line.end > line.start and self._skip(line):
                line = self._line(line.end)
        return line.end

    def _continues(self, line: Span) -> bool:
        """Whether a line ends in the escape character, which is moved to its very end."""
        text = self._source[line.start : line.end]
        bare = text.rstrip()
        if not text.endswith(b"\n") or not bare or bare[-1] != self._escape:
            return False
        self._source[line.start + len(bare) - 1] = ord(" ")
        self._source[line.end - 2] = ord("\\")
        return True

    def _skip(self, line: Span) -> bool:
        """Take out a comment or an empty line between continued lines."""
        if not _SKIPPED.fullmatch(self._source, line.start, line.end):
            return False
        self._comment(line)
        length = line.end - line.start
        # The line stays a line of its own where there is room to say that it goes on.
        kept = b"\\\n" if length > 1 and self._source[line.end - 1] == ord("\n") else b""
        self._source[line.start : line.end] = b" " * (length - len(kept)) + kept
        return True

    def _here_documents(self, body: Span, end: int) -> list[HereDocument]:
        quoted = [match.span() for match in _QUOTED.finditer(self._source, *body)]
        found: list[HereDocument] = []
        for match in _HERE_DOCUMENT.finditer(self._source, *body):
            if any(first < match.start() < last for first, last in quoted):
                continue
            tabs = rb"\t*" if match[1] else b""
            closing = re.compile(rb"^" + tabs + re.escape(match[3]) + rb"\n?$", re.MULTILINE)
            last = closing.search(self._source, end)
            if last is None:
                place = self._file.place(match.start())
                raise SubmissionError(f"{place}: this here-document does not end")
            marker = Span(*match.span())
            found.append(HereDocument(match[3].decode(), Span(end, last.start()), marker))
            end = self._line(last.start()).end
        return found


def json_words(source: bytes, span: Span) -> tuple[Word, ...] | None:
    """The strings of the exec form, ``["a", "b"]``; None for anything else."""
    match = _JSON_ARRAY.match(source, *span)
    if not match:
        return None
    words: list[Word] = []
    for element in _JSON_STRING.finditer(source, *match.span(1)) if match[1] else ():
        try:
            text = json.loads(element[0])
        except ValueError:
            return None
        words.append(Word(text, Span(*element.span()), known=True))
    return tuple(words)


def words(
    file: TextFile, source: bytes, span: Span, variables: Mapping[str, str]
) -> tuple[Word, ...]:
    """The words of an instruction, with the variables that are known put in.

    Raises:
        SubmissionError: A quote is not closed.
    """
    found: list[Word] = []
    position = span.start
    while True:
        blank = _BLANK.match(source, position, span.end)
        position = blank.end() if blank else position
        if position >= span.end:
            return tuple(found)
        match = _WORD.match(source, position, span.end)
        if not match or source[match.end() : match.end() + 1] in {b'"', b"'"}:
            offset = match.end() if match else position
            quote = source[offset : offset + 1].decode("utf-8", "replace")
            if quote in {'"', "'"}:
                raise SubmissionError(f"{file.place(offset)}: {quote} is never closed")
            position = offset + 1
            continue
        written = match[0].decode("utf-8", "replace")
        found.append(word(written, Span(*match.span()), variables))
        position = match.end()


def word(written: str, span: Span, variables: Mapping[str, str]) -> Word:
    """A word without its quotes, with the variables that are known put in."""
    parts = [
        part[1] if part[1] is not None else expanded(part[2] or part[3] or "", variables)
        for part in _PART.finditer(written)
    ]
    text = "".join(parts)
    return Word(text, span, known="${" not in text)


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Text with the variables that are known put in; the others stay holes."""

    def value(match: re.Match[str]) -> str:
        if match[1] is not None:
            return "" if match[1] == "\n" else match[1]
        name = match[2] or match[5]
        known = variables.get(name)
        if match[3] == "-" and not known:
            return match[4]
        if match[3] == "+":
            return match[4] if known else ""
        return f"${{{name}}}" if known is None else known

    return _VARIABLE.sub(value, text)
