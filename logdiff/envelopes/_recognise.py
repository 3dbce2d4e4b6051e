"""Which transport a file went through, told from samples of its lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from logdiff import modules
from logdiff.decoders import UTF8_MARK
from logdiff.envelopes import docker_timestamps
from logdiff.patterns import compiled
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from logdiff.read import Source

_SAMPLE_BYTES = 1 << 14
_SAMPLE_LINES = 100
_HINT = compiled(
    rb"(?:\xef\xbb\xbf)?(?:\d{4}-\d\d-\d\dT[\d:.]{8,20}Z )?(?:"
    rb'\{"|__CURSOR=|__REALTIME_TIMESTAMP=|\[pod/'
    rb"|(?:\x1b\[[\d;]{0,12}[A-Za-z])*(?:\d{4}-\S+ )?\S+ +\|"
    rb"|(?:[A-Z][a-z]{2}|\d{1,2}\xe6\x9c\x88) [ \d]\d \d\d:|\S{2,12} \d{4}-\d\d-\d\d \d\d:"
    rb"|\[ *\d{1,12}\.\d{6}\] "
    rb"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?!\.\d{9}Z(?! std(?:out|err) [FP]))"
    rb"|[\w.%/-]+=[^ \n]* "
    rb")"
)
"""How a line of any of these transports begins; where none does, their modules are not loaded."""
_BY_LINE = (
    "docker_json_file",
    "journald_json",
    "kubernetes_cri",
    "kubectl_prefix",
    "docker_swarm",
    "docker_compose",
    "journald_short",
    "rfc3339_timestamps",
)
"""Envelopes that are told from most of the lines of a sample, the most particular first; the last
is a time only."""
_LEAST_LINES_A_SERVICE = 2
"""Lines of a sample for each name before a bar: in a table each line has another."""
_LEAST_LINES_WITH_LABELS = 3


class Recognised(NamedTuple):
    """What is round the lines of a source."""

    envelope: ModuleType
    behind_time: bool
    """Whether before it stands the time of ``docker logs -t``, or of the envelope outside."""


def recognised(source: Source) -> Recognised | None:
    """The envelope of a source that changes the text; ``None`` if there is none.

    Looked at are its beginning, its middle and its end, for a file may be pasted together.
    """
    places = {0, source.size // 2, max(0, source.size - _SAMPLE_BYTES)}
    for place in sorted(places if source.size > _SAMPLE_BYTES else {0}):
        sample = source.read_at(place, _SAMPLE_BYTES)
        lines = sample.split(b"\n")[bool(place) :][:_SAMPLE_LINES]
        if not any(map(_HINT.match, lines)):
            continue
        texts = [line.removeprefix(UTF8_MARK) for line in lines if line.strip()]
        if found := _by_line(texts, _BY_LINE) or _by_block(texts):
            return Recognised(found, behind_time=False)
        timed = [docker_timestamps.without_time(text) for text in texts]
        inner = [text for time, text in timed if time and text.strip()]
        # The program's own logger may print such a time: that one stays.
        if inner and (found := _by_line(inner, _BY_LINE[:-1])):
            return Recognised(found, behind_time=True)
    return None


def _by_line(lines: Sequence[bytes], names: Sequence[str]) -> ModuleType | None:
    for name in names:
        module = _module(name)
        entries = [entry for entry in map(module.unwrap, lines) if entry]
        services = {entry.service for entry in entries if entry.service}
        if len(entries) * 2 > len(lines) and (
            len(services) == 1 or len(services) * _LEAST_LINES_A_SERVICE <= len(entries)
        ):
            tells_tables = getattr(module, "is_table", None)
            if not (tells_tables and tells_tables([entry.payload for entry in entries])):
                return module
    return None


def _by_block(lines: Sequence[bytes]) -> ModuleType | None:
    export, details = _module("journald_export"), _module("docker_details")
    begins = any(line.startswith(export.FIRST_FIELDS) for line in lines)
    if begins and sum(map(bool, map(export.FIELD.match, lines))) * 2 >= len(lines):
        return export
    if len(lines) >= _LEAST_LINES_WITH_LABELS:
        ((labels, same),) = Counter(map(details.labels, lines)).most_common(1)
        return details if labels and same * 10 >= len(lines) * 9 else None
    return None


def _module(name: str) -> ModuleType:
    return modules.load(f"logdiff.envelopes.{name}")
