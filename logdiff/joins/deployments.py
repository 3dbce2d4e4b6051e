"""Which deployed files a log speaks against, and which deployments may have failed unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.compare import drifted_files, files_by_what_they_print

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from logdiff.model import Entry, Evidence, Run

    Proof = list[tuple[Run, Evidence]]

_PLACED = frozenset(("copy", "add", "install", "move", "link", "sync", "write", "edit"))
"""Ways in which a file of the image gets another content."""
_SURE = frozenset(("drift", "fallback", "nan", "operator"))
_REASONS = {
    "drift": "{file} is not the same file in the two images",
    "fallback": "it takes the slow path",
    "nan": "it puts out NaN",
    "operator": "it calls an operator that is missing",
    "exception": "it raises an exception",
    "companion": "it is put over the image's own code together with {others}",
}
_HARMLESS = frozenset(("serving",))
_INSIDE = frozenset(("model", "kernels", "engine"))
_MATTERING = _INSIDE | _HARMLESS


def replaced(good: Run | None, bad: Run) -> list[dict[str, Any]] | None:
    """Scripts that put files over the image's own, of which a log shows that they matter."""
    if bad.facts.get("deployments") is None:
        return None
    grounds = _grounds(good, bad)
    by_script: dict[str, list[Entry]] = {}
    for entry in bad.facts["deployments"]:
        if entry["file"] and entry["how"] in _PLACED:
            by_script.setdefault(entry["script"], []).append(entry)
    found = (_of_script(script, placed, grounds, good, bad) for script, placed in by_script.items())
    return [item for item in found if item]


def _grounds(good: Run | None, bad: Run) -> dict[str, dict[str, Proof]]:
    """File → what a log says against it → the lines that say so."""
    grounds: dict[str, dict[str, Proof]] = {}
    for file, proof in (drifted_files(good, bad) if good else {}).items():
        grounds.setdefault(file, {})["drift"] = proof
    for kind, file, evidence in files_by_what_they_print(bad):
        proof = grounds.setdefault(file, {}).setdefault(kind, [])
        proof += [(bad, line) for line in evidence[:1]]
    return grounds


def _of_script(
    script: str,
    placed: list[Entry],
    grounds: dict[str, dict[str, Proof]],
    good: Run | None,
    bad: Run,
) -> dict[str, Any] | None:
    implicated = [entry for entry in placed if _against(entry, grounds, bad)]
    if not implicated:
        return None
    names = {entry["file"] for entry in implicated}
    proven = sorted({entry["file"] for entry in implicated if _SURE & {*grounds[entry["file"]]}})
    keys = _keys(placed)
    theirs = _modules_of(good)
    stop: dict[str, dict[str, Any]] = {}
    for entry in implicated:
        reasons = [reason for reason in _REASONS if reason in grounds[entry["file"]]]
        _add_target(stop, keys, entry, reasons, theirs)
    for entry in placed:
        # Files of the engine that are put there together fit each other, not the image.
        if good and proven and entry["file"] not in names and entry["layer"] in _INSIDE:
            _add_target(stop, keys, entry, ["companion"], theirs, proven)
    rest = [entry for entry in placed if keys[id(entry)] not in stop]
    return {
        "script": script,
        "stop": list(stop.values()),
        "proven": proven,
        "harmless": _names(entry for entry in rest if entry["layer"] in _HARMLESS),
        "unclear": _names(entry for entry in rest if entry["layer"] not in _HARMLESS),
        "_evidence": [
            *((bad, line) for entry in implicated for line in entry.evidence),
            *(e for name in sorted(names) for proof in grounds[name].values() for e in proof[:2]),
            *(
                (bad, e.evidence[0])
                for e in placed
                if keys[id(e)] in stop and e["file"] not in names
            ),
        ],
    }


def _against(entry: Entry, grounds: dict[str, dict[str, Proof]], bad: Run) -> bool:
    """Whether a log speaks of the file that is deployed; of files of one name the path decides."""
    if entry["file"] not in grounds:
        return False
    path = (bad.facts.get("source_paths") or {}).get(entry["file"])
    return not (path and entry["module"]) or f"/{path}".endswith(f"/{entry['module']}")


def _keys(placed: list[Entry]) -> dict[int, str]:
    """What a fix calls each file: its name, or its module where several have that name."""
    modules: dict[str, set[str | None]] = {}
    for entry in placed:
        modules.setdefault(entry["file"], set()).add(entry["module"])
    return {
        id(entry): (entry["module"] or entry["destination"])
        if len(modules[entry["file"]]) > 1
        else entry["file"]
        for entry in placed
    }


def _modules_of(run: Run | None) -> frozenset[str]:
    entries = (run.facts.get("deployments") if run else None) or ()
    return frozenset(entry["module"] or entry["file"] for entry in entries if entry["file"])


def _add_target(
    stop: dict[str, dict[str, Any]],
    keys: Mapping[int, str],
    entry: Entry,
    reasons: list[str],
    theirs: frozenset[str],
    others: Iterable[str] = (),
) -> None:
    """Take a file for one whose deployment is to stop."""
    key = keys[id(entry)]
    said = [
        _REASONS[reason].format(file=entry["file"], others=", ".join(others)) for reason in reasons
    ]
    in_both = (entry["module"] or entry["file"]) in theirs
    stop.setdefault(
        key,
        {
            "key": key,
            "file": entry["file"],
            "layer": entry["layer"],
            "line": entry["line"],
            "reason": "; ".join(said) + (", but good deploys its own version of it" * in_both),
            "proven": bool(_SURE & {*reasons}) and not in_both,
            "companion": reasons == ["companion"],
            "in_both": in_both,
        },
    )


def _names(entries: Iterable[Entry]) -> list[str]:
    return list(dict.fromkeys(entry["file"] for entry in entries))


# Failures that are hidden


def swallowed(bad: Run) -> list[dict[str, Any]] | None:
    """Scripts that go on where a deployment fails, with the commands that may have failed."""
    if bad.facts.get("deployments") is None:
        return None
    scripts: dict[str, dict[tuple[int, str], list[Entry]]] = {}
    for entry in (*bad.facts["deployments"], *bad.facts["package_changes"]):
        if entry["swallowed"] and (entry.get("layer") in _MATTERING or entry.get("package")):
            lines = scripts.setdefault(entry["script"], {})
            lines.setdefault((entry["line"], entry["swallowed"]), []).append(entry)
    return [
        {
            "script": script,
            "lines": [
                {"line": line, "how": how, "files": ", ".join(map(_name, entries))}
                for (line, how), entries in lines.items()
            ],
            "files": list(dict.fromkeys(_name(e) for entries in lines.values() for e in entries)),
            "_evidence": [
                (bad, entry.evidence[-1]) for entries in lines.values() for entry in entries[:1]
            ],
        }
        for script, lines in scripts.items()
    ]


def _name(entry: Entry) -> str:
    return str(entry.get("file") or entry.get("package"))
