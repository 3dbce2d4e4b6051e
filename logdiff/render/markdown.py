"""The report for an issue, a pull request or a step summary, in GitHub's Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from logdiff.render import Options, _outline, _phrases
from logdiff.render._columns import cut, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logdiff.render._outline import Item, Node, Shown

ONE_DOCUMENT = False

_MOST_LINES = 60
_MOST_ITEMS = 5
_MOST_PROVEN_ITEMS = 2
_MOST_TREE_LINES = 12
_MOST_GAP_NAMES = 8
_FEWEST_DIFFERENCES = 3
_TABLE_LINES = 7
"""What the table of differences takes besides its rows."""
_WIDEST_QUOTE = 160
_WIDEST_CELL = 60

_SPECIAL = re.compile(r"([\\`*{}\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_]))")
"""What Markdown gives a meaning anywhere in a line; an underscore within a word has none."""
_LIST_OR_HEADING = re.compile(r"^([-+#=]|\d+[.)])(?=\s)")
_LINK = re.compile(r"(@(?=\w)|[#!](?=\d)|\bGH-(?=\d)|:(?=//)|www(?=\.))", re.IGNORECASE)
"""What GitHub makes a mention, a reference or a link of."""
_BACKTICKS = re.compile("`+")


def render(document: dict[str, Any], options: Options) -> str:
    """Give the report as Markdown; everything, if verbose."""
    verbose = options.verbose > 0
    lines = _verdict(document)
    plan, shown = _plan(document, verbose)
    lines += [*plan, *_story(document, shown, verbose)]
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
    """Make a text mean itself: no markup, no HTML, no link, no mention of people or issues."""
    text = _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()))
    text = _LIST_OR_HEADING.sub(lambda match: f"{match[1][:-1]}\\{match[1][-1]}", text)
    # GitHub looks for these after it has resolved entities: only a break in the word helps.
    return _LINK.sub("\\1\u200b", text)


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
    file = _phrases.shared_file(document).rpartition("/")[2]
    labels = {name: file + label for name, label in _phrases.labels(document).items()}
    for name in ("bad", "good"):
        run = document[name]
        if run:
            title = _phrases.role(document, name)
            summary = prose(_phrases.run_summary(run))
            lines.append(f"- **{title}** {code(labels[name])}: {summary}")
    return lines


def _plan(document: dict[str, Any], verbose: bool) -> tuple[list[str], Shown]:
    items = _outline.items(document)
    quoted: set[str] = set()
    if not items:
        return [], _outline.shown_by((), quoted)
    lines = ["", "### Do this", ""]
    shown = items if verbose else items[:_MOST_ITEMS]
    for number, item in enumerate(shown, 1):
        lines += _item(document, item, number, quoted, verbose)
    if len(items) > len(shown):
        lines += ["", f"{_phrases.count(len(items) - len(shown), 'more fix', 'more fixes')}."]
    # Whoever asks for everything is told everything in its place.
    return lines, _outline.shown_by(() if verbose else shown, set() if verbose else quoted)


def _item(
    document: dict[str, Any], item: Item, number: int, quoted: set[str], verbose: bool
) -> list[str]:
    reasons = _outline.item_reasons(document, item, everything=verbose)
    place = _outline.item_place(item)
    words = f"**{item.first['kind']}** {_outline.item_words(item, code)}"
    words += f" in {code(place)}" if place else ""
    words += f" ({item.first['confidence']})" if item.advised else " (**not advised**)"
    words += f": {prose('; '.join(reasons))}" if reasons else ""
    refs = "" if verbose else _outline.printed_in(document, item)
    words += f", {refs}" if refs else ""
    lines = [f"{number}. {words}"]
    indent = " " * (len(str(number)) + 2)
    if verbose or (item.advised and number <= _MOST_PROVEN_ITEMS and not refs):
        proof = _proof(document, item, quoted, verbose)
        lines += _fenced(proof, indent=indent) if proof else []
    for fix in item.fixes if verbose else ():
        if fix["diff"]:
            lines += _fenced(fix["diff"].splitlines(), "diff", indent)
    return lines


def _proof(document: dict[str, Any], item: Item, quoted: set[str], verbose: bool) -> list[str]:
    options = [_outline.option(fix) for fix in item.fixes]
    proof = _outline.item_proof(document, item)
    refs = [_phrases.reference(document, place) for place in proof]
    again = not verbose and bool(refs) and quoted.issuperset(refs)
    quoted.update(refs)
    lines = [] if again else _quotes(document, proof, options, verbatim=verbose)
    expected = _outline.expected(document, item, everything=verbose)
    return [*lines, *(f"expect: {line}" for line in expected)]


def _quotes(
    document: dict[str, Any],
    places: list[dict[str, Any]],
    options: Iterable[str],
    *,
    verbatim: bool,
) -> list[str]:
    lines = []
    for place in places:
        line = _outline.message(place["text"])
        text = _outline.excerpt(line, _WIDEST_QUOTE, options, verbatim=verbatim)
        note = _phrases.witnesses(document, place)
        ref = _phrases.reference(document, place)
        lines.append(f"{ref}: {text}  ({note})" if note else f"{ref}: {text}")
    return lines


def _story(document: dict[str, Any], shown: Shown, verbose: bool) -> list[str]:
    bad = _outline.tree(document, "bad")
    good = _outline.tree(document, "good")
    quiet = _outline.quiet(document)
    lines = [line for node in bad for line in _branch(document, shown, node, "")]
    if good:
        lines.append("- In good itself:")
        lines += [line for node in good for line in _branch(document, shown, node, "  ")]
    if not verbose and len(lines) > _MOST_TREE_LINES:
        hidden = len(lines) - _MOST_TREE_LINES
        lines = [*lines[:_MOST_TREE_LINES], f"- {hidden} more"]
    if quiet and not verbose:
        lines.append(f"- {quiet} more at info level")
    return ["", "### What happened" if bad else "### Seen", "", *lines] if lines else []


def _branch(document: dict[str, Any], shown: Shown, node: Node, indent: str) -> list[str]:
    lines = [f"{indent}- **{prose(node.rule)}** {prose(_outline.told(node, document, shown))}"]
    for child in node.children:
        lines += _branch(document, shown, child, f"{indent}  ")
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
        options = _outline.finding_options(document, finding)
        if finding["evidence"]:
            quotes = _quotes(document, finding["evidence"], options, verbatim=True)
            lines += ["", *_fenced(quotes)]
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
        for error in _outline.read_errors(document)
    ]
    most = len(document["coverage"]["not_reached"]) if verbose else _MOST_GAP_NAMES
    gaps = [
        f"- not reached, so not missing ({prose(why)}): {prose(_phrases.listing(names, most))}"
        for why, names in _outline.gaps(document)
    ]
    skipped = [f"- {prose(text)}" for text in _outline.unjudged(document)]
    lines = [*errors, *gaps, *skipped] if verbose else [*errors[:1], *gaps[:3]]
    return ["", "### Not judged", "", *lines] if lines else []


def _closing(document: dict[str, Any], verbose: bool) -> list[str]:
    notes = []
    if not verbose and document["findings"]:
        notes.append("All evidence: the same command with `-v`.")
    if command := _outline.edit_command(document):
        notes.append(f"The fixes as one patch: `{command}`.")
    if _outline.capture_advised(document):
        notes.append(f"The log is cut off; the whole one: `{_outline.CAPTURE}`.")
    return ["", " ".join(notes)] if notes else []
