"""The plain words in which all formats say the same thing: values, runs, witnesses, fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.engine.functions import duration
from logdiff.render._columns import NO_BREAK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_DURING = {
    "build": "during the build",
    "import": "during its imports",
    "args": "while reading its arguments",
    "load": "while loading the model",
    "weights": "while loading the weights",
    "profile": "during profiling",
    "kv": "while sizing the KV cache",
    "serving": "while serving",
}
_AFTER = {
    "build": "after the build",
    "import": "after its imports",
    "args": "after its arguments",
    "load": "after building the model",
    "weights": "after loading the weights",
    "profile": "after profiling",
    "kv": "after sizing the KV cache",
    "serving": "while serving",
}
_NAMES = ("operator", "what", "type", "name", "template", "where")
"""Fields that name an item of a list, best first."""

_MOST_ITEMS = 4
_MOST_UNBROKEN = 44
"""Characters of a change that are kept on one line."""

STDIN = "<stdin>"
"""The path of what was read from standard input; no command can read it again."""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Say how many: ``1 fix``, ``1,762 lines``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listing(items: Sequence[str], most: int = _MOST_ITEMS, separator: str = ", ") -> str:
    """Join names, and count those that are too many to name."""
    if len(items) <= most + 1:
        return separator.join(items)
    return f"{separator.join(items[:most])} and {len(items) - most} more"


def value(item: Any, fact: str = "") -> str:
    """Write a fact's value: nothing seen, numbers without noise, lists in a few words."""
    typed = fact.startswith(("args.", "engine_config."))
    if item is None:
        return "unset" if typed else "not seen"
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int):
        # What somebody will type has no separators.
        return str(item) if typed or fact == "" else f"{item:,}"
    if isinstance(item, float):
        return f"{item:.7g}"
    if isinstance(item, dict):
        return _mapping(item, fact)
    if isinstance(item, (list, tuple)):
        return listing([_item(part, fact) for part in item]) if item else "none"
    return str(item) or '""'


def _mapping(item: dict[str, Any], fact: str) -> str:
    parts = [f"{name}: {value(part, fact)}" for name, part in item.items() if part is not None]
    return listing(parts) if parts else "none"


def _item(part: Any, fact: str) -> str:
    if isinstance(part, dict):
        name = next((part[name] for name in _NAMES if part.get(name) is not None), None)
        if name is not None:
            return str(name)
        if part.get("device") is not None:
            return f"device {part['device']}"
    return value(part, fact)


def change(difference: dict[str, Any]) -> str:
    """Write by how much a number changed, with its unit."""
    number = difference["change"]
    if number is None:
        return ""
    text = f"{number:+,}" if isinstance(number, int) else f"{number:+.7g}"
    return f"{text} {difference['unit']}" if difference["unit"] else text


def sentence(document: dict[str, Any]) -> str:
    """Give the sentence of the verdict, never an empty one."""
    verdict = document["verdict"]
    if verdict["sentence"]:
        return str(verdict["sentence"])
    return {
        "pass": "Nothing was found that makes this run fail.",
        "fail": "This run has findings of high severity.",
    }.get(verdict["status"], "Nothing in this log could be judged.")


def labels(document: dict[str, Any]) -> dict[str, str]:
    """Name the runs as the user did, without the folders that all of them are in."""
    found = {name: document[name]["label"] for name in ("bad", "good") if document[name]}
    if path := shared_file(document):
        return {name: label.removeprefix(path) for name, label in found.items()}
    shared = -1
    if len(set(found.values())) > 1:
        texts = list(found.values())
        length = min(map(len, texts))
        same = next((i for i in range(length) if len({t[i] for t in texts}) > 1), length)
        shared = texts[0].rfind("/", 0, same)
    return {name: label[shared + 1 :] for name, label in found.items()}


def shared_file(document: dict[str, Any]) -> str:
    """Give the file that both runs are sections of, if they are."""
    runs = [document[name] for name in ("bad", "good") if document[name]]
    paths = {log["path"] for run in runs for log in run["logs"]}
    path = str(paths.pop()) if len(runs) == 2 and len(paths) == 1 else ""
    return path if all(run["label"].startswith(f"{path}#") for run in runs) else ""


def role(document: dict[str, Any], run: str) -> str:
    """Name a run where its lines are cited; a run that is judged alone is not called bad."""
    return "log" if document["good"] is None and run == "bad" else run


def reference(document: dict[str, Any], place: dict[str, Any]) -> str:
    """Cite a line of a log: ``bad:38``, or of a submission file: ``patch_ops.sh:12``."""
    name = role(document, place["run"])
    run = document[place["run"]]
    if run and place["path"] not in (log["path"] for log in run["logs"]):
        of_good = "good " if place["run"] == "good" else ""
        return f"{of_good}{place['path'].rpartition('/')[2]}:{place['line']}"
    return f"{name}:{place['line']}"


def run_summary(run: dict[str, Any], *, brief: bool = False) -> str:
    """Describe a run in one sentence part: engine, workers, how far it got, what is odd."""
    engine = run["engine"]
    workers = run["facts"].get("workers")
    parts = [
        " ".join(str(part) for part in (engine["name"], engine["version"]) if part)
        or "engine not recognised",
        count(workers, "worker") if isinstance(workers, int) else "",
        how_far(run),
    ]
    oddities = _oddities(run["logs"], brief=brief)
    return "; ".join([", ".join(part for part in parts if part), *oddities])


def _oddities(logs: Iterable[dict[str, Any]], *, brief: bool) -> list[str]:
    notes = []
    for log in logs:
        if log["lives"] > 1:
            notes.append(f"started {log['lives']} times, this is start {log['life']}")
        if log["repeated_physical_lines"] and not brief:
            lines = count(log["repeated_physical_lines"], "line")
            notes.append(f"{lines} pasted twice, counted once")
    return notes


def how_far(run: dict[str, Any]) -> str:
    """Say how far a run got and how it ended: ``served 78 min, then ran out of memory``."""
    stage = run["reached"]
    if stage is None:
        return "no start of a server seen"
    if stage in ("dead", "stopped"):
        return _end(run["facts"], "stopped" if stage == "stopped" else _death(run["facts"]))
    again = any(log["life"] < log["lives"] for log in run["logs"])
    if stage == "serving":
        return f"{_served(run['facts'])} until {'it is started again' if again else 'the log ends'}"
    words = _AFTER if stage in (run["facts"].get("stage.completed") or ()) else _DURING
    return f"{'started again' if again else 'log ends'} {words.get(stage, stage)}"


def _death(facts: dict[str, Any]) -> str:
    return "ran out of memory" if facts.get("oom") else "died"


def _end(facts: dict[str, Any], how: str) -> str:
    entered = [stage for stage in facts.get("stage.entered") or () if stage in _DURING]
    if "serving" in entered:
        return f"{_served(facts)}, then {how}"
    return f"{how} {_DURING[entered[-1]]}" if entered else how


def _served(facts: dict[str, Any]) -> str:
    seconds = facts.get("serving_seconds")
    return f"served {duration(seconds)}" if isinstance(seconds, (int, float)) else "served"


def moment(text: str | None) -> str:
    """Shorten a time to the second: ``2026-07-23 02:28:45``."""
    if not text:
        return ""
    return text[:19].replace("T", " ") if text[4:5] == "-" and text[10:11] in ("T", " ") else text


def size(number: int) -> str:
    """Write a size of a file: ``677 KiB``."""
    amount = float(number)
    for unit in ("bytes", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def witnesses(document: dict[str, Any], place: dict[str, Any]) -> str:
    """Say who wrote a line and how often: ``4 of 4 workers``, ``×16, 4 of 4 workers``."""
    workers = len(place["workers"])
    who = _who(document[place["run"]], place["workers"]) if workers > 1 else ""
    if place["count"] <= max(workers, 1):
        return who
    return f"×{place['count']:,}, {who}" if who else f"×{place['count']:,}"


def _who(run: dict[str, Any] | None, names: list[str]) -> str:
    """Count those who wrote a line; the API server and the core beside its workers are none."""
    total = run["facts"].get("workers") if run else None
    others = sum(name.startswith(("APIServer", "EngineCore")) for name in names)
    servers = any(name.startswith("APIServer") for name in names)
    if servers or 0 < others < len(names) or (isinstance(total, int) and len(names) > total):
        return f"{len(names)} processes"
    return f"{len(names)} of {total} workers" if isinstance(total, int) else f"{len(names)} workers"


def fix_words(fix: dict[str, Any], mark: Callable[[str], str] = str) -> str:
    """Say what a fix changes, as short as somebody would type it; ``mark`` marks what is typed."""
    key, old, new = fix["key"], fix["from"], fix["to"]
    action = fix["action"]
    if says_nothing(fix):
        return f"change {mark(key)}"
    if action == "set" and fix["kind"] == "package" and old is None and new is not None:
        # No package is "unset": the image has some build, which the log does not name.
        return f"use {mark(f'{key} {value(new)}')}"
    if action == "set" and new is None:
        return f"change {mark(f'{key} {value(old)}')}"
    if action == "set":
        arrow = _arrow(value(old, "args."), value(new, "args."))
        together = len(key) + len(arrow) < _MOST_UNBROKEN
        return mark(f"{key}{NO_BREAK if together else ' '}{arrow}")
    if action == "stop-deploying":
        return deploying([mark(key)], fix["confidence"])
    if action == "add":
        verb = "install" if fix["kind"] == "package" else "add"
        if new is True and fix["kind"] == "config":
            arrow = _arrow("unset" if old is None else "off", "on")
            return f"add{NO_BREAK}{mark(key)}{NO_BREAK}({arrow})"
        return f"{verb} {mark(key if new in (None, True) else f'{key} {value(new)}')}"
    if action == "remove" and fix["kind"] == "patch":
        return f"take {mark(value(old))} out of {mark(key)}"
    if action == "remove":
        return f"remove {mark(key if old in (None, True) else f'{key} {value(old)}')}"
    versions = old is not None and new is not None
    return f"{action} {mark(f'{key} {_arrow(value(old), value(new))}' if versions else key)}"


def says_nothing(fix: dict[str, Any]) -> bool:
    """Whether a fix names neither a value before nor one after: only its reason says what to do."""
    return bool(fix["action"] == "set" and fix["from"] is None and fix["to"] is None)


def deploying(names: list[str], confidence: str) -> str:
    """Say what to do about files that are not the same in the two images."""
    text = ", ".join(names)
    if confidence == "possible":
        # Which of the two files is the image's own the logs cannot tell.
        return f"run the same {text} as good"
    return f"stop deploying {text} over the image's own {'files' if names[1:] else 'file'}"


def _arrow(old: str, new: str) -> str:
    # What becomes what is not to be torn apart at the end of a line.
    return f"{old}{NO_BREAK}→{NO_BREAK}{new}"


def highlights(facts: dict[str, Any]) -> list[str]:
    """Pick the figures of a run that one wants to see first."""
    found = []
    if facts.get("weights.gb") is not None:
        found.append(f"weights {value(facts['weights.gb'], 'weights.gb')} GB")
    kv = facts.get("kv") or {}
    if kv.get("capacity_tokens") is not None:
        found.append(f"KV cache for {kv['capacity_tokens']:,} tokens")
    for name, words in _COUNTED.items():
        number = _occurrences(facts.get(name))
        if number:
            found.append(count(number, words))
    http = facts.get("http")
    if http:
        found.append("HTTP " + ", ".join(f"{status} ×{http[status]:,}" for status in sorted(http)))
    return found


_COUNTED = {
    "kernels": "vendor kernel",
    "kernels.fallback": "kernel fallback",
    "nan": "NaN warning",
    "oom": "out-of-memory error",
    "exceptions": "exception",
    "modules_missing": "missing module",
    "ops_missing": "missing operator",
}


def _occurrences(fact: Any) -> int:
    if isinstance(fact, dict):
        number = fact.get("occurrences")
        return number if isinstance(number, int) else 0
    if not isinstance(fact, list):
        return 0
    return sum(item.get("occurrences") or 1 if isinstance(item, dict) else 1 for item in fact)


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+,:=@%-")


def shell_word(text: str) -> str:
    """Quote a path for a shell; ``#`` alone would not need it, but reads as a comment."""
    text = f"./{text}" if text.startswith("-") and text != "-" else text
    if text and _PLAIN.issuperset(text):
        return text
    if not text.isprintable():
        # Bash and zsh read these escapes, and no terminal obeys them.
        data = text.encode("utf-8", "surrogateescape" if _from_bytes(text) else "replace")
        return "$'" + "".join(map(_shell_byte, data)) + "'"
    if any(character in text for character in '"$`!\\'):
        return "'" + text.replace("'", "'\\''") + "'"
    return f'"{text}"'


def _from_bytes(text: str) -> bool:
    """Whether what is no character in a name stands for a byte, as Python reads file names."""
    return all("\udc80" <= x <= "\udcff" for x in text if "\ud800" <= x <= "\udfff")


def _shell_byte(byte: int) -> str:
    if byte in b"'\\":
        return f"\\{byte:c}"
    return f"{byte:c}" if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"
