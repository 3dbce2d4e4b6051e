"""What the conditions of a script come to, where the script itself decides them."""

from __future__ import annotations

from fnmatch import fnmatchcase

from logdiff.submission.shell.syntax import parts
from logdiff.tuples import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

    from logdiff.submission.shell.values import Expander, Value

_NAMES = frozenset(
    "[ test command which type hash grep egrep fgrep cmp diff ls getent id pgrep dpkg rpm".split()
)
_FIRST_ARGUMENTS = {"pip": "show", "pip3": "show", "python": "-c", "python3": "-c"}


def certain(value: Value) -> bool:
    """Whether nothing outside of the script can make a value another one."""
    return value.known and not value.assumed


def is_test(node: Node | None, expander: Expander) -> bool:
    """Whether a command only asks something."""
    if node is None:
        return False
    if node.type == "compound_statement":
        return node.children[0].type == "(("
    if node.type != "command":
        return node.type == "test_command"
    words = [expander.written(child) for child in parts(node)][:2]
    return words[:1] != [] and (
        words[0] in _NAMES or (len(words) > 1 and _FIRST_ARGUMENTS.get(words[0]) == words[1])
    )


def verdict(node: Node, expander: Expander) -> bool | None:
    """Whether ``[ … ]`` or ``[[ … ]]`` holds; None where the script does not tell."""
    if node.type != "test_command":
        return None
    inner = parts(node)
    return _holds(inner[0], expander, node.children[0].type) if len(inner) == 1 else None


def _holds(node: Node, expander: Expander, bracket: str) -> bool | None:
    operator = node.child_by_field_name("operator")
    if operator is None:
        return None
    operands = [child for child in parts(node) if child != operator]
    name = expander.written(operator)
    if node.type == "unary_expression" and len(operands) == 1:
        return _unary(name, operands[0], expander, bracket)
    if node.type == "binary_expression" and len(operands) == 2:
        return _binary(name, operands, expander, bracket)
    return None


def _unary(name: str, operand: Node, expander: Expander, bracket: str) -> bool | None:
    if name == "!":
        inner = _holds(operand, expander, bracket)
        return None if inner is None else not inner
    value = expander.value(operand)
    if name not in {"-z", "-n"} or not certain(value):
        return None
    return (value.text == "") == (name == "-z")


def _binary(name: str, operands: list[Node], expander: Expander, bracket: str) -> bool | None:
    if name in {"&&", "||", "-a", "-o"}:
        decisive = name in {"||", "-o"}
        both = [_holds(operand, expander, bracket) for operand in operands]
        if decisive in both:
            return decisive
        return None if None in both else not decisive
    if name not in {"=", "==", "!="}:
        return None
    left, right = (expander.value(operand) for operand in operands)
    if not (certain(left) and certain(right)):
        return None
    pattern = bracket == "[[" and operands[1].type not in {"string", "raw_string"}
    equal = fnmatchcase(left.text, right.text) if pattern else left.text == right.text
    return equal != (name == "!=")
