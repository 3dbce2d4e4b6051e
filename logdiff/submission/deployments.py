"""Which files the commands of a script put where."""

from __future__ import annotations

import posixpath
import re

from logdiff.submission.model import FILE_OUTPUT
from logdiff.submission.programs import options, program
from logdiff.submission.shell.values import opaque
from logdiff.tuples import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from logdiff.submission.model import Command, Span, TextFile, Word
    from logdiff.submission.programs import Options

_WRITES = re.compile(r"\bwrite|\bshutil\b|\bfileinput\b|\.replace\(|\bopen\(.*['\"][aw]")
_SHELLS = frozenset(("bash", "sh", "dash", "zsh", "source", "."))
_PRINTERS = frozenset("cat echo printf sed awk envsubst base64 jq".split())
_NOT_FILES = ("/dev/",)
_COPY_VALUES = frozenset(
    ("-t", "--target-directory", "-S", "--suffix", "-m", "--mode", "-o", "--owner", "-g", "--group")
)
_RSYNC_VALUES = frozenset(
    "-e --rsh --exclude --include --exclude-from --include-from --files-from -f --filter --chmod"
    " --chown --bwlimit --rsync-path --timeout --log-file".split()
)
_SED_VALUES = frozenset(("-e", "--expression", "-f", "--file", "-l"))
_PATCH_VALUES = frozenset(
    "-p --strip -i --input -d --directory -o --output -r --reject-file -B -D -F -Y -z".split()
)
_GIT_VALUES = frozenset(("-C", "-c", "-p", "--directory", "--git-dir", "--work-tree", "--exclude"))
_TAR_VALUES = frozenset(("-C", "--directory", "-f", "--file", "--strip-components", "--exclude"))


class Deployment(NamedTuple):
    """One file that is put somewhere, or changed where it is."""

    source: str | None
    """What is put there: a file, a patch, a script, an address; None for text of the script itself
    (``command.here_document``) and for an edit."""
    destination: str | None
    """The file that it becomes, or a directory where that is all that is given; None where the
    script does not say it."""
    how: str
    """``copy``, ``install``, ``move``, ``link``, ``sync``, ``extract``; ``write`` (text of the
    script), ``edit`` (in place), ``patch``; ``script`` (another program that may change files)."""
    line: int
    command: Command
    guards: tuple[str, ...]
    swallowed: str | None
    item: Span | None
    """The element of a list, or the call of a function, that this one deployment comes from."""


_Found = tuple["Word | None", "Word | str | None", str]


def deployments(file: TextFile, commands: Iterable[Command]) -> tuple[Deployment, ...]:
    """What some commands deploy, in their order. Paths are joined to the directory of ``cd``."""
    directories: set[str] = set()
    found: list[Deployment] = []
    for command in commands:
        for source, destination, how in _of_command(file, command, directories):
            target = destination if isinstance(destination, str) else None
            items = [source.item] if source else []
            if destination is not None and not isinstance(destination, str):
                target = under(command.directory, destination.text)
                items.append(destination.item)
            found.append(
                Deployment(
                    source=_source(command, source, how),
                    destination=target,
                    how=how,
                    line=file.line(command.span.start),
                    command=command,
                    guards=command.guards,
                    swallowed=command.swallowed,
                    item=next((item for item in items if item), None),
                )
            )
    return tuple(found)


def _source(command: Command, source: Word | None, how: str) -> str | None:
    if source is None:
        return None
    # The target of a link is meant from where the link is.
    return source.text if how == "link" else under(command.directory, source.text)


def under(directory: str, path: str) -> str:
    """A path from where the script was started; one that begins with a hole is left alone."""
    while path.startswith("./") and path != "./":
        path = path[2:].lstrip("/")
    if not directory or path.startswith(("/", "~", "${", "$(", "`")) or "://" in path:
        return path
    return directory if path in {".", "./"} else f"{directory.rstrip('/')}/{path}"


def last_part(path: str) -> str:
    """The name behind the last slash that is in no hole."""
    path = path.rstrip("/")
    return path[opaque(path).rfind("/") + 1 :]


def _of_command(file: TextFile, command: Command, directories: set[str]) -> Iterator[_Found]:
    running = program(command.words)
    if running is None:
        return
    name, words = running
    if name in {"mkdir", "install"}:
        parsed = options(words, _COPY_VALUES)
        if name == "mkdir" or parsed.has("-d", "--directory"):
            directories.update(
                under(command.directory, word.text).rstrip("/") for word in parsed.operands
            )
            return
    if name in _COPIES:
        yield from _copies(name, words, command, directories)
    elif name in _OTHERS:
        yield from _OTHERS[name](words, command)
    elif name == "python":
        yield from _python(file, words, command)
    elif name in _SHELLS or name.endswith(".sh"):
        yield from _script(name, words, command)
    if name in _PRINTERS:
        yield from _written(name, words, command)


_COPIES = {"cp": "copy", "install": "install", "mv": "move", "ln": "link", "rsync": "sync"}


def _copies(
    name: str, words: tuple[Word, ...], command: Command, directories: set[str]
) -> Iterator[_Found]:
    how = _COPIES[name]
    parsed = options(words, _RSYNC_VALUES if name == "rsync" else _COPY_VALUES)
    into = parsed.value("-t", "--target-directory") if name != "rsync" else None
    sources = parsed.operands if into else parsed.operands[:-1]
    if not sources and name == "ln" and parsed.operands:
        yield parsed.operands[0], last_part(parsed.operands[0].text), how
    if not sources:
        return
    target = into or parsed.operands[-1]
    path = under(command.directory, target.text)
    exact = name != "rsync" and parsed.has("-T", "--no-target-directory")
    for source in sources:
        directory = not exact and (
            into is not None
            or len(sources) > 1
            or path.endswith("/")
            or path.rstrip("/") in directories
            or (name != "ln" and _looks_like_directory(source.text, path))
        )
        yield source, _Target(path, target).of(source.text, directory=directory), how


class _Target(NamedTuple):
    """Where something is copied to."""

    path: str
    word: Word

    def of(self, source: str, *, directory: bool) -> Word:
        """What one source becomes."""
        # "from/." and, for rsync, "from/" mean what is in the directory.
        contents = source.endswith(("/.", "/"))
        joined = f"{self.path.rstrip('/')}/{last_part(source)}"
        return self.word._replace(text=joined if directory and not contents else self.path)


def _looks_like_directory(source: str, path: str) -> bool:
    """Whether a file with a suffix would lose it if the target was not a directory."""
    suffix, name = posixpath.splitext(last_part(source))[1], last_part(path)
    if path in {".", ".."} or name in {".", ".."}:
        return True
    whole_hole = name.startswith(("${", "$(")) and set(opaque(name)) == {"x"}
    return suffix not in {"", ".sh"} and "." not in name and not whole_hole


def _sed(words: tuple[Word, ...], _command: Command) -> Iterator[_Found]:
    in_place = [word for word in words if word.text.startswith(("-i", "--in-place"))]
    clusters = [word for word in words if re.fullmatch(r"-[nErsuz]+i", word.text)]
    if in_place or clusters:
        rest = [word for word in words if word not in in_place]
        for operand in _sed_files(options(rest, _SED_VALUES)):
            yield None, operand, "edit"


def _sed_files(parsed: Options) -> list[Word]:
    """The files that ``sed`` reads; its first operand is the program, unless an option is."""
    given = parsed.has("-e", "--expression", "-f", "--file")
    return parsed.operands if given else parsed.operands[1:]


def _perl(words: tuple[Word, ...], _command: Command) -> Iterator[_Found]:
    in_place = any(re.match(r"-[a-zA-Z0-9]*i", word.text) for word in words)
    if in_place:
        for operand in options(words, {"-e", "-E", "-i"}).operands:
            if re.search(r"[./]", operand.text):
                yield None, operand, "edit"


def _patch(words: tuple[Word, ...], command: Command) -> Iterator[_Found]:
    parsed = options(words, _PATCH_VALUES)
    operands = parsed.operands
    source = parsed.value("-i", "--input") or (operands[1] if len(operands) > 1 else None)
    target = operands[0] if operands else parsed.value("-d", "--directory")
    yield source or _standard_input(command), target, "patch"


def _standard_input(command: Command) -> Word | None:
    found = [word for operator, word in command.redirections if operator == "<"]
    return found[-1] if found else None


def _git(words: tuple[Word, ...], command: Command) -> Iterator[_Found]:
    parsed = options(words, _GIT_VALUES)
    if not parsed.operands or parsed.operands[0].text not in {"apply", "am"}:
        return
    if parsed.has("--check", "--stat", "--summary"):
        return
    target = parsed.value("-C", "--directory")
    patches = parsed.operands[1:]
    if not patches:
        yield _standard_input(command), target, "patch"
    for source in patches:
        yield source, target, "patch"


def _tee(words: tuple[Word, ...], command: Command) -> Iterator[_Found]:
    parsed = options(words, ())
    how = "edit" if parsed.has("-a", "--append") else "write"
    for operand in parsed.operands:
        if not operand.text.startswith(_NOT_FILES):
            yield _standard_input(command), operand, how


def _curl(words: tuple[Word, ...], _command: Command) -> Iterator[_Found]:
    parsed = options(words, {"-o", "--output", "-H", "--header", "-d", "-X", "-u", "-A", "-e"})
    yield from _downloaded(parsed, parsed.value("-o", "--output"))


def _wget(words: tuple[Word, ...], _command: Command) -> Iterator[_Found]:
    parsed = options(words, {"-O", "--output-document", "-P", "--directory-prefix", "--header"})
    yield from _downloaded(parsed, parsed.value("-O", "--output-document", "-P"))


def _downloaded(parsed: Options, target: Word | None) -> Iterator[_Found]:
    if target is not None and parsed.operands and target.text != "-":
        yield parsed.operands[-1], target, "copy"


def _tar(words: tuple[Word, ...], _command: Command) -> Iterator[_Found]:
    if words and re.fullmatch(r"[a-zA-Z]+", words[0].text):
        # The old spelling, without a dash.
        words = (words[0]._replace(text=f"-{words[0].text}"), *words[1:])
    parsed = options(words, _TAR_VALUES)
    if parsed.has("-x", "--extract", "--get"):
        yield parsed.value("-f", "--file"), parsed.value("-C", "--directory"), "extract"


def _unzip(words: tuple[Word, ...], _command: Command) -> Iterator[_Found]:
    parsed = options(words, {"-d", "-x"})
    if parsed.operands:
        yield parsed.operands[0], parsed.value("-d"), "extract"


def _python(file: TextFile, words: tuple[Word, ...], command: Command) -> Iterator[_Found]:
    """A script that may change files; code within the command only if it writes."""
    parsed = options(words, {"-c", "-m", "-W", "-X"})
    code = parsed.value("-c")
    if code is not None:
        if _WRITES.search(code.text):
            yield None, None, "script"
    elif command.here_document and _reads_program(parsed):
        if _WRITES.search(file.text(command.here_document)):
            yield None, None, "script"
    elif parsed.operands and not parsed.has("-m"):
        source = parsed.operands[0]
        if source.text.endswith(".py") and last_part(source.text) != "setup.py":
            yield source, None, "script"


def _reads_program(parsed: Options) -> bool:
    return not parsed.has("-m") and (not parsed.operands or parsed.operands[0].text == "-")


def _script(name: str, words: tuple[Word, ...], command: Command) -> Iterator[_Found]:
    """Another shell script."""
    if name in _SHELLS:
        parsed = options(words, {"-c", "-o", "-O"})
        sources = [] if parsed.has("-c") else parsed.operands[:1]
    else:
        sources = [word for word in command.words if word.text.endswith(".sh")][:1]
    for source in sources:
        yield source, None, "script"


def _written(name: str, words: tuple[Word, ...], command: Command) -> Iterator[_Found]:
    """``cat > file <<EOF``, ``cat a b > file``, ``echo … >> file``."""
    targets = [
        (operator, word)
        for operator, word in command.redirections
        if operator in FILE_OUTPUT and not word.text.startswith(_NOT_FILES)
    ]
    if not targets:
        return
    operator, target = targets[0]
    parsed = options(words, _SED_VALUES if name == "sed" else ())
    files = {"cat": parsed.operands, "sed": _sed_files(parsed)}.get(name, [])
    sources: list[Word | None] = [word for word in files if word.text != "-"]
    standard_input = _standard_input(command)
    if not sources and standard_input is not None:
        sources = [standard_input]
    how = "edit" if operator.endswith(">>") else "copy" if sources else "write"
    for source in sources or [None]:
        yield source, target, how


_OTHERS: dict[str, Callable[[tuple[Word, ...], Command], Iterator[_Found]]] = {
    "sed": _sed,
    "perl": _perl,
    "patch": _patch,
    "git": _git,
    "tee": _tee,
    "curl": _curl,
    "wget": _wget,
    "tar": _tar,
    "unzip": _unzip,
}
