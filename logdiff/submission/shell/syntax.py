"""Bash as a tree, and the parts of the tree in the shape that the shell runs them in.

The grammar attaches redirections to whole lists, and what follows a here-document on its line to
the here-document; :func:`members` and :func:`statements` undo that.
"""

from __future__ import annotations

import re
from time import monotonic

from logdiff.submission.model import Span, SubmissionError
from logdiff.tuples import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Point, Tree

    from logdiff.submission.model import TextFile

SIZE_LIMIT = 1 << 20
DEPTH_LIMIT = 80
_VARIABLE = re.compile(rb"\$[A-Za-z_0-9]")
SECONDS_LIMIT = 5.0
"""Recovery from errors can take time that grows with the square of the text."""

PIPES_LIMIT = 2000
"""The parser takes memory that grows with the square of what a pipeline holds."""
_CLOSERS = {
    '"': '"',
    "`": "`",
    "$(": ")",
    "(": ")",
    "<(": ")",
    ">(": ")",
    "{": "}",
    "${": "}",
    "((": "))",
    "$((": "))",
    "[": "]",
    "[[": "]]",
    "if": "fi",
    "case": "esac",
    "do": "done",
}
_NO_STATEMENT = frozenset(("comment", "ERROR", "heredoc_body", "heredoc_end"))


class Stage(NamedTuple):
    """One command of a pipeline, with the redirections that are its own."""

    node: Node | None
    """None where there are redirections only."""
    redirections: tuple[Node, ...]
    span: Span


class Member(NamedTuple):
    """One pipeline of a list that ``&&`` and ``||`` join."""

    operator: str
    """``&&`` or ``||`` before it; empty for the first."""
    operator_start: int
    """Where the operator stands; for the first, where the pipeline begins."""
    stages: tuple[Stage, ...]
    negated: bool

    @property
    def span(self) -> Span:
        """The pipeline without the operator before it."""
        return Span(self.stages[0].span.start, self.stages[-1].span.end)


class Statement(NamedTuple):
    """One and-or list of a body, and what ends it."""

    node: Node
    terminator: str
    """``;``, ``&`` or, for the end of the line or of the body, empty."""
    span: Span
    """With its here-documents."""


class Syntax(NamedTuple):
    """What the parser made of a script."""

    root: Node
    comments: tuple[Span, ...]
    unread: tuple[Span, ...]
    """What the grammar does not understand and the reader steps over."""
    severed: tuple[int, ...]
    """Dollars that the grammar takes for the end of a word, apart from their variables."""


def parse(file: TextFile, span: Span, source: bytes) -> Syntax:
    """Parse a part of a file.

    ``source`` is what the shell is given, byte for byte at the offsets of the file.

    Raises:
        SubmissionError: It is too large, binary, nested too deeply, or something in it is not
            closed.
    """
    if span.end - span.start > SIZE_LIMIT:
        raise SubmissionError(f"{file.place(span.start)}: over {SIZE_LIMIT >> 20} MB is no script")
    nul = source.find(b"\0", span.start, span.end)
    if nul >= 0:
        raise SubmissionError(f"{file.place(nul)}: binary data is no script")
    _refuse_long_pipelines(file, span, source)
    return _survey(file, _tree(file, span, source), source)


def _refuse_long_pipelines(file: TextFile, span: Span, source: bytes) -> None:
    start, pipes = span.start, 0
    for line in source[span.start : span.end].splitlines(keepends=True):
        pipes += line.count(b"|") - 2 * line.count(b"||")
        if pipes > PIPES_LIMIT:
            place = file.place(start)
            raise SubmissionError(f"{place}: a pipeline of over {PIPES_LIMIT} commands")
        if not line.rstrip().endswith((b"|", b"\\")):
            pipes = 0
        start += len(line)


def _tree(file: TextFile, span: Span, source: bytes) -> Tree:
    import tree_sitter
    import tree_sitter_bash

    language = tree_sitter.Language(tree_sitter_bash.language())
    part = tree_sitter.Range((0, 0), (0, 0), span.start, span.end)
    parser = tree_sitter.Parser(language, included_ranges=[part])
    deadline = monotonic() + SECONDS_LIMIT
    reached = span.start

    def read(offset: int, _point: Point) -> bytes:
        return source[offset : min(offset + 65536, span.end)]

    def overdue(offset: int, _has_error: bool) -> bool:
        nonlocal reached
        reached = offset
        return monotonic() > deadline

    try:
        return parser.parse(read, progress_callback=overdue)
    except ValueError:
        raise SubmissionError(
            f"{file.place(reached)}: this is not understood as a script"
        ) from None


def _survey(file: TextFile, tree: Tree, source: bytes) -> Syntax:
    """One pass over all nodes: comments, errors, and whether the rest may use recursion."""
    comments: list[Span] = []
    unread: list[Span] = []
    severed: list[int] = []
    cursor = tree.walk()
    depth = 0
    while True:
        node = cursor.node
        assert node is not None
        if node.type == "comment":
            comments.append(Span(*node.byte_range))
        elif node.is_error:
            _refuse_unclosed(file, node)
            unread.append(Span(*node.byte_range))
        elif node.type == "$" and _is_severed(node, source):
            severed.append(node.start_byte)
        elif node.is_missing:
            _refuse_missing(file, node)
        if depth > DEPTH_LIMIT:
            raise SubmissionError(f"{file.place(node.start_byte)}: nested over {DEPTH_LIMIT} deep")
        if cursor.goto_first_child():
            depth += node.type != "list"
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return Syntax(tree.root_node, tuple(comments), tuple(unread), tuple(severed))
            parent = cursor.node
            assert parent is not None
            depth -= parent.type != "list"


def _is_severed(dollar: Node, source: bytes) -> bool:
    """Whether a dollar was taken for the end of a word, apart from the variable behind it."""
    parent = dollar.parent
    alone = parent is None or parent.type != "simple_expansion"
    return alone and _VARIABLE.match(source, dollar.start_byte) is not None


def _refuse_unclosed(file: TextFile, error: Node) -> None:
    """Raise if what is not understood begins with something that is never closed."""
    text = (error.text or b"").lstrip()
    if text.startswith((b"'", b"$'")):
        _refuse(file, error.end_byte - len(text), "'")
    opened: list[Node] = []
    for child in error.children:
        if opened and child.type == _CLOSERS[opened[-1].type]:
            opened.pop()
        elif child.type in _CLOSERS and not child.is_named:
            opened.append(child)
    if opened:
        _refuse(file, opened[-1].start_byte, opened[-1].type)


def _refuse_missing(file: TextFile, node: Node) -> None:
    """Raise for a closing word that the parser had to make up."""
    parent = node.parent
    opener = parent.children[0] if parent else node
    _refuse(file, opener.start_byte, (opener.text or b"").decode("utf-8", "replace"))


def _refuse(file: TextFile, offset: int, opener: str) -> None:
    raise SubmissionError(f"{file.place(offset)}: {opener} is never closed")


def parts(node: Node) -> list[Node]:
    """The named children that mean something."""
    return [child for child in node.named_children if not child.is_error and not child.is_extra]


def statements(children: list[Node]) -> list[Statement]:
    """The statements among the children of a body, with what ends each."""
    found: list[Statement] = []
    for index, child in enumerate(children):
        if not child.is_named or child.type in _NO_STATEMENT:
            continue
        after = children[index + 1].type if index + 1 < len(children) else ""
        terminator = after if after in {";", "&"} else ""
        found.append(Statement(child, terminator, Span(*child.byte_range)))
    return found


def members(node: Node) -> list[Member]:
    """The pipelines of an and-or list, in order, each command with its own redirections."""
    spine: list[Node] = []
    while node.type in {"list", "redirected_statement"}:
        spine.append(node)
        inner = parts(node)[0] if node.type == "list" else node.child_by_field_name("body")
        if inner is None:
            break
        node = inner
    found = [_first(node)]
    for outer in reversed(spine):
        if outer.type == "list":
            _join(found, outer.children)
        else:
            for redirection in outer.children_by_field_name("redirect"):
                _redirect(found, redirection)
    return found


def _first(node: Node) -> Member:
    stages, negated = _pipeline(node)
    return Member("", node.start_byte, tuple(stages), negated)


def _pipeline(node: Node) -> tuple[list[Stage], bool]:
    """The commands of a pipeline, and whether ``!`` stands before it."""
    if node.type == "negated_command":
        inner = parts(node)
        return (_pipeline(inner[-1])[0] if inner else [_stage(None, node)]), True
    if node.type == "pipeline":
        pipelines = [_pipeline(part) for part in parts(node)]
        stages = [stage for found, _ in pipelines for stage in found]
        return stages, any(negated for _, negated in pipelines)
    if node.type != "redirected_statement":
        return [_stage(node, node)], False
    if node.child_by_field_name("body") is None:
        return [_stage(None, node)], False
    return [stage for member in members(node) for stage in member.stages], False


def _stage(node: Node | None, place: Node) -> Stage:
    end = place.end_byte if node else place.start_byte
    return Stage(node, (), Span(place.start_byte, end))


def _join(found: list[Member], children: list[Node]) -> None:
    """Append the right side of an operator, which is the last of the children."""
    operators = [child for child in children if child.type in {"&&", "||"}]
    right = [child for child in children if child.is_named and not child.is_extra]
    if operators and len(right) > 1:
        _append(found, operators[0], right[-1])


def _append(found: list[Member], operator: Node, right: Node) -> None:
    first, *rest = members(right)
    found.append(first._replace(operator=operator.type, operator_start=operator.start_byte))
    found.extend(rest)


def _redirect(found: list[Member], redirection: Node) -> None:
    """Give a redirection to the last command, and what follows a here-document its place."""
    own = [redirection, *redirection.children_by_field_name("redirect")]
    end = _end(redirection)
    last = found[-1]
    *before, stage = last.stages
    stage = stage._replace(
        redirections=(*stage.redirections, *own),
        span=Span(stage.span.start, max(stage.span.end, end)),
    )
    found[-1] = last._replace(stages=(*before, stage))
    if redirection.type != "heredoc_redirect":
        return
    right = redirection.child_by_field_name("right")
    operator = redirection.child_by_field_name("operator")
    for child in redirection.children:
        if child.type == "pipeline":
            _pipe(found, child)
    if right is not None and operator is not None:
        _append(found, operator, right)


def _pipe(found: list[Member], pipeline: Node) -> None:
    for part in parts(pipeline):
        first, *rest = members(part)
        found[-1] = found[-1]._replace(stages=found[-1].stages + first.stages)
        found.extend(rest)


def _end(redirection: Node) -> int:
    """Where a redirection ends on its line; the body of a here-document comes after that."""
    if redirection.type != "heredoc_redirect":
        return redirection.end_byte
    ends = [
        child.end_byte
        for child in redirection.children
        if child.type == "heredoc_start" or child.type.endswith("_redirect")
    ]
    return max(ends, default=redirection.start_byte)


def here_document(redirections: tuple[Node, ...]) -> Node | None:
    """The body of the last here-document among redirections."""
    bodies = [
        child
        for redirection in redirections
        if redirection.type == "heredoc_redirect"
        for child in redirection.children
        if child.type == "heredoc_body"
    ]
    return bodies[-1] if bodies else None


def nodes_of(node: Node, kinds: frozenset[str]) -> Iterator[Node]:
    """The outermost nodes of some kinds in a tree, in order."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type in kinds:
            yield current
        else:
            waiting.extend(reversed(current.children))
