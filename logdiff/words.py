"""The words of names, by which lines about one thing are found."""

from __future__ import annotations

from logdiff.patterns import compiled

_WORD = compiled(r"[A-Za-z0-9]+")
_PART = compiled(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SINGLE_WORD_LENGTH = 5
"""A word of at most so many letters is one name (``MoE``, ``CoreX``, ``FA2``), never split."""


def tokens(text: str) -> frozenset[str]:
    """Lower-case words of a text, for finding what is about one thing.

    Words are runs of letters and digits. One of more than five letters is split at its capitals,
    and its acronym is added: GatedDeltaNet → gated, delta, net, gdn. Shorter ones are one word:
    MoE → moe. Numbers are left out.
    """
    found: set[str] = set()
    for word in _WORD.findall(text):
        found.update(_words(word))
    return frozenset(found)


def _words(word: str) -> list[str]:
    parts = _parts(word) if len(word) > _SINGLE_WORD_LENGTH else [word]
    words = [part.lower() for part in parts if not part.isdigit()]
    capitals = [part for part in parts if part[0].isupper()]
    if len(capitals) > 1:
        words.append("".join(part[0] for part in parts).lower())
    return words


def _parts(word: str) -> list[str]:
    """Split at capitals; a part of one letter belongs to the one before it (FusedMoE)."""
    parts: list[str] = []
    for part in _PART.findall(word):
        if parts and len(part) == 1 and part.isupper():
            parts[-1] += part
        else:
            parts.append(part)
    return parts
