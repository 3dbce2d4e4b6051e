"""Edits of launch files: the intended change, and not one byte more."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logdiff.errors import UsageError
from logdiff.fixes import apply
from logdiff.fixes.edits import Edit, EditRefusedError, apply_edits, unified_diff
from logdiff.fixes.launch_edits import remove_argument, set_argument, set_variable
from logdiff.submission.launch import LaunchConfig, read_launch
from logdiff.submission.model import Span, TextFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PLATFORM = """\
# before
command:
    - python3
    - -m
    - vllm.entrypoints.openai.api_server
    - --model
    - /models/small   # mounted
    - --max-model-len
    - '65536'
    - --enforce-eager
    - -tp
    - "2"
env:
    - name: OMP_NUM_THREADS
      value: "8"   # cores
"""
COMPOSE = """\
services:
  serving:
    command: >
      --model /models/small --max-model-len=32768
      --max-num-seqs 16
    environment:
      HF_HUB_OFFLINE: "1"
"""
FLOW = """\
services:
  serving:
    command: ["vllm", "serve", "/m", "--max-num-seqs", "8", "--dtype", "half"]
    environment:
      - HF_HUB_OFFLINE=1
"""
SCRIPT = """\
kind: Pod
apiVersion: v1
spec:
  containers:
    - args:
        - |
          exec vllm serve /models/small \\
            --max-model-len 32768 \\
            --dtype half
      command: [bash, -c]
"""
ENGINE = "model: /models/small\nmax-model-len: 32768   # tokens\nenforce-eager: true\n"


def config_of(data: bytes) -> LaunchConfig:
    [config] = read_launch(TextFile("run.yaml", data))
    return config


def changed(text: str, edit: Callable[[LaunchConfig], list[Edit]]) -> tuple[list[str], list[str]]:
    """The lines that an edit takes away, and those that it adds."""
    data = text.encode()
    edits = edit(config_of(data))
    new = apply_edits(data, edits)
    config_of(new)
    lines = unified_diff("run.yaml", data, new).decode().splitlines()[3:]
    return [x[1:] for x in lines if x[0] == "-"], [x[1:] for x in lines if x[0] == "+"]


TABLE: list[tuple[str, str, str | None, list[str], list[str]]] = [
    (PLATFORM, "--max-model-len", "8192", ["    - '65536'"], ["    - '8192'"]),
    (PLATFORM, "--tensor-parallel-size", "4", ['    - "2"'], ['    - "4"']),
    (PLATFORM, "--model", "/m", ["    - /models/small   # mounted"], ["    - /m   # mounted"]),
    (PLATFORM, "--max-num-seqs", "2", [], ["    - --max-num-seqs", '    - "2"']),
    (PLATFORM, "--enable-lora", None, [], ["    - --enable-lora"]),
    (PLATFORM, "--enforce-eager", None, [], []),
    (PLATFORM, "--max-model-len", "65536", [], []),
    (COMPOSE, "--max-model-len", "8192", ["      --model /models/small --max-model-len=32768"],
     ["      --model /models/small --max-model-len=8192"]),
    (COMPOSE, "--enforce-eager", None, ["      --max-num-seqs 16"],
     ["      --max-num-seqs 16 --enforce-eager"]),
    (FLOW, "--max-num-seqs", "2",
     ['    command: ["vllm", "serve", "/m", "--max-num-seqs", "8", "--dtype", "half"]'],
     ['    command: ["vllm", "serve", "/m", "--max-num-seqs", "2", "--dtype", "half"]']),
    (FLOW, "--lora", None,
     ['    command: ["vllm", "serve", "/m", "--max-num-seqs", "8", "--dtype", "half"]'],
     ['    command: ["vllm", "serve", "/m", "--max-num-seqs", "8", "--dtype", "half", "--lora"]']),
    (SCRIPT, "--max-num-seqs", "2", ["            --dtype half"],
     ["            --dtype half \\", "            --max-num-seqs 2"]),
    (ENGINE, "--max-model-len", "8192", ["max-model-len: 32768   # tokens"],
     ["max-model-len: 8192   # tokens"]),
    (ENGINE, "--max-num-seqs", "2", [], ["max-num-seqs: 2"]),
    (ENGINE, "--enable-lora", None, [], ["enable-lora: true"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "flag", "value", "gone", "new"), TABLE)
def test_an_argument_is_set(
    text: str, flag: str, value: str | None, gone: list[str], new: list[str]
) -> None:
    assert changed(text, lambda config: set_argument(config, flag, value)) == (gone, new)


@pytest.mark.parametrize(
    ("text", "flag", "gone", "new"),
    [
        (PLATFORM, "--max-model-len", ["    - --max-model-len", "    - '65536'"], []),
        (PLATFORM, "--enforce-eager", ["    - --enforce-eager"], []),
        (PLATFORM, "--gone", [], []),
        (COMPOSE, "--max-num-seqs", ["      --max-num-seqs 16"], []),
        (SCRIPT, "--max-model-len", ["            --max-model-len 32768 \\"], []),
        (SCRIPT, "--dtype", ["            --max-model-len 32768 \\", "            --dtype half"],
         ["            --max-model-len 32768"]),
        (ENGINE, "--max-model-len", ["max-model-len: 32768   # tokens"], []),
        (FLOW, "--max-num-seqs",
         ['    command: ["vllm", "serve", "/m", "--max-num-seqs", "8", "--dtype", "half"]'],
         ['    command: ["vllm", "serve", "/m", "--dtype", "half"]']),
    ],
)  # fmt: skip
def test_an_argument_is_removed(text: str, flag: str, gone: list[str], new: list[str]) -> None:
    assert changed(text, lambda config: remove_argument(config, flag)) == (gone, new)


@pytest.mark.parametrize(
    ("text", "name", "value", "gone", "new"),
    [
        (PLATFORM, "OMP_NUM_THREADS", "1", ['      value: "8"   # cores'],
         ['      value: "1"   # cores']),
        (PLATFORM, "HF_HOME", "/x", [], ["    - name: HF_HOME", '      value: "/x"']),
        (COMPOSE, "HF_HUB_OFFLINE", "0", ['      HF_HUB_OFFLINE: "1"'],
         ['      HF_HUB_OFFLINE: "0"']),
        (COMPOSE, "HF_HOME", "/x", [], ['      HF_HOME: "/x"']),
        (FLOW, "HF_HUB_OFFLINE", "0", ["      - HF_HUB_OFFLINE=1"], ["      - HF_HUB_OFFLINE=0"]),
        (FLOW, "HF_HOME", "/x", [], ["      - HF_HOME=/x"]),
    ],
)  # fmt: skip
def test_a_variable_is_set(
    text: str, name: str, value: str, gone: list[str], new: list[str]
) -> None:
    assert changed(text, lambda config: set_variable(config, name, value)) == (gone, new)


@pytest.mark.parametrize(
    ("text", "flag", "message"),
    [
        (PLATFORM.replace("- --enforce-eager", "- --max-model-len\n    - '1'"), "--max-model-len",
         r"run.yaml:8:7: --max-model-len is given 2 times, in lines 8 and 10"),
        (PLATFORM.replace("'65536'", "'${LENGTH}'"), "--max-model-len", "is not written out"),
        (COMPOSE.replace("command: >", "command: &all >"), "--max-model-len", "by an anchor"),
        ('services: {a: {command: "vllm serve \\"/m\\" --seed 1 --dtype half"}}', "--seed",
         "no places of their own"),
        (ENGINE, "--served-model-name", None),
    ],
)  # fmt: skip
def test_what_cannot_be_done_soundly_is_refused(text: str, flag: str, message: str | None) -> None:
    if message is None:
        changed(text, lambda config: set_argument(config, flag, "x"))
        return
    with pytest.raises(EditRefusedError, match=message):
        changed(text, lambda config: set_argument(config, flag, "8192"))


# Any file


FLAGS = ("--max-model-len", "--max-num-seqs", "--seed", "--block-size", "--swap-space")


@st.composite
def platform_files(draw: st.DrawFn) -> bytes:
    quote = st.sampled_from(["", "'", '"'])
    comment = st.sampled_from(["", "  # 注释", " # 'x"])
    lines = ["# 启动 é", "command:", "  - vllm", "  - serve"]
    for flag in draw(st.lists(st.sampled_from(FLAGS), unique=True, min_size=1)):
        value, q = draw(st.integers(1, 99999)), draw(quote)
        if draw(st.booleans()):
            lines.append(f"  - {q}{flag}={value}{q}{draw(comment)}")
        else:
            lines += [f"  - {flag}{draw(comment)}", f"  - {q}{value}{q}{draw(comment)}"]
    lines += ["env:", "  - name: A", f"    value: {draw(quote).join(['', '1', ''])}", ""]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return (mark + end.join(lines)).encode()


@given(platform_files(), st.sampled_from(FLAGS), st.integers(1, 10**6) | st.none())
@example(b"command:\n- vllm\n- serve\n- --seed\n- 1\n- --block-size\n- 2", "--seed", None)
def test_only_what_is_meant_changes(data: bytes, flag: str, value: int | None) -> None:
    before = config_of(data)
    if value is None:
        if len(before.arguments) == 1:
            return
        edits = remove_argument(before, flag)
    else:
        edits = set_argument(before, flag, str(value))
    new = apply_edits(data, edits)
    after = config_of(new)
    name = flag[2:].replace("-", "_")
    expected = {argument.name: argument.value for argument in before.arguments}
    if value is None:
        expected.pop(name, None)
    else:
        expected[name] = str(value)
    assert {argument.name: argument.value for argument in after.arguments} == expected
    assert after.environment[:1] == () or after.environment[0].value == before.environment[0].value
    gone = [x for x in unified_diff("a", data, new).split(b"\n")[3:] if x[:1] == b"-"]
    written = next((a for a in before.arguments if a.name == name), None)
    assert len(gone) <= (0 if written is None else 2)
    again = config_of(new)
    repeated = (
        remove_argument(again, flag) if value is None else set_argument(again, flag, str(value))
    )
    assert repeated == []


# Patches and files


@given(
    st.lists(st.binary(max_size=4), max_size=8).map(b"\n".join),
    st.lists(st.binary(max_size=4), max_size=8).map(b"\n".join),
)
@example(b"a", b"a\n")
@example(b"", b"a")
@example(b"a\r\nb\r\n", b"a\r\nc\r\n")
def test_a_patch_holds_both_files(old: bytes, new: bytes) -> None:
    patch = unified_diff("a", old, new)
    assert (patch == b"") is (old == new)
    rows = [row for row in patch.split(b"\n")[3:] if row and not row.startswith((b"@@", b"\\"))]
    if old.isalnum() and new.isalnum() and old != new:
        assert rows == [b"-" + old, b"+" + new]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a\nb\nc\n", b"a\nx\nc\n"),
        (b"a\r\nb", b"a\r\nc"),
        (b"a", b"a\n"),
        (b"x\n" * 40, b"y\n" + b"x\n" * 39),
    ],
)
def test_git_applies_it(old: bytes, new: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_bytes(old)
    git = ["git", "-C", str(tmp_path), "-c", "core.autocrlf=false"]
    subprocess.run([*git, "init", "-q"], check=True)
    patch = unified_diff("run.yaml", old, new)
    subprocess.run([*git, "apply", "-"], input=patch, check=True)
    assert (tmp_path / "run.yaml").read_bytes() == new


def test_edits_that_overlap_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply_edits(b"abcdef", [Edit(Span(0, 3), b"x"), Edit(Span(2, 4), b"y")])


def test_a_file_is_replaced_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes(b"old")
    path.chmod(0o640)
    apply.write(str(path), b"old", b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.yaml"]


def test_a_file_that_has_changed_stays(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes(b"newer")
    with pytest.raises(UsageError, match="has changed"):
        apply.write(str(path), b"old", b"new")
    assert path.read_bytes() == b"newer"


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    outside, link = tmp_path / "outside.yaml", tmp_path / "in" / "run.yaml"
    outside.write_bytes(b"old")
    link.symlink_to(outside)
    with pytest.raises(UsageError, match="link"):
        apply.write(str(link), b"old", b"new")
    assert outside.read_bytes() == b"old"
    inside = tmp_path / "in" / "real.yaml"
    inside.write_bytes(b"old")
    link.unlink()
    link.symlink_to("real.yaml")
    apply.write(str(link), b"old", b"new")
    assert link.is_symlink()
    assert inside.read_bytes() == b"new"
