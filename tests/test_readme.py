"""What the README shows is what the program does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from logdiff.cli import run

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = re.search(
    r"<!-- example: COLUMNS=80 logdiff (?P<arguments>.*) -->\n```text\n(?P<output>.*?)```\n",
    README,
    re.DOTALL,
)
COMMANDS = [
    line.strip().rpartition("| logdiff ")[2].removeprefix("logdiff ").partition(" | ")[0]
    for line in README.splitlines()
    if re.match(r" {4}(?:docker .*\| )?logdiff ", line)
]


def test_the_example_is_what_the_program_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert EXAMPLE
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    assert run(shlex.split(EXAMPLE["arguments"])) == 0
    assert capsys.readouterr().out == EXAMPLE["output"]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_are_understood(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = ROOT / "fixtures" / "lost-kernels"
    log = b""
    for run_name in ("good", "bad"):
        log = (case / run_name / "container.log").read_bytes()
        (tmp_path / f"{run_name}.log").write_bytes(log)
    (tmp_path / "next.log").write_bytes(log)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "container.log").write_bytes(log)
    for folder in (tmp_path, tmp_path / "bad"):
        (folder / "run.yaml").write_text("command: [vllm, serve, /srv/models/nimbus-moe]\n")
        (folder / "patch_ops.sh").write_text("cp nimbus_moe.py $V/models/nimbus_moe.py\n")
        (folder / "Dockerfile").write_text("FROM vendor/vllm:1\nRUN bash patch_ops.sh\n")
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "bad.log").open("rb") as stdin:
        monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": stdin}))
        assert run(shlex.split(command)) in (0, 1)


def test_the_makefile_has_the_targets() -> None:
    targets = set(re.findall(r"^ {4}make (\w+)", README, re.MULTILINE))
    assert targets == {"demo", "test", "lint", "bench"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{target}:" in makefile for target in targets)
