"""The report on a terminal: the verdict, what to do, what happened, and the lines that say so."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from logdiff.model import SEVERITIES
from logdiff.render import Options, _outline, _phrases
from logdiff.render._columns import ELLIPSIS, NO_BREAK, columns, cut, pad, shorten, visible, wrap
from logdiff.render._page import Page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from logdiff.render._outline import Item, Node, Shown

ONE_DOCUMENT = False

_MOST_ITEMS = 6
"""Items that "Do this" shows on the first screen."""
_MOST_PROVEN_ITEMS = 3
"""Of these, the first ones are shown with their lines of evidence."""
_NARROWEST_TITLE = 30
"""A title with less room than this stands below its rule."""
_MOST_TITLE_LINES = 3
_MOST_CONSEQUENCE_LINES = 2
"""What a finding may take on the first screen; a consequence is known by its cause, unless it is
critical: a death is told with its error."""
_INDENT = 4
"""Where the grounds of an item stand."""
_MOST_QUOTED_LINES = 3
_MOST_CELL_LINES = 3
_MOST_GAPS = 3
_MOST_GAP_NAMES = 8
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
    shown = _plan(page, document)
    _story(page, document, shown)
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
    if path := _phrases.shared_file(document):
        page.line(" " * indent, shorten(path.rpartition("/")[2], page.width - indent))
    room = page.width // 3
    labels = {name: shorten(label, room) for name, label in _phrases.labels(document).items()}
    widest = max(map(columns, labels.values()))
    for name, run in runs:
        title = f"{pad(_phrases.role(document, name), 4)}  {pad(labels[name], widest)}"
        lead = f"{' ' * indent}{title}"
        summary = _phrases.run_summary(run, brief=not page.verbose)
        page.paragraph(summary, indent + columns(title) + 2, lead=lead)


def _plan(page: Page, document: dict[str, Any]) -> Shown:
    """Say what to do, and give what that shows."""
    items = _outline.items(document)
    quoted: set[str] = set()
    if not items:
        return _outline.shown_by((), quoted)
    page.heading("Do this")
    shown = items if page.verbose else items[:_MOST_ITEMS]
    kinds = max(len(item.first["kind"]) for item in shown)
    for number, item in enumerate(shown, 1):
        _item(page, document, item, number, kinds)
        _item_grounds(page, document, item, number, quoted)
    if len(items) > len(shown):
        page.line(f"    {_phrases.count(len(items) - len(shown), 'more fix', 'more fixes')}: -v")
    # Whoever asks for everything is told everything in its place.
    return _outline.shown_by(() if page.verbose else shown, set() if page.verbose else quoted)


def _item(page: Page, document: dict[str, Any], item: Item, number: int, kinds: int) -> None:
    indent = _INDENT + kinds + 2
    confidence = item.first["confidence"] if item.advised else ""
    lead = f"{number:2}  {pad(item.first['kind'], kinds)}  "
    words = _outline.item_words(item)
    words = words if item.advised else f"{words}: not advised"
    place = _outline.item_place(item)
    words = f"{words}  in {place}" if place else words
    refs = "" if page.verbose else _outline.printed_in(document, item)
    words = f"{words} ({refs})" if refs else words
    style = "bold" if item.advised else ""
    first, *rest = wrap(words, page.width - indent, page.width - indent - len(confidence) - 2)
    gap = page.width - indent - columns(first) - len(confidence)
    page.line(lead, (first, style), " " * gap, (confidence, "dim"))
    for part in rest:
        page.line(" " * indent, (part, style))


def _item_grounds(
    page: Page, document: dict[str, Any], item: Item, number: int, quoted: set[str]
) -> None:
    """Add why an item is (not) advised, what proves it and what will confirm it."""
    for reason in _outline.item_reasons(document, item, everything=page.verbose):
        page.paragraph(reason, _INDENT)
    unproven = number > _MOST_PROVEN_ITEMS or not item.advised or _outline.copied(document, item)
    if unproven and not page.verbose:
        return
    _item_proof(page, document, item, quoted)
    for fix in item.fixes if page.verbose else ():
        for line in (fix["diff"] or "").splitlines():
            page.line(" " * _INDENT, cut(line, page.width - _INDENT))


def _item_proof(page: Page, document: dict[str, Any], item: Item, quoted: set[str]) -> None:
    """Quote the lines that prove an item, and the one that a run with it will print."""
    proof = _outline.item_proof(document, item)
    refs = [_phrases.reference(document, place) for place in proof]
    if refs and not page.verbose and quoted.issuperset(refs):
        page.paragraph(f"{' and '.join(refs)}, quoted above", _INDENT)
        proof = []
    quoted.update(refs)
    expected = _outline.expected(document, item, everything=page.verbose)
    room = max(map(len, refs + ["expect"] * len(expected)), default=0)
    names = [_outline.option(fix) for fix in item.fixes if fix["kind"] == "config"]
    _quotes(page, document, proof, options=names, room=room)
    for line in expected:
        text = shorten(line, page.width - _INDENT - room - 2)
        page.line(" " * _INDENT, ("expect".ljust(room), "green"), "  ", text)


def _quotes(
    page: Page,
    document: dict[str, Any],
    places: list[dict[str, Any]],
    *,
    options: Iterable[str],
    room: int,
) -> None:
    """Quote lines, each with where it stands and who wrote it."""
    for place in places:
        ref = pad(_phrases.reference(document, place), room)
        note = _phrases.witnesses(document, place)
        space = page.width - _INDENT - columns(ref) - 2
        space -= columns(note) + 2 if note else 0
        line = _outline.message(place["text"])
        text = _outline.excerpt(line, space, options, verbatim=page.verbose)
        style = "red" if place["run"] == "bad" else "green"
        page.line(" " * _INDENT, (ref, style), "  ", text, "  ", (note, "dim"))


def _story(page: Page, document: dict[str, Any], shown: Shown) -> None:
    bad = _outline.tree(document, "bad")
    good = _outline.tree(document, "good")
    if not (bad or good):
        return
    page.heading("What happened" if bad else "Seen")
    tree = _Tree(page, document, shown)
    most = len(bad) if page.verbose else _MOST_ROOTS
    for node in bad[:most]:
        tree.draw(node, "  ● ", "    ")
    if hidden := _outline.size(bad[most:]):
        page.line((f"  {hidden} more: -v shows them", "dim"))
    for node in good:
        tree.draw(node, "  ○ ", "    ", dim=True)


class _Tree:
    """Findings below their causes."""

    def __init__(self, page: Page, document: dict[str, Any], shown: Shown) -> None:
        self._page = page
        self._document = document
        self._shown = shown

    def draw(self, node: Node, lead: str, stem: str, *, dim: bool = False) -> None:
        """Draw a node and what it led to; ``stem`` goes on below it."""
        self._tell(node, lead, stem, dim=dim)
        most = len(node.children) if self._page.verbose else _MOST_CHILDREN
        hidden = _outline.size(node.children[most:])
        for index, child in enumerate(node.children[:most]):
            last = index == len(node.children) - 1
            branch, go_on = ("└ ", "  ") if last else ("├ ", "│ ")
            self.draw(child, f"{stem}{branch}", f"{stem}{go_on}", dim=dim)
        if hidden:
            self._page.line((f"{stem}└ {hidden} more: -v shows them", "dim"))

    def _tell(self, node: Node, lead: str, stem: str, *, dim: bool) -> None:
        severity = min((item["severity"] for item in node.findings), key=SEVERITIES.index)
        style, text_style = ("dim",) * 2 if dim else (_SEVERITY_STYLES.get(severity, ""), "")
        below = stem + ("│ " if node.children else "  ")
        parts = self._title(node, len(lead), len(below))
        self._page.line((lead, style), (node.rule, style), "  ", (parts[0], text_style))
        for part in parts[1:]:
            self._page.line((below, style), (part, text_style))

    def _title(self, node: Node, lead: int, indent: int) -> list[str]:
        """Tell a node in a few lines, of which the first stands beside its rule."""
        room = self._page.width - indent
        beside = self._page.width - lead - len(node.rule) - 2
        narrow = beside < _NARROWEST_TITLE
        critical = any(finding["severity"] == "critical" for finding in node.findings)
        consequence = lead > _INDENT and not node.findings[1:] and not critical
        most = (_MOST_CONSEQUENCE_LINES if consequence else _MOST_TITLE_LINES) + narrow
        text = self._words(node, cite=True)
        for words in (text, self._words(node, cite=False)):
            parts = ["", *wrap(words, room)] if narrow else wrap(words, room, beside)
            if self._page.verbose or len(parts) <= most:
                return parts
        parts = ["", *wrap(text, room)] if narrow else wrap(text, room, beside)
        rest = " ".join(parts[most - 1 :])
        return [*parts[: most - 1], _cut_before_note(rest, room)]

    def _words(self, node: Node, *, cite: bool) -> str:
        text = _outline.told(node, self._document, self._shown, cite=cite)
        of_good = node.findings[0]["run"] == "good" and "good" not in text
        return f"in good: {text}" if of_good else text


def _cut_before_note(text: str, width: int) -> str:
    """Cut a text, but keep what stands in brackets at its end where that is short."""
    note = text[text.rfind(" (") :] if text.endswith(")") and " (" in text else ""
    if columns(note) > width // 2:
        return cut(text, width)
    return cut(text.removesuffix(note) + ELLIPSIS, width - columns(note)) + note


def _unknowns(page: Page, document: dict[str, Any]) -> None:
    """Say what the log does not show, and why; of rules only to whoever asks for everything."""
    gaps = _outline.gaps(document)
    skipped = _outline.unjudged(document) if page.verbose else []
    errors = _outline.read_errors(document)
    if gaps:
        page.heading("Not reached, so not missing")
    shown = gaps if page.verbose else gaps[:_MOST_GAPS]
    for why, names in shown:
        most = len(names) if page.verbose else _MOST_GAP_NAMES
        page.paragraph(f"{why}: {_phrases.listing(names, most)}", 2)
    if len(gaps) > len(shown):
        page.line((f"  {len(gaps) - len(shown)} more: -v shows them", "dim"))
    if errors:
        page.heading("Not read as it stands")
    for error in errors if page.verbose else errors[:2]:
        line = f":{error['line']}" if error["line"] else ""
        page.paragraph(f"{error['path']}{line}: {error['message']}", 2, "yellow")
    if skipped:
        page.heading("Not judged")
    for text in skipped:
        page.paragraph(text, 2)


def _closing(page: Page, document: dict[str, Any]) -> None:
    status = document["verdict"]["status"]
    page.gap()
    totals = _outline.totals(document, everything=page.verbose)
    text = cut(totals, page.width - len(status) - 2)
    page.line((status.upper(), _VERDICT_STYLES.get(status, "")), "  ", text)
    commands = []
    if not page.verbose and (more := _more(document)):
        commands.append(("add -v", more))
    if command := _outline.edit_command(document):
        commands.append((command, "the fixes as one patch"))
    if _outline.capture_advised(document):
        commands.append((_outline.CAPTURE, "the whole log: this one is cut off"))
    if path := _outline.to_inspect(document):
        commands.append((f"logdiff inspect {_phrases.shell_word(path)}", "what is in the log"))
    page.commands(commands)


def _more(document: dict[str, Any]) -> str:
    """Say what the verbose report would add."""
    differences = len(document["differences"])
    quiet = _outline.quiet(document)
    loud = len(document["findings"]) > quiet
    parts = [
        "all evidence" if document["findings"] else "",
        _phrases.count(quiet, "more finding" if loud else "finding") if quiet else "",
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
    options = _outline.finding_options(document, finding)
    for place in finding["evidence"]:
        ref = _phrases.reference(document, place)
        note = _phrases.witnesses(document, place)
        bare = _outline.bare_line(place["text"])
        room = (page.width - 14) * _MOST_QUOTED_LINES
        text = _outline.excerpt(bare, room, options, verbatim=True)
        style = "red" if place["run"] == "bad" else "green"
        note = f"({note})".replace(" ", NO_BREAK) if note else ""
        page.paragraph(f"{text} {note}", 14, lead=(f"    {ref}  ", style))


def _differences(page: Page, differences: list[dict[str, Any]]) -> None:
    rows = [("fact", "good", "bad")]
    for item in differences:
        fact = item["fact"]
        good, bad = (visible(_phrases.value(item[run], fact)) for run in ("good", "bad"))
        change = _phrases.change(item)
        rows.append((fact, good, f"{bad} ({change})" if change else bad))
    widths = _column_widths(rows, page.width - 6)
    for number, row in enumerate(rows):
        cells = [_cell_lines(cell, size) for cell, size in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = [pad(part, size) for part, size in zip(parts, widths, strict=True)]
            page.line("  ", ("  ".join(padded), "dim" if number == 0 else ""))


def _cell_lines(text: str, width: int) -> list[str]:
    """Break a cell into a few lines; what is longer is cut off, JSON has it all."""
    lines = wrap(text, width)
    if len(lines) <= _MOST_CELL_LINES:
        return lines
    return [*lines[: _MOST_CELL_LINES - 1], cut(" ".join(lines[_MOST_CELL_LINES - 1 :]), width)]


def _column_widths(rows: list[tuple[str, str, str]], room: int) -> list[int]:
    """Give each column what it needs; where that is too much, the widest give way."""
    widths = [max(columns(row[index]) for row in rows) for index in range(3)]
    widths[0] = min(widths[0], room // 2)
    while sum(widths) > room:
        widest = 1 if widths[1] > widths[2] else 2
        widths[widest] = max(widths[3 - widest], room - widths[0] - widths[3 - widest])
        if widths[1] == widths[2]:
            widths[1:] = [(room - widths[0]) // 2] * 2
    return widths
