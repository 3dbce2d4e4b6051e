"""Compiles the expressions of rule files.

An expression is an allow-listed subset of Python. It is parsed with :mod:`ast`, checked node by
node, and rewritten into calls of the helpers in :mod:`logdiff.engine.runtime`, which know a third
truth value: ``bad.weights.gb > 10`` becomes ``_compare(">", _fact("bad", "weights.gb"), 10)``.
Nothing of the source is executed as it was written.
"""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING

from logdiff.engine.functions import FUNCTIONS
from logdiff.engine.syntax import (
    Expression,
    assembled,
    attribute_chain,
    call,
    described,
    is_text_or_list,
    later,
)
from logdiff.facts_table import CHANGES, FACTS, FAMILIES
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from types import CodeType

    from logdiff.engine.position import Origin, RuleFileError

MAXIMUM_LOOPS = 2
"""``for``s that may enclose one another: what an expression costs stays below items squared."""

RUNS = ("good", "bad", "run")
VARIABLES = ("item", "target")

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_OPERATIONS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


class Names(NamedTuple):
    """What expressions may name, apart from functions."""

    facts: Mapping[str, str] = FACTS
    families: Collection[str] = FAMILIES
    changes: Mapping[str, str] = CHANGES
    variables: frozenset[str] = frozenset()
    """Which of ``item`` and ``target`` are bound where the expression stands."""


def compile_expression(source: str, *, names: Names, where: Origin) -> CodeType:
    """Compile an expression for ``Context.evaluate``; RuleFileError where it is not allowed."""
    return assembled(rewritten(Expression(source, where), names))


def compile_choice(
    source: str, allowed: Collection[str], *, names: Names, where: Origin
) -> CodeType:
    """Compile one of the allowed words, or an expression that yields one."""
    if source in allowed:
        return assembled(ast.Constant(source))
    expression = Expression(source, where)
    for outcome in _outcomes(expression.tree):
        if isinstance(outcome, ast.Constant) and outcome.value not in allowed:
            message = f"{outcome.value!r} is none of {', '.join(allowed)}"
            raise expression.error(outcome, message)
    return assembled(rewritten(expression, names))


def compile_evidence(source: str, *, names: Names, where: Origin) -> CodeType:
    """Compile an expression for ``Context.evidence``.

    A path to a fact stands for the lines that prove the fact; any other value must hold its own,
    as entries of facts and items of ``changes`` do.
    """
    expression = Expression(source, where)
    return assembled(_Translator(expression, names).evidence(expression.tree))


def rewritten(expression: Expression, names: Names) -> ast.expr:
    """Return the calls that yield an expression's value; RuleFileError where it is not allowed."""
    return _Translator(expression, names).value(expression.tree)


def suggestion(word: str, known: Collection[str]) -> str:
    """Return ``; did you mean 'x'?`` for the nearest known word, or nothing."""
    from difflib import get_close_matches

    nearest = get_close_matches(word, known, n=1)
    return f"; did you mean {nearest[0]!r}?" if nearest else ""


def _outcomes(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.IfExp):
        yield from _outcomes(node.body)
        yield from _outcomes(node.orelse)
    else:
        yield node


class _Translator:
    """Checks one expression and rewrites it."""

    def __init__(self, expression: Expression, names: Names) -> None:
        self.expression = expression
        self.names = names
        self.locals: list[str] = []
        self.loops = 0

    def error(self, node: ast.AST, message: str) -> RuleFileError:
        return self.expression.error(node, message)

    def value(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression for its value."""
        rewrite = _REWRITERS.get(type(node))
        if rewrite is None:
            raise self.not_allowed(node)
        return rewrite(self, node)

    def later(self, node: ast.expr) -> ast.expr:
        return later(self.value(node))

    def not_allowed(self, node: ast.AST, place: ast.AST | None = None) -> RuleFileError:
        what = described(node)
        return self.error(place or node, f"{what} is not allowed in an expression")

    def evidence(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression for the lines it refers to."""
        if isinstance(node, ast.IfExp):
            choices = (later(self.evidence(branch)) for branch in (node.body, node.orelse))
            return call("_choose", self.value(node.test), *choices)
        if isinstance(node, (ast.List, ast.Tuple)):
            return ast.List([self.evidence(element) for element in node.elts], ast.Load())
        chain = attribute_chain(node)
        if chain and self.is_root(chain[0]) and chain[0].id in RUNS and chain[1]:
            root, attributes = chain
            fact, _ = self.fact(root.id, attributes)
            return call("_reference", ast.Constant(root.id), ast.Constant(fact))
        return self.value(node)

    def constant(self, node: ast.Constant) -> ast.expr:
        if node.value is not None and not isinstance(node.value, (str, int, float)):
            raise self.error(node, "a constant must be a text, a number, True, False or None")
        return ast.Constant(node.value)

    def name(self, node: ast.Name) -> ast.expr:
        if node.id in self.locals:
            return ast.Name(node.id, ast.Load())
        if node.id in self.names.variables:
            return call("_variable", ast.Constant(node.id))
        if node.id in VARIABLES:
            raise self.error(node, f"{node.id!r} is bound only beside and below its for_each")
        if node.id in RUNS:
            example = f"{node.id}.weights.gb"
            raise self.error(node, f"{node.id!r} is a run: name one of its facts, as {example}")
        if node.id == "changes":
            raise self.error(node, f"name one of the changes: {', '.join(self.names.changes)}")
        if node.id in FUNCTIONS:
            raise self.error(node, f"{node.id!r} is a function: call it")
        known = (*RUNS, "changes", *self.names.variables, *FUNCTIONS, *self.locals)
        raise self.error(node, f"undefined name {node.id!r}{suggestion(node.id, known)}")

    def is_root(self, node: ast.Name) -> bool:
        return node.id in (*RUNS, "changes") and node.id not in self.locals

    def attribute(self, node: ast.Attribute) -> ast.expr:
        chain = attribute_chain(node)
        if chain is None or not self.is_root(chain[0]):
            return self.item(node, self.value(node.value), ast.Constant(node.attr))
        root, attributes = chain
        if root.id == "changes":
            result, used = self.change(attributes), 1
        else:
            fact, used = self.fact(root.id, attributes)
            result = call("_fact", ast.Constant(root.id), ast.Constant(fact))
        for step in attributes[used:]:
            result = self.item(step, result, ast.Constant(step.attr))
        return result

    def fact(self, root: str, attributes: list[ast.Attribute]) -> tuple[str, int]:
        """Return the longest fact that the attributes spell, and how many of them it takes."""
        words = [step.attr for step in attributes]
        for used in range(len(words), 0, -1):
            name = ".".join(words[:used])
            if name in self.names.facts or (used == 2 and words[0] in self.names.families):
                return name, used
        if words[0] in self.names.families:
            message = f"name one of {root}.{words[0]}, as {root}.{words[0]}.max_model_len"
            raise self.error(attributes[0], message)
        known = (*self.names.facts, *(f"{family}.…" for family in self.names.families))
        name = ".".join(words[:2])
        hint = suggestion(name, known) or suggestion(words[0], known)
        begun = [fact for fact in self.names.facts if fact.startswith(f"{words[0]}.")]
        if begun and not hint:
            hint = f"; did you mean {begun[0]!r}?"
        raise self.error(attributes[0], f"undefined fact {name!r}{hint}")

    def change(self, attributes: list[ast.Attribute]) -> ast.expr:
        key = attributes[0].attr
        if key not in self.names.changes:
            hint = suggestion(key, self.names.changes)
            raise self.error(attributes[0], f"undefined key {key!r} of changes{hint}")
        return call("_change", ast.Constant(key))

    def item(self, node: ast.expr, value: ast.expr, key: ast.expr) -> ast.expr:
        """Rewrite the access to an item; the helper reports a missing one as it was written."""
        if isinstance(key, ast.Constant) and str(key.value).startswith("_"):
            raise self.error(node, f"{key.value!r}: a name may not start with an underscore")
        return call("_item", value, key, ast.Constant(ast.unparse(node)))

    def subscript(self, node: ast.Subscript) -> ast.expr:
        return self.item(node, self.value(node.value), self.value(node.slice))

    def compare(self, node: ast.Compare) -> ast.expr:
        operands = [node.left, *node.comparators]
        parts = [
            self.comparison(left, operation, right)
            for left, operation, right in zip(operands, node.ops, operands[1:], strict=False)
        ]
        return parts[0] if len(parts) == 1 else call("_and", *map(later, parts))

    def comparison(self, left: ast.expr, operation: ast.cmpop, right: ast.expr) -> ast.expr:
        if isinstance(operation, (ast.Is, ast.IsNot)):
            return self.null_test(left, operation, right)
        if isinstance(operation, (ast.In, ast.NotIn)):
            inside = call("_contains", self.value(left), self.value(right))
            return inside if isinstance(operation, ast.In) else call("_not", inside)
        for side in (left, right):
            if isinstance(side, ast.Constant) and side.value is None:
                message = "a comparison with None is never known: write 'is None' or 'is not None'"
                raise self.error(side, message)
        symbol = _COMPARISONS[type(operation)]
        return call("_compare", ast.Constant(symbol), self.value(left), self.value(right))

    def null_test(self, left: ast.expr, operation: ast.cmpop, right: ast.expr) -> ast.expr:
        if not (isinstance(right, ast.Constant) and right.value is None):
            raise self.error(right, "'is' tests for None only: write '=='")
        if isinstance(left, ast.Name) and left.id in RUNS and self.is_root(left):
            tested: ast.expr = call("_present", ast.Constant(left.id))
        else:
            tested = self.value(left)
        test = call("_is_null", later(tested))
        return test if isinstance(operation, ast.Is) else call("_not", test)

    def boolean(self, node: ast.BoolOp) -> ast.expr:
        helper = "_and" if isinstance(node.op, ast.And) else "_or"
        return call(helper, *map(self.later, node.values))

    def unary(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return call("_not", self.value(node.operand))
        if isinstance(node.op, ast.USub):
            return call("_negative", self.value(node.operand))
        raise self.not_allowed(node.op, node)

    def binary(self, node: ast.BinOp) -> ast.expr:
        symbol = _OPERATIONS.get(type(node.op))
        if symbol is None:
            raise self.not_allowed(node.op, node)
        for side in (node.left, node.right):
            if symbol != "+" and is_text_or_list(side):
                raise self.error(side, f"'{symbol}' takes numbers only")
        return call(
            "_arithmetic", ast.Constant(symbol), self.value(node.left), self.value(node.right)
        )

    def conditional(self, node: ast.IfExp) -> ast.expr:
        choices = (self.later(node.body), self.later(node.orelse))
        return call("_choose", self.value(node.test), *choices)

    def sequence(self, node: ast.List | ast.Tuple) -> ast.expr:
        elements = [self.value(element) for element in node.elts]
        if isinstance(node, ast.List):
            return ast.List(elements, ast.Load())
        return ast.Tuple(elements, ast.Load())

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
        self.loops += len(node.generators)
        if self.loops > MAXIMUM_LOOPS:
            raise self.error(node, f"more than {MAXIMUM_LOOPS} 'for's within one another")
        outer = len(self.locals)
        generators = [self.generator(generator) for generator in node.generators]
        items = ast.ListComp(self.value(node.elt), generators)
        del self.locals[outer:]
        self.loops -= len(node.generators)
        return call("_list", later(items))

    def generator(self, node: ast.comprehension) -> ast.comprehension:
        if node.is_async:
            raise self.error(node.target, "'async' is not allowed in an expression")
        items = call("_iterate", self.value(node.iter))  # before its own name is bound
        target = self.bind(node.target)
        filters: list[ast.expr] = [call("_holds", self.value(test)) for test in node.ifs]
        return ast.comprehension(target, items, filters, 0)

    def bind(self, target: ast.expr) -> ast.Name:
        if not isinstance(target, ast.Name):
            raise self.error(target, "'for' takes one simple name")
        taken = (*RUNS, *VARIABLES, "changes", *FUNCTIONS, *self.locals)
        if target.id in taken or target.id.startswith("_"):
            raise self.error(target, f"{target.id!r} cannot be the name of a loop: it is taken")
        self.locals.append(target.id)
        return ast.Name(target.id, ast.Store())

    def call(self, node: ast.Call) -> ast.expr:
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
            called = ast.unparse(node.func)
            hint = suggestion(called.rpartition(".")[2], FUNCTIONS)
            raise self.error(node.func, f"{called!r} is no function of rules{hint}")
        for option in node.keywords:
            if option.arg is None:
                raise self.error(option.value, "'**' is not allowed in an expression")
        self.check_arguments(node.func, node)
        if node.func.id == "default":
            # What the fallback replaces was not lacking.
            return call("_default", *map(self.later, node.args))
        options = [ast.keyword(option.arg, self.value(option.value)) for option in node.keywords]
        arguments = [self.value(argument) for argument in node.args]
        return ast.Call(ast.Name(node.func.id, ast.Load()), arguments, options)

    def check_arguments(self, function: ast.Name, node: ast.Call) -> None:
        if function.id == "default" and node.keywords:
            raise self.error(node.keywords[0], "default takes no keywords")
        options = {str(option.arg): None for option in node.keywords}
        try:
            inspect.signature(FUNCTIONS[function.id]).bind(*node.args, **options)
        except TypeError as error:
            raise self.error(node, f"{function.id}: {error}") from error


_REWRITERS: dict[type[ast.expr], Callable[..., ast.expr]] = {
    ast.Attribute: _Translator.attribute,
    ast.BinOp: _Translator.binary,
    ast.BoolOp: _Translator.boolean,
    ast.Call: _Translator.call,
    ast.Compare: _Translator.compare,
    ast.Constant: _Translator.constant,
    ast.GeneratorExp: _Translator.comprehension,
    ast.IfExp: _Translator.conditional,
    ast.List: _Translator.sequence,
    ast.ListComp: _Translator.comprehension,
    ast.Name: _Translator.name,
    ast.Subscript: _Translator.subscript,
    ast.Tuple: _Translator.sequence,
    ast.UnaryOp: _Translator.unary,
}
"""How each kind of node is rewritten; a kind that is missing is not allowed."""
