"""The constant part of a message, by which the same message is found in two runs."""

from __future__ import annotations

import re

from logdiff.patterns import compiled

_VARIABLE = compiled(
    r"""
      0x[0-9a-fA-F]+                        # addresses
    | \b[0-9a-f]{12,}\b                     # hashes, ids
    | (?<![\w/])/[\w.@+-]*(?:/[\w.@+-]+)*   # paths
    | '[^']*' | "[^"]*"                     # quoted values
    | (?<![A-Za-z])[A-Za-z]+-[0-9a-f]{8,}   # prefixed ids
    | (?<![A-Za-z_])\d[\d,]*(?:\.\d+)?      # numbers that are not part of a name such as FA2
    """,
    re.VERBOSE,
)
_SHORTEST_HEAD = 10
_LONGEST = 160


def message_template(text: str) -> str:
    """The constant head of a message; where that says too little, all of it with masks.

    ``Loading model weights took 16.2 GB`` gives ``Loading model weights took``.
    """
    text = text[: 4 * _LONGEST]
    first = _VARIABLE.search(text)
    if first is None:
        return text.strip()[:_LONGEST]
    head = text[: first.start()].rstrip(" :=([{,'\"#-")
    if len(head) >= _SHORTEST_HEAD and " " in head:
        return head[:_LONGEST]
    return _VARIABLE.sub("<*>", text).strip()[:_LONGEST]
