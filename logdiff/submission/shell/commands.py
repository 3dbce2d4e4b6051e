"""The commands of a script in the order in which they would run. Nothing is executed."""

from __future__ import annotations

import re
from itertools import pairwise

from logdiff.submission.model import (
    FILE_OUTPUT,
    Command,
    Remark,
    Span,
    SubmissionError,
    Variable,
    Word,
)
from logdiff.submission.shell import builtins, control
from logdiff.submission.shell.braces import Braced, with_braces
from logdiff.submission.shell.chain import Chain
from logdiff.submission.shell.conditions import verdict
from logdiff.submission.shell.failures import Failures
from logdiff.submission.shell.places import statement_span
from logdiff.submission.shell.syntax import (
    DEPTH_LIMIT,
    here_document,
    members,
    nodes_of,
    parse,
    parts,
    statements,
)
from logdiff.submission.shell.values import Expander, Value, Variables, hole, opaque, split
from logdiff.tuples import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from logdiff.submission.model import TextFile
    from logdiff.submission.shell.syntax import Member, Stage, Statement

COMMANDS_LIMIT = 20_000
STEP_WORK = 500
VARIABLE_WORK = 20
"""What a command, and each variable that is kept for later, cost of the work that a script is
allowed, besides characters."""

_CARRIAGE_RETURN = re.compile(rb"(\\?)\r\n")
_SHEBANG = re.compile(rb"#![^\n]*\s-([a-z]*)e[a-z]*\s")
_SHELL = re.compile(r"(?:.*/)?(?:ba|da|z|k)?sh")
_SUBSTITUTIONS = frozenset(("command_substitution", "process_substitution"))
_ASSIGNMENTS = frozenset(("variable_assignment", "variable_assignments", "declaration_command"))
_COMMAND_FLAG = re.compile(r"-[a-z]*c")
_SYNTAX = re.compile(r"[\"'\\`;|&<>(){}*?#]")
"""What makes more of a text than its words."""
_DOUBLE_QUOTED = re.compile(rb'"(?:[^"\\`\']|\'[^"\\`\'$]*\')*"')
"""A text that a shell within reads as this one would: no variable stands in single quotes."""
_SHELL_VALUES = frozenset(("-o", "+o", "-O", "+O", "--rcfile", "--init-file"))
_MOST_BEFORE_SHELL = 5
"""Words before the shell that reads a here-document: ``sudo -u root bash``."""
_NULL = frozenset(("/dev/null", "-"))


class Surroundings(NamedTuple):
    """What is in force when a script begins."""

    variables: Mapping[str, str] = {}
    directory: str = ""
    errexit: bool = False
    pipefail: bool = False
    work: int = 0
    """What other scripts of the same file already took of the work that is allowed."""


class Script(NamedTuple):
    """What a script does, as far as it can be told without running it."""

    commands: tuple[Command, ...]
    exports: tuple[Variable, ...]
    remarks: tuple[Remark, ...]
    """Comments and printed texts, in the order of their places."""
    unread: tuple[Span, ...]
    """What was not understood and stepped over."""
    work: int
    """What it adds up to, with that of the surroundings."""


class Context(NamedTuple):
    """Where in a script a command stands."""

    guards: tuple[str, ...] = ()
    items: tuple[Span, ...] = ()
    swallowed: str | None = None
    silenced: bool = False
    function: str | None = None
    calls: tuple[str, ...] = ()
    """The functions that are being run."""
    call: Span | None = None
    """The outermost call, of whose function this is the body."""
    redirections: tuple[tuple[str, Word], ...] = ()
    """Those of the compound commands round it."""
    statement: Span = Span(0, 0)
    depth: int = 0


def read_script(
    file: TextFile,
    span: Span | None = None,
    *,
    source: bytes | None = None,
    surroundings: Surroundings | None = None,
) -> Script:
    """Read a shell script, or the part of a file that is one.

    Args:
        file: The file that holds the script.
        span: The part that is the script; the whole file without it.
        source: What the shell is given, at the same offsets as the file and without carriage
            returns, where that is not what the file holds.
        surroundings: What is in force when it begins.

    Raises:
        SubmissionError: It is too large, binary, nested too deeply, expands to too much, or
            something in it is not closed.
    """
    span = span or Span(0, len(file.data))
    given = unix_lines(file.data) if source is None else source
    read, inside, given = with_braces(file, span, given)
    script = Walk(read, given, surroundings or Surroundings()).script(inside)
    return read.restored(script) if isinstance(read, Braced) else script


def unix_lines(source: bytes) -> bytes:
    """The same without carriage returns at the ends of lines, at the same offsets."""
    return _CARRIAGE_RETURN.sub(lambda end: b" \\\n" if end[1] else b"\n\n", source)


class Walk:
    """One pass over a script, in the order in which the shell would run it."""

    def __init__(self, file: TextFile, source: bytes, surroundings: Surroundings) -> None:
        variables = Variables()
        for name, value in surroundings.variables.items():
            variables.set(name, Value(value))
        if surroundings.directory:
            variables.set("PWD", Value(surroundings.directory))
        self.expander = Expander(file, source, variables)
        self.expander.work = surroundings.work
        self.errexit = surroundings.errexit
        self.pipefail = surroundings.pipefail
        self.functions: dict[str, Node] = {}
        self.failures = Failures(self.expander, self.functions)
        self.left = ""
        """``break``, ``continue``, ``return`` or ``exit`` once nothing more of a body runs."""
        self.narrowed: tuple[str, ...] = ()
        """What must hold for the rest of the body to run, after a conditional ``continue``."""
        self.exports: dict[tuple[Span, str], Variable] = {}
        self.exported: set[str] = set()
        self.local_names: set[str] = set()
        self._commands: list[Command] = []
        self._remarks: dict[tuple[Span, str], Remark] = {}
        self._unread: list[Span] = []

    @property
    def variables(self) -> Variables:
        """The variables at this point."""
        return self.expander.variables

    @variables.setter
    def variables(self, variables: Variables) -> None:
        self.expander.variables = variables

    def script(self, span: Span) -> Script:
        """Everything that a part of the file does."""
        self.errexit |= bool(_SHEBANG.match(self.expander.source, span.start))
        self._read(span, Context())
        remarks = sorted(self._remarks.values(), key=lambda remark: remark.span)
        return Script(
            tuple(self._commands),
            tuple(self.exports.values()),
            tuple(remarks),
            tuple(self._unread),
            self.expander.work,
        )

    def _read(self, span: Span, context: Context) -> None:
        syntax = parse(self.expander.file, span, self.expander.source)
        for comment in syntax.comments:
            text = self._text(comment)
            if not text.startswith("#!"):
                text = text.lstrip("#").strip()
                self._remarks[comment, text] = Remark("comment", text, comment)
        self._unread.extend(syntax.unread)
        self.body(syntax.root.children, context)

    def _text(self, span: Span) -> str:
        return self.expander.source[span.start : span.end].decode("utf-8", "replace")

    def snapshot(self, offset: int) -> Variables:
        """The variables as they are, to come back to; taken for the code at an offset."""
        size = len(self.variables.scalars) + len(self.variables.lists)
        self.expander.spend(size * VARIABLE_WORK, offset)
        return self.variables.copy()

    def body(self, children: list[Node], context: Context, enclosing: Span | None = None) -> None:
        """Run the statements among some nodes.

        Args:
            children: Nodes, of which those that are no statements are left out.
            context: Where they stand.
            enclosing: What has to go with the only statement of the body.
        """
        if context.depth > DEPTH_LIMIT:
            place = self.expander.file.place(children[0].start_byte if children else 0)
            raise SubmissionError(f"{place}: functions call each other over {DEPTH_LIMIT} deep")
        context = context._replace(depth=context.depth + 1)
        found = statements(children)
        for index, statement in enumerate(found):
            self.expander.spend(STEP_WORK, statement.span.start)
            following = found[index + 1] if index + 1 < len(found) else None
            self.narrowed = ()
            self._statement(
                statement,
                following,
                context._replace(
                    statement=enclosing
                    if enclosing and len(found) == 1
                    else statement_span(self.expander.source, statement)
                ),
            )
            if self.left:
                break
            context = context._replace(guards=context.guards + self.narrowed)
        self.narrowed = ()

    def _statement(
        self, statement: Statement, following: Statement | None, context: Context
    ) -> None:
        hidden = self.failures.by_next(statement, following)
        if hidden and (hidden == "&" or not self.errexit):
            context = context._replace(swallowed=hidden)
        found = members(statement.node)
        if statement.terminator == "&":
            before = self.snapshot(statement.node.start_byte)
            self._list(found, context, last=True)
            self.variables, self.left = before, ""
        else:
            self._list(found, context, last=following is None)

    def _list(self, found: list[Member], context: Context, *, last: bool) -> None:
        """Run an and-or list.

        A command that asks nothing is taken to succeed, so that what follows ``&&`` runs.
        """
        chain = Chain(found, self.failures, self.expander)
        skips: list[Variables] = []
        guards: tuple[str, ...] = ()
        narrowed: tuple[str, ...] = ()
        result: bool | None = None
        for index, member in enumerate(found):
            if member.operator and result is (member.operator == "||"):
                continue
            if member.operator and result is None:
                guards = chain.guards(index, guards)
                if chain.may_end_before(index):
                    skips.append(self.snapshot(member.span.start))
                    narrowed = chain.narrowed(index)
            inner = context._replace(guards=context.guards + guards)
            decided, hidden = chain.hidden(index, errexit=self.errexit and not last)
            if decided or member.negated:
                inner = inner._replace(swallowed=hidden if decided else "!")
            documents = any(here_document(stage.redirections) for stage in member.stages)
            if not (documents or chain.acts_alone(index)):
                inner = inner._replace(statement=chain.statement(index, context.statement))
            self._pipeline(member, inner)
            result = self._verdict(member)
            if self.left:
                break
        self._meet(skips, narrowed if len(skips) == 1 else ())

    def _meet(self, others: list[Variables], narrowed: tuple[str, ...]) -> None:
        """Go on with what is true whichever way a list ended."""
        if not others:
            return
        if self.left:
            if self.left == "exit":
                self.variables = others.pop()
            self.left = ""
            self.narrowed = narrowed
        else:
            self.narrowed = ()
        for other in others:
            self.variables.meet(other)

    def _verdict(self, member: Member) -> bool | None:
        node = member.stages[-1].node
        if node is None or len(member.stages) > 1:
            return None
        result = verdict(node, self.expander)
        return None if result is None else result != member.negated

    def _pipeline(self, member: Member, context: Context) -> None:
        *before, last = member.stages
        if not before:
            self.stage(last, context)
            return
        for stage in before:
            inner = context
            if not self.pipefail:
                rest = Span(stage.span.end, last.span.end)
                inner = context._replace(swallowed=self.failures.text(rest))
            self._apart(stage, inner, piped=True)
        self._apart(last, context, piped=False)

    def _apart(self, stage: Stage, context: Context, *, piped: bool) -> None:
        """Run a command in a shell of its own, which leaves this one as it is."""
        if stage.node is not None:
            before, errexit, pipefail = (
                self.snapshot(stage.node.start_byte),
                self.errexit,
                self.pipefail,
            )
            self.stage(stage, context, piped=piped)
            self.variables, self.errexit, self.pipefail = before, errexit, pipefail
            self.left = ""

    def stage(self, stage: Stage, context: Context, *, piped: bool = False) -> None:
        """Run one command of a pipeline."""
        redirections = tuple(
            pair for node in stage.redirections for pair in self._redirection(node)
        )
        node = stage.node
        if node is None:
            self._emit(stage, (), redirections, context)
        elif node.type == "command":
            self._simple(stage, node, redirections, context, piped=piped)
        elif node.type in _ASSIGNMENTS:
            self._substitutions(node, context)
            builtins.declare(self, node, context)
        elif node.type == "unset_command":
            builtins.unset(self, node)
        elif node.type == "function_definition":
            self._define(node)
        else:
            self._compound(stage, node, redirections, context)

    def _define(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.functions[self.expander.written(name)] = body

    def _compound(
        self,
        stage: Stage,
        node: Node,
        redirections: tuple[tuple[str, Word], ...],
        context: Context,
    ) -> None:
        outputs = tuple(pair for pair in redirections if ">" in pair[0])
        context = context._replace(
            redirections=outputs + context.redirections,
            silenced=context.silenced or _silenced(redirections),
        )
        if node.type == "subshell":
            self._subshell(node.children, context)
        elif node.type == "compound_statement":
            if node.children[0].type != "((":
                self.body(node.children, context, context.statement)
        else:
            control.run(self, node, stage.redirections, context)

    def _subshell(self, children: list[Node], context: Context) -> None:
        if children:
            before, errexit, pipefail = (
                self.snapshot(children[0].start_byte),
                self.errexit,
                self.pipefail,
            )
            self.body(children, context, context.statement)
            self.variables, self.errexit, self.pipefail = before, errexit, pipefail
            self.left = ""

    def _substitutions(self, node: Node, context: Context) -> None:
        """Run what stands in ``$(…)`` within a node."""
        for substitution in nodes_of(node, _SUBSTITUTIONS):
            self._subshell(substitution.children[1:-1], context)

    def _redirection(self, node: Node) -> list[tuple[str, Word]]:
        """Operator and target of a redirection; nothing for one that has no target."""
        descriptor = node.child_by_field_name("descriptor")
        number = self.expander.written(descriptor) if descriptor else ""
        operators = [child.type for child in node.children if child.type[0] in "<>&"]
        if not operators:
            return []
        operator = number + operators[0]
        targets = node.children_by_field_name("destination")
        if node.type == "heredoc_redirect":
            targets = [child for child in node.children if child.type == "heredoc_start"]
        elif node.type == "herestring_redirect":
            targets = parts(node)[-1:]
        if not targets:
            closed = operator.endswith("-")
            return (
                [(operator[:-1], Word("-", Span(*node.byte_range), known=True))] if closed else []
            )
        if node.type == "heredoc_redirect":
            delimiter = self.expander.written(targets[0]).strip("\\'\"")
            return [(operator, Word(delimiter, Span(*targets[0].byte_range), known=True))]
        return [(operator, word) for word in self.words(targets[:1])]

    def words(self, nodes: list[Node]) -> list[Word]:
        """The words that some nodes expand to."""
        return [_word(value, node) for node in nodes for value in self.expander.fields(node)]

    def _simple(
        self,
        stage: Stage,
        node: Node,
        redirections: tuple[tuple[str, Word], ...],
        context: Context,
        *,
        piped: bool,
    ) -> None:
        inner = [child for child in parts(node) if child.type.endswith("_redirect")]
        redirections += tuple(pair for child in inner for pair in self._redirection(child))
        nodes = [
            child
            for child in parts(node)
            if child not in inner and child.type != "variable_assignment"
        ]
        self._substitutions(node, context._replace(swallowed=context.swallowed or "$(…)"))
        words = self.words(nodes)
        if not words:
            return
        if words[0].text in self.functions and words[0].text not in context.calls:
            self._call(node, nodes[1:], redirections, context)
            return
        command = self._emit(stage, tuple(words), redirections, context)
        if not piped:
            self._remark(command, context)
        builtins.run(self, command, node)
        self._nested(stage, nodes, command, context)

    def _emit(
        self,
        stage: Stage,
        words: tuple[Word, ...],
        redirections: tuple[tuple[str, Word], ...],
        context: Context,
    ) -> Command:
        if len(self._commands) >= COMMANDS_LIMIT:
            place = self.expander.file.place(stage.span.start)
            raise SubmissionError(f"{place}: the script runs over {COMMANDS_LIMIT} commands")
        document = here_document(stage.redirections)
        directory = self.variables.get("PWD")
        command = Command(
            words=words,
            span=stage.span,
            statement=context.statement,
            assignments=tuple(builtins.assignments(self, stage.node)),
            redirections=redirections + context.redirections,
            here_document=Span(*document.byte_range) if document else None,
            guards=context.guards,
            swallowed=context.swallowed,
            silenced=context.silenced or _silenced(redirections),
            items=context.items,
            function=context.function,
            strict=self.errexit,
            directory=directory.text if directory else "",
            exported=len(self.exports),
        )
        self._commands.append(command)
        return command

    def _remark(self, command: Command, context: Context) -> None:
        """Keep what a command prints for people to read."""
        if any(">" in operator and _is_file(word) for operator, word in command.redirections):
            return
        name, *words = [word.text for word in command.words]
        if name in {"echo", "printf"}:
            while words and words[0] in {"-e", "-n", "-E", "-en", "-ne", "--"}:
                words.pop(0)
            text = " ".join(words).replace("\\n", " ").strip()
        elif name == "cat" and not words and command.here_document:
            text = self._text(command.here_document).strip()
        else:
            return
        span = context.call or command.span
        self._remarks[span, text] = Remark("echo", text, span, context.guards)

    def _call(
        self,
        node: Node,
        arguments: list[Node],
        redirections: tuple[tuple[str, Word], ...],
        context: Context,
    ) -> None:
        """Run a function of the script with its arguments."""
        name = self.expander.value(parts(node)[0]).text
        values = [value for argument in arguments for value in self.expander.fields(argument)]
        before, locals_before = self.snapshot(node.start_byte), self.local_names
        self.variables.positional = tuple(
            value._replace(item=value.item or context.statement) for value in values
        )
        self.local_names = set()
        context = context._replace(
            function=name,
            calls=(*context.calls, name),
            call=context.call or Span(*node.byte_range),
            redirections=tuple(pair for pair in redirections if ">" in pair[0])
            + context.redirections,
            silenced=context.silenced or _silenced(redirections),
        )
        body = self.functions[name]
        if body.type == "subshell":
            self._subshell(body.children, context)
        else:
            self.body(body.children, context)
        self.left = self.left if self.left == "exit" else ""
        for local in self.local_names:
            self.variables.unset(local)
            if local in before.scalars:
                self.variables.scalars[local] = before.scalars[local]
            if local in before.lists:
                self.variables.lists[local] = before.lists[local]
        self.variables.positional, self.local_names = before.positional, locals_before

    def _nested(self, stage: Stage, nodes: list[Node], command: Command, context: Context) -> None:
        """Read the scripts that ``bash -c``, ``eval`` and here-documents for a shell hold."""
        is_eval = command.words[0].text == "eval"
        span = self._evaluated(command.words[1:]) if is_eval else self._script_of_shell(command)
        if span is None:
            if is_eval:
                self._run_words(stage, nodes[1:], context)
            return
        offset = command.span.start
        before, errexit, pipefail = self.snapshot(offset), self.errexit, self.pipefail
        try:
            self._read(span, context)
        except SubmissionError:
            self._unread.append(span)
        if not is_eval:
            self.variables, self.errexit, self.pipefail = before, errexit, pipefail
            self.left = ""

    def _script_of_shell(self, command: Command) -> Span | None:
        """The script that ``bash -c`` is given, or a shell in a here-document."""
        words = command.words
        shells = [index for index, word in enumerate(words) if _SHELL.fullmatch(word.text)]
        if not shells:
            return None
        options = words[shells[0] + 1 :]
        count = 0
        while count < len(options) and options[count].text.startswith(("-", "+")):
            count += 2 if options[count].text in _SHELL_VALUES else 1
        if not any(_COMMAND_FLAG.fullmatch(word.text) for word in options[:count]):
            is_input = count >= len(options) and shells[0] <= _MOST_BEFORE_SHELL
            return command.here_document if is_input else None
        script = options[count] if count < len(options) else None
        if script is None or (script.known and script.origin):
            return script and script.origin
        # In double quotes without escapes, its variables are those of this shell.
        written = self.expander.source[script.span.start : script.span.end]
        if _DOUBLE_QUOTED.fullmatch(written):
            return Span(script.span.start + 1, script.span.end - 1)
        return None

    def _evaluated(self, words: tuple[Word, ...]) -> Span | None:
        """Where the text stands that ``eval`` is given; None where it is put together."""
        origins = [word.origin for word in words if word.origin and word.known]
        if not words or len(origins) < len(words):
            return None
        source = self.expander.source
        gaps = [source[one.end : other.start] for one, other in pairwise(origins)]
        if not all(gap.isspace() for gap in gaps):
            return None
        return Span(origins[0].start, origins[-1].end)

    def _run_words(self, stage: Stage, nodes: list[Node], context: Context) -> None:
        """Take the words of a text that ``eval`` is given, where they need no parsing."""
        texts = [(node, value) for node in nodes for value in self.expander.fields(node)]
        if any(_SYNTAX.search(opaque(value.text)) for _, value in texts):
            return
        words = tuple(_word(part, node) for node, value in texts for part in split(value))
        if words:
            self._emit(stage, words, (), context)

    def forget(self, name: str) -> None:
        """Make a variable one of which nothing is known."""
        self.variables.set(name, hole(name))


def _word(value: Value, node: Node) -> Word:
    """What a node, or a part of it, expands to."""
    end = 0 if value.origin is None else value.origin + len(value.text.encode())
    origin = None if value.origin is None else Span(value.origin, end)
    place = Span(*node.byte_range)
    return Word(value.text, place, value.known, value.item, origin, value.assumed)


def _silenced(redirections: tuple[tuple[str, Word], ...]) -> bool:
    """Whether what a command says on stderr is thrown away."""
    output = ""
    errors = ""
    for operator, word in redirections:
        if operator in {"&>", "&>>"} or (operator == ">&" and not word.text.isdigit()):
            output = errors = word.text
        elif operator in {"2>", "2>>"}:
            errors = word.text
        elif operator == "2>&":
            errors = output if word.text == "1" else word.text
        elif operator in FILE_OUTPUT:
            output = word.text
    return errors in _NULL


def _is_file(word: Word) -> bool:
    return not (word.text.isdigit() or word.text == "-" or word.text.startswith("/dev/"))
