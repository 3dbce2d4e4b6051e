"""Which fixes become edits, and which stand in each other's way."""

from __future__ import annotations

from typing import Any

import pytest

from logdiff.fixes.plan import Plan, make, names_in_patch
from logdiff.model import Fix
from logdiff.submission.files import Submission, choose_launch, read_files
from logdiff.submission.model import TextFile

LAUNCH = """\
command:
  - vllm
  - serve
  - /m
  - --max-num-seqs
  - '64'
  - --max-num-batched-tokens
  - '512'
env:
  - name: OMP_NUM_THREADS
    value: '4'
  - name: NCCL_DEBUG
    value: INFO
"""
SCRIPT = "cp a.py $V/worker/a.py\ncp sub/a.py $V/core/a.py\npip install torch\n"


def fix(kind: str, key: str, action: str, new: Any = None, safety: str = "safe") -> Fix:
    made = Fix(kind, key, action)
    made.new, made.safety, made.reason = new, safety, "because"
    return made


def submission() -> Submission:
    files = read_files(
        TextFile("run.yaml", LAUNCH.encode()), [TextFile("p.sh", SCRIPT.encode())], None
    )
    choose_launch(files, None, {})
    return files


def planned(*fixes: Fix, unsafe: bool = False) -> Plan:
    return make(fixes, submission(), unsafe=unsafe)


@pytest.mark.parametrize(
    ("one", "path", "line", "before", "after"),
    [
        (fix("config", "--max-num-seqs", "set", 8), "run.yaml", 6, "'64'", "'8'"),
        (fix("env", "OMP_NUM_THREADS", "set", 8), "run.yaml", 11, "'4'", "'8'"),
        (
            fix("env", "OMP_NUM_THREADS", "remove"),
            "run.yaml",
            10,
            "  - name: OMP_NUM_THREADS\n    value: '4'\n",
            "",
        ),
        (fix("patch", "worker/a.py", "stop-deploying"), "p.sh", 1, "cp a.py $V/worker/a.py\n", ""),
        (fix("package", "torch", "restore"), "p.sh", 3, "pip install torch\n", ""),
    ],
)
def test_what_becomes_an_edit(one: Fix, path: str, line: int, before: str, after: str) -> None:
    plan = planned(one)
    [step] = plan.steps
    assert (step.path, step.line, step.left_out) == (path, line, None)
    original = LAUNCH if path == "run.yaml" else SCRIPT
    assert {path: original.replace(before, after).encode()} == plan.files


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (fix("config", "--max-num-seqs", "set", 64), "the file says so already"),
        (fix("config", "--max-num-seqs", "set"), "by hand: because"),
        (fix("config", "--shm-size", "set", "8g"), "by hand: --shm-size: because"),
        (fix("config", "--max-num-seqs", "set", 8, "unsafe"), "not advised: because"),
        (fix("patch", "b.py", "stop-deploying"), "no file at hand deploys b.py"),
        (fix("package", "ray", "restore"), "by hand: because"),
        (fix("infrastructure", "cards", "add"), "by hand: because"),
        (fix("code", "x.py", "set"), "by hand: because"),
    ],
)
def test_what_is_left_out_and_why(one: Fix, why: str) -> None:
    plan = planned(one)
    assert plan.files == {}
    assert (plan.steps[0].left_out or "").startswith(why)


def test_what_is_not_advised_is_made_on_demand() -> None:
    plan = planned(fix("config", "--max-num-seqs", "set", 8, "unsafe"), unsafe=True)
    assert plan.files["run.yaml"] == LAUNCH.replace("'64'", "'8'").encode()


def test_two_fixes_of_one_option_are_a_conflict() -> None:
    plan = planned(
        fix("config", "--max-num-seqs", "set", 8),
        fix("config", "--max_num_seqs", "set", 16),
        fix("config", "--max-num-batched-tokens", "set", 1024),
    )
    reasons = [step.left_out for step in plan.steps]
    assert reasons[0] == reasons[1]
    assert (reasons[0] or "").startswith("conflict: set --max-num-seqs 8 and set --max_num_seqs 16")
    assert plan.files["run.yaml"] == LAUNCH.replace("'512'", "'1024'").encode()


def test_fixes_that_cannot_go_together_are_a_conflict() -> None:
    plan = planned(
        fix("config", "--max-num-seqs", "set", 256),
        fix("config", "--max-num-batched-tokens", "set", 128),
        fix("env", "OMP_NUM_THREADS", "set", 8),
    )
    reasons = [step.left_out or "" for step in plan.steps]
    assert [reason.partition(":")[0] for reason in reasons] == ["conflict", "conflict", ""]
    assert "a step of 128 tokens cannot hold one of each of 256" in reasons[0]
    assert plan.files["run.yaml"] == LAUNCH.replace("'4'", "'8'").encode()


def test_lines_are_those_of_the_file_as_it_is_now() -> None:
    plan = planned(
        fix("config", "--enforce-eager", "add", new=True),
        fix("config", "--dtype", "set", "half"),
        fix("env", "NCCL_DEBUG", "set", "WARN"),
        fix("patch", "worker/a.py", "stop-deploying"),
        fix("package", "torch", "restore"),
    )
    assert [(step.path, step.line) for step in plan.steps[2:]] == [
        ("run.yaml", 13),
        ("p.sh", 1),
        ("p.sh", 3),
    ]


def test_names_in_a_patch(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert names_in_patch(["a/run.yaml", "a/s/p.sh"]) == (
        None,
        {"a/run.yaml": "a/run.yaml", "a/s/p.sh": "a/s/p.sh"},
    )
    elsewhere = str(tmp_path.parent / "other")
    assert names_in_patch([f"{elsewhere}/run.yaml", f"{elsewhere}/s/p.sh"]) == (
        elsewhere,
        {f"{elsewhere}/run.yaml": "run.yaml", f"{elsewhere}/s/p.sh": "s/p.sh"},
    )
