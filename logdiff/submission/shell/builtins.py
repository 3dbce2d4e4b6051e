"""Commands of the shell itself that change what later words expand to."""

from __future__ import annotations

import posixpath
import re
from itertools import zip_longest

from logdiff.submission.model import Span, Variable
from logdiff.submission.shell.syntax import parts
from logdiff.submission.shell.values import Value, glued, hole, next_index
from logdiff.tuples import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from logdiff.submission.model import Command
    from logdiff.submission.shell.commands import Context, Walk

_OPTION_LETTER = re.compile(r"[-+][a-zA-Z]+")


def run(walk: Walk, command: Command, node: Node) -> None:
    """Do what a command does to the shell that runs it."""
    words = [word.text for word in command.words]
    if words[0] in {"break", "continue", "return", "exit"} or (
        words[0] == "exec" and len(words) > 1
    ):
        walk.left = words[0] if words[0] != "exec" else "exit"
    elif words[0] in _BUILTINS:
        _BUILTINS[words[0]](walk, words[1:])
    elif words[0] == "read":
        _read(walk, command, node)


def _set(walk: Walk, words: list[str]) -> None:
    """``set -euo pipefail``, ``set -o errexit``, ``set +e``."""
    for index, word in enumerate(words):
        if not _OPTION_LETTER.fullmatch(word):
            continue
        on = word[0] == "-"
        if "e" in word:
            walk.errexit = on
        if "o" in word and index + 1 < len(words):
            walk.errexit = on if words[index + 1] == "errexit" else walk.errexit
            walk.pipefail = on if words[index + 1] == "pipefail" else walk.pipefail


def _cd(walk: Walk, words: list[str]) -> None:
    operands = [word for word in words if not word.startswith("-") or word == "-"]
    before = walk.variables.get("PWD") or Value("")
    if operands == ["-"]:
        after = walk.variables.get("OLDPWD") or hole("OLDPWD")
    elif not operands:
        after = hole("HOME")
    else:
        path = posixpath.normpath(posixpath.join(before.text, operands[0]))
        after = Value(path, known=before.known and posixpath.isabs(path))
    walk.variables.set("OLDPWD", before)
    walk.variables.set("PWD", after)


def _popd(walk: Walk, _words: list[str]) -> None:
    _cd(walk, ["-"])


def _shift(walk: Walk, words: list[str]) -> None:
    positional = walk.variables.positional
    count = words[0] if words else "1"
    if positional is not None:
        walk.variables.positional = positional[int(count[:4]) :] if count.isdecimal() else None


_BUILTINS: dict[str, Callable[[Walk, list[str]], None]] = {
    "set": _set,
    "cd": _cd,
    "pushd": _cd,
    "popd": _popd,
    "shift": _shift,
}


def _read(walk: Walk, command: Command, node: Node) -> None:
    """``read a b <<< "$text"``."""
    names = read_names(command)
    texts = [word for operator, word in command.redirections if operator == "<<<"]
    text = Value(texts[-1].text, texts[-1].known, item=texts[-1].item) if texts else None
    assign_read(walk, names, text, separators(walk, node))


def read_names(command: Command) -> list[str]:
    """The variables that a ``read`` sets."""
    words = [word.text for word in command.words[1:]]
    return [word for word in words if not word.startswith("-") and word.isidentifier()] or ["REPLY"]


def separators(walk: Walk, node: Node) -> str:
    """What ``IFS`` is for one command; empty for white space."""
    for assignment in parts(node):
        name = assignment.child_by_field_name("name")
        if assignment.type == "variable_assignment" and name is not None:
            value = assignment.child_by_field_name("value")
            if walk.expander.written(name) == "IFS" and value is not None:
                return walk.expander.value(value).text.strip()
    return ""


def assign_read(walk: Walk, names: list[str], text: Value | None, separator: str) -> None:
    """Give the parts of a line to the variables of a ``read``; None for an unknown line."""
    if text is None or not text.known:
        for name in names:
            walk.forget(name)
        return
    if separator:
        found = re.split(f"[{re.escape(separator)}]", text.text, maxsplit=len(names) - 1)
    else:
        found = text.text.split(maxsplit=len(names) - 1) if len(names) > 1 else [text.text.strip()]
    for name, part in zip_longest(names, found[: len(names)], fillvalue=""):
        walk.variables.set(name, Value(part, item=text.item))


def unset(walk: Walk, node: Node) -> None:
    """``unset a b``."""
    for child in parts(node):
        walk.variables.unset(walk.expander.written(child))


def declare(walk: Walk, node: Node, context: Context) -> None:
    """Run assignments: plain ones, and those of ``export``, ``declare``, ``local``."""
    keyword = node.children[0].type if node.type == "declaration_command" else ""
    found = [node] if node.type == "variable_assignment" else parts(node)
    options = "".join(
        walk.expander.written(child)
        for child in found
        if child.type == "word" and walk.expander.written(child).startswith("-")
    )
    exports = keyword == "export" or "x" in options
    targets = [child for child in found if child.type in {"variable_assignment", "variable_name"}]
    for target in targets:
        name, value = _assign(walk, target, context)
        if keyword in {"local", "declare", "typeset"} and context.function and "g" not in options:
            walk.local_names.add(name)
        if exports or name in walk.exported:
            alone = node if len(targets) == 1 else target
            _export(walk, name, Span(*alone.byte_range), value)


def _export(walk: Walk, name: str, span: Span, value: Node | None) -> None:
    walk.exported.add(name)
    known = walk.variables.get(name)
    text = walk.expander.written(value) if value else ""
    if known is not None and known.known:
        text = known.text
    place = Span(*value.byte_range) if value else None
    walk.exports[span, text] = Variable(name, text, span, place)


def _assign(walk: Walk, target: Node, context: Context) -> tuple[str, Node | None]:
    """Run one assignment; returns the name and the value as written."""
    if target.type == "variable_name":
        return walk.expander.written(target), None
    left, right = target.child_by_field_name("name"), target.child_by_field_name("value")
    if left is None:
        return "", right
    appends = any(child.type == "+=" for child in target.children)
    if left.type == "subscript":
        return _assign_element(walk, left, right, context), right
    name = walk.expander.written(left)
    variables = walk.variables
    if right is not None and right.type == "array":
        found = walk.expander.elements(right)
        variables.set_list(name, _appended(variables.lists.get(name, {}), found, right, appends))
        return name, right
    value = Value("") if right is None else walk.expander.value(right)
    if appends:
        before = variables.get(name) or hole(name)
        value = glued((before, value))._replace(item=None)
    variables.set(name, value)
    return name, right


def _appended(
    before: dict[str, Value], found: dict[str, Value], array: Node, appends: bool
) -> dict[str, Value]:
    if not appends:
        return found
    elements = dict(before)
    keyed = any((child.text or b"").startswith(b"[") for child in parts(array))
    for key, value in found.items():
        elements[key if keyed else next_index(elements)] = value
    return elements


def _assign_element(walk: Walk, left: Node, right: Node | None, context: Context) -> str:
    """``name[key]=value``."""
    name, key = walk.expander.subscript(left)
    value = Value("") if right is None else walk.expander.value(right)
    if not key:
        walk.variables.unset(name)
        return name
    elements = dict(walk.variables.lists.get(name, {}))
    walk.expander.spend(len(elements), left.start_byte)
    elements[key] = value._replace(item=value.item or context.statement)
    walk.variables.set_list(name, elements)
    return name


def assignments(walk: Walk, node: Node | None) -> Iterator[Variable]:
    """The variables that are set for one command only."""
    for child in parts(node) if node is not None and node.type == "command" else []:
        name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
        if child.type == "variable_assignment" and name is not None:
            expanded = walk.expander.value(value) if value else Value("")
            text = walk.expander.written(value) if value and not expanded.known else expanded.text
            place = Span(*value.byte_range) if value else None
            yield Variable(walk.expander.written(name), text, Span(*child.byte_range), place)
