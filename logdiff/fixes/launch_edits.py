"""Edits of launch files: set, add and remove an argument or a variable, in the file's own style."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from logdiff.arguments import governs
from logdiff.fixes import command_edits
from logdiff.fixes.edits import Edit, EditRefusedError
from logdiff.submission.launch.arguments import canonical
from logdiff.submission.model import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logdiff.submission.launch import LaunchConfig
    from logdiff.submission.model import Argument, Variable
    from logdiff.submission.yaml_nodes import Node

_PLAIN = re.compile(r"[A-Za-z_./-][\w./=+-]*")
"""Texts that are the same text in YAML and in a shell without any quotes."""
_CONTINUED = re.compile(rb"[ \t]*\\\r?\n")


def set_argument(config: LaunchConfig, flag: str, value: str | None) -> list[Edit]:
    """Give an argument a value, or add it where it is not there.

    Args:
        config: the server that is changed.
        flag: the option as typed (``--max-model-len``).
        value: its value; None for a flag that takes none.

    Raises:
        EditRefusedError: the file cannot be changed so soundly.
    """
    if config.kind in command_edits.KINDS:
        return command_edits.set_argument(config, flag, value)
    _check_shared(config)
    present = _only(config, canonical(flag))
    if present is None:
        return [_added(config, flag, value)]
    if value is None:
        if present.value is True:
            return []
        if present.value is False and not present.value_span:
            return [Edit(present.span, _like(config, present.span, flag))]
        raise _refused(config, present.span, f"{present.flag} has a value; {flag} takes none")
    if present.value == value:
        return []
    if present.value_span is None or "$" in str(present.value):
        what = (
            "has no value of its own" if isinstance(present.value, bool) else "is not written out"
        )
        raise _refused(config, present.span, f"the value of {present.flag or flag} {what}")
    return [Edit(present.value_span, _like(config, present.value_span, value))]


def remove_argument(config: LaunchConfig, flag: str) -> list[Edit]:
    """Take an argument out; nothing where it is not there.

    Raises:
        EditRefusedError: the file cannot be changed so soundly.
    """
    if config.kind in command_edits.KINDS:
        return command_edits.remove_argument(config, flag)
    _check_shared(config)
    present = _only(config, canonical(flag))
    if present is None:
        return []
    if len(config.arguments) == 1:
        raise _refused(config, present.span, f"{present.flag} is the only argument")
    return [Edit(_with_its_separator(config, present.span), b"")]


def set_variable(config: LaunchConfig, name: str, value: str) -> list[Edit]:
    """Give an environment variable a value, or add it behind the last one.

    Raises:
        EditRefusedError: the file cannot be changed so soundly.
    """
    if config.kind in command_edits.KINDS:
        return command_edits.set_variable(config, name, value)
    given = [variable for variable in config.environment if variable.name == name]
    if len(given) > 1:
        raise _refused(config, given[-1].span, f"{name} is set {len(given)} times")
    if not given:
        return [_added_variable(config, name, value)]
    [variable] = given
    if variable.value == value:
        return []
    if variable.value_span is None or "$" in variable.value:
        raise _refused(config, variable.span, f"the value of {name} is not written out here")
    return [Edit(variable.value_span, _like(config, variable.value_span, value))]


def remove_variable(config: LaunchConfig, name: str) -> list[Edit]:
    """Take an environment variable out; nothing where it is not there.

    Raises:
        EditRefusedError: the file cannot be changed so soundly.
    """
    if config.kind in command_edits.KINDS:
        return command_edits.remove_variable(config, name)
    given = [variable for variable in config.environment if variable.name == name]
    if not given:
        return []
    node = config.environment_in
    if node is None or node.is_alias or node.anchor or node.flow:
        raise _refused(config, given[0].span, f"take {name} out by hand")
    if len(given) == len(config.environment):
        raise _refused(config, given[0].span, f"{name} is the only variable: take it out by hand")
    return [Edit(_lines_of(config.file.data, variable.span), b"") for variable in given]


def _lines_of(data: bytes, span: Span) -> Span:
    """The whole lines that something stands in."""
    end = data.find(b"\n", span.end - 1)
    return Span(data.rfind(b"\n", 0, span.start) + 1, len(data) if end < 0 else end + 1)


def _only(config: LaunchConfig, name: str) -> Argument | None:
    given = [argument for argument in config.arguments if argument.name == name]
    if len(given) > 1:
        lines = " and ".join(str(config.file.line(a.span.start)) for a in given)
        why = f"{given[0].flag} is given {len(given)} times, in lines {lines}: leave one of them"
        raise _refused(config, given[0].span, why)
    return given[0] if given else None


def _check_shared(config: LaunchConfig) -> None:
    node = config.arguments_in
    if node and (node.is_alias or node.anchor):
        raise _refused(config, node.span, "these arguments are shared by an anchor with others")
    spans = {argument.span for argument in config.arguments}
    if len(spans) < len(config.arguments):
        why = "the text is quoted so that its words have no places of their own"
        raise _refused(config, config.arguments[0].span, why)


def _refused(config: LaunchConfig, span: Span, why: str) -> EditRefusedError:
    return EditRefusedError(f"{config.file.place(span.start)}: {why}")


def _like(config: LaunchConfig, span: Span, value: str) -> bytes:
    """A value in the quotes of the one that it replaces."""
    raw = config.file.data[span.start : span.end]
    quote = raw[:1].decode() if raw[:1] in (b"'", b'"') else ""
    if not quote and config.kind == "engine-config":
        return value.encode() if _is_same_in_yaml(value) else _quoted(value, "'")
    if not quote and not _PLAIN.fullmatch(value) and not raw[:1].isdigit():
        return _quoted(value, "'")
    return _quoted(value, quote) if quote else value.encode()


def _is_same_in_yaml(value: str) -> bool:
    return isinstance(yaml.safe_load(value), str | int | float | bool) and ":" not in value


def _quoted(value: str, quote: str) -> bytes:
    if quote == "'":
        return b"'%b'" % value.replace("'", "''").encode()
    return b'"%b"' % value.replace("\\", "\\\\").replace('"', '\\"').encode()


def _neighbour(config: LaunchConfig, name: str) -> Argument:
    """The argument behind which a new one belongs: the last of its area, else the last."""
    area = governs(name)
    alike = [argument for argument in config.arguments if governs(argument.name) == area]
    return (alike or config.arguments)[-1]


def _added(config: LaunchConfig, flag: str, value: str | None) -> Edit:
    neighbour = _neighbour(config, canonical(flag))
    node = config.arguments_in
    behind = neighbour.span.end
    if config.kind == "engine-config":
        text = "true" if value is None else value
        key = canonical(flag).replace("_", "-" if "-" in neighbour.flag else "_")
        new = f"{key}: ".encode() + (
            text.encode() if _is_same_in_yaml(text) else _quoted(text, "'")
        )
        return _line_below(config, neighbour.span, new)
    words = [flag] if value is None else [flag, value]
    if value is not None and all("=" in word for word in _flags_as_written(config)):
        words = [f"{flag}={value}"]
    if node is None or node.kind == "scalar" or not _is_item(node, neighbour.span):
        return _added_words(config, neighbour, words)
    quotes = _quotes_of_items(config, node, len(words))
    items = [_item(word, quote) for word, quote in zip(words, quotes, strict=True)]
    if node.flow:
        return Edit(Span(behind, behind), b"".join(b", " + item for item in items))
    return _line_below(config, _last_item(node, neighbour.span).span, *(b"- " + i for i in items))


def _flags_as_written(config: LaunchConfig) -> list[str]:
    """Options with a value as they are written, from the flag on."""
    valued = [a for a in config.arguments if a.flag and not isinstance(a.value, bool)]
    texts = [config.file.text(argument.span) for argument in valued]
    return [text.partition(" ")[0] for text in texts] or [""]


def _is_item(node: Node, span: Span) -> bool:
    return any(item.span.end == span.end for item in node.items)


def _last_item(node: Node, span: Span) -> Node:
    return next(item for item in node.items if item.span.end == span.end)


def _quotes_of_items(config: LaunchConfig, node: Node, count: int) -> list[str]:
    """The quotes that flags, and values, have in a list."""
    starts = {argument.span.start for argument in config.arguments if argument.flag}
    flags = [item for item in node.items if item.span.start in starts]
    values = [item for item in node.items if item not in flags]
    return [(items[-1].style or "") if items else "" for items in (flags, values)[:count]]


def _item(word: str, quote: str) -> bytes:
    if quote in ("'", '"'):
        return _quoted(word, quote)
    return word.encode() if _PLAIN.fullmatch(word) else _quoted(word, "'")


def _line_below(config: LaunchConfig, span: Span, *texts: bytes) -> Edit:
    """Lines of their own below the one that a span ends in, indented like it."""
    data = config.file.data
    start = data.rfind(b"\n", 0, span.start) + 1
    indent = data[start : start + len(data[start:]) - len(data[start:].lstrip(b" "))]
    indent = indent.removeprefix(b"\xef\xbb\xbf")
    line_end = data.find(b"\n", span.end)
    feed = b"\r\n" if data[:line_end].endswith(b"\r") else b"\n"
    if line_end < 0:
        return Edit(Span(len(data), len(data)), b"".join(feed + indent + t for t in texts))
    at = line_end + 1
    return Edit(Span(at, at), b"".join(indent + text + feed for text in texts))


def _added_words(config: LaunchConfig, neighbour: Argument, words: Sequence[str]) -> Edit:
    """Words of a shell command behind those of an argument; on a line of their own where it has."""
    data = config.file.data
    text = b" ".join(word.encode() if _PLAIN.fullmatch(word) or word.isdigit() else
                     _quoted(word, "'") for word in words)  # fmt: skip
    start, end = neighbour.span
    line_start = data.rfind(b"\n", 0, start) + 1
    indent = data[line_start:start]
    continued = _CONTINUED.match(data, end)
    before = _CONTINUED.search(
        data[max(0, data.rfind(b"\n", 0, max(0, line_start - 1))) : line_start]
    )
    if not indent.strip() and (continued or before):
        feed = b"\r\n" if data[:line_start].endswith(b"\r\n") else b"\n"
        return Edit(Span(end, end), b" \\" + feed + indent + text)
    return Edit(Span(end, end), b" " + text)


def _with_its_separator(config: LaunchConfig, span: Span) -> Span:
    """What goes with an argument: its lines, or the blank or comma before it."""
    data = config.file.data
    line_start = data.rfind(b"\n", 0, span.start) + 1
    line_end = data.find(b"\n", span.end)
    line_end = len(data) if line_end < 0 else line_end
    before, behind = data[line_start : span.start], data[span.end : line_end]
    alone = not before.strip(b" \t-") and _ends_line(behind)
    if alone:
        continued = behind.rstrip(b"\r").rstrip().endswith(b"\\")
        return _whole_lines(data, line_start, line_end, last_of_command=not continued)
    node = config.arguments_in
    if node and node.flow and node.kind == "sequence":
        comma = data.rfind(b",", 0, span.start)
        if comma > node.span.start:
            return Span(comma, span.end)
        following = data.find(b",", span.end, node.span.end) + 1
        return Span(span.start, following + (data[following : following + 1] == b" "))
    start = span.start
    while start > line_start and data[start - 1 : start] in (b" ", b"\t"):
        start -= 1
    return Span(start, span.end)


def _ends_line(behind: bytes) -> bool:
    rest = behind.strip()
    return rest in (b"", b"\\") or rest.startswith(b"#")


def _whole_lines(data: bytes, start: int, end: int, *, last_of_command: bool) -> Span:
    """Lines with their end; of the last of a continued command the sign before it instead."""
    previous = data[:start]
    if last_of_command and previous.rstrip(b"\r\n").endswith(b"\\"):
        sign = previous.rstrip(b"\r\n").rstrip(b"\\").rstrip(b" \t")
        return Span(len(sign), end - data[:end].endswith(b"\r"))
    return Span(start, min(end + 1, len(data)))


def _added_variable(config: LaunchConfig, name: str, value: str) -> Edit:
    node = config.environment_in
    if node is None or not config.environment:
        raise EditRefusedError(
            f"{config.file.path}: sets no variable; add {name}={value} to its environment by hand"
        )
    last = config.environment[-1]
    if node.is_alias or node.anchor:
        raise _refused(config, node.span, "this environment is shared by an anchor with others")
    if node.flow:
        raise _refused(config, node.span, f"add {name} by hand: the environment is in brackets")
    return _line_below(config, last.span, *_variable_lines(config, last, name, value))


def _variable_lines(config: LaunchConfig, last: Variable, name: str, value: str) -> list[bytes]:
    """Lines that set a variable in the form of another one."""
    node = config.environment_in
    raw = config.file.data[last.value_span.start : last.value_span.end] if last.value_span else b"'"
    quote = raw[:1].decode() if raw[:1] in (b"'", b'"') else "'"
    if node and node.kind == "mapping":
        return [f"{name}: ".encode() + _quoted(value, quote)]
    written = config.file.data[last.span.start : last.span.end]
    if b"\n" not in written and b":" not in written.partition(b"=")[0]:
        outer = written[:1].decode() if written[:1] in (b"'", b'"') else ""
        text = f"{name}={value}"
        return [b"- " + (_quoted(text, outer) if outer else _item(text, ""))]
    return [f"- name: {name}".encode(), b"  value: " + _quoted(value, quote)]
