"""The command line: what it takes, where results go, and the status that it ends with."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from logdiff import __version__, cli
from logdiff.render import dto
from tests.reasoning import HEAD, command, text

if TYPE_CHECKING:
    from pathlib import Path

SERVING = "INFO:     Application startup complete.\n"
STOPPED = "INFO:     Application shutdown complete.\n"
DIED = "ERROR 05-02 11:00:00 a.py:65] Engine background task failed\n"
THREADS = (
    "WARNING 05-02 10:00:12 executor.py:53] Reducing Torch parallelism from 32 threads to 1 to"
    " avoid unnecessary CPU contention.\n"
)
COMMANDS = ("compare", "diagnose", "inspect", "rules", "schema")
FORMATS = ("text", "json", "markdown")


class Logs:
    """Some logs in a folder, by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, content in {
            "good": HEAD + SERVING + STOPPED,
            "bad": HEAD + SERVING + DIED,
            "slow": HEAD + THREADS + SERVING,
            "both": f"good log:\n{HEAD}{SERVING}bad log:\n{HEAD.replace('05-02', '05-01')}{DIED}",
            "empty": "",
            "other": "a program that is not known\n" * 3,
        }.items():
            (folder / f"{name}.log").write_text(content)
        (folder / "binary.log").write_bytes(bytes(range(256)) * 20)

    def __getattr__(self, name: str) -> str:
        return str(self.folder / f"{name}.log")


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path)


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the program as a process of its own."""
    environment = {**os.environ, **options.pop("environment", {})}
    return subprocess.run(
        [sys.executable, "-c", "from logdiff.cli import main; main()", *arguments],
        capture_output=True,
        check=False,
        env=environment,
        **options,
    )


# Status


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("compare {good} {good}", 0),
        ("compare {good} {bad}", 0),
        ("compare {good} {bad} --fail-on never", 0),
        ("compare {good} {bad} --fail-on critical", 1),
        ("compare {good} {bad} --fail-on info", 1),
        ("compare {good} {slow} --fail-on high", 0),
        ("compare {good} {slow} --fail-on medium", 1),
        # what good died of is nobody's failure
        ("compare {bad} {good} --fail-on info", 0),
        ("compare {good} {empty}", 3),
        ("compare {empty} {good}", 3),
        ("compare {empty} {empty} --fail-on info", 3),
        ("compare {good} {binary}", 3),
        ("compare {both} {both}", 2),
        ("compare {both}#1 {both}#2", 0),
        ("compare {both}#1 {both}#2 --fail-on high", 1),
        ("compare {both}#3 {both}#1", 2),
        ("compare {good}", 2),
        ("compare {good} {good} {good}", 2),
        ("compare {good} /nonexistent.log", 2),
        ("compare {good} {bad} --fail-on loud", 2),
        ("compare {good} {bad} -f yaml", 2),
        ("compare {good} {bad} --no-such-option", 2),
        ("compare - -", 2),
        ("diagnose {good}", 0),
        ("diagnose {bad}", 0),
        ("diagnose {bad} --fail-on high", 1),
        ("diagnose {slow} --fail-on medium", 0),
        ("diagnose {slow} --fail-on info", 1),
        ("diagnose {empty} --fail-on info", 3),
        ("diagnose {binary}", 3),
        ("diagnose {other}", 3),
        ("diagnose {both}", 0),
        ("diagnose {both}#9", 2),
        ("inspect {good} {bad}", 0),
        ("inspect {both}", 0),
        ("inspect {empty} {good}", 3),
        ("inspect", 2),
        ("rules list", 0),
        ("rules explain source-drift", 0),
        ("rules explain sourcedrift", 2),
        ("rules check /nonexistent", 2),
        ("schema report", 0),
        ("schema nonsense", 2),
        ("unheard-of", 2),
        ("", 2),
        ("--help", 0),
    ],
)
def test_status(
    logs: Logs, capsys: pytest.CaptureFixture[str], arguments: str, status: int
) -> None:
    names = {name: getattr(logs, name) for name in ("good", "bad", "slow", "both", "empty",
                                                    "binary", "other")}  # fmt: skip
    result = command(capsys, *arguments.format(**names).split())
    assert result.status == status, result.err
    assert "Traceback" not in result.err
    if status == 2:
        assert result.out == ""
        assert result.err
    else:
        assert result.out
        assert result.err == ""


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("bad", ["empty", "binary", "other"])
def test_what_cannot_be_judged_is_still_a_whole_report(
    logs: Logs, capsys: pytest.CaptureFixture[str], format_name: str, bad: str
) -> None:
    path = getattr(logs, bad)
    for line in (["diagnose", path], ["compare", logs.good, path], ["compare", path, logs.good]):
        if line == ["compare", path, logs.good] and bad == "other":
            continue  # bad was read and is judged by itself
        result = command(capsys, *line, "-f", format_name)
        assert result.status == 3, line
        assert result.err == ""
        if format_name == "json":
            report = json.loads(result.out)
            jsonschema.validate(report, dto.json_schema())
            assert report["verdict"]["status"] == "unjudged"
        else:
            assert "unjudged" in result.out.lower()


def test_interrupted(
    logs: Logs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("logdiff.pipeline.Reader.run", interrupt)
    result = command(capsys, "compare", logs.good, logs.bad)
    # The line that ^C was typed on is ended first.
    assert (result.status, result.out, result.err) == (130, "", "\nlogdiff: interrupted\n")


@pytest.mark.parametrize("error", [ValueError("so it is"), MemoryError()])
def test_internal_error(
    logs: Logs,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.delenv(cli.DEBUG_VARIABLE, raising=False)
    monkeypatch.setattr("logdiff.pipeline.Reader.run", fail)
    result = command(capsys, "compare", logs.good, logs.bad)
    assert (result.status, result.out) == (70, "")
    assert result.err.startswith("logdiff: ")
    assert "Traceback" not in result.err


# Standard streams that are closed, full, small or slow

BUG_FREE = (b"Traceback", b"internal error", b"ignored")
WRITERS = ("--version", "-V", "--help", "rules list", "rules check", "schema report",
           "diagnose --help", "diagnose {bad} -v", "inspect {bad}",
           "compare {good} {bad} -f json")  # fmt: skip
unix_only = pytest.mark.skipif(os.name != "posix", reason="needs a shell and its devices")


def shell(logs: Logs, line: str, streams: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program in a shell, which closes streams and sends them elsewhere."""
    program = f'"{sys.executable}" -m logdiff {line.format(good=logs.good, bad=logs.bad)}'
    result = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program} {streams}"], capture_output=True, check=False
    )
    assert not any(word in result.stdout + result.stderr for word in BUG_FREE)
    return result


@unix_only
@pytest.mark.parametrize("line", WRITERS)
@pytest.mark.parametrize(
    ("streams", "status", "message"),
    [
        (">&-", 2, b"standard output cannot be written: it is closed"),
        (">/dev/full", 2, b"standard output cannot be written: No space left on device"),
        (">&- 2>&-", 2, b""),
        (">/dev/full 2>/dev/full", 2, b""),
        ("| true", 141, b""),
    ],
)
def test_standard_output_that_takes_nothing(
    logs: Logs, line: str, streams: str, status: int, message: bytes
) -> None:
    result = shell(logs, line, streams)
    assert (result.returncode, result.stdout) == (status, b"")
    assert result.stderr.count(b"logdiff: ") == bool(message)
    assert message in result.stderr


@unix_only
@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"])
def test_standard_error_that_takes_nothing(logs: Logs, streams: str) -> None:
    for line in WRITERS:
        result = shell(logs, line, streams)
        assert result.returncode == 0
        assert result.stdout
    for line in ("", "nonsense", "diagnose /no/such.log", "diagnose {bad} --no-such-option"):
        result = shell(logs, line, streams)
        assert (result.returncode, result.stdout) == (2, b"")
    assert shell(logs, "diagnose {bad} --fail-on high", streams).returncode == 1


@unix_only
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_is_whole_or_refused(logs: Logs, unbuffered: str) -> None:
    environment = {"PYTHONUNBUFFERED": unbuffered}
    for line in ("schema report", "compare {good} {bad} -f json"):
        whole = shell(logs, line, "").stdout
        arguments = line.format(good=logs.good, bad=logs.bad).split()
        assert len(whole) > 3000
        assert process(*arguments, environment=environment).stdout == whole
        # A disk that becomes full in the midst of it: the first write is a short one.
        target = logs.folder / "out"
        limited = subprocess.run(
            ["bash", "-c", f'ulimit -f 2; "$0" -m logdiff "$@" >> "{target}"',
             sys.executable, *arguments],
            env={**os.environ, **environment},
            capture_output=True,
            check=False,
        )  # fmt: skip
        assert limited.returncode == 2
        assert limited.stderr.count(b"logdiff: ") == 1
        assert b"File too large" in limited.stderr
        target.unlink()


@unix_only
def test_a_slow_reader_that_made_the_pipe_non_blocking() -> None:
    line = ["schema", "report"]
    whole = process(*line).stdout
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    os.write(theirs, b"x" * 65_536)
    with subprocess.Popen(
        [sys.executable, "-m", "logdiff", *line], stdout=theirs, stderr=subprocess.PIPE
    ) as running, open(ours, "rb") as reader:  # fmt: skip
        os.close(theirs)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1)
        assert reader.read() == b"x" * 65_536 + whole
        assert running.wait() == 0


@unix_only
@pytest.mark.parametrize("moment", ["click", "enum", "logdiff.errors", "logdiff.render.text"])
def test_interrupted_in_the_midst_of_an_import(logs: Logs, moment: str) -> None:
    # What a class attribute raises becomes a RuntimeError, what a destructor raises is ignored.
    code = f"""
import os, signal, sys
from logdiff.cli import main
class Interrupting:
    def __set_name__(self, owner, name): os.kill(os.getpid(), signal.SIGINT)
    def __del__(self): os.kill(os.getpid(), signal.SIGINT)
class Finder:
    def find_spec(self, name, *_):
        if name == {moment!r}:
            Interrupting()
            class _: attribute = Interrupting()
sys.meta_path.insert(0, Finder())
sys.modules.pop({moment!r}, None)
main()
"""
    result = subprocess.run(
        [sys.executable, "-c", code, "diagnose", logs.bad], capture_output=True, check=False
    )
    assert (result.returncode, result.stdout) == (130, b"")
    assert result.stderr == b"\nlogdiff: interrupted\n"


# Messages


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["compare", "/no/such.log", "/no/such.log"], ["/no/such.log", "no such file"]),
        (["diagnose", "{good}#7"], ["has no section 7", "logdiff inspect"]),
        (["compare", "{both}", "{good}"], ["holds 2 runs", "{both}#1", "{both}#2", "inspect"]),
        (["compare", "-", "-"], ["standard input"]),
        (["compare", "{good}", "{bad}", "--formt", "json"], ["--formt"]),
        (["rules", "explain", "source-drft"], ["source-drft", "Did you mean 'source-drift'?"]),
        (["rules", "explain", "zzzzz"], ["zzzzz", "logdiff rules list"]),
        (["diagnos", "{good}"], ["No such command 'diagnos'", "Did you mean 'diagnose'?"]),
        (["rules", "lst"], ["No such command 'lst'", "Did you mean 'list'?"]),
        (["zzzzz"], ["No such command 'zzzzz'"]),
    ],
)
def test_messages_say_what_where_and_what_to_do(
    logs: Logs, capsys: pytest.CaptureFixture[str], arguments: list[str], parts: list[str]
) -> None:
    names = {"good": logs.good, "bad": logs.bad, "both": logs.both}
    result = command(capsys, *(argument.format(**names) for argument in arguments))
    assert result.status == 2
    for part in parts:
        assert part.format(**names).lower() in result.err.lower()


@pytest.mark.parametrize("name", ["#0", "#-1", "#x", "#"])
def test_numbers_that_are_no_section(
    logs: Logs, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    result = command(capsys, "diagnose", logs.good + name)
    assert result.status == 2
    assert "Traceback" not in result.err


def test_an_existing_file_of_that_very_name_wins(
    logs: Logs, capsys: pytest.CaptureFixture[str]
) -> None:
    (logs.folder / "good.log#2").write_text(HEAD + DIED)
    assert command(capsys, "diagnose", f"{logs.good}#2", "--fail-on", "high").status == 1


# Help


@pytest.mark.parametrize("name", COMMANDS)
def test_help(capsys: pytest.CaptureFixture[str], name: str) -> None:
    result = command(capsys, name, "--help")
    assert (result.status, result.err) == (0, "")
    assert f"Usage: logdiff {name}" in result.out
    _, examples = result.out.split("Examples:")
    assert f"logdiff {name}" in examples
    assert command(capsys, name, "-h") == result


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    result = command(capsys, "--help")
    assert "Examples:" in result.out
    for name in COMMANDS:
        assert re.search(rf"^  {name} +\S", result.out, re.MULTILINE)


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert command(capsys, option).out == f"logdiff {__version__}\n"
    fast = process(option)
    assert (fast.returncode, fast.stdout) == (0, f"logdiff {__version__}\n".encode())


def test_the_version_loads_nothing() -> None:
    code = (
        "import os, sys; sys.argv = ['logdiff', '--version']; from logdiff.cli import main\n"
        "os._exit = lambda status: print(*sorted(n for n in sys.modules"
        " if n.startswith('logdiff') or n in ('click', 'pydantic', 'yaml', 'signal', 're')))\n"
        "main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    assert result.stdout.splitlines()[1] == (
        "logdiff logdiff.cli logdiff.cli._streams logdiff.errors logdiff.version"
    )


def test_a_report_loads_no_compiler(logs: Logs) -> None:
    code = (
        "import sys; from logdiff.cli import run\n"
        f"run(['compare', {logs.good!r}, {logs.bad!r}, '-f', 'json', '-o', {os.devnull!r}])\n"
        "print([n for n in ('pydantic', 'yaml', 'regex', 'jinja2') if n in sys.modules])"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    assert result.stdout == "[]\n"


# Where results go


def kind(content: str) -> str:
    if content.startswith("{"):
        return "json"
    return "markdown" if content.startswith("#") else "text"


@pytest.mark.parametrize(
    ("options", "stdout", "files"),
    [
        ([], ["text"], {}),
        (["-f", "json"], ["json"], {}),
        (["-o", "r.json"], [], {"r.json": "json"}),
        (["-o", "r.md"], [], {"r.md": "markdown"}),
        (["-o", "r.anything"], [], {"r.anything": "text"}),
        (["-f", "json", "-o", "r.txt"], [], {"r.txt": "json"}),
        (["-f", "json", "-o", "r.json", "-f", "text"], ["text"], {"r.json": "json"}),
        (["-f", "text", "-f", "json", "-o", "r.txt", "-o", "r.json"], [],
         {"r.txt": "text", "r.json": "json"}),
        (["-o", "r.json", "-o", "r.md"], [], {"r.json": "json", "r.md": "markdown"}),
        (["-f", "json", "-f", "text", "-o", "r.json"], ["text"], {"r.json": "json"}),
    ],
)  # fmt: skip
def test_formats_and_files(
    logs: Logs,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    stdout: list[str],
    files: dict[str, str],
) -> None:
    monkeypatch.chdir(logs.folder)
    for line in (["compare", logs.good, logs.bad], ["diagnose", logs.bad], ["inspect", logs.bad]):
        result = command(capsys, *line, *options)
        assert (result.status, result.err) == (0, "")
        assert [kind(result.out)] == stdout or (not result.out and not stdout)
        for name, wanted in files.items():
            content = (logs.folder / name).read_text(encoding="utf-8")
            assert kind(content) == wanted or line[0] == "inspect"
            assert content.endswith("\n")
            os.unlink(logs.folder / name)
    assert not list(logs.folder.glob("*.tmp"))


def test_what_is_written_is_what_is_printed(logs: Logs, capsys: pytest.CaptureFixture[str]) -> None:
    for name in FORMATS:
        target = logs.folder / "report"
        printed = command(capsys, "compare", logs.good, logs.bad, "-f", name).out
        command(capsys, "compare", logs.good, logs.bad, "-f", name, "-o", target)
        assert target.read_text(encoding="utf-8") == printed


@pytest.mark.parametrize("target", ["good.log", "bad.log", "./good.log", "link.log", "hard.log"])
def test_a_log_that_is_read_is_never_written_over(
    logs: Logs,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    target: str,
) -> None:
    monkeypatch.chdir(logs.folder)
    os.symlink("good.log", "link.log")
    os.link("bad.log", "hard.log")
    before = {path: path.read_bytes() for path in logs.folder.iterdir()}
    result = command(capsys, "compare", "good.log", "bad.log", "-o", target)
    assert result.status == 2
    assert "not overwritten" in result.err
    assert {path: path.read_bytes() for path in logs.folder.iterdir()} == before


@pytest.mark.parametrize("target", ["no/such/folder/r.txt", "folder"])
def test_what_cannot_be_written(
    logs: Logs, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    (logs.folder / "folder").mkdir()
    result = command(capsys, "diagnose", logs.bad, "-o", logs.folder / target)
    assert result.status == 2
    assert "cannot be written" in result.err
    assert not list(logs.folder.rglob("*.tmp"))


@unix_only
def test_a_full_disk_leaves_the_file_as_it_was(logs: Logs) -> None:
    target = logs.folder / "r.json"
    target.write_text("before")
    result = subprocess.run(
        ["bash", "-c", 'ulimit -f 1; "$0" -m logdiff "$@"',
         sys.executable, "diagnose", logs.bad, "-o", str(target)],
        capture_output=True,
        check=False,
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr == f"logdiff: {target}: cannot be written: File too large\n".encode()
    assert target.read_text() == "before"
    assert not list(logs.folder.rglob("*.tmp"))


@unix_only
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_keeps_its_mode(logs: Logs, capsys: pytest.CaptureFixture[str], mode: int) -> None:
    target = logs.folder / "r.json"
    target.touch()
    target.chmod(mode)
    assert command(capsys, "diagnose", logs.bad, "-o", target).status == 0
    assert target.stat().st_mode & 0o7777 == mode
    assert target.stat().st_size


@unix_only
def test_a_new_file_has_the_mode_that_is_usual(
    logs: Logs, capsys: pytest.CaptureFixture[str]
) -> None:
    target = logs.folder / "r.json"
    usual = os.umask(0o027)
    try:
        command(capsys, "diagnose", logs.bad, "-o", target)
    finally:
        os.umask(usual)
    assert target.stat().st_mode & 0o7777 == 0o640


@unix_only
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed_and_stays(
    logs: Logs, capsys: pytest.CaptureFixture[str], there: bool
) -> None:
    (logs.folder / "elsewhere").mkdir()
    target = logs.folder / "elsewhere" / "r.json"
    if there:
        target.write_text("before")
    link = logs.folder / "r.json"
    link.symlink_to("elsewhere/r.json")
    assert command(capsys, "diagnose", logs.bad, "-o", link).status == 0
    assert link.is_symlink()
    assert kind(target.read_text()) == "json"
    assert not list(logs.folder.rglob("*.tmp"))


@unix_only
def test_a_link_to_itself_is_refused_and_stays(
    logs: Logs, capsys: pytest.CaptureFixture[str]
) -> None:
    link = logs.folder / "r.json"
    link.symlink_to("r.json")
    result = command(capsys, "diagnose", logs.bad, "-o", link)
    assert result.status == 2
    assert "cannot be written" in result.err
    assert link.is_symlink()


@unix_only
def test_nothing_is_written_through_a_link_that_was_put_in_the_way(
    logs: Logs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = logs.folder / "victim"
    victim.write_text("before")
    # Even if the name could be guessed.
    monkeypatch.setattr("os.urandom", bytes)
    guessed = logs.folder / f"r.json.{bytes(8).hex()}.tmp"
    for name in (f"r.json.{os.getpid()}.tmp", guessed.name):
        (logs.folder / name).symlink_to(victim)
    result = command(capsys, "diagnose", logs.bad, "-o", logs.folder / "r.json")
    assert (result.status, victim.read_text()) == (2, "before")
    assert "r.json: cannot be written: File exists" in result.err
    assert guessed.is_symlink()


@pytest.mark.parametrize("second", ["r.json", "./r.json", "link.json"])
def test_two_results_never_go_to_one_file(
    logs: Logs,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    second: str,
) -> None:
    monkeypatch.chdir(logs.folder)
    os.symlink("r.json", "link.json")
    line = ["diagnose", logs.bad, "-o", "first.txt", "-o", "r.json", "-o", second]
    result = command(capsys, *line)
    assert (result.status, result.out) == (2, "")
    assert f"{second}: is given to -o twice" in result.err
    assert not list(logs.folder.glob("first.txt")) + list(logs.folder.glob("r.json"))
    assert command(capsys, "diagnose", logs.bad, "-o", os.devnull, "-o", os.devnull).status == 0


@unix_only
def test_a_result_may_go_to_a_pipe(logs: Logs) -> None:
    whole = shell(logs, "diagnose {bad} -f json", "").stdout
    assert shell(logs, "diagnose {bad} -f json -o /dev/fd/1", "| cat").stdout == whole
    assert shell(logs, "diagnose {bad} -f json -o", ">(cat)").stdout == whole


@unix_only
def test_the_log_on_standard_input_is_not_written_over(logs: Logs) -> None:
    before = (logs.folder / "bad.log").read_bytes()
    result = shell(logs, "diagnose - -o {bad}", f"< {logs.bad}")
    assert result.returncode == 2
    assert b"not overwritten" in result.stderr
    assert (logs.folder / "bad.log").read_bytes() == before


def test_a_failing_report_is_written_all_the_same(
    logs: Logs, capsys: pytest.CaptureFixture[str]
) -> None:
    target = logs.folder / "r.json"
    result = command(capsys, "diagnose", logs.bad, "-o", target, "--fail-on", "high")
    assert result.status == 1
    assert json.loads(target.read_text())["verdict"]["status"] == "fail"


def test_standard_input(logs: Logs) -> None:
    good = (logs.folder / "good.log").read_bytes()
    for line in (["diagnose", "-"], ["compare", "-", logs.bad], ["compare", logs.bad, "-"],
                 ["inspect", "-"]):  # fmt: skip
        result = process(*line, "-f", "json", input=good)
        assert result.returncode == 0, result.stderr
        assert b"<stdin>" in result.stdout
        json.loads(result.stdout)


@pytest.mark.parametrize("content", [b"", bytes(range(256)) * 20, b"\x1f\x8b\x08\x00zz",
                                     b"\xfd7zXZ\x00", b"\xff\xfe\x00\x00"])  # fmt: skip
def test_a_log_that_cannot_be_read_is_named_once(
    logs: Logs, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = logs.folder / "x.gz"
    path.write_bytes(content)
    for line in (["diagnose", path], ["inspect", path], ["compare", logs.good, path],
                 ["compare", path, path]):  # fmt: skip
        for format_name in FORMATS:
            result = command(capsys, *line, "-f", format_name)
            assert result.status == 3
            assert not re.search(r"x\.gz\W+x\.gz: ", result.out + result.err)


def test_standard_input_is_not_to_be_read_again(logs: Logs) -> None:
    both = (logs.folder / "both.log").read_bytes()
    for line in (["inspect", "-"], ["diagnose", "-"], ["compare", logs.good, "--", "-#1"]):
        result = process(*line, input=both)
        assert result.returncode == 0, result.stderr
        assert not re.search(rb"logdiff \w+ .*<stdin>", result.stdout)


def test_empty_standard_input() -> None:
    result = process("diagnose", "-", input=b"")
    assert result.returncode == 3
    assert result.stdout.count(b"is empty") == 1
    assert b"Next:" not in result.stdout


# How it looks


def test_no_colour_where_nobody_sees_it(
    logs: Logs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    line = ["compare", logs.good, logs.bad]
    plain = command(capsys, *line).out
    assert "\x1b" not in plain
    coloured = command(capsys, *line, "--color", "always").out
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" in command(capsys, *line).out
    assert "\x1b" not in command(capsys, *line, "--color", "never").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in command(capsys, *line).out


def test_colour_is_never_written_to_a_file(logs: Logs, capsys: pytest.CaptureFixture[str]) -> None:
    target = logs.folder / "r.txt"
    command(capsys, "diagnose", logs.bad, "-o", target, "--color", "always")
    assert "\x1b" not in target.read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [["--help"], ["compare", "{good}", "{bad}", "-v"],
                                       ["inspect", "{both}"], ["rules", "list"]])  # fmt: skip
def test_a_terminal_that_knows_ascii_only(logs: Logs, arguments: list[str]) -> None:
    names = {"good": logs.good, "bad": logs.bad, "both": logs.both}
    line = [argument.format(**names) for argument in arguments]
    result = process(*line, environment={"PYTHONIOENCODING": "ascii"})
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.isascii()


def test_rules_that_are_explained_to_an_ascii_terminal() -> None:
    listed = process("rules", "list", environment={"PYTHONIOENCODING": "ascii"})
    for line in listed.stdout.decode().splitlines():
        result = process("rules", "explain", line.split()[1],
                         environment={"PYTHONIOENCODING": "ascii"})  # fmt: skip
        assert (result.returncode, result.stderr) == (0, b"")


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9 \xe6\x97\xa5.log"
    with open(path, "wb") as file:
        file.write((HEAD + DIED).encode())
    for format_name in FORMATS:
        result = process("diagnose", os.fsdecode(path), "-f", format_name)
        assert result.returncode == 0, result.stderr
        assert result.stdout.decode()


@pytest.mark.parametrize(
    "width", ["20", "80", "200", "nonsense", "0", "-5", "²", "٣", "9" * 5000, "1_0", "99999"]
)
def test_any_width(logs: Logs, width: str) -> None:
    for line in (["compare", logs.good, logs.bad], ["--help"]):
        result = process(*line, environment={"COLUMNS": width})
        assert (result.returncode, result.stderr) == (0, b"")
        assert max(map(len, result.stdout.decode().splitlines())) <= 120


def test_json_is_as_its_schema_says(logs: Logs, capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads(command(capsys, "schema", "report").out)
    for line in (
        ["compare", logs.good, logs.bad],
        ["diagnose", logs.slow],
        ["diagnose", logs.both],
    ):
        report = json.loads(command(capsys, *line, "-f", "json").out)
        jsonschema.validate(report, schema)


@pytest.mark.parametrize("name", ["rule", "signal"])
def test_schemas_of_what_is_read(capsys: pytest.CaptureFixture[str], name: str) -> None:
    schema = json.loads(command(capsys, "schema", name).out)
    jsonschema.Draft202012Validator.check_schema(schema)


# Rules


def test_every_rule_can_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for line in command(capsys, "rules", "list").out.splitlines():
        name = line.split()[1]
        result = command(capsys, "rules", "explain", name)
        assert result.status == 0
        assert result.out.startswith(name)
        assert "Example: " in result.out


def test_a_rule_file_that_is_wrong(logs: Logs, capsys: pytest.CaptureFixture[str]) -> None:
    path = logs.folder / "mine" / "my-rule.yaml"
    path.parent.mkdir()
    path.write_text("id: my-rule\ntitle: '{bad.no_such_fact}'\n")
    result = command(capsys, "rules", "check", path)
    assert result.status == 2
    assert f"{path}:" in result.err
    assert "problem" in result.err


# Progress


class Terminal(io.StringIO):
    """A stream that says that somebody looks at it."""

    def isatty(self) -> bool:
        return True


def test_progress_is_told_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from logdiff.cli import _options

    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert _options.progress() is None
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(_options, "_PROGRESS_AFTER_SECONDS", -1)
    tell = _options.progress()
    assert tell is not None
    tell("/a/b/日志.log", 5_000_000, 10_000_000)
    assert "5 of 10 MB" in terminal.getvalue()
    assert terminal.getvalue().isascii()
    tell("/a/b/日志.log", 10_000_000, 10_000_000)
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("<stdin>", "12 kB so far; Ctrl-C ends the log here"),
        ("/a/b.log.gz", "b.log.gz: 12 kB so far"),
    ],
)
def test_progress_of_a_stream_has_no_end(
    monkeypatch: pytest.MonkeyPatch, path: str, says: str
) -> None:
    from logdiff.cli import _options

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(_options, "_PROGRESS_AFTER_SECONDS", -1)
    tell = _options.progress()
    assert tell is not None
    tell(path, 12_000, None)
    assert terminal.getvalue().endswith(says)


# Several sections


def test_each_section_is_diagnosed_by_itself(
    logs: Logs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(logs.folder)
    one, two = (command(capsys, "diagnose", f"both.log#{n}").out for n in (1, 2))
    assert one.startswith("PASS")
    assert two.startswith("FAIL")
    for format_name in ("text", "markdown"):
        shown = [
            command(capsys, "diagnose", path, "-f", format_name).out
            for path in ("both.log#1", "both.log#2", "both.log")
        ]
        assert shown[2] == "\n".join(shown[:2])
        for number in (1, 2):
            assert f"both.log#{number}" in shown[number - 1]
    report = json.loads(command(capsys, "diagnose", logs.both, "-f", "json").out)
    assert {finding["section"] for finding in report["findings"]} >= {2}


@pytest.mark.parametrize("format_name", FORMATS)
def test_the_status_of_several_sections_is_the_worst(
    logs: Logs, capsys: pytest.CaptureFixture[str], format_name: str
) -> None:
    line = ["diagnose", logs.both, "-f", format_name]
    assert command(capsys, *line).status == 0
    assert command(capsys, *line, "--fail-on", "high").status == 1


def test_text_helper() -> None:
    assert text("a", "b") == "a\nb\n"
