"""``logdiff fix``: one patch for the launch file, and what it leaves out."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

BAD = {"max_model_len": "4096", "max_num_seqs": "1", "gpu_memory_utilization": "0.8"}
GOOD = {"max_model_len": "8192", "max_num_seqs": "16", "gpu_memory_utilization": "0.95"}
LAUNCH = """\
command:
  - vllm
  - serve
  - /m
  - --max-model-len
  - '4096'   # tokens
  - --max-num-seqs=1
  - --gpu-memory-utilization
  - '0.8'
"""
LOG = """\
INFO 05-02 10:00:09 api_server.py:528] vLLM API server version 0.6.3
INFO 05-02 10:00:09 api_server.py:529] args: Namespace({arguments}, seed=0)
INFO 05-02 10:00:12 llm_engine.py:237] Initializing an LLM engine (v0.6.3) with config: model='/m'
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, arguments in (("good", GOOD), ("bad", BAD)):
        text = ", ".join(f"{key}={value}" for key, value in arguments.items())
        (tmp_path / f"{name}.log").write_text(LOG.format(arguments=text))
    (tmp_path / "run.yaml").write_text(LAUNCH)
    return tmp_path


def fix(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "logdiff",
        "fix",
        "good.log",
        "bad.log",
        "--launch",
        "run.yaml",
    ]
    return subprocess.run(
        [*command, *options], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_patch_is_what_git_applies(folder: Path) -> None:
    done = fix(folder)
    assert done.returncode == 0
    assert "run.yaml:6" in done.stderr
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "apply", "-"], cwd=folder, input=done.stdout, text=True, check=True)
    expected = LAUNCH.replace("4096", "8192").replace("=1", "=16").replace("0.8", "0.95")
    assert (folder / "run.yaml").read_text() == expected


def test_written_twice_changes_nothing_more(folder: Path) -> None:
    assert fix(folder, "--write").returncode == 0
    written = (folder / "run.yaml").read_text()
    assert "'8192'   # tokens" in written
    again = fix(folder, "--write")
    assert (again.returncode, again.stdout) == (0, "")
    assert "says so already" in again.stderr
    assert (folder / "run.yaml").read_text() == written


def test_only_one_rule(folder: Path) -> None:
    assert fix(folder, "--only", "no-such-rule").stdout == ""
    assert "8192" in fix(folder, "--only", "launch-arg-changed").stdout


def test_a_file_that_is_not_what_ran_is_not_written(folder: Path) -> None:
    path = folder / "run.yaml"
    path.write_text(LAUNCH.replace("4096", "2048"))
    done = fix(folder, "--write")
    assert done.returncode == 2
    assert "run.yaml:5: --max-model-len is 2048, but the engine got 4096" in done.stderr
    assert "launch-file-not-used" in done.stderr
    assert path.read_text() == LAUNCH.replace("4096", "2048")
    assert fix(folder, "--write", "--unsafe").returncode == 0


def test_what_good_died_with_is_not_advised(folder: Path) -> None:
    log = folder / "good.log"
    log.write_text(
        log.read_text() + "ERROR 05-02 10:00:30 engine.py:100] EngineCore failed to start.\n"
    )
    done = fix(folder)
    assert done.stdout == ""
    assert "not advised" in done.stderr
    assert "8192" in fix(folder, "--unsafe").stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("command: 'vllm serve\n", "run.yaml:2:1"),
        ("a: 1\n", "starts no inference server"),
        ("services:\n  a: {command: vllm serve /a}\n  b: {command: vllm serve /b}\n", "--service"),
    ],
)
def test_a_file_that_cannot_be_edited(folder: Path, text: str, message: str) -> None:
    (folder / "run.yaml").write_text(text)
    done = fix(folder, "--write")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "run.yaml").read_text() == text
