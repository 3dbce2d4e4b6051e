"""What the files of a submission say, as facts of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.arguments import plain
from logdiff.facts import without_secrets
from logdiff.model import Entry, Evidence
from logdiff.redact import harmless
from logdiff.submission.deployments import last_part
from logdiff.submission.places import is_backup, layer_of, module_of
from logdiff.submission.remarks import contradictions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from logdiff.model import Life
    from logdiff.submission.deployments import Deployment
    from logdiff.submission.files import PatchFile, Submission
    from logdiff.submission.model import Argument, TextFile
    from logdiff.submission.packages import PackageChange


def set_submission(life: Life, submission: Submission) -> None:
    """Add what the files of a submission say to the facts of a start of its server."""
    if submission.launch:
        _set_launch(life, submission)
    if submission.base_image:
        image, file, offset = submission.base_image
        _set(life, "base_image", image, [_line(file, offset)])
    if submission.patches:
        placed = [
            _deployment(patch, found) for patch in submission.patches for found in patch.deployments
        ]
        _set(life, "deployments", placed)
        changed = [
            _package(patch, found) for patch in submission.patches for found in patch.packages
        ]
        _set(life, "package_changes", changed)
        _set(life, "contradictions", list(_contradictions(submission.patches)))


def _set(life: Life, name: str, value: Any, evidence: Iterable[Evidence] = ()) -> None:
    life.facts[name] = without_secrets(value)
    life.evidence[name] = list(evidence)


def _line(file: TextFile, offset: int, focus: str = "") -> Evidence:
    return Evidence(file.mark(offset), 1, (), focus, file.path)


def _set_launch(life: Life, submission: Submission) -> None:
    config = submission.launch
    assert config is not None  # asked by the caller
    value = {"path": config.file.path, "kind": config.kind, "service": config.name or None}
    starts = config.program_span or (config.arguments[0].span if config.arguments else None)
    _set(life, "launch_file", value, [_line(config.file, starts.start)] if starts else [])
    for argument in config.arguments:
        fact = f"launch_args.{argument.name}"
        life.facts[fact] = harmless(argument.name, _given(argument))
        life.evidence[fact] = [_line(config.file, argument.span.start, argument.flag)]
    variables = [(variable, config.file) for variable in config.environment]
    for variable, file in [*submission.environment, *variables]:
        fact = f"launch_env.{variable.name}"
        life.facts[fact] = harmless(variable.name, variable.value)
        life.evidence[fact] = [_line(file, variable.span.start, variable.name)]


def _given(argument: Argument) -> str | bool | float:
    """The value of an argument; a default that may have been overridden is not written out."""
    return f"${{…:-{argument.value}}}" if argument.assumed else plain(argument.value)


def _deployment(patch: PatchFile, found: Deployment) -> Entry:
    module = module_of(found.destination) if found.destination else None
    name = last_part(found.destination) if found.destination else None
    values = {
        "source": found.source,
        "destination": found.destination,
        "file": name,
        "module": module.path if module else None,
        "layer": module.layer if module else _layer_outside(found.destination or ""),
        "how": found.how,
        "script": patch.file.path,
        "line": found.line,
        "guards": list(found.guards),
        "swallowed": found.swallowed,
        "silenced": found.command.silenced,
    }
    return Entry(values, _proof(patch, found))


def _layer_outside(path: str) -> str:
    """The layer of a file outside of any package: a template serves, whatever its folder."""
    if is_backup(path):
        return "backup"
    return "serving" if layer_of(path) == "serving" else "other"


def _proof(patch: PatchFile, found: Deployment | PackageChange) -> list[Evidence]:
    """The element of a list that something comes from, and the command that does it."""
    starts = [found.command.span.start]
    if found.item:
        starts.insert(0, found.item.start)
    lines = [_line(patch.file, start) for start in starts]
    return list({evidence.mark: evidence for evidence in lines}.values())


def _package(patch: PatchFile, found: PackageChange) -> Entry:
    values = {
        "package": found.distribution,
        "action": found.action,
        "specifier": found.specifier,
        "source": found.source,
        "dependencies": found.dependencies,
        "manager": found.manager,
        "script": patch.file.path,
        "line": found.line,
        "swallowed": found.swallowed,
    }
    return Entry(values, _proof(patch, found))


def _contradictions(patches: Iterable[PatchFile]) -> Iterator[Entry]:
    for patch in patches:
        for found in contradictions(patch.file, patch.remarks, patch.deployments):
            values = {
                "text": found.remark.text,
                "says": found.says,
                "files": list(found.files),
                "script": patch.file.path,
                "line": patch.file.line(found.remark.span.start),
            }
            proof = [_line(patch.file, found.remark.span.start)]
            proof += [e for deployment in found.deployments for e in _proof(patch, deployment)]
            yield Entry(values, list({evidence.mark: evidence for evidence in proof}.values()))
