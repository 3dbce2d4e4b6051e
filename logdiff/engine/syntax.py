"""Trees of Python's syntax: parsed with a place for every mistake, looked at, and built.

Which expressions rules may hold, and what they mean, is told by :mod:`logdiff.engine.conditions`.
"""

from __future__ import annotations

import ast
import tokenize
import warnings
from io import StringIO
from typing import TYPE_CHECKING

from logdiff.engine.position import Problem, RuleFileError

if TYPE_CHECKING:
    from types import CodeType

    from logdiff.engine.position import Origin

MAXIMUM_CHARACTERS = 4000
MAXIMUM_NODES = 400
MAXIMUM_DEPTH = 40

_DESCRIPTIONS: dict[type[ast.AST], str] = {
    ast.Await: "'await'",
    ast.BitAnd: "the operator '&'",
    ast.BitOr: "the operator '|'",
    ast.BitXor: "the operator '^'",
    ast.Dict: "a mapping",
    ast.DictComp: "a mapping",
    ast.Invert: "the operator '~'",
    ast.JoinedStr: "an f-string",
    ast.LShift: "the operator '<<'",
    ast.Lambda: "a lambda",
    ast.MatMult: "the operator '@'",
    ast.NamedExpr: "':='",
    ast.Pow: "the operator '**'",
    ast.RShift: "the operator '>>'",
    ast.Set: "a set",
    ast.SetComp: "a set",
    ast.Slice: "a slice",
    ast.Starred: "'*'",
    ast.UAdd: "a unary '+'",
    ast.Yield: "'yield'",
    ast.YieldFrom: "'yield'",
}


class Expression:
    """An expression that stands in a rule file, and its syntax tree."""

    def __init__(self, text: str, where: Origin, start: int = 0, end: int | None = None) -> None:
        """Parse ``text[start:end]``; the whole text is needed to say where a mistake stands.

        Raises RuleFileError where it is no expression, or too large a one.
        """
        self._text = text
        self._where = where
        source = text[start:end]
        self._start = start + len(source) - len(source.lstrip())
        self._source = one_line(source)
        self.tree = self._parse()
        self._reject_comment()
        self._check_size()

    def error(self, node: ast.AST, message: str) -> RuleFileError:
        """Return the error for a mistake at a node."""
        column = getattr(node, "col_offset", 0)
        if isinstance(node, ast.Attribute):  # the name after the last dot, not the whole path
            column = (node.end_col_offset or 0) - len(node.attr.encode())
        return self._error_at(len(self._source.encode()[:column].decode()), message)

    def _error_at(self, offset: int, message: str) -> RuleFileError:
        position = self._where.at(self._start + offset, self._text)
        return RuleFileError(Problem(position, message))

    def _parse(self) -> ast.expr:
        if not self._source:
            raise self._error_at(0, "the expression is empty")
        if len(self._source) > MAXIMUM_CHARACTERS:
            message = f"an expression may have at most {MAXIMUM_CHARACTERS:,} characters"
            raise self._error_at(0, message)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about code that is rejected anyhow
                return ast.parse(self._source, mode="eval").body
        except SyntaxError as error:
            end = len(self._source) + 1  # the parser gives no offset for what is missing at the end
            offset = (error.offset or end) - 1
            raise self._error_at(offset, f"no expression: {error.msg}") from error
        except (ValueError, RecursionError, MemoryError) as error:
            reason = str(error) or "too deeply nested"
            raise self._error_at(0, f"no expression: {reason}") from error

    def _reject_comment(self) -> None:
        if "#" not in self._source:  # few have one, in a string as a rule
            return
        for token in tokenize.generate_tokens(StringIO(self._source).readline):
            if token.type == tokenize.COMMENT:
                raise self._error_at(token.start[1], "a comment is not allowed in an expression")

    def _check_size(self) -> None:
        level: list[ast.AST] = [self.tree]
        nodes = depth = 0
        while level:
            depth += 1
            nodes += len(level)
            if depth > MAXIMUM_DEPTH:
                raise self.error(level[0], f"nested deeper than {MAXIMUM_DEPTH} levels")
            if nodes > MAXIMUM_NODES:
                raise self.error(self.tree, f"more than {MAXIMUM_NODES} nodes")
            level = [
                child
                for node in level
                for child in ast.iter_child_nodes(node)
                if isinstance(child, (ast.expr, ast.comprehension))
            ]


def one_line(source: str) -> str:
    """Return an expression as Python's parser takes it.

    A line feed within an expression is a blank, as if it were in parentheses.
    """
    return source.strip().replace("\n", " ")


def mentions(source: str, name: str) -> bool:
    """Say whether a valid expression uses a variable."""
    tree = ast.parse(one_line(source), mode="eval")
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


def described(node: ast.AST) -> str:
    """Return what a person calls a kind of node."""
    return _DESCRIPTIONS.get(type(node), type(node).__name__)


def attribute_chain(node: ast.expr) -> tuple[ast.Name, list[ast.Attribute]] | None:
    """Return the name at the root of ``a.b.c`` and its attributes from left to right."""
    attributes: list[ast.Attribute] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node)
        node = node.value
    return (node, attributes[::-1]) if isinstance(node, ast.Name) else None


def is_text_or_list(node: ast.expr) -> bool:
    """Say whether a node is written as a text or as a list."""
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return text or isinstance(node, (ast.List, ast.Tuple, ast.ListComp))


def call(name: str, *arguments: ast.expr) -> ast.Call:
    """Build the call of a helper."""
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def later(value: ast.expr) -> ast.Lambda:
    """Build a function that evaluates an expression when it is wanted."""
    nothing = ast.arguments(
        posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )
    return ast.Lambda(nothing, value)


def assembled(tree: ast.expr) -> CodeType:
    """Compile a tree that was built."""
    return compile(ast.fix_missing_locations(ast.Expression(tree)), "<rule>", "eval")
