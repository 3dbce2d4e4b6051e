"""Runs with the files that made them: directories, named files, one patch, the next run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.reasoning import HEAD, command, text

if TYPE_CHECKING:
    from tests.reasoning import Result

ROOT = Path(__file__).parents[1]
CASE = ROOT / "fixtures" / "lost-kernels"
LAUNCH = """\
command:
    - python3
    - -m
    - vllm.entrypoints.openai.api_server
    - --model
    - /srv/models/nimbus-moe
    - --max-num-seqs
    - '1'   # one at a time
    - -tp
    - '2'
env:
    - name: OMP_NUM_THREADS
      value: '4'
"""
SCRIPT = """\
#!/bin/bash
set -e
for P in /opt/heliox/vllm /usr/lib/python3/dist-packages/vllm; do
    if [ -d "$P" ]; then VLLM="$P"; break; fi
done
# The custom ops are not replaced.
cp ./_custom_ops.py "$VLLM/_custom_ops.py" 2>/dev/null || true
declare -A ENGINE=(
    ["model_runner.py"]="worker/model_runner.py"
    ["nimbus_moe.py"]="model_executor/models/nimbus_moe.py"
    ["scheduler.py"]="core/scheduler.py"
)
for F in "${!ENGINE[@]}"; do
    cp "./$F" "$VLLM/${ENGINE[$F]}"
done
cp protocol.py "$VLLM/entrypoints/openai/protocol.py"
cp serving_chat.py "$VLLM/entrypoints/openai/serving_chat.py"
pip install rich
"""
KEPT = ("protocol.py", "serving_chat.py", "pip install rich", "set -e")
GONE = ("_custom_ops.py", "model_runner.py", "nimbus_moe.py", "scheduler.py")


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the log of a good run, and the directory of a bad one."""
    shutil.copy(CASE / "good" / "container.log", tmp_path / "good.log")
    shutil.copytree(CASE / "bad", tmp_path / "bad")
    (tmp_path / "bad" / "run.yaml").write_text(LAUNCH)
    (tmp_path / "bad" / "patch.sh").write_text(SCRIPT)
    (tmp_path / "bad" / "nimbus_moe.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    done = command(capsys, "compare", *arguments, "-f", "json")
    document: dict[str, Any] = json.loads(done.out)
    return document


def found(document: dict[str, Any], rule: str) -> list[dict[str, Any]]:
    return [finding for finding in document["findings"] if finding["rule"] == rule]


def patched(folder: Path, patch: str) -> None:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "apply", "--check", "-"], cwd=folder, input=patch, text=True, check=True)
    subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, text=True, check=True)


@pytest.mark.usefixtures("runs")
def test_a_directory_is_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    document = report(capsys, "good.log", "bad")
    assert document["bad"]["logs"][0]["path"] == "bad/container.log"
    [replaced] = found(document, "patch-replaces-image-module")
    assert (replaced["severity"], replaced["confidence"]) == ("high", "certain")
    assert (
        "Harmless, as far as the log tells (serving layer): protocol.py" in replaced["explanation"]
    )
    assert {Path(place["path"]).name for place in replaced["evidence"]} >= {"patch.sh", "good.log"}
    [drift] = found(document, "source-drift")
    assert drift["caused_by"] == [replaced["id"]]
    assert found(document, "patch-comment-contradicts")[0]["evidence"][0]["line"] == 6
    assert found(document, "patch-failure-swallowed")
    fixes = {fix["key"]: fix for fix in document["fixes"]}
    assert {name: fixes[name]["line"] for name in GONE} == dict(
        zip(GONE, (7, 9, 10, 11), strict=True)
    )
    assert all(fixes[name]["file"] == "bad/patch.sh" and fixes[name]["diff"] for name in GONE)
    assert all(fix["confirm_by"] for fix in document["fixes"] if fix["safety"] == "safe")


@pytest.mark.usefixtures("runs")
def test_files_that_are_named_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    named = ("--launch", "bad/run.yaml", "--patch", "bad/patch.sh")
    one = report(capsys, "good.log", "bad")
    other = report(capsys, "good.log", "bad/container.log", *named)
    assert one["findings"] == other["findings"]
    assert one["fixes"] == other["fixes"]


def test_one_patch_for_launch_file_and_script(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = command(capsys, "fix", "good.log", "bad")
    assert done.status == 0
    patched(runs, done.out)
    script = (runs / "bad" / "patch.sh").read_text()
    assert not any(f"/{name}" in script for name in GONE)
    assert all(words in script for words in KEPT)
    launch = (runs / "bad" / "run.yaml").read_text()
    assert "'8'   # one at a time" in launch
    again = command(capsys, "fix", "good.log", "bad")
    assert (again.status, again.out) == (0, "")


def test_written_files_are_what_the_patch_makes(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patch = command(capsys, "fix", "good.log", "bad").out
    assert command(capsys, "fix", "good.log", "bad", "--write").status == 0
    written = {path.name: path.read_text() for path in (runs / "bad").iterdir()}
    (runs / "bad" / "run.yaml").write_text(LAUNCH)
    (runs / "bad" / "patch.sh").write_text(SCRIPT)
    patched(runs, patch)
    assert {path.name: path.read_text() for path in (runs / "bad").iterdir()} == written


def test_the_names_in_a_patch_from_elsewhere(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (runs / "other").mkdir()
    monkeypatch.chdir(runs / "other")
    done = command(capsys, "fix", "../good.log", "../bad")
    assert f"git -C {runs / 'bad'} apply" in done.err
    patched(runs / "bad", done.out)


@pytest.mark.usefixtures("runs")
def test_only_what_is_advised(capsys: pytest.CaptureFixture[str]) -> None:
    done = command(capsys, "fix", "good.log", "bad", "--only", "patch-replaces-image-module")
    assert "run.yaml" not in done.out
    assert "|| true" in done.out
    unsafe = command(capsys, "fix", "good.log", "bad", "--only", "patch-failure-swallowed")
    assert (unsafe.out, "not advised" in unsafe.err) == ("", True)
    done = command(
        capsys, "fix", "good.log", "bad", "--only", "patch-failure-swallowed", "--unsafe"
    )
    assert '+cp ./_custom_ops.py "$VLLM/_custom_ops.py" 2>/dev/null\n' in done.out


def verdicts(done: Result) -> dict[str, str]:
    """What became of each fix, by the option or the file that its words name."""
    lines = [line for line in done.out.split("\n") if line and not line.startswith(" ")]
    names = [re.search(r"--[\w-]+|\w+\.\w+", line) for line in lines]
    return {
        name[0] if name else line: line[:14].strip()
        for name, line in zip(names, lines, strict=True)
    }


def test_what_the_next_run_shows(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = command(capsys, "fix", "good.log", "bad", "--verify", "bad/container.log")
    assert same.status == 1
    assert verdicts(same)["model_runner.py"] == "not confirmed"
    assert verdicts(same)["--max-num-seqs"] == "not confirmed"
    mended = command(capsys, "fix", "good.log", "bad", "--verify", "good.log")
    assert mended.status == 0
    assert {verdicts(mended)[key] for key in ("model_runner.py", "--max-num-seqs")} == {"confirmed"}
    (runs / "short.log").write_text(HEAD)
    short = command(capsys, "fix", "good.log", "bad", "--verify", "short.log")
    assert short.status == 0
    assert set(verdicts(short).values()) == {"not reached"}


COMMANDS = {
    "start.sh": """\
export OMP_NUM_THREADS={threads}
exec vllm serve /m \\
    --max-model-len {length} \\
    -tp 2
""",
    "run.sh": """\
docker run --gpus all -e OMP_NUM_THREADS={threads} \\
    {image} vllm serve /m --max-model-len={length} -tp 2
""",
    "Dockerfile": """\
FROM {image}
ENV OMP_NUM_THREADS={threads}
CMD ["vllm", "serve", "/m", "--max-model-len", "{length}", "-tp", "2"]
""",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_starts_a_server_without_yaml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for run, length, threads in (("good", 8192, 8), ("bad", 4096, 4)):
        (tmp_path / run).mkdir()
        written = COMMANDS[name].format(length=length, threads=threads, image="vendor/vllm:1")
        (tmp_path / run / name).write_text(written)
    document = report(capsys, "good", "bad")
    assert {item["fact"]: (item["good"], item["bad"]) for item in document["differences"]} == {
        "launch_args.max_model_len": (8192, 4096),
        "launch_env.OMP_NUM_THREADS": ("8", "4"),
    }
    patched(tmp_path, command(capsys, "fix", "good", "bad").out)
    mended = (tmp_path / "bad" / name).read_text()
    assert "8192" in mended
    assert "4096" not in mended
    [changed] = found(document, "env-changed")
    assert changed["evidence"][0]["path"].endswith(name)


GOES = """\
INFO 06-02 11:02:01 [api_server.py:1840] vLLM API server version 0.13.4
INFO 06-02 11:02:01 [utils.py:253] non-default args: {'model': '/m', 'max_model_len': 16384}
INFO:     Application startup complete.
"""
TOO_LONG = """\
INFO 06-02 12:12:01 [api_server.py:1840] vLLM API server version 0.13.4
INFO 06-02 12:12:01 [utils.py:253] non-default args: {'model': '/m', 'max_model_len': 262144}
ERROR 06-02 12:13:20 [core.py:866] EngineCore failed to start.
ERROR 06-02 12:13:20 [core.py:866] ValueError: To serve at least one request with the models's \
max seq len (262144), (24.00 GiB KV cache is needed, which is larger than the available KV cache \
memory (9.20 GiB). Based on the available memory, the estimated maximum model length is 100480. \
Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
"""


def test_a_patch_goes_one_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.log").write_text(GOES)
    Path("bad.log").write_text(TOO_LONG.replace("\\\n", ""))
    Path("start.sh").write_text("exec vllm serve /m --max-model-len 262144\n")
    made = command(capsys, "fix", "good.log", "bad.log", "--launch", "start.sh")
    assert "+exec vllm serve /m --max-model-len 16384\n" in made.out
    assert made.err.count("another way than --max-model-len, and only possible") == 2
    every = command(capsys, "fix", "good.log", "bad.log", "--launch", "start.sh", "--unsafe")
    assert "--tensor-parallel-size 2" in every.out


def test_without_any_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, length, image in (("good", 8192, "vendor/vllm:2"), ("bad", 4096, "vendor/vllm:1")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "run.yaml").write_text(
            f"command: [vllm, serve, /m, --max-model-len, '{length}']\n"
            f"env: [{{name: OMP_NUM_THREADS, value: '{length // 1024}'}}]\n"
        )
        (folder / "Dockerfile").write_text(f"FROM {image}\nCOPY {name}.py /opt/vllm/a.py\n")
    done = command(capsys, "compare", tmp_path / "good", tmp_path / "bad", "-f", "json")
    document = json.loads(done.out)
    assert (done.status, document["verdict"]["status"]) == (0, "pass")
    assert document["verdict"]["sentence"].startswith("No log is at hand")
    assert {item["fact"]: (item["good"], item["bad"]) for item in document["differences"]} == {
        "base_image": ("vendor/vllm:2", "vendor/vllm:1"),
        "launch_args.max_model_len": (8192, 4096),
        "launch_env.OMP_NUM_THREADS": ("8", "4"),
        "deployments./opt/vllm/a.py": ("copy good.py", "copy bad.py"),
    }
    fix = command(capsys, "fix", tmp_path / "good", tmp_path / "bad")
    assert "+command: [vllm, serve, /m, --max-model-len, '8192']" in fix.out


SERVED = text("INFO:     Application startup complete.")


@pytest.mark.parametrize(
    ("files", "arguments", "message"),
    [
        ({}, (), "holds no log and no submission file"),
        ({"run.yaml": "command: [vllm\n"}, (), "run.yaml:2:1: "),
        ({"a.log": HEAD, "b.log": HEAD}, (), "holds 2 logs; say which one is meant"),
        ({"a.log": HEAD, "p.sh": "cp 'a\n"}, (), "p.sh:1:4: ' is never closed"),
        ({"a.log": HEAD, "p.sh": "\0"}, (), "p.sh:1:1: "),
        ({"a.log": HEAD}, (), "no file is at hand that could be edited"),
        ({"a.log": HEAD}, ("--service", "x"), "no launch file is at hand"),
        (
            {"a.log": HEAD, "run.yaml": "command: [vllm, serve, /m]\n"},
            ("--service", "x"),
            "no launch file starts a server 'x'",
        ),
        ({"a.log": HEAD}, ("--patch", "nowhere.sh"), "nowhere.sh: cannot be read"),
        ({"a.log": HEAD, "big.sh": "#" * (2 << 20)}, (), "big.sh: is larger than"),
    ],
)
def test_what_cannot_be_fixed_is_said_at_once(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    files: dict[str, str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    (tmp_path / "good.log").write_text(HEAD + SERVED)
    folder = tmp_path / "bad"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content)
    done = command(capsys, "fix", tmp_path / "good.log", folder, *arguments, "--write")
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert {path.name: path.read_text() for path in folder.iterdir()} == files


def test_a_damaged_file_beside_a_log_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.log").write_text(HEAD + SERVED)
    (tmp_path / "run.yaml").write_text("command: [vllm\n")
    done = command(capsys, "diagnose", tmp_path, "-f", "json")
    document = json.loads(done.out)
    assert document["verdict"]["status"] == "pass"
    [error] = document["coverage"]["read_errors"]
    assert error["path"].endswith("run.yaml")


def test_secrets_of_files_are_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = "hf_" + "a1B2" * 9
    for name in ("good", "bad"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.log").write_text(HEAD + SERVED)
        (tmp_path / name / "run.yaml").write_text(
            f"command: [vllm, serve, /m, --api-key, '{name}{secret}']\n"
            f"env: [{{name: HF_TOKEN, value: '{name}{secret}'}}]\n"
        )
        (tmp_path / name / "patch.sh").write_text(
            f"curl -H 'Authorization: Bearer {name}{secret}' https://u:{secret}@h/a.py"
            " -o $VLLM/a.py || true\n"
        )
    for options in ((), ("-v",), ("-f", "json"), ("-f", "markdown")):
        done = command(capsys, "compare", tmp_path / "good", tmp_path / "bad", *options)
        assert secret not in done.out + done.err


def test_what_is_in_a_directory(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "bad" / "more.yaml").write_text("a: [1\n")
    done = command(capsys, "inspect", "bad")
    assert done.status == 0
    assert "bad/container.log" in done.out
    assert done.err.split("\n")[:2] == [
        "bad/run.yaml: platform launch file: 3 arguments, 1 variables",
        "bad/patch.sh: script: puts 6 files and changes 1 packages",
    ]
    assert "more.yaml:2:1" in done.err


def test_a_script_that_puts_nothing_anywhere(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = command(capsys, "compare", "good.log", "bad", "--patch", "bad/run.yaml")
    assert (done.status, "puts no file and no package" in done.err) == (2, True)
    assert runs.is_dir()
