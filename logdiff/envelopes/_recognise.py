"""Which transport a file went through, told from samples of its lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from logdiff import modules
from logdiff.decoders import UTF8_MARK
from logdiff.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from logdiff.read import Source

_SAMPLE_BYTES = 1 << 14
_SAMPLE_LINES = 100
_HINT = compiled(
    rb"^(?:\xef\xbb\xbf)?(?:"
    rb'\{"|__CURSOR=|__REALTIME_TIMESTAMP=|\[pod/'
    rb"|(?:\x1b\[[\d;]{0,12}[A-Za-z])*(?:\d{4}-\S+ )?\S+ +\|"
    rb"|[A-Z][a-z]{2} [ \d]\d \d\d:"
    rb"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?!\.\d{9}Z(?! std(?:out|err) [FP]))"
    rb"|(?:\d{4}-\S+Z )?[\w.%/-]+=[^ \n]* "
    rb")",
    8,  # re.MULTILINE
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
"""Envelopes that are told from most of the lines of a sample, the most particular first."""
_LEAST_LINES_A_SERVICE = 2
"""Lines of a sample for each name before a bar: in a table each line has another."""
_LEAST_LINES_WITH_LABELS = 3


def recognised(source: Source) -> ModuleType | None:
    """The envelope of a source that changes the text; ``None`` if there is none.

    Looked at are its beginning, its middle and its end, for a file may be pasted together.
    """
    places = {0, source.size // 2, max(0, source.size - _SAMPLE_BYTES)}
    for place in sorted(places if source.size > _SAMPLE_BYTES else {0}):
        sample = source.read_at(place, _SAMPLE_BYTES)
        if not _HINT.search(sample):
            continue
        lines = sample.split(b"\n")[bool(place) :][:_SAMPLE_LINES]
        found = _envelope_of([line.removeprefix(UTF8_MARK) for line in lines if line.strip()])
        if found:
            return found
    return None


def _envelope_of(lines: Sequence[bytes]) -> ModuleType | None:
    for name in _BY_LINE:
        module = _module(name)
        entries = [entry for entry in map(module.unwrap, lines) if entry]
        services = {entry.service for entry in entries if entry.service}
        if len(entries) * 2 > len(lines) and (
            len(services) == 1 or len(services) * _LEAST_LINES_A_SERVICE <= len(entries)
        ):
            return module
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
