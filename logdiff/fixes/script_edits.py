"""Edits of patch scripts and Dockerfiles: stop deploying a file, stop touching a package.

An edit is tried on the bytes, and the script is read again: it is right if what was to go is gone
and all else that the script does is as it was. So nothing here has to know the shell's grammar.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from logdiff.fixes.edits import Edit, EditRefusedError, apply_edits
from logdiff.submission.files import changed, placed, read_patch
from logdiff.submission.model import Span, SubmissionError, TextFile
from logdiff.submission.places import is_backup
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from logdiff.submission.deployments import Deployment
    from logdiff.submission.files import PatchFile
    from logdiff.submission.packages import PackageChange

    Act = Deployment | PackageChange  # what a script does to the image

_REST_OF_LINE = re.compile(rb"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_BLANK_BEFORE = re.compile(rb"[ \t]*\Z")


class _Acts(NamedTuple):
    """What a script does to the image."""

    placed: Counter[tuple[object, ...]]
    changed: Counter[tuple[object, ...]]


def without(patch: PatchFile, unwanted: Callable[[Act], bool]) -> bytes:
    """The script without some of what it does, and with all else.

    Args:
        patch: the script or Dockerfile.
        unwanted: says of a deployment or a change of a package whether it is to go.

    Raises:
        EditRefusedError: something cannot be taken out alone; the message says where and why.
    """
    left = len(_unwanted(patch, unwanted))
    while left:
        patch = _next(patch, unwanted)
        fewer = len(_unwanted(patch, unwanted))
        if fewer >= left:  # cannot be: every step is checked to take something out
            raise AssertionError(f"{patch.file.path}: {left} acts are left")
        left = fewer
    return patch.file.data


def without_excuse(patch: PatchFile, line: int) -> bytes:
    """The script with a command whose failure is no longer hidden.

    Raises:
        EditRefusedError: what hides it does not stand directly behind it.
    """
    acts = [act for act in _of(patch) if act.line == line]
    hidden = next((act for act in acts if act.swallowed), None)
    if hidden is None:
        return patch.file.data
    end = hidden.command.span.end
    behind = patch.file.data[end : end + 200]
    excuse = re.match(rb"[ \t]*" + re.escape(str(hidden.swallowed).encode()), behind)
    place = patch.file.place(hidden.command.span.start)
    if excuse is None:
        raise EditRefusedError(f"{place}: take '{hidden.swallowed}' out by hand")
    new = _read(patch, apply_edits(patch.file.data, [Edit(Span(end, end + excuse.end()), b"")]))
    if new is None or _acts(new) != _acts(patch):
        raise EditRefusedError(f"{place}: take '{hidden.swallowed}' out by hand")
    return new.file.data


def _of(patch: PatchFile) -> list[Act]:
    return [*patch.deployments, *patch.packages]


def _unwanted(patch: PatchFile, unwanted: Callable[[Act], bool]) -> list[Act]:
    return [act for act in _of(patch) if unwanted(act)]


def _next(patch: PatchFile, unwanted: Callable[[Act], bool]) -> PatchFile:
    """The script without one or more of its unwanted acts."""
    targets = _unwanted(patch, unwanted)
    target = max(targets, key=lambda act: act.command.span.start)
    before = _acts(patch)
    allowed = _Acts(
        Counter(placed(act) for act in patch.deployments if unwanted(act) or _is_aside(act)),
        Counter(changed(act) for act in patch.packages if unwanted(act)),
    )
    shared = any(act.command == target.command and not unwanted(act) for act in _of(patch))
    for edit in _candidates(patch.file, target, shared=shared):
        new = _read(patch, apply_edits(patch.file.data, [edit]))
        if new is None or len(_unwanted(new, unwanted)) >= len(targets):
            continue
        after = _acts(new)
        gone = _Acts(before.placed - after.placed, before.changed - after.changed)
        more = after.placed - before.placed or after.changed - before.changed
        if not more and gone.placed <= allowed.placed and gone.changed <= allowed.changed:
            return new
    place = patch.file.place(target.command.span.start)
    raise EditRefusedError(
        f"{place}: this command does more than what is to be taken out: change it by hand"
    )


def _acts(patch: PatchFile) -> _Acts:
    return _Acts(Counter(map(placed, patch.deployments)), Counter(map(changed, patch.packages)))


def _is_aside(act: Deployment) -> bool:
    """Whether something is only done for another deployment: the copy of what it replaces."""
    return bool(act.destination and is_backup(act.destination))


def _read(patch: PatchFile, data: bytes) -> PatchFile | None:
    """The script as it would be; None where it would be none any more."""
    try:
        new = read_patch(TextFile(patch.file.path, data), patch.kind)
    except SubmissionError:
        return None
    return new if new.unread_bytes <= patch.unread_bytes else None


def _candidates(file: TextFile, act: Act, *, shared: bool) -> Iterator[Edit]:
    """Ways to take an act out, the one that takes least first.

    Args:
        file: the script.
        act: what is to go.
        shared: whether its command does something else that stays.
    """
    command = act.command
    if act.item:
        yield _without_item(file, act.item)
    for word in command.words if shared else ():
        if word.text in (act.source, getattr(act, "distribution", None)):
            yield _without_item(file, word.span)
    if command.items and command.items[-1] != act.item:
        yield _without_item(file, command.items[-1])
    statement = _with_line_feed(file, command.statement)
    yield Edit(statement, b"")
    yield Edit(statement, _nothing(file, statement))
    yield Edit(command.span, b":")


def _with_line_feed(file: TextFile, span: Span) -> Span:
    """Whole lines with their ends: the shell's reader sees CRLF as two line ends."""
    cut = file.data[span.end - 1 : span.end + 1] == b"\r\n"
    return Span(span.start, span.end + cut)


def _without_item(file: TextFile, span: Span) -> Edit:
    """An element of a list without its line, if it is alone there, else without a blank."""
    data = file.data
    if data[span.start : span.end].endswith(b"\n"):  # a call with the lines that it has alone
        return Edit(span, b"")
    start = data.rfind(b"\n", 0, span.start) + 1
    rest = _REST_OF_LINE.match(data, span.end)
    if rest and not data[start : span.start].strip(b" \t"):
        return Edit(Span(start, rest.end()), b"")
    blank = _BLANK_BEFORE.search(data, start, span.start)
    begin = blank.start() if blank else span.start
    if begin < span.start:
        return Edit(Span(begin, span.end), b"")
    behind = re.compile(rb"[ \t]*").match(data, span.end)
    return Edit(Span(span.start, behind.end() if behind else span.end), b"")


def _nothing(file: TextFile, span: Span) -> bytes:
    """A command that does nothing, in the place of whole lines."""
    written = file.data[span.start : span.end]
    indent = written[: len(written) - len(written.lstrip(b" \t"))]
    end = b"\r\n" if written.endswith(b"\r\n") else b"\n" if written.endswith(b"\n") else b""
    return indent + b":" + end
