"""The report for an issue, a pull request or a step summary, in GitHub's Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from logdiff.render import Options, _outline, _phrases
from logdiff.render._columns import cut, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logdiff.render._outline import Item, Node

_MOST_LINES = 60
_MOST_ITEMS = 5
_MOST_PROVEN_ITEMS = 2
_MOST_TREE_LINES = 12
_FEWEST_DIFFERENCES = 3
_TABLE_LINES = 7
"""What the table of differences takes besides its rows."""
_WIDEST_QUOTE = 160
_WIDEST_CELL = 60

_SPECIAL = re.compile(r"([\\`*{}\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_]))")
"""What Markdown gives a meaning anywhere in a line; an underscore within a word has none."""
_LIST_OR_HEADING = re.compile(r"^([-+#=]|\d+[.)])(?=\s)")
_MENTION = re.compile(r"(@(?=\w)|[#!](?=\d)|\bGH-(?=\d))")
_BACKTICKS = re.compile("`+")


def render(document: dict[str, Any], options: Options) -> str:
    """Give the report as Markdown; everything, if verbose."""
    verbose = options.verbose > 0
    lines = _verdict(document)
    lines += _plan(document, verbose)
    lines += _story(document, verbose)
    ending = _unknowns(document, verbose) + _closing(document, verbose)
    if verbose:
        lines += _findings(document)
    room = _MOST_LINES - len(lines) - len(ending) - _TABLE_LINES
    most = len(document["differences"]) if verbose else max(room, _FEWEST_DIFFERENCES)
    lines += _differences(document["differences"], most)
    return "\n".join([*lines, *ending]).strip("\n") + "\n"


def render_inspect(inspection: dict[str, Any], options: Options) -> str:
    """Give what ``logdiff inspect`` found, as its text in a code block."""
    from logdiff.render import text

    shown = text.render_inspect(inspection, options._replace(color=False))
    return "\n".join(_fenced(shown.rstrip("\n").split("\n"))) + "\n"


# Escaping ----------------------------------------------------------------------------------------


def prose(text: str) -> str:
    """Make a text mean itself: no markup, no HTML, no mention of people or issues."""
    text = _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()))
    text = _LIST_OR_HEADING.sub(lambda match: f"{match[1][:-1]}\\{match[1][-1]}", text)
    # GitHub looks for mentions after it has resolved entities: only a break in the word helps.
    return _MENTION.sub("\\1\u200b", text)


def code(text: str) -> str:
    """Give a text as inline code, whatever backticks it holds."""
    text = " ".join(visible(text).split())
    fence = "`" * (_longest_backticks(text) + 1)
    inner = f" {text} " if "`" in text or not text else text
    return f"{fence}{inner}{fence}"


def _cell(text: str) -> str:
    # In a table a pipe ends the cell even inside code.
    return code(cut(text, _WIDEST_CELL)).replace("|", "\\|") if text else ""


def _fenced(lines: Iterable[str], language: str = "text", indent: str = "") -> list[str]:
    content = [visible(line) for line in lines]
    fence = "`" * max(3, max(map(_longest_backticks, content), default=0) + 1)
    return [indent + line for line in (fence + language, *content, fence)]


def _longest_backticks(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)


# Parts -------------------------------------------------------------------------------------------


def _verdict(document: dict[str, Any]) -> list[str]:
    status = document["verdict"]["status"].upper()
    lines = [f"## {status}: {prose(_phrases.sentence(document))}", ""]
    for name in ("bad", "good"):
        run = document[name]
        if run:
            title = _phrases.role(document, name)
            summary = prose(_phrases.run_summary(run))
            lines.append(f"- **{title}** {code(run['label'])}: {summary}")
    return lines


def _plan(document: dict[str, Any], verbose: bool) -> list[str]:
    items = _outline.items(document)
    if not items:
        return []
    lines = ["", "### Do this", ""]
    shown = items if verbose else items[:_MOST_ITEMS]
    for number, item in enumerate(shown, 1):
        lines += _item(document, item, number, verbose)
    if len(items) > len(shown):
        lines += ["", f"{_phrases.count(len(items) - len(shown), 'more fix', 'more fixes')}."]
    return lines


def _item(document: dict[str, Any], item: Item, number: int, verbose: bool) -> list[str]:
    reasons = list(dict.fromkeys(fix["reason"] for fix in item.fixes if fix["reason"]))
    place = _outline.item_place(item)
    words = f"**{item.first['kind']}** {_outline.item_words(item, code)}"
    words += f" in {code(place)}" if place else ""
    words += f" ({item.first['confidence']})" if item.advised else " (**not advised**)"
    if reasons and (verbose or not item.advised):
        words += f": {prose('; '.join(reasons))}"
    lines = [f"{number}. {words}"]
    indent = " " * (len(str(number)) + 2)
    if verbose or (item.advised and number <= _MOST_PROVEN_ITEMS):
        proof = _proof(document, item, verbose)
        lines += _fenced(proof, indent=indent) if proof else []
    for fix in item.fixes if verbose else ():
        if fix["diff"]:
            lines += _fenced(fix["diff"].splitlines(), "diff", indent)
    return lines


def _proof(document: dict[str, Any], item: Item, verbose: bool) -> list[str]:
    options = [_outline.option(fix) for fix in item.fixes]
    lines = _quotes(document, _outline.item_proof(document, item), options)
    expected = _outline.confirmations(item)
    if verbose or len(expected) == 1:
        lines += [f"expect: {_outline.message(line)}" for line in expected]
    return lines


def _quotes(
    document: dict[str, Any], places: list[dict[str, Any]], options: Iterable[str]
) -> list[str]:
    lines = []
    for place in places:
        text = _outline.excerpt(_outline.message(place["text"]), _WIDEST_QUOTE, options)
        note = _phrases.witnesses(document, place)
        ref = _phrases.reference(document, place)
        lines.append(f"{ref}: {text}  ({note})" if note else f"{ref}: {text}")
    return lines


def _story(document: dict[str, Any], verbose: bool) -> list[str]:
    bad = _outline.tree(document, "bad")
    good = _outline.tree(document, "good")
    quiet = _outline.quiet(document)
    lines = [line for node in bad for line in _branch(document, node, "")]
    if good:
        lines.append("- In good itself:")
        lines += [line for node in good for line in _branch(document, node, "  ")]
    if not verbose and len(lines) > _MOST_TREE_LINES:
        hidden = len(lines) - _MOST_TREE_LINES
        lines = [*lines[:_MOST_TREE_LINES], f"- {hidden} more"]
    if quiet and not verbose:
        lines.append(f"- {quiet} more at info level")
    return ["", "### What happened" if bad else "### Seen", "", *lines] if lines else []


def _branch(document: dict[str, Any], node: Node, indent: str) -> list[str]:
    lines = [f"{indent}- **{prose(node.rule)}** {prose(_outline.told(node, document))}"]
    for child in node.children:
        lines += _branch(document, child, f"{indent}  ")
    return lines


def _findings(document: dict[str, Any]) -> list[str]:
    lines = ["", "### Findings"] if document["findings"] else []
    for finding in document["findings"]:
        level = f"{finding['severity']}, {finding['confidence']}"
        level += ", about good" if finding["run"] == "good" else ""
        level += ", suppressed" if finding["suppressed"] else ""
        lines += ["", f"#### {prose(finding['id'])} ({level})", "", prose(finding["title"])]
        if finding["explanation"]:
            lines += ["", prose(finding["explanation"])]
        if finding["evidence"]:
            lines += ["", *_fenced(_quotes(document, finding["evidence"], ()))]
    return lines


def _differences(differences: list[dict[str, Any]], most: int) -> list[str]:
    if not differences:
        return []
    lines = ["", "### Differences", "", "| fact | good | bad | change |", f"|{' --- |' * 4}"]
    for item in differences[:most]:
        fact = item["fact"]
        good, bad = (_phrases.value(item[run], fact) for run in ("good", "bad"))
        cells = [_cell(cell) for cell in (fact, good, bad, _phrases.change(item))]
        lines.append(f"| {' | '.join(cells)} |")
    if len(differences) > most:
        lines += ["", f"{_phrases.count(len(differences) - most, 'more difference')}."]
    return lines


def _unknowns(document: dict[str, Any], verbose: bool) -> list[str]:
    errors = [
        f"- {code(error['path'])}{' line ' + str(error['line']) if error['line'] else ''}: "
        f"{prose(error['message'])}"
        for error in document["coverage"]["read_errors"]
    ]
    gaps = [
        f"- {prose(why)}: {prose(_phrases.listing(names, len(names) if verbose else 6))}"
        for why, names in _outline.gaps(document)
    ]
    skipped = [
        f"- {prose(_phrases.listing(names))}: {prose(why)}"
        for why, names in _outline.unjudged(document)
    ]
    if not verbose:
        errors, gaps, skipped = errors[:1], gaps[:2], skipped[:2]
    lines = [*errors, *gaps, *skipped]
    return ["", "### Not judged", "", *lines] if lines else []


def _closing(document: dict[str, Any], verbose: bool) -> list[str]:
    notes = []
    if not verbose and document["findings"]:
        notes.append("All evidence: the same command with `-v`.")
    if _outline.capture_advised(document):
        notes.append(f"The log is cut off; the whole one: `{_outline.CAPTURE}`.")
    return ["", " ".join(notes)] if notes else []
