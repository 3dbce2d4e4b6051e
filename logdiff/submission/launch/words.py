"""Words of a command that stands in a text: in a YAML scalar, or in a line of a script."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from logdiff.submission.model import Span, Word

if TYPE_CHECKING:
    from logdiff.submission.model import TextFile
    from logdiff.submission.yaml_nodes import Node

_TOKEN = re.compile(
    rb"""
    (?P<blank> (?: [ \t\r] | \\\r?\n )+ )
  | (?P<comment> \#[^\n]* )
  | (?P<end> \n | ;;? | && | \|\|? | & | [()] )
  | (?P<part> '[^']*' | "(?:[^"\\]|\\.)*" | \\. | \$\([^)\n]*\) | \$\{[^}\n]*\}
      | [^\s'"\\;&|()]+ )
  | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(rb'\\(["\\$`]|\r?\n)')
_HOLE = re.compile(rb"\$[\w{(]")


def commands_in(file: TextFile, span: Span, *, folded: bool = False) -> list[list[Word]]:
    """The commands of a span of shell text, each as its words.

    Quotes are taken off and continued lines joined; nothing is expanded: a word with ``$`` is not
    known.

    Args:
        file: the file.
        span: where the text stands.
        folded: whether a line end is a blank there, as in YAML's folded scalars.
    """
    found: list[list[Word]] = [[]]
    parts: list[re.Match[bytes]] = []
    data = file.data[span.start : span.end]

    def end_word() -> None:
        if parts:
            found[-1].append(_word(parts, span.start))
            parts.clear()

    for token in _TOKEN.finditer(data):
        kind = token.lastgroup
        if kind in ("part", "other") or (kind == "comment" and parts):
            parts.append(token)
            continue
        end_word()
        if kind == "end" and not (folded and token[0] == b"\n"):
            found.append([])
    end_word()
    return [words for words in found if words]


def scalar_commands(file: TextFile, node: Node) -> list[list[Word]]:
    """The commands of a YAML scalar.

    A scalar whose text is not its bytes (escapes, doubled quotes) gives words that all stand where
    the scalar does, and so cannot be edited one by one.
    """
    raw = file.data[node.span.start : node.span.end]
    if node.style in ("|", ">"):
        start = node.span.start + raw.find(b"\n") + 1
        return commands_in(file, Span(start, node.span.end), folded=node.style == ">")
    quote = node.style or ""
    inside = Span(node.span.start + len(quote), node.span.end - len(quote))
    escaped = (quote == '"' and b"\\" in raw) or (quote == "'" and b"''" in raw[1:-1])
    if not escaped:
        return commands_in(file, inside, folded=True)
    plain = type(file)(file.path, node.text.encode())
    commands = commands_in(plain, Span(0, len(plain.data)))
    return [[word._replace(span=node.span) for word in words] for words in commands]


def _word(parts: list[re.Match[bytes]], shift: int) -> Word:
    text = b"".join(_unquoted(part[0]) for part in parts)
    known = not any(part[0][:1] != b"'" and _HOLE.search(part[0]) for part in parts)
    span = Span(shift + parts[0].start(), shift + parts[-1].end())
    return Word(text.decode("utf-8", "replace"), span, known)


def _unquoted(part: bytes) -> bytes:
    if part[:1] == b"'":
        return part[1:-1]
    if part[:1] == b'"' and len(part) > 1:
        return _ESCAPE.sub(lambda match: match[1] if match[1] in b'"\\$`' else b"", part[1:-1])
    if part[:1] == b"\\":
        return part[1:]
    return part
