"""The compound commands of the shell: conditions and loops.

A loop over words that are known is run once for each; any other loop once, with its variable
unknown.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from logdiff.submission.model import Command, Span
from logdiff.submission.shell import builtins
from logdiff.submission.shell.conditions import certain, verdict
from logdiff.submission.shell.failures import shown
from logdiff.submission.shell.syntax import here_document, members, parts
from logdiff.submission.shell.values import Value, Variables, hole
from logdiff.tuples import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node

    from logdiff.submission.shell.commands import Context, Walk

TURNS_LIMIT = 1000
_COUNTING = re.compile(
    r"\(\(\s*(\w+)\s*=\s*(\d{1,6})\s*;\s*\1\s*(<=?)\s*(.+?)\s*;\s*(?:\1\+\+|\+\+\1)\s*\)\)"
)
_ENDS_OF_CLAUSE = frozenset(("elif_clause", "else_clause", "fi"))


class _Clause(NamedTuple):
    """A condition and what runs if it holds."""

    node: Node
    conditions: list[Node]
    body: list[Node]

    @property
    def negated(self) -> bool:
        """Whether ``!`` stands before the condition."""
        return bool(self.conditions) and self.conditions[0].type == "negated_command"


class _Outcome(NamedTuple):
    """How one of several ways through a command ended."""

    variables: Variables
    left: str
    guards: tuple[str, ...]


def run(walk: Walk, node: Node, redirections: tuple[Node, ...], context: Context) -> None:
    """Run a condition or a loop."""
    match node.type:
        case "if_statement":
            _if(walk, node, context)
        case "case_statement":
            _case(walk, node, context)
        case "for_statement":
            _for(walk, node, context)
        case "c_style_for_statement":
            _counting(walk, node, context)
        case "while_statement":
            _while(walk, node, redirections, context)


def _clause(node: Node) -> _Clause:
    children = node.children
    then = next((i for i, child in enumerate(children) if child.type == "then"), len(children))
    end = next(
        (i for i, child in enumerate(children) if i > then and child.type in _ENDS_OF_CLAUSE),
        len(children),
    )
    conditions = [child for child in children[1:then] if child.is_named and not child.is_extra]
    return _Clause(node, conditions, children[then + 1 : end])


def _if(walk: Walk, node: Node, context: Context) -> None:
    clauses = [node, *(child for child in node.children if child.type == "elif_clause")]
    otherwise = [child for child in node.children if child.type == "else_clause"]
    outcomes: list[_Outcome] = []
    guards: tuple[str, ...] = ()
    for each in clauses:
        clause = _clause(each)
        hidden = _hidden(walk, clause, otherwise[0].children if otherwise else [])
        _conditions(walk, clause.conditions, context, hidden if len(clauses) == 1 else None)
        holds = _holds(walk, clause)
        if holds is not False:
            test = _text(walk, clause.conditions)
            inner = guards if holds else (*guards, test)
            enclosing = _goes_with(node, each, context, alone=len(clauses) + len(otherwise) == 1)
            outcomes.append(_way(walk, clause.body, context, inner, enclosing))
            guards = (*guards, f"not {test}")
        if holds:
            break
    else:
        body = otherwise[0].children[1:] if otherwise else []
        enclosing = Span(*otherwise[0].byte_range) if otherwise else None
        outcomes.append(_way(walk, body, context, guards, enclosing))
    _join(walk, outcomes)


def _goes_with(node: Node, clause: Node, context: Context, *, alone: bool) -> Span | None:
    """What has to go with the only statement of a clause."""
    if clause != node:
        return Span(*clause.byte_range)
    return context.statement if alone else None


def _hidden(walk: Walk, clause: _Clause, other: list[Node]) -> str | None:
    start = clause.node.start_byte
    end = clause.conditions[-1].end_byte if clause.conditions else start
    return walk.failures.by_test(
        Span(start, end), negated=clause.negated, taken=clause.body, other=other[1:]
    )


def _text(walk: Walk, conditions: list[Node]) -> str:
    return shown("; ".join(walk.expander.written(condition) for condition in conditions))


def _conditions(walk: Walk, conditions: list[Node], context: Context, hidden: str | None) -> None:
    """Run the commands of a condition, whose failure is no failure of the script."""
    errexit, walk.errexit = walk.errexit, False
    walk.body(conditions, context._replace(swallowed=hidden))
    walk.errexit = errexit


def _holds(walk: Walk, clause: _Clause) -> bool | None:
    if len(clause.conditions) != 1:
        return None
    found = members(clause.conditions[0])
    node = found[0].stages[0].node
    if len(found) > 1 or len(found[0].stages) > 1 or node is None:
        return None
    result = verdict(node, walk.expander)
    return None if result is None else result != found[0].negated


def _way(
    walk: Walk,
    body: list[Node],
    context: Context,
    guards: tuple[str, ...],
    enclosing: Span | None,
) -> _Outcome:
    """Run one of several bodies, and go back to where it began."""
    before = walk.variables
    walk.variables = walk.snapshot(body[0].start_byte) if body else before.copy()
    walk.body(body, context._replace(guards=context.guards + guards), enclosing)
    outcome = _Outcome(walk.variables, walk.left, guards)
    walk.variables, walk.left = before, ""
    return outcome


def _join(walk: Walk, outcomes: list[_Outcome]) -> None:
    """Go on with what is true whichever way was taken."""
    staying = [outcome for outcome in outcomes if not outcome.left]
    if not staying:
        kinds = {outcome.left for outcome in outcomes}
        walk.left = next(kind for kind in ("continue", "break", "return", "exit") if kind in kinds)
    elif len(staying) == 1 and len(outcomes) > 1:
        walk.narrowed = staying[0].guards
    remaining = [outcome for outcome in outcomes if outcome.left != "exit"] or outcomes
    walk.variables = remaining[0].variables
    for outcome in remaining[1:]:
        walk.variables.meet(outcome.variables)


def _case(walk: Walk, node: Node, context: Context) -> None:
    subject = node.child_by_field_name("value")
    if subject is None:
        return
    value = walk.expander.value(subject)
    outcomes: list[_Outcome] = []
    guards: tuple[str, ...] = ()
    complete = False
    for item in (child for child in node.children if child.type == "case_item"):
        patterns = item.children_by_field_name("value")
        if certain(value):
            if not _matches(walk, value.text, patterns):
                continue
            complete, guards = True, ()
        else:
            written = "|".join(walk.expander.written(pattern) for pattern in patterns)
            complete = written == "*"
            guards = (shown(f"case {walk.expander.written(subject)} in {written}"),)
        closing = next(i for i, child in enumerate(item.children) if child.type == ")")
        outcomes.append(_way(walk, item.children[closing + 1 :], context, guards, None))
        if complete:
            break
    if not complete:
        outcomes.append(_way(walk, [], context, (), None))
    _join(walk, outcomes)


def _matches(walk: Walk, text: str, patterns: list[Node]) -> bool:
    return any(fnmatchcase(text, walk.expander.value(pattern).text) for pattern in patterns)


def _for(walk: Walk, node: Node, context: Context) -> None:
    variable = node.child_by_field_name("variable")
    body = node.child_by_field_name("body")
    if variable is None or body is None:
        return
    name = walk.expander.written(variable)
    words = node.children_by_field_name("value")
    turns = [
        value._replace(item=value.item or Span(*word.byte_range))
        for word in words
        for value in walk.expander.fields(word)
    ]
    listed = any(child.type == "in" for child in node.children)
    if not listed:
        turns = list(walk.variables.positional or [hole("@")])
    if node.children[0].type == "select" or len(turns) > TURNS_LIMIT:
        turns = [hole(name)._replace(item=turns[0].item)] if turns else []
    _turns(walk, [_setter(walk, name, turn) for turn in turns], body, context)


def _setter(walk: Walk, name: str, value: Value) -> tuple[Callable[[], None], Span | None]:
    def start() -> None:
        # A name that says nothing of its own is better called as the script calls it.
        unknown = not value.known and value.text.startswith("${") and value.text.endswith("}")
        walk.variables.set(name, hole(name)._replace(item=value.item) if unknown else value)

    return start, value.item


def _counting(walk: Walk, node: Node, context: Context) -> None:
    """``for ((i=0; i<3; i++))``."""
    body = node.child_by_field_name("body")
    if body is None:
        return
    head = walk.expander.source[node.start_byte + 3 : body.start_byte].decode("utf-8", "replace")
    match = _COUNTING.match(head.strip())
    end = node.child_by_field_name("condition")
    bound = end.child_by_field_name("right") if match and end else None
    limit = walk.expander.value(bound) if bound else None
    if match and limit and limit.known and re.fullmatch(r"\d{1,6}", limit.text):
        numbers = range(int(match[2]), int(limit.text) + (match[3] == "<="))
        if len(numbers) <= TURNS_LIMIT:
            turns = [_setter(walk, match[1], Value(str(number))) for number in numbers]
            _turns(walk, turns, body, context)
            return
    names = re.findall(r"\b([A-Za-z_]\w*)\s*(?:=|\+\+|--)", head)
    _unknown_turn(walk, names, body, context)


def _unknown_turn(walk: Walk, names: list[str], body: Node, context: Context) -> None:
    """Run the body of a loop once, for all the turns that it may have."""
    before = walk.snapshot(body.start_byte)
    for name in names:
        walk.forget(name)
    _turns(walk, [(lambda: None, None)], body, context)
    walk.variables.meet(before)


def _turns(
    walk: Walk,
    turns: Iterable[tuple[Callable[[], None], Span | None]],
    body: Node,
    context: Context,
) -> None:
    """Run the body of a loop for each of its turns."""
    enclosing = context.statement
    for start, item in turns:
        start()
        items = (*context.items, item) if item else context.items
        walk.body(body.children, context._replace(items=items), enclosing)
        left, walk.left = walk.left, ""
        if left in {"return", "exit"}:
            walk.left = left
        if left not in {"", "continue"}:
            break


def _while(walk: Walk, node: Node, redirections: tuple[Node, ...], context: Context) -> None:
    body = node.child_by_field_name("body")
    conditions = [child for child in node.children_by_field_name("condition") if child.is_named]
    if body is None:
        return
    document = here_document(redirections)
    reads = [child for child in conditions if child.type == "command"]
    reader = next((child for child in reads if _name(walk, child) == "read"), None)
    if reader is not None and document is not None:
        _lines(walk, reader, document, body, context)
        return
    keyword = node.children[0].type
    test = _text(walk, conditions)
    _conditions(walk, conditions, context, None)
    names: list[str] = []
    if reader is None:
        guard = f"not {test}" if keyword == "until" else test
        context = context._replace(guards=(*context.guards, guard))
    _unknown_turn(walk, names, body, context)


def _name(walk: Walk, command: Node) -> str:
    name = command.child_by_field_name("name")
    return walk.expander.written(name) if name else ""


def _lines(walk: Walk, reader: Node, document: Node, body: Node, context: Context) -> None:
    """``while read a b; do …; done <<EOF``: one turn for each line."""
    arguments = [child for child in parts(reader) if child.type != "variable_assignment"]
    words = tuple(walk.words(arguments))
    names = builtins.read_names(Command(words, Span(0, 0), Span(0, 0)))
    separator = builtins.separators(walk, reader)
    turns = [
        (_reading(walk, names, value, separator), value.item)
        for value in _document_lines(walk, document)
    ]
    if len(turns) <= TURNS_LIMIT:
        _turns(walk, turns, body, context)
    else:
        _unknown_turn(walk, names, body, context)


def _reading(walk: Walk, names: list[str], value: Value, separator: str) -> Callable[[], None]:
    return lambda: builtins.assign_read(walk, names, value, separator)


def _document_lines(walk: Walk, document: Node) -> list[Value]:
    found: list[Value] = []
    start, end = document.byte_range
    for line in walk.expander.source[start:end].splitlines(keepends=True):
        text = line.decode("utf-8", "replace").strip()
        if text:
            known = "$" not in text and "`" not in text
            found.append(Value(text, known, item=Span(start, start + len(line))))
        start += len(line)
    return found
