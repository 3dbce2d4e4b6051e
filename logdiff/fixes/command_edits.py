"""Edits of start scripts, ``docker run`` commands and Dockerfiles.

Every edit is tried on the bytes and the file is read again: it is right if the server is started
as intended, and all else that the file starts, puts and installs is as it was. So nothing here has
to know the shell's grammar, and several ways of writing a value can be tried.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from logdiff.arguments import governs
from logdiff.fixes.edits import Edit, EditRefusedError, apply_edits
from logdiff.submission.files import acts
from logdiff.submission.kinds import kind_of
from logdiff.submission.launch import read_launch
from logdiff.submission.launch.arguments import canonical
from logdiff.submission.model import Span, SubmissionError, TextFile
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from logdiff.submission.launch import LaunchConfig
    from logdiff.submission.model import Argument, Variable

KINDS = frozenset(("shell", "docker-run", "dockerfile"))
_SAFE = re.compile(r"[\w.,:/=+@%-]+")
"""Texts that need no quotes in a shell or a Dockerfile."""
_BLANKS_BEFORE = re.compile(rb"[ \t]*\Z")
_REST = re.compile(rb"[ \t]*(\\?)\r?(?:\n|\Z)")
_OPERATOR_BEHIND = re.compile(rb"[ \t]*(?:&&|;)[ \t]*(?:\\?\r?\n[ \t]*)?")
_CONTINUED_BEHIND = re.compile(rb"[ \t]*\\\r?\n[ \t]*")
_KEYWORD_BEFORE = re.compile(rb"(?i)[ \t]*(?:ENV|export)[ \t]+")
_COMMA_BEFORE = re.compile(rb",(?:\s|\\\r?\n)*\Z")
_COMMA_BEHIND = re.compile(rb"(?:\s|\\\r?\n)*,(?:\s|\\\r?\n)*")


class _Said(NamedTuple):
    """What one server is started with, whatever the order."""

    program: str
    arguments: list[tuple[str, str]]
    environment: list[tuple[str, str]]


def set_argument(config: LaunchConfig, flag: str, value: str | None) -> list[Edit]:
    """Give an argument a value, or add it where it is not there.

    Args:
        config: the server that is changed.
        flag: the option as typed (``--max-model-len``).
        value: its value; None for a flag that takes none.

    Raises:
        EditRefusedError: the file cannot be changed so soundly.
    """
    name = canonical(flag)
    wanted = _said(config)
    present = _only(config, name)
    _without(wanted.arguments, name)
    wanted.arguments.append((name, str(True if value is None else value)))
    if present is None:
        words = [flag] if value is None else [flag, value]
        return _verified(config, wanted, _added(config, name, words), f"add {' '.join(words)}")
    if str(present.value) == str(True if value is None else value):
        return []
    if isinstance(present.value, bool) or value is None:
        written = flag if value is None else f"{flag}={value}"
        candidates = iter([_written(config, present.span, written)])
    else:
        candidates = _values(config, present.value_span, value)
    return _verified(config, wanted, candidates, f"set {flag} to {value}", present.span)


def remove_argument(config: LaunchConfig, flag: str) -> list[Edit]:
    """Take an argument out; nothing where it is not there.

    Raises:
        EditRefusedError: the file cannot be changed so soundly.
    """
    name = canonical(flag)
    present = _only(config, name)
    if present is None:
        return []
    wanted = _said(config)
    _without(wanted.arguments, name)
    return _verified(
        config, wanted, _removals(config, present.span), f"take {flag} out", present.span
    )


def set_variable(config: LaunchConfig, name: str, value: str) -> list[Edit]:
    """Give an environment variable a value, or add it.

    Raises:
        EditRefusedError: the file cannot be changed so soundly.
    """
    given = [variable for variable in config.environment if variable.name == name]
    if len(given) > 1:
        raise _refused(config, given[-1].span, f"{name} is set {len(given)} times")
    wanted = _said(config)
    _without(wanted.environment, name)
    wanted.environment.append((name, value))
    if not given:
        return _verified(config, wanted, _added_variable(config, name, value), f"set {name}")
    if given[0].value == value:
        return []
    candidates = _values(config, given[0].value_span, value)
    return _verified(config, wanted, candidates, f"set {name} to {value}", given[0].span)


def remove_variable(config: LaunchConfig, name: str) -> list[Edit]:
    """Take an environment variable out; nothing where it is not there.

    Raises:
        EditRefusedError: the file cannot be changed so soundly.
    """
    edits: list[Edit] = []
    given = [variable for variable in config.environment if variable.name == name]
    if len(given) > 1:
        raise _refused(config, given[-1].span, f"{name} is set {len(given)} times")
    for variable in given:
        wanted = _said(config)
        _without(wanted.environment, name)
        edits = _verified(
            config, wanted, _removals(config, variable.span), f"take {name} out", variable.span
        )
    return edits


# Trying


def _said(config: LaunchConfig) -> _Said:
    return _Said(
        config.program,
        [(argument.name, str(argument.value)) for argument in config.arguments],
        [(variable.name, variable.value) for variable in config.environment],
    )


def _without(pairs: list[tuple[str, str]], name: str) -> None:
    pairs[:] = [pair for pair in pairs if pair[0] != name]


def _in_order(said: _Said) -> tuple[object, ...]:
    return said.program, sorted(said.arguments), sorted(said.environment)


def _verified(
    config: LaunchConfig,
    wanted: _Said,
    candidates: Iterable[Edit | None],
    what: str,
    place: Span | None = None,
) -> list[Edit]:
    """The first of some edits after which the file says what is wanted, and else the same."""
    before = read_launch(config.file)
    at = before.index(config)
    expected = [_in_order(wanted if n == at else _said(c)) for n, c in enumerate(before)]
    done = _acts(config.file)
    for edit in candidates:
        if edit is None:
            continue
        file = TextFile(config.file.path, apply_edits(config.file.data, [edit]))
        try:
            after = [_in_order(_said(each)) for each in read_launch(file)]
            if after == expected and _acts(file) == done:
                return [edit]
        except SubmissionError:
            continue
    span = place or config.program_span or Span(0, 0)
    raise _refused(
        config, span, f"{what} by hand: no edit of one place in this file changes that alone"
    )


def _acts(file: TextFile) -> object:
    """What a file puts into the image and changes of its packages."""
    return acts(file, kind_of(file.path, file.data) or "script")


def _only(config: LaunchConfig, name: str) -> Argument | None:
    given = [argument for argument in config.arguments if argument.name == name]
    if len(given) > 1:
        lines = " and ".join(str(config.file.line(a.span.start)) for a in given)
        why = f"{given[0].flag} is given {len(given)} times, in lines {lines}: leave one of them"
        raise _refused(config, given[0].span, why)
    return given[0] if given else None


def _refused(config: LaunchConfig, span: Span, why: str) -> EditRefusedError:
    return EditRefusedError(f"{config.file.place(span.start)}: {why}")


# Values


def _values(config: LaunchConfig, span: Span | None, value: str) -> Iterator[Edit]:
    """Ways to write another value in the place of one."""
    if span is None:
        return
    raw = config.file.data[span.start : span.end]
    is_in_list = config.command is not None and config.command.is_list
    if raw[:1] == b'"' and is_in_list:
        yield Edit(span, _in_json(value))
        return
    if raw[:1] in (b"'", b'"') and raw[-1:] == raw[:1]:
        yield Edit(span, _in_quotes(value, raw[:1].decode()))
        return
    before = config.file.data[span.start - 1 : span.start]
    if before == b'"' and config.file.data[span.end : span.end + 1] == b'"':
        yield Edit(span, _in_quotes(value, '"')[1:-1])
    yield Edit(span, value.encode())
    yield Edit(span, shlex.quote(value).encode())


def _in_quotes(value: str, quote: str) -> bytes:
    if quote == "'" and "'" not in value:
        return b"'%b'" % value.encode()
    return b'"%b"' % re.sub(r'([\\"$`])', r"\\\1", value).encode()


def _in_json(value: str) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _word(value: str) -> bytes:
    return value.encode() if _SAFE.fullmatch(value) else _in_quotes(value, "'")


def _written(config: LaunchConfig, span: Span, word: str) -> Edit:
    is_list = config.command is not None and config.command.is_list
    return Edit(span, _in_json(word) if is_list else _word(word))


# Additions


def _added(config: LaunchConfig, name: str, words: Sequence[str]) -> Iterator[Edit]:
    """Ways to add an argument: behind those of its area, behind any other, behind the program."""
    area = governs(name)
    alike = [argument for argument in config.arguments if governs(argument.name) == area]
    others = [argument for argument in config.arguments if argument not in alike]
    spans = [argument.span for argument in (*reversed(alike), *reversed(others))]
    if config.program_span:
        spans.append(config.program_span)
    for span in spans:
        yield _behind(config, span, words, _with_equals(config))


def _with_equals(config: LaunchConfig) -> bool:
    """Whether values are written behind ``=``."""
    valued = [a for a in config.arguments if a.flag and not isinstance(a.value, bool)]
    written = [config.file.text(argument.span) for argument in valued]
    return bool(written) and all("=" in re.split(r"\s", text)[0] for text in written)


def _behind(config: LaunchConfig, span: Span, words: Sequence[str], equals: bool) -> Edit:
    """Words behind others: in a list, on a line of their own where those have one, or beside."""
    data = config.file.data
    if equals and len(words) > 1:
        words = [f"{words[0]}={words[1]}"]
    end = span.end
    if config.command and config.command.is_list:
        return Edit(Span(end, end), b"".join(b", " + _in_json(word) for word in words))
    text = b" ".join(_word(word) for word in words)
    start = data.rfind(b"\n", 0, span.start) + 1
    indent = data[start : span.start]
    rest = _REST.match(data, end)
    if indent and not indent.strip() and (rest or _is_comment(data, end)):
        feed = b"\r\n" if data[:start].endswith(b"\r\n") else b"\n"
        continued = (rest and rest[1]) or _continues(data, start)
        return Edit(Span(end, end), (b" \\" if continued else b"") + feed + indent + text)
    return Edit(Span(end, end), b" " + text)


def _is_comment(data: bytes, offset: int) -> bool:
    return bool(re.match(rb"[ \t]+#", data[offset : offset + 80]))


def _continues(data: bytes, start: int) -> bool:
    """Whether the line before one ends in a backslash."""
    return data[:start].rstrip(b"\r\n").endswith(b"\\")


def _added_variable(config: LaunchConfig, name: str, value: str) -> Iterator[Edit | None]:
    """Ways to set one more variable: beside the last one, or in front of the command."""
    setting = f"{name}=".encode() + _word(value)
    place = config.command
    if config.environment:
        yield from _beside(config, config.environment[-1], setting)
    if place is None:
        return
    if config.kind == "docker-run" and place.options_end:
        yield Edit(Span(place.options_end.start, place.options_end.start), b"-e " + setting + b" ")
    elif config.kind == "dockerfile":
        yield _line_before(config, place.span, b"ENV " + setting)
    else:
        yield _line_before(config, place.span, b"export " + setting)


def _beside(config: LaunchConfig, last: Variable, setting: bytes) -> Iterator[Edit | None]:
    """A variable in the form of the one that it follows."""
    data = config.file.data
    written = data[last.span.start : last.span.end]
    end = Span(last.span.end, last.span.end)
    keyword = re.match(rb"(?i)(?:export|ENV|declare -x|typeset -x)[ \t]", written)
    option = re.match(rb"-e|--env(?:=|\b)", written)
    if keyword:
        yield _line_below(config, last.span, keyword[0] + setting)
    elif option:
        new = (option[0] if option[0].endswith(b"=") else option[0] + b" ") + setting
        yield _own_line_or_beside(config, last.span, new)
    else:
        yield _own_line_or_beside(config, last.span, setting)
    yield Edit(end, b" " + setting)


def _own_line_or_beside(config: LaunchConfig, span: Span, new: bytes) -> Edit:
    data = config.file.data
    start = data.rfind(b"\n", 0, span.start) + 1
    indent = data[start : span.start]
    if indent and not indent.strip() and _REST.match(data, span.end):
        feed = b"\r\n" if data[:start].endswith(b"\r\n") else b"\n"
        return Edit(Span(span.end, span.end), b" \\" + feed + indent + new)
    return Edit(Span(span.end, span.end), b" " + new)


def _line_below(config: LaunchConfig, span: Span, new: bytes) -> Edit:
    """A line below the statement that a span is, indented like it."""
    data = config.file.data
    written = data[span.start : span.end].rstrip(b"\r\n")
    start = data.rfind(b"\n", 0, span.start) + 1
    prefix = data[start : span.start]
    indent = prefix[: len(prefix) - len(prefix.lstrip(b" \t"))]
    at = data.find(b"\n", span.start + len(written))
    feed = b"\r\n" if data[:at].endswith(b"\r") else b"\n"
    if at < 0:
        return Edit(Span(len(data), len(data)), feed + indent + new)
    return Edit(Span(at + 1, at + 1), indent + new + feed)


def _line_before(config: LaunchConfig, command: Span, new: bytes) -> Edit:
    """A line above a command, indented like it."""
    data = config.file.data
    at = command.start
    at += len(data[at:]) - len(data[at:].lstrip(b" \t"))
    start = data.rfind(b"\n", 0, at) + 1
    prefix = data[start:at]
    indent = prefix[: len(prefix) - len(prefix.lstrip(b" \t"))]
    end = data.find(b"\n", at)
    feed = b"\r\n" if end > 0 and data[:end].endswith(b"\r") else b"\n"
    return Edit(Span(start, start), indent + new + feed)


# Removals


def _removals(config: LaunchConfig, span: Span) -> Iterator[Edit]:
    """Ways to take something out: its lines, it and what parts it from others, it alone."""
    data = config.file.data
    if config.command and config.command.is_list and data[span.start : span.start + 1] == b'"':
        comma = _COMMA_BEFORE.search(data, 0, span.start)
        if comma:
            yield Edit(Span(comma.start(), span.end), b"")
        behind = _COMMA_BEHIND.match(data, span.end)
        yield Edit(Span(span.start, behind.end() if behind else span.end), b"")
        return
    start = data.rfind(b"\n", 0, span.start) + 1
    if not data[start : span.start].strip():
        yield from _lines(data, start, span.end)
    behind = _OPERATOR_BEHIND.match(data, span.end)
    if behind:
        yield Edit(Span(span.start, behind.end()), b"")
    behind = _CONTINUED_BEHIND.match(data, span.end)
    if behind and _KEYWORD_BEFORE.fullmatch(data, start, span.start):
        yield Edit(Span(span.start, behind.end()), b"")
    blanks = _BLANKS_BEFORE.search(data, start, span.start)
    if blanks and blanks.start() > start:
        yield Edit(Span(blanks.start(), span.end), b"")
    behind = re.compile(rb"[ \t]*").match(data, span.end)
    yield Edit(Span(span.start, behind.end() if behind else span.end), b"")


def _lines(data: bytes, start: int, end: int) -> Iterator[Edit]:
    """Whole lines; of the last of a continued command the sign before them instead."""
    if data[:end].endswith(b"\n"):
        yield Edit(Span(start, end), b"")
        return
    rest = _REST.match(data, end) or re.compile(rb"[ \t]+#[^\n]*(\n|\Z)()").match(data, end)
    if not rest:
        return
    if not rest[1].startswith(b"\\") and _continues(data, start):
        previous = data[:start].rstrip(b"\r\n").rstrip(b"\\").rstrip(b" \t")
        feed = data[end : rest.end()].lstrip(b" \t")
        yield Edit(Span(len(previous), rest.end() - len(feed)), b"")
    yield Edit(Span(start, rest.end()), b"")
