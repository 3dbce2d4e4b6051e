"""Comments and printed texts of a patch script that say the opposite of what it does."""

from __future__ import annotations

import posixpath
import re

from logdiff.submission.deployments import last_part
from logdiff.submission.places import is_backup
from logdiff.tuples import TYPE_CHECKING, NamedTuple
from logdiff.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from logdiff.submission.deployments import Deployment
    from logdiff.submission.model import Remark, TextFile

_VERBS = (
    r"(?:re)?deploy(?:ed|s|ing)?|replac(?:e[ds]?|ing)|overr(?:ide|idden|ides|iding)"
    r"|overwr(?:ite|itten|ites|iting)|cop(?:y|ied|ies|ying)|install(?:ed|s|ing)?|patch(?:ed|es|ing)?"
    r"|touch(?:ed|es|ing)?|chang(?:ed?|es|ing)|modif(?:y|ied|ies|ying)|appl(?:y|ied|ies|ying)"
)
_DENIED = re.compile(
    rf"\b(?:not|never|no longer|don't|doesn't|aren't|isn't|won't|without|n't)\s+(?:\w+\s+){{0,3}}?"
    rf"(?:{_VERBS})\b"
    rf"|\bskip(?:s|ped|ping)?\b|\b(?:stays?|left|leave|kept?)\s+(?:\w+\s+){{0,2}}?"
    rf"(?:alone|untouched|unchanged|as (?:it is|they are|is))\b"
    r"|\b(?:keep|keeps|kept|use|uses|using)\s+(?:the\s+)?(?:image|vendor|original|stock|upstream)\b"
    r"|(?:不再?|未|没有?|无需|不要|不会|禁止|跳过)\s*(?:再\s*)?(?:替换|覆盖|部署|复制|拷贝|修改|改动|安装|打补丁)"
    r"|(?:保留|沿用|使用)(?:镜像|厂商|原版|原始|原有|官方|自带)",
    re.IGNORECASE,
)
_CLAIMED = re.compile(
    rf"\b(?:{_VERBS})\b|替换|覆盖|部署|复制|拷贝",
    re.IGNORECASE,
)
_FILE = re.compile(r"(?<![\w./*-])(?:[\w.-]+/)*([A-Za-z_][\w-]*\.(?:py|so|jinja2?|cu|json|pyi))\b")
_PLACES = frozenset(("copy", "install", "move", "link", "sync", "write", "edit", "add"))
_GENERAL = frozenset(
    "the a an of to in for and or is are be by on it its this that these those they file files"
    " script patch py vllm not image vendor here our own code new old all module modules model"
    " models executor layers".split()
)
_CHINESE_NAMES = {
    "算子": "ops", "自定义算子": "ops", "模型": "models", "引擎": "engine", "调度": "scheduler",
    "注意力": "attention", "内核": "kernels", "服务": "entrypoints",
}  # fmt: skip
_PARAGRAPH_LINES = 25
"""Lines below a comment that it may speak of, if no other comment or blank line comes before."""


class Contradiction(NamedTuple):
    """A remark, and what the script does against it."""

    remark: Remark
    says: str
    """``not-deployed`` or ``deployed``: what the remark says."""
    files: tuple[str, ...]
    deployments: tuple[Deployment, ...]
    """What is deployed against it; none where a file that is spoken of is not deployed."""


def contradictions(
    file: TextFile, remarks: Iterable[Remark], deployments: Sequence[Deployment]
) -> Iterator[Contradiction]:
    """Remarks that say that a file is, or is not, deployed while the script does the opposite.

    A remark is tied to a deployment by the file that it names, or, if it is a comment, by a word
    that it shares with the paths that are deployed in the paragraph below it. What is printed
    under a condition only tells of the case that the condition holds, and is left out.
    """
    placed = [found for found in deployments if found.how in _PLACES and found.destination]
    by_name: dict[str, list[Deployment]] = {}
    for found in placed:
        by_name.setdefault(last_part(found.destination or ""), []).append(found)
    for remark in remarks:
        if remark.guards:
            continue
        for sentence in re.split(r"(?<=[.;!?])\s+|[。；！？]|\n", remark.text):
            if against := _contradiction(file, remark, sentence, placed, by_name):
                yield against
                break


def _contradiction(
    file: TextFile,
    remark: Remark,
    sentence: str,
    placed: list[Deployment],
    by_name: dict[str, list[Deployment]],
) -> Contradiction | None:
    names = list(dict.fromkeys(match[1] for match in _FILE.finditer(sentence)))
    if _DENIED.search(sentence):
        against = [found for name in names for found in by_name.get(name, ())]
        if not names and remark.kind == "comment":
            against = _below(file, remark, sentence, placed)
        # What only happens under a condition may not happen.
        against = [found for found in against if not _is_restored(found)]
        files = tuple(dict.fromkeys(last_part(found.destination or "") for found in against))
        return Contradiction(remark, "not-deployed", files, tuple(against)) if against else None
    if names and _CLAIMED.search(sentence) and placed:
        missing = tuple(name for name in names if not _is_mentioned(name, placed))
        if missing and len(missing) == len(names):
            return Contradiction(remark, "deployed", missing, ())
    return None


def _is_restored(found: Deployment) -> bool:
    """Whether a copy puts an original back."""
    return bool(found.source and is_backup(found.source))


def _is_mentioned(name: str, placed: list[Deployment]) -> bool:
    """Whether a file may be among what is deployed: named anywhere, or within a directory."""
    for found in placed:
        texts = (found.source or "", found.destination or "")
        if any(name in text or "*" in text or "${" in last_part(text) for text in texts):
            return True
        if found.how == "sync" or not posixpath.splitext(last_part(found.destination or ""))[1]:
            return True
    return False


def _below(
    file: TextFile, remark: Remark, sentence: str, placed: list[Deployment]
) -> list[Deployment]:
    """What is deployed in the paragraph below a comment that shares a word with it."""
    wanted = {token for token in tokens(sentence) if token not in _GENERAL}
    wanted |= {english for chinese, english in _CHINESE_NAMES.items() if chinese in sentence}
    start, end = _paragraph(file, remark)
    found = []
    for deployment in placed:
        places = [deployment.command.span.start]
        if deployment.item:
            places.append(deployment.item.start)
        if any(start <= place < end for place in places):
            path = f"{deployment.source or ''} {deployment.destination or ''}"
            if wanted & (tokens(path) - _GENERAL):
                found.append(deployment)
    return found


def _paragraph(file: TextFile, remark: Remark) -> tuple[int, int]:
    """The code directly below a comment, up to a blank line or the next comment."""
    start = file.data.find(b"\n", remark.span.end) + 1
    end, lines, seen = start, 0, False
    while start and end < len(file.data) and lines < _PARAGRAPH_LINES:
        stop = file.data.find(b"\n", end) + 1 or len(file.data)
        line = file.data[end:stop].strip()
        if not line or (line.startswith(b"#") and seen):
            break
        seen = seen or not line.startswith(b"#")
        end, lines = stop, lines + 1
    return start, end
