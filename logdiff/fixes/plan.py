"""Which of a report's fixes become edits of the submission's files, and why the others do not."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from logdiff import arguments, combinations
from logdiff.fixes import launch_edits, script_edits
from logdiff.fixes.edits import EditRefusedError, apply_edits, unified_diff
from logdiff.submission.deployments import last_part
from logdiff.submission.files import read_patch
from logdiff.submission.launch import read_launch
from logdiff.submission.launch.arguments import canonical
from logdiff.submission.model import SubmissionError, TextFile
from logdiff.submission.places import module_of
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from logdiff.fixes.edits import Edit
    from logdiff.fixes.script_edits import Act
    from logdiff.model import Fix, Report, Run
    from logdiff.submission.files import PatchFile, Submission
    from logdiff.submission.launch import LaunchConfig

_OF_DOCKER = frozenset(("--shm-size", "--ipc", "--memory", "--gpus"))
"""Options of docker, not of the server."""


class Step(NamedTuple):
    """A fix, and what becomes of it."""

    fix: Fix
    path: str | None
    """The file that it changes."""
    line: int | None
    """The first line of it that it changes, as the file is now."""
    left_out: str | None
    """Why it is not made; None where it is."""


class Plan(NamedTuple):
    """All fixes, and the files as they will be."""

    steps: list[Step]
    files: dict[str, bytes]
    """New content of each file that changes."""


class Disagreement(NamedTuple):
    """An argument that the launch file gives otherwise than the log says the engine got it."""

    flag: str
    line: int
    in_file: str
    in_log: str


def chosen(report: Report, rules: Sequence[str]) -> list[Fix]:
    """The fixes of a report, in its order; only those that findings of some rules ask for."""
    if not rules:
        return report.fixes
    wanted = {fix for finding in report.findings if finding.rule in rules for fix in finding.fixes}
    return [fix for fix in report.fixes if fix.id in wanted]


def alternatives(report: Report) -> dict[str, str]:
    """Fixes that are only possible where each finding that asks for one knows a surer one.

    They are other ways to the same end, and one patch must not go them all at once.

    Returns:
        What it says of each, by the id of the fix.
    """
    fixes = {fix.id: fix for fix in report.fixes}
    surer: dict[str, list[Fix | None]] = {}
    for finding in report.findings:
        asked = [fixes[name] for name in finding.fixes]
        sure = [fix for fix in asked if fix.safety == "safe" and fix.confidence != "possible"]
        for fix in asked:
            if fix.confidence == "possible" and fix.safety == "safe":
                surer.setdefault(fix.id, []).append(sure[0] if sure else None)
    return {
        name: f"another way than {known[0].key}, and only possible: {fixes[name].reason}"
        for name, known in surer.items()
        if known[0] and all(known)
    }


def make(
    fixes: Sequence[Fix],
    submission: Submission,
    *,
    unsafe: bool,
    other_ways: Mapping[str, str] | None = None,
) -> Plan:
    """What is made of some fixes in the files of a submission.

    Args:
        fixes: in the order in which they are to be done.
        submission: the files.
        unsafe: whether those are made, too, that the evidence speaks against, and other ways.
        other_ways: what ``alternatives`` gives.
    """
    conflicts = _conflicts(fixes)
    against = {} if unsafe else _not_advised(fixes, other_ways or {})
    plan = _made(fixes, submission, conflicts, against)
    together = _against_each_other(plan, submission)
    return _made(fixes, submission, conflicts | together, against) if together else plan


def annotate(report: Report) -> None:
    """Give each fix of a report the file, the line and the diff of its edit, where it has one."""
    submission = report.bad.submission
    if not submission:
        return
    _, names = names_in_patch(submission.files)
    for fix in report.fixes:
        files = _Files(submission)
        try:
            paths = _edit(fix, files)
        except EditRefusedError:
            continue
        if paths:
            fix.file = paths[0]
            fix.line = _first_change(submission.files[paths[0]].data, files.data[paths[0]])
            fix.diff = "".join(
                unified_diff(names[path], submission.files[path].data, files.data[path]).decode(
                    "utf-8", "replace"
                )
                for path in paths
            )


def names_in_patch(paths: Iterable[str]) -> tuple[str | None, dict[str, str]]:
    """What a patch calls some files.

    Returns:
        The folder that the names begin in, None for the current one, and the name of each path.
        The current folder is taken where all files are below it.
    """
    known = list(paths)
    names = {path: os.path.relpath(path).replace(os.sep, "/") for path in known}
    if not any(name.startswith("../") for name in names.values()):
        return None, names
    base = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in known])
    return base, {path: os.path.relpath(path, base).replace(os.sep, "/") for path in known}


class _Files:
    """The files of a submission while fix after fix is made in them."""

    def __init__(self, submission: Submission) -> None:
        self.submission = submission
        self.data = {path: file.data for path, file in submission.files.items()}

    def text_file(self, path: str) -> TextFile:
        return TextFile(path, self.data[path])

    def launch(self) -> LaunchConfig | None:
        """The server of the launch file, as it is by now."""
        first = self.submission.launch
        if first is None:
            return None
        file = self.text_file(first.file.path)
        if file.data == first.file.data:
            return first
        alike = [start for start in read_launch(file) if start.name == first.name]
        index = [s for s in self.submission.launches if _is_beside(s, first)].index(first)
        return alike[index]

    def patches(self) -> list[PatchFile]:
        """Patch scripts and Dockerfiles, as they are by now."""
        return [
            patch
            if self.data[patch.file.path] == patch.file.data
            else read_patch(self.text_file(patch.file.path), patch.kind)
            for patch in self.submission.patches
        ]


def _is_beside(one: LaunchConfig, other: LaunchConfig) -> bool:
    return one.file.path == other.file.path and one.name == other.name


def _made(
    fixes: Sequence[Fix],
    submission: Submission,
    conflicts: Mapping[str, str],
    against: Mapping[str, str],
) -> Plan:
    files = _Files(submission)
    steps = []
    for fix in fixes:
        why = conflicts.get(fix.id)
        if why:
            steps.append(Step(fix, None, None, why))
        elif fix.id in against:
            steps.append(_left_out(fix, files, against[fix.id]))
        else:
            steps.append(_step(fix, files))
    changed = {
        path: data for path, data in files.data.items() if data != submission.files[path].data
    }
    return Plan(steps, changed)


def _not_advised(fixes: Sequence[Fix], other_ways: Mapping[str, str]) -> dict[str, str]:
    unsafe = {fix.id: f"not advised: {fix.reason}" for fix in fixes if fix.safety != "safe"}
    return dict(other_ways) | unsafe


def _left_out(fix: Fix, files: _Files, why: str) -> Step:
    """Why a fix is not made, and whether it could be."""
    before = dict(files.data)
    step = _step(fix, files)
    files.data = before
    return Step(fix, None, None, f"{why} (--unsafe writes it)" if step.path else why)


def _step(fix: Fix, files: _Files) -> Step:
    before = dict(files.data)
    try:
        paths = _edit(fix, files)
    except EditRefusedError as error:
        files.data = before
        return Step(fix, None, None, error.message)
    if paths is None:
        return Step(fix, None, None, f"by hand: {fix.reason or 'no file of it is at hand'}")
    if not paths:
        return Step(fix, None, None, "the file says so already")
    path = paths[0]
    original = files.submission.files[path].data
    line = _line_in_original(original, before[path], files.data[path])
    return Step(fix, path, line, None)


def _line_in_original(original: bytes, before: bytes, after: bytes) -> int:
    """The line of the file as it is on disk at which a change of an edited copy begins."""
    line = _first_change(before, after)
    if before == original:
        return line
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, before.split(b"\n"), original.split(b"\n"), autojunk=False)
    for start, there, length in matcher.get_matching_blocks():
        if start <= line - 1 < start + length:
            return there + line - start
    return line


def _first_change(before: bytes, after: bytes) -> int:
    """The first line of some bytes that others do not have there."""
    one, other = before.split(b"\n"), after.split(b"\n")
    pairs = enumerate(zip(one, other, strict=False), 1)
    return next((line for line, (left, right) in pairs if left != right), min(len(one), len(other)))


# One fix


def _edit(fix: Fix, files: _Files) -> list[str] | None:
    """Make a fix in the files; the paths that it changes, None where no file is for it."""
    if fix.kind in ("config", "env"):
        config = files.launch()
        if config is None or not _is_definite(fix):
            return None
        path = config.file.path
        return _changed(files, {path: apply_edits(files.data[path], _launch_edits(fix, config))})
    if fix.kind == "patch" and fix.action == "stop-deploying":
        done = _without(files, lambda act: _is_deployment_of(act, fix.key))
        if done is None and files.submission.patches:
            raise EditRefusedError(f"no file at hand deploys {fix.key}")
        return done
    if fix.kind == "package" and fix.action == "restore":
        return _without(files, lambda act: getattr(act, "distribution", None) == fix.key)
    if fix.kind == "patch" and fix.action == "remove":
        name, _, line = fix.key.rpartition(":")
        new = {
            patch.file.path: script_edits.without_excuse(patch, int(line))
            for patch in files.patches()
            if os.path.basename(patch.file.path) == name and line.isdigit()
        }
        return _changed(files, new) if new else None
    return None


def _changed(files: _Files, new: Mapping[str, bytes]) -> list[str]:
    paths = [path for path, data in new.items() if data != files.data[path]]
    files.data.update(new)
    return paths


def _without(files: _Files, unwanted: Any) -> list[str] | None:
    """Take something out of every script and Dockerfile that does it."""
    if not files.submission.patches:
        return None
    done = files.submission.patches
    if not any(unwanted(act) for patch in done for act in (*patch.deployments, *patch.packages)):
        return None
    return _changed(
        files, {p.file.path: script_edits.without(p, unwanted) for p in files.patches()}
    )


def _is_deployment_of(act: Act, key: str) -> bool:
    """Whether something puts the file of a fix into the image: by its name, or its module."""
    destination = getattr(act, "destination", None)
    how = getattr(act, "how", "")
    if not destination or how in ("script", "patch", "extract"):
        return False
    module = module_of(destination)
    return key in (last_part(destination), destination, module.path if module else None)


def _is_definite(fix: Fix) -> bool:
    return fix.action in ("remove", "add") or fix.new is not None


def _launch_edits(fix: Fix, config: LaunchConfig) -> list[Edit]:
    if fix.kind == "env":
        if fix.action == "remove":
            return launch_edits.remove_variable(config, fix.key)
        return launch_edits.set_variable(config, fix.key, typed(fix.new))
    if not fix.key.startswith("-") or fix.key in _OF_DOCKER:
        raise EditRefusedError(f"by hand: {fix.key}: {fix.reason}")
    if fix.action == "remove":
        return launch_edits.remove_argument(config, fix.key)
    value = None if fix.new in (None, True) else typed(fix.new)
    return launch_edits.set_argument(config, fix.key, value)


def typed(value: Any) -> str:
    """A value as it is typed behind a flag or a variable."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


# Fixes beside each other


def _conflicts(fixes: Sequence[Fix]) -> dict[str, str]:
    """Fixes that want different things of one key, each with the reason why it is left out."""
    by_target: dict[tuple[str, str], list[Fix]] = {}
    for fix in fixes:
        name = canonical(fix.key) if fix.kind == "config" else fix.key
        by_target.setdefault((fix.kind, name), []).append(fix)
    return {
        fix.id: "conflict: "
        + " and ".join(f"{other.action} {other.key} {typed(other.new)}" for other in group)
        + " want different things of one option; choose one with --only"
        for group in by_target.values()
        if len({(fix.action, typed(fix.new)) for fix in group}) > 1
        for fix in group
    }


def _against_each_other(plan: Plan, submission: Submission) -> dict[str, str]:
    """Fixes that only together make a launch file that cannot start."""
    first = submission.launch
    if first is None or first.file.path not in plan.files:
        return {}
    file = TextFile(first.file.path, plan.files[first.file.path])
    try:
        after = [start for start in read_launch(file) if start.name == first.name]
    except SubmissionError:
        return {}
    known = {wrong["why"] for wrong in combinations.invalid(_values(first))}
    found = {}
    for config in after:
        for wrong in combinations.invalid(_values(config)):
            if wrong["why"] in known:
                continue
            for step in plan.steps:
                if step.path and canonical(step.fix.key) in wrong["names"]:
                    found[step.fix.id] = f"conflict: with the other fixes {wrong['why']}"
    return found


def _values(config: LaunchConfig) -> dict[str, Any]:
    return {argument.name: arguments.plain(argument.value) for argument in config.arguments}


# The launch file and the log


def disagreements(config: LaunchConfig, run: Run, fixes: Iterable[Fix]) -> list[Disagreement]:
    """Where the log says that the engine got something else than the launch file gives.

    Compared are plain values only: what a server prints of lists and objects is its own. What a
    fix asks for may be in the file already.
    """
    wanted = {canonical(fix.key): fix.new for fix in fixes if fix.kind == "config"}
    found = []
    for argument in config.arguments:
        logged = run.facts.get(f"args.{argument.name}")
        if argument.name in wanted and arguments.is_same(argument.value, wanted[argument.name]):
            continue
        if argument.assumed or not arguments.is_comparable(argument.value, logged):
            continue
        if not arguments.is_same(argument.value, logged):
            line = config.file.line(argument.span.start)
            flag = argument.flag or argument.name
            found.append(Disagreement(flag, line, typed(argument.value), typed(logged)))
    return found
