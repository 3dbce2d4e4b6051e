"""The report on a terminal: the verdict, what to do, what happened, and the lines that say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.model import SEVERITIES
from logdiff.render import Options, _outline, _phrases
from logdiff.render._columns import columns, cut, pad, shorten, visible, wrap
from logdiff.render._page import Page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logdiff.render._outline import Item, Node

_MOST_ITEMS = 6
"""Items that "Do this" shows on the first screen."""
_MOST_PROVEN_ITEMS = 3
"""Of these, the first ones are shown with their lines of evidence."""
_WIDEST_RULE = 24
_NARROWEST_TITLE = 30
"""A title with less room than this stands below its rule."""
_MOST_QUOTED_LINES = 3
_MOST_ROOTS = 8
_MOST_CHILDREN = 6

_VERDICT_STYLES = {"pass": "green", "fail": "loud", "unjudged": "yellow"}
_SEVERITY_STYLES = {"critical": "red", "high": "red", "medium": "yellow"}

_ASCII = str.maketrans(
    {
        "●": "*",
        "○": "o",
        "├": "|",
        "└": "`",
        "│": "|",
        "→": "->",
        "…": "...",
        "×": "x",
        "·": ".",
        "–": "-",
    }
)


def ascii_fallback(text: str) -> str:
    """Replace the signs that this format draws with, for a stream that cannot encode them."""
    return text.translate(_ASCII)


def render(document: dict[str, Any], options: Options) -> str:
    """Give the report for a terminal; everything, if verbose, else one screen."""
    page = Page(options)
    _verdict(page, document)
    _plan(page, document)
    _story(page, document)
    if options.verbose:
        _details(page, document)
    _unknowns(page, document)
    _closing(page, document)
    return page.text()


def render_inspect(inspection: dict[str, Any], options: Options) -> str:
    """Say what is in some logs, and what can be asked about them next."""
    from logdiff.render import _inspection

    return _inspection.render(inspection, options)


# First screen ------------------------------------------------------------------------------------


def _verdict(page: Page, document: dict[str, Any]) -> None:
    status = document["verdict"]["status"]
    word = status.upper()
    indent = len(word) + 2
    lead = (word, _VERDICT_STYLES.get(status, ""))
    page.paragraph(_phrases.sentence(document), indent, "bold", lead)
    _runs(page, document, indent)


def _runs(page: Page, document: dict[str, Any], indent: int) -> None:
    runs = [(name, document[name]) for name in ("bad", "good") if document[name]]
    room = page.width // 3
    labels = {name: shorten(label, room) for name, label in _phrases.labels(document).items()}
    widest = max(map(columns, labels.values()))
    for name, run in runs:
        title = f"{pad(_phrases.role(document, name), 4)}  {pad(labels[name], widest)}"
        lead = f"{' ' * indent}{title}"
        page.paragraph(_phrases.run_summary(run), indent + columns(title) + 2, lead=lead)


def _plan(page: Page, document: dict[str, Any]) -> None:
    items = _outline.items(document)
    if not items:
        return
    page.heading("Do this")
    shown = items if page.verbose else items[:_MOST_ITEMS]
    kinds = max(len(item.first["kind"]) for item in shown)
    for number, item in enumerate(shown, 1):
        _item(page, document, item, number, kinds)
    if len(items) > len(shown):
        page.line(f"    {_phrases.count(len(items) - len(shown), 'more fix', 'more fixes')}: -v")


def _item(page: Page, document: dict[str, Any], item: Item, number: int, kinds: int) -> None:
    indent = 4 + kinds + 2
    confidence = item.first["confidence"]
    lead = f"{number:2}  {pad(item.first['kind'], kinds)}  "
    words = _outline.item_words(item)
    if not item.advised:
        words = f"{words}: not advised"
        confidence = ""
    place = _outline.item_place(item)
    words = f"{words}  in {place}" if place else words
    style = "bold" if item.advised else ""
    first, *rest = wrap(words, page.width - indent, page.width - indent - len(confidence) - 2)
    gap = page.width - indent - columns(first) - len(confidence)
    page.line(lead, (first, style), " " * gap, (confidence, "dim"))
    for part in rest:
        page.line(" " * indent, (part, style))
    _item_grounds(page, document, item, number, indent)


def _item_grounds(
    page: Page, document: dict[str, Any], item: Item, number: int, indent: int
) -> None:
    """Add why an item is (not) advised, what proves it and what will confirm it."""
    reasons = list(dict.fromkeys(fix["reason"] for fix in item.fixes if fix["reason"]))
    # What a launch argument was in good is the reason and stands in the arrow already.
    for reason in (
        reasons if page.verbose or item.first["kind"] != "config" or not item.advised else ()
    ):
        page.paragraph(reason, indent)
    if not page.verbose and (number > _MOST_PROVEN_ITEMS or not item.advised):
        return
    _item_proof(page, document, item, indent)
    for fix in item.fixes if page.verbose else ():
        for line in (fix["diff"] or "").splitlines():
            page.line(" " * indent, cut(line, page.width - indent))


def _item_proof(page: Page, document: dict[str, Any], item: Item, indent: int) -> None:
    """Quote the lines that prove an item, and the one that a run with it will print."""
    proof = _outline.item_proof(document, item)
    expected = _outline.confirmations(item)
    if len(expected) > 1 and not page.verbose:
        expected = []
    leads = [_phrases.reference(document, place) for place in proof] + ["expect"] * len(expected)
    room = max(map(len, leads), default=0)
    names = [_outline.option(fix) for fix in item.fixes if fix["kind"] == "config"]
    _quotes(page, document, proof, indent, options=names, room=room)
    for line in expected:
        text = shorten(_outline.message(line), page.width - indent - room - 2)
        page.line(" " * indent, ("expect".ljust(room), "green"), "  ", text)


def _quotes(
    page: Page,
    document: dict[str, Any],
    places: list[dict[str, Any]],
    indent: int,
    *,
    options: Iterable[str],
    room: int,
) -> None:
    """Quote lines in three columns: where, what, by whom."""
    refs = [_phrases.reference(document, place) for place in places]
    notes = [_phrases.witnesses(document, place) for place in places]
    space = page.width - indent - room - 2
    space -= max(map(len, notes), default=-2) + 2
    texts = [_outline.excerpt(_outline.message(x["text"]), space, options) for x in places]
    widest = max(map(columns, texts), default=0)
    for place, ref, text, note in zip(places, refs, texts, notes, strict=True):
        style = "red" if place["run"] == "bad" else "green"
        start = (pad(ref, room), style)
        page.line(" " * indent, start, "  ", pad(text, widest), "  ", (note, "dim"))


def _story(page: Page, document: dict[str, Any]) -> None:
    bad = _outline.tree(document, "bad")
    good = _outline.tree(document, "good")
    quiet = _outline.quiet(document)
    if not (bad or good or quiet):
        return
    page.heading("What happened" if bad else "Seen")
    most = len(bad) if page.verbose else _MOST_ROOTS
    column = min(max(_rule_widths([*bad, *good], 4), default=0), _WIDEST_RULE + 4) + 2
    for node in bad[:most]:
        _branch(page, document, node, lead="  ● ", stem="  ", column=column)
    if hidden := _outline.size(bad[most:]):
        page.line((f"  {hidden} more: -v shows them", "dim"))
    if good:
        page.line("  In good itself")
    for node in good:
        _branch(page, document, node, lead="  ○ ", stem="  ", column=column, dim=True)
    if quiet and not page.verbose:
        more = "more " if bad or good else ""
        page.line((f"  {quiet} {more}at info level: -v shows them", "dim"))


def _rule_widths(nodes: list[Node], indent: int) -> Iterable[int]:
    for node in nodes:
        yield indent + len(node.rule)
        yield from _rule_widths(node.children, indent + 2)


def _branch(
    page: Page,
    document: dict[str, Any],
    node: Node,
    *,
    lead: str,
    stem: str,
    column: int,
    dim: bool = False,
) -> None:
    """Draw a node and what it led to; ``stem`` goes on below it."""
    severity = min((item["severity"] for item in node.findings), key=SEVERITIES.index)
    style = "dim" if dim else _SEVERITY_STYLES.get(severity, "")
    start = max(column, len(lead) + len(node.rule) + 2)
    name = node.rule.ljust(start - len(lead))
    text_style = "dim" if dim else ""
    if page.width - start < _NARROWEST_TITLE:
        start = len(lead) + 2
        parts = ["", *wrap(_outline.told(node, document), page.width - start)]
    else:
        parts = wrap(_outline.told(node, document), page.width - start)
    page.line((lead, style), (name, style), (parts[0], text_style))
    below = stem + ("  │ " if node.children else "")
    for part in parts[1:]:
        page.line((pad(below, start), text_style), (part, text_style))
    most = len(node.children) if page.verbose else _MOST_CHILDREN
    hidden = _outline.size(node.children[most:])
    for index, child in enumerate(node.children[:most]):
        last = index == len(node.children) - 1
        branch, go_on = ("└ ", "  ") if last else ("├ ", "│ ")
        lead, inner = f"{stem}  {branch}", f"{stem}  {go_on}"
        _branch(page, document, child, lead=lead, stem=inner, column=column, dim=dim)
    if hidden:
        page.line((f"{stem}  └ {hidden} more: -v shows them", "dim"))


def _unknowns(page: Page, document: dict[str, Any]) -> None:
    """Say what could not be judged, and why."""
    gaps = _outline.gaps(document)
    skipped = _outline.unjudged(document)
    errors = document["coverage"]["read_errors"]
    if not (gaps or skipped or errors):
        return
    page.heading("Not judged")
    for error in errors if page.verbose else errors[:2]:
        line = f":{error['line']}" if error["line"] else ""
        page.paragraph(f"{error['path']}{line}: {error['message']}", 2, "yellow")
    for why, names in gaps if page.verbose else gaps[:2]:
        most = len(names) if page.verbose else 6
        page.paragraph(f"{why}: {_phrases.listing(names, most)}", 2)
    _skipped(page, skipped)


def _skipped(page: Page, skipped: list[tuple[str, list[str]]]) -> None:
    if not skipped:
        return
    if page.verbose:
        for why, names in skipped:
            page.paragraph(f"{', '.join(names)}: {why}", 2)
        return
    total = sum(len(names) for _, names in skipped)
    reasons = [f"{why} ({len(names)})" if names[1:] else why for why, names in skipped]
    text = _phrases.listing(reasons, 2, "; ")
    page.paragraph(f"{_phrases.count(total, 'check')} not made: {text}", 2)


def _closing(page: Page, document: dict[str, Any]) -> None:
    status = document["verdict"]["status"]
    page.gap()
    page.line((status.upper(), _VERDICT_STYLES.get(status, "")), "  ", _totals(page, document))
    commands = []
    if not page.verbose and (more := _more(document)):
        commands.append(("add -v", more))
    if _outline.capture_advised(document):
        commands.append((_outline.CAPTURE, "the whole log: this one is cut off"))
    if status == "unjudged":
        path = document["bad"]["logs"][-1]["path"] if document["bad"]["logs"] else "FILE"
        commands.append((f"logdiff inspect {_phrases.shell_word(path)}", "what is in the log"))
    page.commands(commands)


def _totals(page: Page, document: dict[str, Any]) -> str:
    if document["verdict"]["status"] == "unjudged":
        return "this is not a pass"
    roots = _outline.tree(document, "bad")
    causes = len(roots)
    items = _outline.items(document)
    counts = [
        _phrases.count(causes, "root cause") if causes else "no findings",
        _phrases.count(_outline.below(roots), "consequence") if causes else "",
        _phrases.count(len(items), "fix", "fixes") if items else "",
    ]
    text = ", ".join(part for part in counts if part)
    advised = [item for item in items if item.advised]
    if advised:
        text = f"{text}. First: {_outline.item_words(advised[0])}"
    return cut(text, page.width - len(document["verdict"]["status"]) - 2)


def _more(document: dict[str, Any]) -> str:
    """Say what the verbose report would add."""
    differences = len(document["differences"])
    parts = [
        "all evidence" if document["findings"] else "",
        _phrases.count(differences, "difference") if differences else "",
    ]
    return ", ".join(part for part in parts if part)


# Everything --------------------------------------------------------------------------------------


def _details(page: Page, document: dict[str, Any]) -> None:
    if document["findings"]:
        page.heading("Findings")
    for finding in document["findings"]:
        _finding(page, document, finding)
    if document["differences"]:
        page.heading("Differences")
        _differences(page, document["differences"])
    coverage = document["coverage"]
    if coverage["lines"]:
        rest = coverage["lines"] - coverage["recognised"] - coverage["not_understood"]
        repeated = f", {rest:,} pasted twice" if rest > 0 else ""
        page.heading("Coverage")
        page.paragraph(
            f"{coverage['recognised']:,} of {coverage['lines']:,} lines recognised, "
            f"{coverage['not_understood']:,} not understood{repeated}",
            2,
        )


def _finding(page: Page, document: dict[str, Any], finding: dict[str, Any]) -> None:
    page.gap()
    style = _SEVERITY_STYLES.get(finding["severity"], "dim")
    about = "good, " if finding["run"] == "good" else ""
    level = f"{about}{finding['severity']}, {finding['confidence']}"
    level += ", suppressed" if finding["suppressed"] else ""
    name = cut(finding["id"], page.width - len(level) - 4)
    gap = page.width - 2 - columns(name) - len(level)
    page.line("  ", (name, style), " " * gap, (level, "dim"))
    page.paragraph(finding["title"], 4, "bold")
    for part in finding["explanation"].split("\n"):
        if part.strip():
            page.paragraph(part, 4)
    _evidence(page, document, finding)
    for words, names in (
        ("caused by", finding["caused_by"]),
        ("led to", finding["consequences"]),
        ("fixed by", finding["fixes"]),
    ):
        if names:
            page.paragraph(_phrases.listing(names), 14, "dim", (f"    {words}", "dim"))


def _evidence(page: Page, document: dict[str, Any], finding: dict[str, Any]) -> None:
    """Quote all lines of a finding, up to a few lines of the page for each."""
    fixes = [fix for fix in document["fixes"] if fix["id"] in finding["fixes"]]
    options = [_outline.option(fix) for fix in fixes if fix["kind"] == "config"]
    for place in finding["evidence"]:
        ref = _phrases.reference(document, place)
        note = _phrases.witnesses(document, place)
        bare = _outline.bare_line(place["text"])
        text = _outline.excerpt(bare, (page.width - 14) * _MOST_QUOTED_LINES, options)
        style = "red" if place["run"] == "bad" else "green"
        note = f"({note})".replace(" ", _phrases.NO_BREAK) if note else ""
        page.paragraph(f"{text} {note}", 14, lead=(f"    {ref}  ", style))


def _differences(page: Page, differences: list[dict[str, Any]]) -> None:
    rows = [("fact", "good", "bad", "change")]
    for item in differences:
        fact = item["fact"]
        good, bad = (_phrases.value(item[run], fact) for run in ("good", "bad"))
        rows.append((fact, visible(good), visible(bad), _phrases.change(item)))
    widths = _column_widths(rows, page.width - 2)
    for number, row in enumerate(rows):
        cells = [pad(shorten(cell, size), size) for cell, size in zip(row, widths, strict=True)]
        page.line("  ", ("  ".join(cells), "dim" if number == 0 else ""))


def _column_widths(rows: list[tuple[str, str, str, str]], room: int) -> list[int]:
    """Give each column what it needs; where that is too much, the widest give way."""
    widths = [max(columns(row[index]) for row in rows) for index in range(4)]
    while sum(widths) + 6 > room:
        widths[widths.index(max(widths))] -= 1
    return widths
