"""Which files of a build context Docker is not given."""

from __future__ import annotations

import posixpath
import re

from logdiff.tuples import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[\^?[^\]]*\]|\\.|.", re.DOTALL)
_MEANINGS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def dockerignore(text: str) -> Callable[[str], bool]:
    """A function that tells whether a path within the build context is left out.

    The last pattern that matches the path, or a directory that holds it, decides.
    """
    rules: list[tuple[bool, re.Pattern[str]]] = []
    for line in text.removeprefix("\ufeff").splitlines():
        pattern = line.strip()
        if not pattern or line.startswith("#"):
            continue
        included = pattern.startswith("!")
        cleaned = posixpath.normpath(pattern[included:].strip()).lstrip("/")
        if cleaned not in {"", "."}:
            rules.append((not included, _compiled(cleaned)))

    def is_ignored(path: str) -> bool:
        parts = posixpath.normpath(path).lstrip("/").split("/")
        paths = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
        for excluded, pattern in reversed(rules):
            if any(pattern.fullmatch(each) for each in paths):
                return excluded
        return False

    return is_ignored


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(_meaning(token) for token in _TOKEN.findall(pattern)), re.DOTALL)


def _meaning(token: str) -> str:
    if token in _MEANINGS:
        return _MEANINGS[token]
    if len(token) > 2 and token[0] == "[":
        inner = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        try:
            re.compile(f"[{inner}]")
        except re.error:
            return re.escape(token)
        return f"[{inner}]"
    return re.escape(token.removeprefix("\\") or token)
