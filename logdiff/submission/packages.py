"""Which packages the commands of a script install, upgrade and take away."""

from __future__ import annotations

import re

from logdiff.submission.programs import Program, options, program
from logdiff.tuples import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from logdiff.submission.model import Command, Span, TextFile, Word
    from logdiff.submission.programs import Options

_PIP = re.compile(r"pip(\d+(\.\d+)*)?")
_ARCHIVE = re.compile(r"(?:.*/)?([A-Za-z0-9][\w.]*(?:-[A-Za-z][\w.]*)*?)-(\d[^-/]*|\*[^-/]*)(-.*)?")
_ARCHIVES = (".whl", ".tar.gz", ".zip", ".tar.bz2")
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?\s*(.*)", re.DOTALL)
_REPOSITORY = re.compile(r"/([\w.-]+?)(?:\.git)?(?:@[^/#]*)?(?:#|$)")
_PIP_VALUES = frozenset(
    "-r --requirement -c --constraint -i --index-url --extra-index-url -f --find-links -t --target"
    " -e --editable --prefix --root --platform --python-version --implementation --abi --src"
    " --upgrade-strategy --config-settings -C --global-option --progress-bar --timeout --retries"
    " --trusted-host --cache-dir --proxy --log --python -p --index --default-index --no-binary"
    " --only-binary --report --torch-backend".split()
)
_ACTIONS = {
    "install": "install",
    "add": "install",
    "update": "upgrade",
    "upgrade": "upgrade",
    "remove": "uninstall",
    "purge": "uninstall",
    "del": "uninstall",
    "uninstall": "uninstall",
    "erase": "uninstall",
}
# What other package managers call things: options with a value, and the mark before a version.
_MANAGERS: dict[str, tuple[frozenset[str], str]] = {
    "conda": (frozenset(("-n", "--name", "-c", "--channel", "-p", "--prefix", "--file")), "="),
    "mamba": (frozenset(("-n", "--name", "-c", "--channel", "-p", "--prefix", "--file")), "="),
    "apt-get": (frozenset(("-o", "--option", "-t", "--target-release", "-c")), "="),
    "apt": (frozenset(("-o", "--option", "-t", "--target-release", "-c")), "="),
    "apk": (frozenset(("-X", "--repository", "-t", "--virtual")), "="),
    "dnf": (frozenset(("-c", "--enablerepo", "--disablerepo")), ""),
    "yum": (frozenset(("-c", "--enablerepo", "--disablerepo")), ""),
}


class PackageChange(NamedTuple):
    """One package that a command installs, upgrades or takes away."""

    distribution: str | None
    """Its name, for Python in the normal form of the index; None where the command does not say it
    (``-r requirements.txt``, ``pip install .``)."""
    action: str
    """``install``, ``upgrade`` or ``uninstall``."""
    specifier: str
    """Which versions: ``==2.5.1``; empty for any."""
    source: str | None
    """The wheel, directory, address or file of requirements; else the index, if one is named."""
    command: Command
    line: int
    swallowed: str | None
    manager: str
    """``pip``, ``uv``, ``conda``, ``apt-get`` …."""
    extras: tuple[str, ...] = ()
    dependencies: bool = True
    """Whether what it needs is installed, too: False after ``--no-deps``."""
    item: Span | None = None
    """The element of a list, or the call of a function, that the name comes from."""


class _Package(NamedTuple):
    """What one word of a command says of a package."""

    name: str | None
    specifier: str = ""
    source: str | None = None
    extras: tuple[str, ...] = ()


def package_changes(file: TextFile, commands: Iterable[Command]) -> tuple[PackageChange, ...]:
    """What some commands do to packages, in their order."""
    return tuple(change for command in commands for change in _of_command(file, command))


def _of_command(file: TextFile, command: Command) -> Iterator[PackageChange]:
    running = program(command.words)
    if running is None:
        return
    manager, words = _manager(running)
    if manager in {"pip", "uv"}:
        parsed = options(words, _PIP_VALUES)
    elif manager in _MANAGERS:
        parsed = options(words, _MANAGERS[manager][0])
    else:
        return
    if not parsed.operands or parsed.operands[0].text not in _ACTIONS:
        return
    action = _ACTIONS[parsed.operands[0].text]
    if manager in {"pip", "uv"} and action == "install" and parsed.has("-U", "--upgrade"):
        action = "upgrade"
    for word, package in _packages(manager, parsed):
        yield PackageChange(
            distribution=package.name,
            action=action,
            specifier=package.specifier,
            source=package.source,
            command=command,
            line=file.line(command.span.start),
            swallowed=command.swallowed,
            manager=manager,
            extras=package.extras,
            dependencies=not parsed.has("--no-deps", "--no-dependencies"),
            item=word.item,
        )


def _manager(running: Program) -> tuple[str, tuple[Word, ...]]:
    """The package manager that is run, and the words behind its name."""
    name, words = running
    texts = [word.text for word in words]
    if _PIP.fullmatch(name):
        return "pip", words
    if name == "python" and "-m" in texts:
        start = texts.index("-m") + 1
        module = texts[start] if start < len(texts) else ""
        if module in {"pip", "uv"}:
            return _manager(Program(module, words[start + 1 :]))
    if name == "uv" and texts[:1] == ["pip"]:
        return "uv", words[1:]
    return name, words


def _packages(manager: str, parsed: Options) -> Iterator[tuple[Word, _Package]]:
    if manager not in {"pip", "uv"}:
        mark = _MANAGERS[manager][1]
        for word in parsed.operands[1:]:
            name, equals, version = word.text.partition(mark) if mark else (word.text, "", "")
            yield word, _Package(name, f"{equals}{version}")
        return
    index = parsed.value("-i", "--index-url", "--extra-index-url", "--index", "-f", "--find-links")
    for word in parsed.operands[1:]:
        package = _requirement(word.text)
        source = package.source or (index.text if index else None)
        yield word, package._replace(source=source)
    for name in ("-e", "--editable"):
        for word in parsed.values.get(name, []):
            yield word, _requirement(word.text)
    for name in ("-r", "--requirement"):
        for word in parsed.values.get(name, []):
            yield word, _Package(None, source=word.text)


def _requirement(text: str) -> _Package:
    """What a requirement of pip names: a distribution, a wheel, a directory or an address."""
    path = text.partition("#")[0].partition("?")[0]
    if path.endswith(_ARCHIVES) and "@ " not in text:
        return _archive(path, text)
    if text.startswith(("git+", "hg+", "svn+", "bzr+")):
        egg = re.search(r"#(?:.*&)?egg=([\w.-]+)", text)
        found = egg or _REPOSITORY.search(text)
        return _Package(_normal(found[1]) if found else None, source=text)
    match = _REQUIREMENT.fullmatch(text)
    if not match or "/" in match[1] or re.match(r"[/\\:]", match[3]) or text == ".":
        return _Package(None, source=text)
    extras = tuple(extra.strip() for extra in (match[2] or "").split(",") if extra.strip())
    specifier = match[3].partition(";")[0].strip()
    if specifier.startswith("@"):
        return _Package(_normal(match[1]), source=specifier[1:].strip(), extras=extras)
    return _Package(_normal(match[1]), specifier, extras=extras)


def _archive(path: str, text: str) -> _Package:
    stem = next(path.removesuffix(end) for end in _ARCHIVES if path.endswith(end))
    match = _ARCHIVE.fullmatch(stem)
    if not match:
        return _Package(None, source=text)
    version = match[2].replace("%2B", "+")
    specifier = "" if "*" in version else f"=={version}"
    return _Package(_normal(match[1]), specifier, text)


def _normal(name: str) -> str:
    """The name as the Python index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()
