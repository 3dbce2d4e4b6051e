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


def test_the_reader_of_the_output_goes_away(logs: Logs) -> None:
    line = f'"{sys.executable}" -c "from logdiff.cli import main; main()" diagnose "{logs.bad}" -v'
    result = subprocess.run(
        f"for n in 1 2 3; do {line} | head -c 1; done;"
        f' "{sys.executable}" -c "from logdiff.cli import main; main()" schema report | head -1',
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        check=False,
    )
    assert result.stderr == b""


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
        "import sys; sys.argv = ['logdiff', '--version']; from logdiff.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(*sorted(n for n in sys.modules if n.startswith('logdiff')"
        " or n in ('click', 'pydantic', 'yaml')))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    assert result.stdout.splitlines()[1] == "logdiff logdiff.cli logdiff.version"


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


@pytest.mark.parametrize("width", ["20", "80", "200", "nonsense", "0"])
def test_any_width(logs: Logs, width: str) -> None:
    result = process("compare", logs.good, logs.bad, environment={"COLUMNS": width})
    assert (result.returncode, result.stderr) == (0, b"")


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


def test_a_link_is_written_through_and_permissions_stay(logs: Logs, tmp_path: Path) -> None:
    target, link = tmp_path / "real.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    result = process("inspect", logs.good, "-o", str(link))
    assert result.returncode == 0
    assert link.is_symlink()
    assert target.read_text() != "old"
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.glob("*.tmp")) == []


def test_two_results_into_one_file_are_refused(logs: Logs, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    result = process(
        "inspect", logs.good, "-f", "json", "-o", str(path), "-f", "text", "-o", str(path)
    )
    assert result.returncode == 2
    assert b"twice" in result.stderr
    assert not path.exists()


@pytest.mark.parametrize("columns", ["²", "9" * 5000, "0", "-1", "x"])
def test_any_value_of_columns_is_survived(logs: Logs, columns: str) -> None:
    result = process("inspect", logs.good, environment={"COLUMNS": columns})
    assert result.returncode == 0
