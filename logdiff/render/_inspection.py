"""What ``logdiff inspect`` found, on a terminal: files, runs, starts, main figures."""

from __future__ import annotations

from typing import Any

from logdiff.render import Options, _phrases
from logdiff.render._columns import ELLIPSIS, columns, pad, shorten, tail, visible, wrap
from logdiff.render._page import Page

_KINDS = {
    "attention": "attention",
    "moe": "experts",
    "gdn": "linear attn.",
    "quantisation": "quantisation",
    "all_reduce": "all-reduce",
}
"""Kinds of operators, and what the table calls them."""
_NAME_WIDTH = 16
_MOST_COLUMNS = 3
"""Runs that stand side by side."""


def render(inspection: dict[str, Any], options: Options) -> str:
    """Say what is in some logs, and what can be asked about them next."""
    page = Page(options)
    for log in inspection["logs"]:
        _inspected_log(page, log)
    _backends(page, inspection["backends"])
    page.gap()
    page.commands(_inspection_commands(inspection))
    return page.text()


def _inspected_log(page: Page, log: dict[str, Any]) -> None:
    page.gap()
    sections = log["sections"]
    size = "" if log["bytes"] is None else f", {_phrases.size(log['bytes'])}"
    several = f", {len(sections)} runs in one file" if len(sections) > 1 else ""
    page.paragraph(f"{log['path']}{size}{several}", 0, "bold")
    for error in log["read_errors"]:
        line = f"line {error['line']}: " if error["line"] else ""
        page.paragraph(f"{line}{error['message']}", 2, "yellow")
    if not (sections or log["read_errors"]):
        page.line("  nothing in it")
    for section in sections:
        _inspected_section(page, section)


def _backends(page: Page, rows: list[dict[str, Any]]) -> None:
    """Show what computes in each run: a column a run, a line a kind of operator."""
    for first in range(0, len(rows), _MOST_COLUMNS):
        shown = rows[first : first + _MOST_COLUMNS]
        width = (page.width - _NAME_WIDTH) // len(shown) - 2
        page.gap()
        names = [pad(_run_name(row["run"], width), width + 2) for row in shown]
        page.line((pad("Backends", _NAME_WIDTH), "bold"), *((name, "bold") for name in names))
        for kind in (kind for kind in _KINDS if any(row[kind] for row in shown)):
            cells = [wrap(visible(row[kind] or "–"), width) for row in shown]
            for number in range(max(map(len, cells))):
                name = _KINDS[kind] if number == 0 else ""
                parts = [cell[number] if number < len(cell) else "" for cell in cells]
                page.line((pad(f"  {name}", _NAME_WIDTH), "dim"),
                          *(pad(part, width + 2) for part in parts))  # fmt: skip


def _run_name(path: str, width: int) -> str:
    """The name of a run, of which the end tells most."""
    name = visible(path)
    if columns(name) > width:
        name = name.rpartition("/")[2]
    return name if columns(name) <= width else ELLIPSIS + tail(name, width - 1)


def _inspected_section(page: Page, section: dict[str, Any]) -> None:
    log = section["logs"][-1]
    lines = f"lines {section['first_line']}–{section['last_line']}"
    parts = [lines, _span(log["started"], log["ended"])]
    kind = "" if log["kind"] == "unknown" else log["kind"]
    envelope = "" if log["envelope"] == "none" else log["envelope"].replace("_", " ")
    parts.append(", ".join(part for part in (kind, envelope) if part))
    page.gap()
    page.paragraph(", ".join(part for part in parts if part), 6, lead=f"  #{section['number']}")
    if section["heading"]:
        page.line(" " * 6, ("heading  ", "dim"), shorten(section["heading"], page.width - 15))
    page.paragraph(_phrases.run_summary(section), 6)
    _facts(page, section["facts"], 6)
    if len(section["lives"]) > 1:
        for life in section["lives"]:
            _inspected_life(page, life, len(section["lives"]))


def _inspected_life(page: Page, life: dict[str, Any], lives: int) -> None:
    how = _phrases.how_far({**life, "logs": [{"life": life["number"], "lives": lives}]})
    lines = f"lines {life['first_line']}–{life['last_line']}"
    parts = [lines, _span(life["started"], life["ended"]), how]
    text = ", ".join(part for part in parts if part)
    page.paragraph(text, 17, lead=f"      start {life['number']}")


def _facts(page: Page, facts: dict[str, Any], indent: int) -> None:
    found = _phrases.highlights(facts)
    if page.verbose:
        widest = max(map(len, facts), default=0) + 2
        for name, fact in facts.items():
            text = visible(_phrases.value(fact, name))
            page.line(" " * indent, (name.ljust(widest), "dim"), text)
    elif found:
        page.paragraph(", ".join(found), indent)


def _span(started: str | None, ended: str | None) -> str:
    """Write a range of time, the date only once."""
    first, last = _phrases.moment(started), _phrases.moment(ended)
    day, _, time = last.rpartition(" ")
    if day and first.startswith(f"{day} "):
        last = time
    return f"{first}–{last}" if first and last else first or last


def _inspection_commands(inspection: dict[str, Any]) -> list[tuple[str, str]]:
    """Suggest what to ask next: the run that came furthest is taken for the good one."""
    servers: dict[str, int] = {}
    others: list[str] = []
    for log in inspection["logs"]:
        # What came from standard input has no name under which it could be read again.
        for section in log["sections"] if log["path"] != _phrases.STDIN else ():
            number = f"#{section['number']}" if len(log["sections"]) > 1 else ""
            name = _phrases.shell_word(f"{log['path']}{number}")
            if section["logs"][-1]["kind"] == "serve":
                servers[name] = _health(section)
            else:
                others.append(name)
    if len(servers) < 2:
        alone = list(servers) or others[: len(others) == 1]
        return [(f"logdiff diagnose {name}", "what is wrong with it") for name in alone]
    good, *_, bad = sorted(servers, key=lambda name: -servers[name])
    return [
        (f"logdiff compare {good} {bad}", "the known-good run comes first"),
        (f"logdiff diagnose {bad}", "what is wrong with that one alone"),
    ]


def _health(section: dict[str, Any]) -> int:
    facts = section["facts"]
    stages = [x for x in facts.get("stage.entered") or () if x not in ("stopped", "dead")]
    # Of two runs that came as far, the one that died or computed garbage is not the good one.
    garbled = bool((facts.get("nan") or {}).get("occurrences"))
    return len(stages) * 3 - garbled - int(section["reached"] == "dead")
