"""Compiled signals and rules, and the cache that makes loading the built-in ones cheap.

With a warm cache this module reads one file and imports nothing that compiles rules. A cache that
is stale, damaged, foreign or not ours is ignored and, where possible, written again.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import zlib
from typing import TYPE_CHECKING

from logdiff import patterns, version
from logdiff.model import MESSAGES
from logdiff.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType

PACKAGE_DIRECTORY = os.path.dirname(os.path.abspath(version.__file__))
RULES_DIRECTORY = os.path.join(PACKAGE_DIRECTORY, "rules")

_MAGIC = b"logdiff ruleset 6\n"
"""Starts a cache file; the number goes up when its layout changes."""
_WITH_PATTERNS = (
    "logdiff.envelopes._recognise",
    "logdiff.envelopes.docker_timestamps",
    "logdiff.extract.engine_args",
    "logdiff.extract.scan",
    "logdiff.facts",
    "logdiff.redact",
)
"""Modules that every run imports and that have patterns of their own."""
_FOLDERS_WITH_PATTERNS = ("", "engine", "envelopes", "extract")
"""Where these modules, and those that compile rules, are."""
_NUMBER_LENGTH = 4
_HEADER_LENGTH = len(_MAGIC) + 2 * _NUMBER_LENGTH


class Signal(NamedTuple):
    """A message of an engine, as the scanner needs it."""

    id: str
    engine: str
    """``any`` or the engine's name."""
    source: str
    """Stem of the file that states it."""
    keep: str
    """``groups``, ``series`` or ``each``."""
    enters: str | None
    completes: str | None
    levels: tuple[str, ...]
    """Levels for which it holds; empty = all."""
    scope: str
    """``message`` or ``line``."""
    patterns: tuple[tuple[bytes, bytes | None, bytes | None, bool], ...]
    """Pattern, literal that the shape (digits as ``0``) of a match contains, digit-sensitive."""
    fields: tuple[tuple[str, str, str | None], ...]
    """Name, type and unit."""
    versions: tuple[tuple[str | None, str | None], ...]
    """First and last engine version of each pattern."""
    reported: bool = False
    """Whether its messages are a fact of their own."""

    @property
    def fact(self) -> str:
        """Name of the fact that its messages are."""
        return MESSAGES + self.id.replace("-", "_")


class RuleFix(NamedTuple):
    """A change that a rule proposes. Absent parts are None."""

    when: CodeType | None
    for_each: CodeType | None
    """A list; each item in turn is ``Context.target``."""
    kind: str
    key: CodeType
    """Text."""
    action: str
    old: CodeType | None
    new: CodeType | None
    reason: CodeType
    """Text."""
    confidence: CodeType | None
    """Yields a confidence; None = that of the finding."""
    safety: CodeType | None
    """Yields ``safe`` or ``unsafe``; None = safe."""
    confirm_by: CodeType | None
    """Text."""


class Wording(NamedTuple):
    """What a rule says where it holds.

    Texts are for ``Context.text``, the rest for ``Context.evaluate``.
    """

    title: CodeType
    """Text."""
    headline: CodeType | None
    """Text."""
    severity: CodeType
    confidence: CodeType
    subject: CodeType | None
    """Text."""
    topics: CodeType | None
    """Yields words."""
    evidence: tuple[CodeType, ...]
    """For ``Context.evidence``."""
    why: CodeType
    """Text."""
    fixes: tuple[RuleFix, ...]
    references: tuple[str, ...]


class Rule(NamedTuple):
    """A rule, compiled."""

    id: str
    area: str
    """Name of the directory of its file."""
    scope: str
    """``one-run`` or ``pair``."""
    about: str
    """``good`` where it judges the known-good run only, else ``bad``."""
    needs: tuple[str, ...]
    """``good``, ``bad`` and stages."""
    when: tuple[CodeType, ...]
    """Conditions that do not mention ``item``: judged once, before ``for_each``."""
    for_each: CodeType | None
    """A list; each item in turn is ``Context.item``."""
    filters: tuple[CodeType, ...]
    """The conditions of ``when`` that mention ``item``: judged for each item."""
    raise_in_compare: bool
    unordered: bool
    """Whether its lines may stand below those of its consequences."""
    causes: tuple[str, ...]
    said: Wording | bytes
    """As it is in the cache, for most rules do not hold."""

    @property
    def wording(self) -> Wording:
        """What it says where it holds."""
        if not isinstance(self.said, bytes):
            return self.said
        wording = Wording(*marshal.loads(self.said))  # noqa: S302  # written by us
        return wording._replace(fixes=tuple(RuleFix(*fix) for fix in wording.fixes))


class RuleSet(NamedTuple):
    """Signals and rules in the order of their files' names."""

    signals: list[Signal]
    rules: list[Rule]

    def merged(self, other: RuleSet) -> RuleSet:
        """Return this set and another as one."""
        return RuleSet(self.signals + other.signals, self.rules + other.rules)


_builtin: list[RuleSet] = []


def load_builtin() -> RuleSet:
    """Return the signals and rules that ship with logdiff; RuleError where a file is wrong."""
    if not _builtin:
        _builtin.append(load_cached(RULES_DIRECTORY))
    return _builtin[0]


def load_user(paths: Sequence[str]) -> RuleSet:
    """Compile a user's own files and directories, without the built-in rules.

    They may name built-in rules as causes and may not repeat an id. RuleError where a file is
    wrong or cannot be read.
    """
    from logdiff.engine import compile as compiler  # yaml and pydantic: for user rules only

    return compiler.load(compiler.rule_files(paths), known=load_builtin())


def load_cached(directory: str) -> RuleSet:
    """Return the rules of a directory from its cache, or compile them and write the cache."""
    sources = sorted(_sources(directory))
    key = _key(sources)
    places = _cache_places(directory)
    for place in places:
        payload = _payload(place, key)
        if payload is not None:
            return _unpacked(payload)
    from logdiff.engine import compile as compiler  # yaml and pydantic: on the first use only

    compiled = compiler.load([path for path, _, _ in sources])
    _write_somewhere(places, _packed(compiled, key))
    return compiled


def _sources(directory: str) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and time of every rule file: ``<directory>/<area>/<name>.yaml``."""
    with os.scandir(directory) as areas:
        names = [area.path for area in areas if area.is_dir() and area.name[0] not in "._"]
    for name in names:
        yield from _stamps(name, ".yaml")


def _stamps(directory: str, ending: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(ending) and entry.name[0] != ".":
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns


def _key(sources: list[tuple[str, int, int]]) -> bytes:
    """Return what a cache must have been made from: sources, this package and bytecode version."""
    folders = [os.path.join(PACKAGE_DIRECTORY, name) for name in _FOLDERS_WITH_PATTERNS]
    compiler = sorted(stamp for folder in folders for stamp in _stamps(folder, ".py"))
    return repr((version.__version__, sys.version, sources, compiler)).encode()


def _cache_places(directory: str) -> list[str]:
    """Return where the cache may be: beside the rules, else in the user's cache directory."""
    tag = sys.implementation.cache_tag or "python"
    beside = os.path.join(directory, "__pycache__", f"ruleset.{tag}.bin")
    # Several installations share the user's directory.
    number = zlib.crc32(os.fsencode(directory))
    return [beside, os.path.join(_user_cache(), "logdiff", f"ruleset.{tag}.{number:08x}.bin")]


def _user_cache() -> str:
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        path = os.environ.get(variable, "")
        if os.path.isabs(path):
            return path
    return os.path.join(os.path.expanduser("~"), ".cache")


def _payload(path: str, key: bytes) -> memoryview | None:
    """Return the marshalled rules of a cache file, or None where it is not to be used."""
    try:
        with open(path, "rb") as file:
            if not _is_ours(file.fileno()):
                return None
            content = memoryview(file.read())
    except OSError:
        return None
    body = content[_HEADER_LENGTH:]
    if content[:_HEADER_LENGTH] != _MAGIC + _number(zlib.crc32(body)) + _number(len(key)):
        return None
    return body[len(key) :] if body[: len(key)] == key else None


def _is_ours(descriptor: int) -> bool:
    """Whether nobody else can have written the file: it holds code that will be run."""
    if sys.platform == "win32":
        return True
    status = os.fstat(descriptor)
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022


def _number(value: int) -> bytes:
    return value.to_bytes(_NUMBER_LENGTH, "big")


def _packed(rules: RuleSet, key: bytes) -> bytes:
    from importlib import import_module

    for module in _WITH_PATTERNS:
        import_module(module)
    import_module("logdiff.redact").compile_all()
    programs = patterns.programs(p[0] for signal in rules.signals for p in signal.patterns)
    # Marshal knows plain tuples only.
    plain = [tuple(rule._replace(said=_packed_wording(rule.wording))) for rule in rules.rules]
    signals = [tuple(signal) for signal in rules.signals]
    body = key + marshal.dumps((signals, plain, programs))
    return _MAGIC + _number(zlib.crc32(body)) + _number(len(key)) + body


def _packed_wording(wording: Wording) -> bytes:
    fixes = tuple(map(tuple, wording.fixes))
    return marshal.dumps(tuple(wording._replace(fixes=fixes)))  # type: ignore[arg-type]


def _unpacked(payload: memoryview) -> RuleSet:
    signals, rules, programs = marshal.loads(payload)  # noqa: S302  # written by us, unchanged
    patterns.remember(programs)
    return RuleSet([Signal(*signal) for signal in signals], [Rule(*rule) for rule in rules])


def _write_somewhere(places: list[str], content: bytes) -> None:
    for place in places:
        try:
            _write(place, content)
        except OSError:
            continue  # not writable: the next place, or no cache
        return


def _write(path: str, content: bytes) -> None:
    """Write a file at once, so that no other process reads half of it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, 0o644), "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
