"""The order and grouping in which a report tells its findings, fixes, proof and gaps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from logdiff.model import CONFIDENCES
from logdiff.render._columns import ELLIPSIS, columns, cut, visible
from logdiff.render._phrases import fix_words, listing, reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SHORT_TITLE = 48
_MOST_NAMES = 6
_MOST_APART = 3
"""Files that are told one by one; more of them are one item."""

Thing = dict[str, Any]
"""A part of the document: a finding, a fix, a place, …"""


class Node(NamedTuple):
    """Findings of one rule under one cause, told together, and what they led to."""

    findings: list[Thing]
    children: list[Node]

    @property
    def rule(self) -> str:
        """The rule that all of them are of."""
        return str(self.findings[0]["rule"])


class Item(NamedTuple):
    """Fixes of one kind that are done in one go."""

    fixes: list[Thing]

    @property
    def first(self) -> Thing:
        """The fix that stands for all in what they have in common."""
        return self.fixes[0]

    @property
    def advised(self) -> bool:
        """Whether nothing speaks against doing it."""
        return bool(self.first["safety"] == "safe")


# Findings ----------------------------------------------------------------------------------------


def tree(document: Thing, run: str) -> list[Node]:
    """Arrange what matters about a run below its causes; the rest is only counted."""
    findings = [item for item in document["findings"] if item["run"] == run]
    findings = [item for item in findings if not item["suppressed"]]
    parents = _parents(findings)
    shown: set[str] = set()
    loud = {finding["rule"] for finding in findings if finding["severity"] != "info"}
    for finding in findings:
        if finding["rule"] in loud:
            shown.update(_ancestry(finding["id"], parents))
    below: dict[str | None, list[Thing]] = {}
    for finding in findings:
        if finding["id"] in shown:
            below.setdefault(parents[finding["id"]], []).append(finding)
    return _nodes([None], below)


def _parents(findings: list[Thing]) -> dict[str, str | None]:
    """Give every finding the one cause under which it is told."""
    known = {finding["id"] for finding in findings}
    parents: dict[str, str | None] = {}
    for finding in findings:
        name = finding["id"]
        causes = [cause for cause in finding["caused_by"] if cause in known]
        # Rules cannot form a cycle; a hand-made document could, and must not hang.
        parents[name] = next((x for x in causes if name not in _ancestry(x, parents)), None)
    return parents


def _ancestry(name: str, parents: dict[str, str | None]) -> Iterator[str]:
    step: str | None = name
    while step is not None:
        yield step
        step = parents.get(step)


def _nodes(causes: list[str | None], below: dict[str | None, list[Thing]]) -> list[Node]:
    rules: dict[str, list[Thing]] = {}
    for cause in causes:
        for finding in below.get(cause, ()):
            rules.setdefault(finding["rule"], []).append(finding)
    return [Node(group, _nodes([item["id"] for item in group], below)) for group in rules.values()]


def size(nodes: Iterable[Node]) -> int:
    """Count the findings in a tree."""
    return sum(len(node.findings) + size(node.children) for node in nodes)


def below(nodes: Iterable[Node]) -> int:
    """Count the kinds of findings that follow from the roots of a tree."""
    return sum(len(node.children) + below(node.children) for node in nodes)


def quiet(document: Thing) -> int:
    """Count the findings that no tree shows."""
    alive = [item for item in document["findings"] if not item["suppressed"]]
    return len(alive) - size(tree(document, "bad")) - size(tree(document, "good"))


def told(node: Node, document: Thing) -> str:
    """Tell the findings of a node in one sentence: what, how sure, and a line that proves it."""
    if len(node.findings) > 1:
        return _folded(node.findings)
    finding = node.findings[0]
    notes = [] if finding["confidence"] == "certain" else [finding["confidence"]]
    # What is absent from the run it is about can only be shown in the other one.
    places = sorted(finding["evidence"], key=lambda place: bool(place["run"] != finding["run"]))
    notes.extend(reference(document, place) for place in places[:1])
    title = finding["title"] or finding["subject"] or ""
    return f"{title} ({', '.join(notes)})" if notes else title


def _folded(findings: list[Thing]) -> str:
    """Tell several findings of one rule: what their titles share, then whom each is about."""
    groups = {}
    for confidence in CONFIDENCES:
        group = [item for item in findings if item["confidence"] == confidence]
        if group:
            groups[confidence] = listing(_names(group), _MOST_NAMES)
    shared = "" if _short(findings) else _shared([item["title"].split() for item in findings])
    # As elsewhere, only what is less than certain is marked.
    only = next(iter(groups)) if len(groups) == 1 else ""
    if only:
        text, mark = groups[only], "" if only == "certain" else f" ({only})"
        return f"{len(findings)} × {shared}{mark}: {text}" if shared else f"{text}{mark}"
    parts = [text if sure == "certain" else f"{sure}: {text}" for sure, text in groups.items()]
    text = "; ".join(parts)
    return f"{len(findings)} × {shared}: {text}" if shared else text


def _names(findings: list[Thing]) -> list[str]:
    """Name findings of one rule: by their titles where these are short, else by their subjects."""
    short = _short(findings)
    names = (item["title"] if short else item["subject"] or item["title"] for item in findings)
    return list(dict.fromkeys(names))


def _short(findings: list[Thing]) -> bool:
    """Whether most titles are no longer than a name."""
    lengths = sorted(len(finding["title"]) for finding in findings)
    return lengths[len(lengths) // 2] <= _SHORT_TITLE


def _shared(titles: list[list[str]]) -> str:
    """Give the words with which all titles begin and end, ``…`` for what differs."""
    shortest = min(map(len, titles))
    before = 0
    while before < shortest and len({title[before] for title in titles}) == 1:
        before += 1
    behind = 0
    while behind < shortest - before and len({title[-1 - behind] for title in titles}) == 1:
        behind += 1
    if before + behind < 2:
        return ""
    words = titles[0]
    gap = [ELLIPSIS] if before + behind < max(map(len, titles)) else []
    text = " ".join([*words[:before], *gap, *words[len(words) - behind :]])
    return text.removesuffix(ELLIPSIS).rstrip(" :,") if not behind else text


# Fixes -------------------------------------------------------------------------------------------


def items(document: Thing) -> list[Item]:
    """Group the fixes that are one action for the user; what is not advised comes last."""
    groups: dict[tuple[object, ...], Item] = {}
    files = sum(fix["action"] == "stop-deploying" for fix in document["fixes"])
    for fix in sorted(document["fixes"], key=lambda fix: bool(fix["safety"] != "safe")):
        groups.setdefault(_group(fix, files), Item([])).fixes.append(fix)
    return list(groups.values())


def _group(fix: Thing, files: int) -> tuple[object, ...]:
    common = (fix["kind"], fix["file"], fix["confidence"], fix["safety"])
    reason = "" if fix["safety"] == "safe" else fix["reason"]
    if fix["kind"] == "config":
        return (*common, reason)
    if fix["action"] == "stop-deploying" and files > _MOST_APART:
        return (*common, fix["action"], reason)
    return (fix["id"],)


def item_words(item: Item, mark: Callable[[str], str] = str) -> str:
    """Say what an item changes; ``mark`` marks what somebody types."""
    if item.first["action"] == "stop-deploying" and len(item.fixes) > 1:
        keys = [mark(fix["key"]) for fix in item.fixes]
        return f"stop deploying {', '.join(keys)} over the image's own files"
    return ", ".join(fix_words(fix, mark) for fix in item.fixes)


def item_place(item: Item) -> str:
    """Say where the edit is made, if the file is at hand."""
    fix = item.first
    if not fix["file"]:
        return ""
    one = len(item.fixes) == 1 and fix["line"]
    return f"{fix['file']}:{fix['line']}" if one else str(fix["file"])


def item_proof(document: Thing, item: Item) -> list[Thing]:
    """Give one line of each run that proves an item, bad first."""
    places = [place for fix in item.fixes for place in _fix_places(document, fix)]
    found = (next((x for x in places if x["run"] == run), None) for run in ("bad", "good"))
    return [place for place in found if place]


def _fix_places(document: Thing, fix: Thing) -> list[Thing]:
    facts = {f"{source}.{option(fix)}" for source in ("args", "engine_config")}
    places = [
        place
        for difference in document["differences"]
        if fix["kind"] == "config" and difference["fact"] in facts
        for place in difference["evidence"]
    ]
    for finding in document["findings"]:
        if fix["id"] in finding["fixes"]:
            places.extend(finding["evidence"])
    # A finding about several files proves each with other lines.
    name = fix["key"].rsplit("/", 1)[-1]
    return sorted(places, key=lambda x: fix["kind"] != "config" and name not in x["text"])


def option(fix: Thing) -> str:
    """Give an option's name as logs print it: ``max_num_seqs`` of ``--max-num-seqs``."""
    return str(fix["key"]).lstrip("-").replace("-", "_")


def confirmations(item: Item) -> list[str]:
    """Give the lines that a run with the fixes will print."""
    lines = (fix["confirm_by"] for fix in item.fixes)
    return list(dict.fromkeys(line for line in lines if line))


# Quoted lines ------------------------------------------------------------------------------------

_ENVELOPE = re.compile(
    r"(?:[\w.-]+ +\| )?"
    r"(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d) (?:std(?:out|err) [FP] )?)?"
    r"(?:\([^()]*\bpid=\d+\) )*"
)
_LOG_HEAD = re.compile(
    r"(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (?:\d{4}-)?\d\d-\d\d [\d:.,]+ )?"
    r"\[?([\w./-]+:\d+)\] ?"
)


def message(text: str) -> str:
    """Drop what a transport and a logger put before a message, but keep the source line."""
    bare = text[_envelope_end(text) :]
    match = _LOG_HEAD.match(bare)
    return f"{match[1]} {bare[match.end() :]}" if match else bare or text


def bare_line(text: str) -> str:
    """Drop only what the transport and the worker's name put before a line."""
    return text[_envelope_end(text) :] or text


def _envelope_end(text: str) -> int:
    match = _ENVELOPE.match(text)
    return match.end() if match else 0


def excerpt(text: str, width: int, options: Iterable[str] = ()) -> str:
    """Fit a line in a width; of a long list of options only the named ones are kept."""
    text = visible(text).strip()
    if columns(text) <= width:
        return text
    values = [found for name in options for found in _assignments(name, text)]
    if not values:
        return cut(text, width)
    kept = ELLIPSIS
    for value in dict.fromkeys(values):
        # Half a value proves nothing: one that does not fit is left out.
        if columns(kept) + columns(value) + 2 <= width:
            kept += f"{value} {ELLIPSIS}"
    return kept if len(kept) > 1 else cut(f"{kept}{values[0]}", width)


def _assignments(name: str, text: str) -> list[str]:
    pattern = rf"(?<!\w)['\"]?{re.escape(name)}['\"]?(?:=|: )(?:'[^']*'|\"[^\"]*\"|[^,)}}\s]+)"
    match = re.search(pattern, text)
    return [match[0]] if match else []


CAPTURE = "docker logs -t NAME > bad.log 2>&1"
"""How a log is saved with its times and to its end."""

# What is not known -------------------------------------------------------------------------------


def gaps(document: Thing) -> list[tuple[str, list[str]]]:
    """Give what the run did not reach, grouped by the reason."""
    reasons: dict[str, list[str]] = {}
    for gap in document["coverage"]["not_reached"]:
        reasons.setdefault(gap["why"], []).append(gap["what"] or gap["fact"])
    return [(why, list(dict.fromkeys(names))) for why, names in reasons.items()]


def unjudged(document: Thing) -> list[tuple[str, list[str]]]:
    """Give the rules that could not be judged, grouped by the reason, most rules first."""
    reasons: dict[str, list[str]] = {}
    for gap in document["coverage"]["not_judged"]:
        reasons.setdefault(gap["why"], []).append(gap.get("rule") or gap.get("fact") or "")
    return sorted(reasons.items(), key=lambda pair: -len(pair[1]))


def capture_advised(document: Thing) -> bool:
    """Whether a longer log would say more: the bad one ends before its server served."""
    bad = document["bad"]
    cut_off = bool(bad["logs"]) and bad["logs"][-1]["truncated"]
    return bool(cut_off and (bad["reached"] != "serving" or document["coverage"]["not_reached"]))
