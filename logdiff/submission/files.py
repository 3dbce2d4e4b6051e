"""The files that made a run: what each of them is, and what they say together."""

from __future__ import annotations

import os

from logdiff.arguments import is_comparable, is_same
from logdiff.submission.kinds import BEGINNING, kind_of
from logdiff.submission.launch import open_launch, read_launch, servers
from logdiff.submission.model import SubmissionError
from logdiff.tuples import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from logdiff.submission.deployments import Deployment
    from logdiff.submission.dockerfile import Dockerfile
    from logdiff.submission.launch import LaunchConfig
    from logdiff.submission.model import Remark, Span, TextFile, Variable
    from logdiff.submission.packages import PackageChange

_NO_LOGS = frozenset(
    ".py .pyc .pyi .patch .diff .whl .so .bin .pt .pth .safetensors .gguf .model .md .rst .toml"
    " .cfg .ini .jinja .jinja2 .html .css .js .png .jpg .svg .pdf .tar .tgz .zip .c .cc .cpp .cu"
    " .cuh .h .hpp .lock .sha256 .env".split()
)
"""Endings of files that are no logs, whatever is in them."""
_SKIPPED_FOLDERS = frozenset(("__pycache__", "node_modules", "venv"))
_KINDS = (
    "platform", "kubernetes", "compose", "docker-run", "shell", "dockerfile", "engine-config",
)  # fmt: skip
"""Kinds of launch files: of two that agree with the log alike the first is what the user starts."""
_DEEPEST = 3
"""Levels of folders below a run's directory in which files are looked for."""
_MOST_FILES = 2000


class PatchFile(NamedTuple):
    """A script or a Dockerfile that puts files and packages into the image."""

    file: TextFile
    kind: str
    """``script`` or ``dockerfile``."""
    deployments: tuple[Deployment, ...]
    packages: tuple[PackageChange, ...]
    remarks: tuple[Remark, ...]
    unread_bytes: int
    """How much of it was not understood and stepped over."""


class Submission:
    """The files of one run. What is not at hand is empty."""

    __slots__ = ("base_image", "environment", "files", "launch", "launches", "patches", "unread")

    def __init__(self) -> None:
        self.files: dict[str, TextFile] = {}
        """Every file that was read, by its path as it is shown."""
        self.launches: list[LaunchConfig] = []
        """All servers that the launch files start."""
        self.launch: LaunchConfig | None = None
        """The one that this run is of."""
        self.patches: list[PatchFile] = []
        self.base_image: tuple[str, TextFile, int] | None = None
        """The image that the Dockerfile begins with, and where it says so."""
        self.environment: list[tuple[Variable, TextFile]] = []
        """Variables that the Dockerfile sets."""
        self.unread: list[tuple[str, str]] = []
        """Files that could not be read, and why."""

    def __bool__(self) -> bool:
        return bool(self.files)


class Named(NamedTuple):
    """Submission files that the user named."""

    launch: str | None = None
    patches: tuple[str, ...] = ()
    dockerfile: str | None = None
    service: str | None = None
    """Which server of the launch file is meant."""

    def __bool__(self) -> bool:
        return bool(self.launch or self.patches or self.dockerfile)


def read_named(named: Named) -> Submission:
    """Read files that the user named.

    Raises:
        SubmissionError: one of them cannot be read, or is not what it was named as.
    """
    launch = open_launch(named.launch) if named.launch else None
    dockerfile = open_launch(named.dockerfile) if named.dockerfile else None
    return read_files(launch, [open_launch(path) for path in named.patches], dockerfile)


def read_files(
    launch: TextFile | None, patches: Iterable[TextFile], dockerfile: TextFile | None
) -> Submission:
    """What some files of a submission say, each of a kind that is known.

    Raises:
        SubmissionError: one of them is not what it was taken for.
    """
    found = Submission()
    if launch:
        _add_launch(found, launch)
    for patch in patches:
        _add_script(found, patch)
        if not (found.patches[-1].deployments or found.patches[-1].packages):
            raise SubmissionError(f"{patch.path}: puts no file and no package into an image")
    if dockerfile:
        _add_dockerfile(found, dockerfile)
    return found


def read_found(paths: Iterable[str]) -> Submission:
    """Read the files of a run's directory that made it; what cannot be read is noted."""
    found = Submission()
    for path in paths:
        try:
            _add_by_its_name(found, path)
        except SubmissionError as error:
            found.unread.append((path, error.message))
    return found


def described(found: Submission) -> Iterator[str]:
    """One line for each file: what it is, or why it could not be read."""
    for start in found.launches:
        what = f"{start.kind} launch file" + (f", service {start.name}" if start.name else "")
        yield (
            f"{start.file.path}: {what}: {len(start.arguments)} arguments, "
            f"{len(start.environment)} variables"
        )
    for patch in found.patches:
        yield (
            f"{patch.file.path}: {patch.kind}: puts {len(patch.deployments)} files and changes "
            f"{len(patch.packages)} packages"
        )
    for _, message in found.unread:
        yield message


def add_named(found: Submission, named: Submission) -> Submission:
    """What was found in a directory, with what the user named in its place."""
    found.files.update(named.files)
    found.launches = named.launches or found.launches
    if any(patch.kind == "script" for patch in named.patches):
        found.patches = [patch for patch in found.patches if patch.kind != "script"]
    if named.base_image:
        found.patches = [patch for patch in found.patches if patch.kind != "dockerfile"]
        found.base_image, found.environment = named.base_image, named.environment
    found.patches += named.patches
    return found


class Listing(NamedTuple):
    """The files of a run's directory, by what they may be."""

    logs: list[str]
    submission: list[str]


def list_directory(directory: str) -> Listing:
    """Tell the files of a run's directory apart, by their names and how they begin.

    Raises:
        SubmissionError: there are too many of them, or the directory cannot be read.
    """
    listing = Listing([], [])
    for count, path in enumerate(_files_below(directory)):
        if count == _MOST_FILES:
            raise SubmissionError(
                f"{directory}: holds more than {_MOST_FILES:,} files; a run's directory holds its "
                "logs, launch file, patch script and Dockerfile",
                "Name the log itself, and the files with --launch, --patch and --dockerfile.",
            )
        if _is_of_submission(path):
            listing.submission.append(path)
        elif os.path.splitext(path)[1].lower() not in _NO_LOGS:
            listing.logs.append(path)
    return listing


def choose_launch(
    submission: Submission, service: str | None, logged: Mapping[str, object]
) -> None:
    """Decide which of the servers of the launch files a run is of.

    Args:
        submission: the files; its ``launch`` is set.
        service: the name of the server, where the user says it.
        logged: the arguments that the run printed.

    Raises:
        SubmissionError: no server has that name.
    """
    starts = [start for start in submission.launches if service is None or start.name == service]
    if service is not None and not starts:
        if not submission.launches:
            raise SubmissionError(f"--service {service}: no launch file is at hand")
        names = listed(submission.launches)
        raise SubmissionError(f"no launch file starts a server '{service}'; there are: {names}")
    if not starts:
        return
    ranks = [(_differing(start, logged), _KINDS.index(start.kind)) for start in starts]
    best = [start for start, rank in zip(starts, ranks, strict=True) if rank == min(ranks)]
    if len(best) == 1:
        submission.launch = best[0]
        return
    why = f"starts several servers ({listed(best)}); --service says which is meant"
    submission.unread.append((best[0].file.path, why))


def listed(starts: Iterable[LaunchConfig]) -> str:
    """The servers that launch files start, as messages name them."""
    return ", ".join(start.name or f"{start.program} in {start.file.path}" for start in starts)


def _differing(start: LaunchConfig, logged: Mapping[str, object]) -> int:
    """How many arguments of a launch file are not those that a run printed."""
    return sum(
        not argument.assumed
        and is_comparable(argument.value, logged.get(argument.name))
        and not is_same(argument.value, logged[argument.name])
        for argument in start.arguments
    )


def _files_below(directory: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        if error.filename == directory:
            raise SubmissionError(f"{directory}: cannot be read: {error.strerror}") from error

    depth = directory.rstrip(os.sep).count(os.sep)
    for folder, folders, names in os.walk(directory, onerror=refuse):
        deep = folder.rstrip(os.sep).count(os.sep) - depth >= _DEEPEST
        folders[:] = sorted(
            name
            for name in folders
            if not (deep or name.startswith(".") or name in _SKIPPED_FOLDERS)
        )
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.startswith(".") and os.path.isfile(path):
                yield path


def _is_of_submission(path: str) -> bool:
    kind = kind_of(path, b"")
    if kind:
        return not path.endswith(".json")
    if os.path.splitext(path)[1]:
        return False
    try:
        with open(path, "rb") as file:
            return kind_of(path, file.read(BEGINNING)) is not None
    except OSError:
        return False


def _add_by_its_name(found: Submission, path: str) -> None:
    file = open_launch(path)
    kind = kind_of(path, file.data)
    if kind == "dockerfile":
        _add_dockerfile(found, file)
    elif kind == "yaml":
        _try_launch(found, file)
    else:
        _add_script(found, file)
        _try_launch(found, file)


def _try_launch(found: Submission, file: TextFile) -> None:
    """Take the servers that a file starts; that it starts none is no fault."""
    if starts := servers(file):
        found.files[file.path] = file
        found.launches += starts


def _add_launch(found: Submission, file: TextFile) -> None:
    found.launches += read_launch(file)
    found.files[file.path] = file


def _add_script(found: Submission, file: TextFile) -> None:
    found.patches.append(read_patch(file, "script"))
    found.files[file.path] = file


def _add_dockerfile(found: Submission, file: TextFile) -> None:
    from logdiff.submission.dockerfile import read_dockerfile

    made = read_dockerfile(file)
    found.files[file.path] = file
    found.patches.append(_of_dockerfile(file, made))
    found.base_image = (made.base, file, made.image[0].base_span.start)
    found.environment = [(variable, file) for variable in made.environment]
    found.launches += servers(file)


def read_patch(file: TextFile, kind: str) -> PatchFile:
    """What a file puts into the image.

    Args:
        file: the file.
        kind: ``script`` or ``dockerfile``.

    Raises:
        SubmissionError: it is damaged.
    """
    if kind == "dockerfile":
        from logdiff.submission.dockerfile import read_dockerfile

        return _of_dockerfile(file, read_dockerfile(file))
    from logdiff.submission.deployments import deployments
    from logdiff.submission.packages import package_changes
    from logdiff.submission.shell.commands import read_script

    script = read_script(file)
    return PatchFile(
        file,
        kind,
        deployments(file, script.commands),
        package_changes(file, script.commands),
        script.remarks,
        _length(script.unread),
    )


def acts(file: TextFile, kind: str) -> tuple[object, ...]:
    """What a file puts into the image and changes of its packages, and how much is not understood.

    Args:
        file: the file.
        kind: ``script`` or ``dockerfile``.

    Raises:
        SubmissionError: it is damaged.
    """
    patch = read_patch(file, kind)
    done = [placed(act) for act in patch.deployments], [changed(act) for act in patch.packages]
    return *done, patch.unread_bytes


def placed(act: Deployment) -> tuple[object, ...]:
    """What makes a deployment the same one."""
    return act.source, act.destination, act.how


def changed(act: PackageChange) -> tuple[object, ...]:
    """What makes a change of a package the same one."""
    return act.distribution, act.action, act.specifier, act.source


def _of_dockerfile(file: TextFile, made: Dockerfile) -> PatchFile:
    return PatchFile(
        file, "dockerfile", made.deployments, made.packages, made.remarks, _length(made.unread)
    )


def _length(spans: Iterable[Span]) -> int:
    return sum(span.end - span.start for span in spans)
