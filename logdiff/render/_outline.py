"""The order and grouping in which a report tells its findings, fixes, proof and gaps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from logdiff.model import CONFIDENCES
from logdiff.render._columns import ELLIPSIS, columns, cut, head, visible
from logdiff.render._phrases import (
    STDIN,
    count,
    deploying,
    fix_words,
    listing,
    reference,
    says_nothing,
    shell_word,
)
from logdiff.render.document import GONE
from logdiff.tuples import NamedTuple

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


class Shown(NamedTuple):
    """What was shown before the findings, and need not be told twice."""

    options: dict[str, int]
    """Launch arguments, with the number of the item that changes each."""
    lines: set[str]
    """Lines that were quoted, as they are cited."""


def told(node: Node, document: Thing, shown: Shown, *, cite: bool = True) -> str:
    """Tell the findings of a node in one sentence: what, how sure, and a line that proves it."""
    above = shown.options
    rest = [item for item in node.findings if not (item["fixes"] and item["subject"] in above)]
    if len(rest) < len(node.findings):
        numbers = sorted({above[item["subject"]] for item in node.findings if item not in rest})
        text = f"see {listing([str(number) for number in numbers], separator=' and ')} above"
        return f"{text}; also {_folded(rest, {})}" if rest else text
    if len(rest) > 1:
        return _folded(rest, _plain_names(document))
    finding = rest[0]
    notes = _of_another_start(document, finding)
    notes += [] if finding["confidence"] == "certain" else [finding["confidence"]]
    # What is absent from the run it is about can only be shown in the other one.
    places = sorted(finding["evidence"], key=lambda place: bool(place["run"] != finding["run"]))
    refs = [reference(document, place) for place in places[:1]]
    notes.extend(ref for ref in refs if cite and ref not in shown.lines)
    return noted(finding["title"] or finding["subject"] or "", ", ".join(notes))


def _of_another_start(document: Thing, finding: Thing) -> list[str]:
    """Name the start of the server that a finding is about, unless it is the one that is judged."""
    logs = document[finding["run"]]["logs"]
    judged = [log["life"] for log in logs if log["lives"] > 1]
    return [] if not judged or finding["life"] in judged else [f"start {finding['life']}"]


def noted(text: str, note: str) -> str:
    """Add a remark in brackets, to those that the text ends with if it does."""
    if not note:
        return text
    return f"{text[:-1]}, {note})" if text.endswith(")") else f"{text} ({note})"


def _plain_names(document: Thing) -> dict[str, str]:
    """Give the names that are clear without the source line behind them."""
    names = {finding["subject"] or "" for finding in document["findings"]}
    names.update(gap["what"] or "" for gap in document["coverage"]["not_reached"])
    bare: dict[str, set[str]] = {}
    for name in names:
        bare.setdefault(_without_source(name), set()).add(name)
    return {name: short for short, group in bare.items() if len(group) == 1 for name in group}


def _without_source(name: str) -> str:
    """Drop `` (file.py:7)`` at the end of a name."""
    start, _, source = name.rpartition(" (")
    number = source.removesuffix(")").rpartition(":")[2]
    return start if start and source.endswith(")") and number.isdecimal() else name


def _folded(findings: list[Thing], plain: dict[str, str]) -> str:
    """Tell several findings of one rule: what their titles share, then whom each is about."""
    if len(findings) == 1:
        sure = findings[0]["confidence"]
        return noted(findings[0]["title"], "" if sure == "certain" else sure)
    groups = {}
    for confidence in CONFIDENCES:
        group = [item for item in findings if item["confidence"] == confidence]
        if group:
            names = [plain.get(name, name) for name in _names(group)]
            groups[confidence] = listing(names, _MOST_NAMES)
    shared = "" if _short(findings) else _shared([item["title"].split() for item in findings])
    only = next(iter(groups)) if len(groups) == 1 else ""
    if only:
        # As elsewhere, only what is less than certain is marked.
        text, mark = groups[only], "" if only == "certain" else f" ({only})"
        return f"{len(findings)} × {shared}{mark}: {text}" if shared else f"{text}{mark}"
    text = "; ".join(f"{confidence}: {names}" for confidence, names in groups.items())
    return f"{len(findings)} × {shared}: {text}" if shared else text


def _names(findings: list[Thing]) -> list[str]:
    """Name findings of one rule: by their titles where these are short, else by their subjects."""
    short = _short(findings)
    names = [item["title"] if short else item["subject"] or item["title"] for item in findings]
    starts = [f"start {item['life']}" for item in findings]
    if len(set(starts)) > 1:
        # Of one thing that happened in several starts it matters in which.
        one = len(set(names)) == 1 and not short
        pairs = zip(names, starts, strict=True)
        names = starts if one else [noted(name, start) for name, start in pairs]
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
        return deploying([mark(fix["key"]) for fix in item.fixes], item.first["confidence"])
    return ", ".join(fix_words(fix, mark) for fix in item.fixes)


def item_place(item: Item) -> str:
    """Say where the edit is made, if the file is at hand."""
    fix = item.first
    if not fix["file"] or (fix["kind"], fix["action"]) == ("patch", "remove"):
        return ""  # that one is called by its place
    one = len(item.fixes) == 1 and fix["line"]
    return f"{fix['file']}:{fix['line']}" if one else str(fix["file"])


def shown_by(items: Iterable[Item], lines: set[str]) -> Shown:
    """Sum up what a list of items shows."""
    options = {
        option(fix): number
        for number, item in enumerate(items, 1)
        for fix in item.fixes
        if fix["kind"] == "config"
    }
    return Shown(options, lines)


def printed_in(document: Thing, item: Item) -> str:
    """Cite the lines of launch arguments where they only say what an item's arrows say."""
    if not (item.advised and copied(document, item)):
        return ""
    return ", ".join(reference(document, place) for place in item_proof(document, item))


def item_reasons(document: Thing, item: Item, *, everything: bool) -> list[str]:
    """Say why an item is (not) advised, unless the arrow from bad's value to good's says it."""
    if item.advised and not everything and copied(document, item):
        return []
    return list(dict.fromkeys(fix["reason"] for fix in item.fixes if fix["reason"]))


def copied(document: Thing, item: Item) -> bool:
    """Whether an item only gives launch arguments the values that they have in good."""
    return all(_copied_from(document, fix) for fix in item.fixes)


def _copied_from(document: Thing, fix: Thing) -> list[Thing]:
    """Give the difference of a launch argument that a fix does away with as good has it.

    What the engine made of its arguments is no proof: it may say the opposite of what was asked.
    """
    if fix["kind"] != "config" or says_nothing(fix):
        return []
    argument = (f"args.{option(fix)}", fix["to"])
    return [item for item in document["differences"] if (item["fact"], item["good"]) == argument]


def item_proof(document: Thing, item: Item) -> list[Thing]:
    """Give one line of each run that proves an item, bad first."""
    places = [place for fix in item.fixes for place in _fix_places(document, fix)]
    found = (next((x for x in places if x["run"] == run), None) for run in ("bad", "good"))
    return [place for place in found if place]


def _fix_places(document: Thing, fix: Thing) -> list[Thing]:
    differences = _copied_from(document, fix)
    places = [place for difference in differences for place in difference["evidence"]]
    for finding in document["findings"]:
        if fix["id"] in finding["fixes"]:
            places.extend(finding["evidence"])
    # A finding about several files proves each with other lines; where the edit is made is said
    # anyway.
    if fix["kind"] == "config":
        return places
    name = fix["key"].rsplit("/", 1)[-1]
    named = [place for place in places if name in place["text"]]
    logs = _log_paths(document)
    if named and not any(place["path"] in logs for place in named):
        return named  # what the log says of other files proves nothing of this one
    return sorted(places, key=lambda x: (name not in x["text"], x["path"] not in logs))


def _log_paths(document: Thing) -> set[str]:
    runs = [document[name] for name in ("good", "bad") if document[name]]
    return {log["path"] for run in runs for log in run["logs"]}


def option(fix: Thing) -> str:
    """Give an option's name as logs print it: ``max_num_seqs`` of ``--max-num-seqs``."""
    return str(fix["key"]).lstrip("-").replace("-", "_")


def confirmations(item: Item) -> list[str]:
    """Give the lines that a run with the fixes will print."""
    lines = (fix["confirm_by"] for fix in item.fixes)
    return list(dict.fromkeys(line for line in lines if line and not line.startswith(GONE)))


def expected(document: Thing, item: Item, *, everything: bool) -> list[str]:
    """Give the lines that will confirm an item, without what its proof shows anyway."""
    lines = [message(line) for line in confirmations(item)]
    if everything:
        return lines
    shown = [message(place["text"]) for place in item_proof(document, item)]
    lines = [line for line in lines if not any(text.startswith(line) for text in shown)]
    return lines if len(lines) == 1 else []


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


_EXCEPTION = r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Z]\w*(?:Error|Exception|Interrupt|Exit)\b)"
"""The modules in front of an exception's name."""
_AMOUNT = r"\d[\d.,]* ?[KMGT]i?B\b"
_ASSIGNMENT = r"['\"]?\b([A-Za-z_]\w*)['\"]?(?:=|: )(?:'[^']*'|\"[^\"]*\"|[^,)}\s]+)"


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


def excerpt(text: str, width: int, options: Iterable[str] = (), *, verbatim: bool = False) -> str:
    """Fit a line in a width: of a list of options the named ones, else what has its figures.

    Args:
        text: the line.
        width: columns that it may take.
        options: names of options that matter.
        verbatim: keep whatever one may search the log for, even where it only takes room.
    """
    text = visible(text).strip()
    if columns(text) <= width:
        return text
    found = _assignments(text) if options else {}
    values = [found[name] for name in dict.fromkeys(options) if name in found]
    if not values:
        return _figures_kept(text if verbatim else re.sub(_EXCEPTION, "", text), width)
    kept = ELLIPSIS
    for value in values:
        # Half a value proves nothing: one that does not fit is left out.
        if columns(kept) + columns(value) + 2 <= width:
            kept += f"{value} {ELLIPSIS}"
    return kept if len(kept) > 1 else cut(f"{kept}{values[0]}", width)


def _figures_kept(text: str, width: int) -> str:
    """Cut the end off, but keep the last amount of memory of the sentence that is cut."""
    if columns(text) <= width:
        return text
    start = text.rfind(". ", 0, len(head(text, width))) + 1
    end = text.find(". ", start)
    sentence = text[start : end if end >= 0 else None]
    amounts = list(re.finditer(_AMOUNT, sentence))
    if not amounts:
        return cut(text, width)
    figure = sentence[amounts[-1].start() :]
    room = width - columns(text[:start]) - columns(figure) - 1
    if room < 2:
        return cut(text, width)
    words = head(sentence, room).rpartition(" ")[0].rstrip()
    return f"{text[:start]}{words} {ELLIPSIS}{figure}"


def finding_options(document: Thing, finding: Thing) -> list[str]:
    """Name the launch arguments that a finding is about, as logs print them."""
    fixes = [fix for fix in document["fixes"] if fix["id"] in finding["fixes"]]
    names = [option(fix) for fix in fixes if fix["kind"] == "config"]
    flags = (word.strip("(),:;") for word in finding["title"].split() if "--" in word)
    names += [flag.lstrip("-").replace("-", "_") for flag in flags]
    return [*names, finding["subject"] or ""]


def _assignments(text: str) -> dict[str, str]:
    """Find ``name=value`` and ``'name': value`` in a line."""
    return {match[1]: match[0] for match in reversed(list(re.finditer(_ASSIGNMENT, text)))}


CAPTURE = "docker logs -t NAME > bad.log 2>&1"
"""How a log is saved with its times and to its end."""

# What is not known -------------------------------------------------------------------------------


def gaps(document: Thing) -> list[tuple[str, list[str]]]:
    """Give what the run did not reach, grouped by the reason."""
    plain = _plain_names(document)
    reasons: dict[str, list[str]] = {}
    for gap in document["coverage"]["not_reached"]:
        # What a stage is in the other run does not make it another reason.
        why = gap["why"].partition(", ")[0]
        name = gap["what"] or gap["fact"]
        reasons.setdefault(why, []).append(plain.get(name, name))
    return [(why, list(dict.fromkeys(names))) for why, names in reasons.items()]


def unjudged(document: Thing) -> list[str]:
    """Give the rules that could not be judged, those with one reason together."""
    by_reason: dict[str, list[str]] = {}
    for gap in document["coverage"]["not_judged"]:
        by_reason.setdefault(gap["why"], []).append(gap.get("rule") or gap.get("fact") or "")
    return [f"{', '.join(names)}: {why}" for why, names in by_reason.items()]


def read_errors(document: Thing) -> list[Thing]:
    """Give what could not be read as it stands, without what the verdict says already."""
    said = document["verdict"]["sentence"]
    errors = document["coverage"]["read_errors"]
    return [error for error in errors if f"{error['path']}: {error['message']}" != said]


def capture_advised(document: Thing) -> bool:
    """Whether a longer log would say more: the bad one ends before its server served."""
    bad = document["bad"]
    if bad["reached"] is None or not bad["logs"]:
        return False
    log = bad["logs"][-1]
    cut_off = log["truncated"] and log["life"] == log["lives"]
    return bool(cut_off and (bad["reached"] != "serving" or document["coverage"]["not_reached"]))


def edit_command(document: Thing) -> str | None:
    """Give the command that turns the fixes into a patch, where they are edits of files."""
    good, bad = document["good"], document["bad"]
    kinds = ("config", "env", "patch")
    edits = [f for f in document["fixes"] if f["kind"] in kinds and f["safety"] == "safe"]
    if not (good and edits) or STDIN in (good["label"], bad["label"]):
        return None
    files = list(dict.fromkeys(fix["file"] for fix in edits if fix["file"]))
    options = [f"{_option_for(path, bad)} {shell_word(path)}" for path in files]
    if not files:
        wanted = {"--patch" if fix["kind"] == "patch" else "--launch" for fix in edits}
        options = [f"{name} FILE" for name in sorted(wanted)]
    runs = [shell_word(run["label"]) for run in (good, bad)]
    return " ".join(("logdiff fix", *runs, *options))


def _option_for(path: str, run: Thing) -> str:
    launch = run["facts"].get("launch_file")
    if launch and launch["path"] == path:
        return "--launch"
    name = path.rpartition("/")[2].lower()
    return "--dockerfile" if "dockerfile" in name or "containerfile" in name else "--patch"


def to_inspect(document: Thing) -> str | None:
    """Give the log that could not be judged although it was read, if it can be read again."""
    bad = document["bad"]
    unknown = document["verdict"]["status"] == "unjudged" and bad["reached"] is None
    logs = [log for log in bad["logs"] if log["lines"] and log["path"] != STDIN]
    return logs[-1]["path"] if unknown and logs else None


# What it comes to --------------------------------------------------------------------------------


def totals(document: Thing, *, everything: bool) -> str:
    """Count what a report holds, in the words of its verdict, and name the first thing to do."""
    status = document["verdict"]["status"]
    if status == "unjudged":
        return "this is not a pass"
    plan = items(document)
    counts = _causes(document) if status == "fail" else _remarks(document, everything=everything)
    if plan:
        counts.append(count(len(plan), "fix", "fixes"))
    text = ", ".join(counts)
    advised = [item for item in plan if item.advised]
    if not advised:
        return text
    vague = says_nothing(advised[0].first)
    reason = f": {advised[0].first['reason']}" if vague else ""
    return f"{text}. First: {item_words(advised[0])}{reason}"


def _causes(document: Thing) -> list[str]:
    """Count what made a run fail and what followed from that."""
    roots = tree(document, "bad")
    causes = count(len(roots), "root cause") if roots else "no findings"
    consequences = below(roots)
    return [causes, count(consequences, "consequence")] if consequences else [causes]


def _remarks(document: Thing, *, everything: bool) -> list[str]:
    """Count the findings about a run that passes: nothing of it is the cause of a failure."""
    shown = {name: size(tree(document, name)) for name in ("bad", "good")}
    silent = quiet(document)
    found = count(shown["bad"], "finding") if shown["bad"] else "nothing above info"
    if not (shown["bad"] or silent):
        found = "no findings"
    about_good = [f"{shown['good']} about good"] if shown["good"] else []
    if not silent or shown["bad"]:
        return [found, *about_good]
    hint = "" if everything else ": -v"
    return [", ".join([found, *about_good]) + f"; {silent} at info level{hint}"]
