"""Taking deployments and packages out of scripts: these, and nothing else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logdiff.fixes.edits import EditRefusedError
from logdiff.fixes.script_edits import without, without_excuse
from logdiff.submission.deployments import last_part
from logdiff.submission.files import read_patch
from logdiff.submission.model import TextFile

if TYPE_CHECKING:
    from collections.abc import Collection

    from logdiff.submission.files import PatchFile

SCRIPT = Path(__file__).parents[2] / "fixtures" / "submission" / "patch_ops.sh"


FUNCTION = "d() {\n  cp $1 $V/$1\n}\n"
ARRAY = """\
declare -A M=(
  ["a.py"]="w/a.py"  # first
  ["b.py"]="w/b.py"
)
for F in "${!M[@]}"; do
  cp "./$F" "$V/${M[$F]}"
done
"""


def read(text: str | bytes, kind: str = "script") -> PatchFile:
    data = text.encode() if isinstance(text, str) else text
    return read_patch(TextFile("patch.sh", data), kind)


def names(act: Any) -> set[str | None]:
    destination = getattr(act, "destination", None)
    return {destination and last_part(destination), getattr(act, "distribution", None)} - {None}


def edited(text: str | bytes, gone: Collection[str], kind: str = "script") -> str:
    return without(read(text, kind), lambda act: bool(names(act) & set(gone))).decode()


@pytest.mark.parametrize(
    ("before", "gone", "after"),
    [
        ("cp a.py $V/a.py\ncp b.py $V/b.py\n", "a.py", "cp b.py $V/b.py\n"),
        ("echo x\ncp a.py $V/a.py 2>/dev/null || true\n", "a.py", "echo x\n"),
        ("cp a.py $V/a.py && echo done\ncp b.py $V/b.py\n", "a.py", "cp b.py $V/b.py\n"),
        ("cp a.py b.py $V/w/\n", "a.py", "cp b.py $V/w/\n"),
        ("cp a.py b.py $V/w/\n", "b.py", "cp a.py $V/w/\n"),
        (
            "for F in a.py b.py; do cp $F $V/$F; done\n",
            "b.py",
            "for F in a.py; do cp $F $V/$F; done\n",
        ),
        ("F=(a.py b.py)\nfor X in ${F[@]}; do cp $X $V/$X; done\n", "a.py",
         "F=(b.py)\nfor X in ${F[@]}; do cp $X $V/$X; done\n"),
        (ARRAY, "a.py", ARRAY.replace('  ["a.py"]="w/a.py"  # first\n', "")),
        (FUNCTION + "d a.py\n\nd b.py\n", "a.py", FUNCTION + "\nd b.py\n"),
        ("if [ -f a.py ]; then\n  cp a.py $V/a.py\nfi\nls\n", "a.py", "ls\n"),
        (
            "if [ -f a.py ]; then\n  cp a.py $V/a.py\n  ls\nfi\n",
            "a.py",
            "if [ -f a.py ]; then\n  ls\nfi\n",
        ),
        ("cp a.py $V/a.py\r\ncp b.py $V/b.py\r\n", "a.py", "cp b.py $V/b.py\r\n"),
        ("cat > $V/a.py <<'E'\nx\nE\nls\n", "a.py", "ls\n"),
        ("pip install rich torch\n", "torch", "pip install rich\n"),
        ("pip install -U torch==2.5 2>&1 | tail -n 3\nls\n", "torch", "ls\n"),
        ("ls\n", "a.py", "ls\n"),
    ],
)  # fmt: skip
def test_what_is_taken_out(before: str, gone: str, after: str) -> None:
    assert edited(before, [gone]) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "FROM v:1\nCOPY a.py /o/vllm/a.py\nCOPY b.py /o/vllm/b.py\n",
            "FROM v:1\nCOPY b.py /o/vllm/b.py\n",
        ),
        ("FROM v:1\nCOPY a.py b.py /o/vllm/\n", "FROM v:1\nCOPY b.py /o/vllm/\n"),
        ("FROM v:1\nRUN cp a.py /o/vllm/a.py && chmod 1 x\n", "FROM v:1\nRUN chmod 1 x\n"),
    ],
)
def test_what_is_taken_out_of_a_dockerfile(before: str, after: str) -> None:
    assert edited(before, ["a.py"], "dockerfile") == after


def test_what_cannot_be_taken_out_alone_is_refused() -> None:
    with pytest.raises(EditRefusedError, match=r"patch\.sh:2:1: .*by hand"):
        edited("ls\ntee $V/a.py $V/b.py < x\n", ["a.py"])


DEPLOYED = sorted(
    {
        last_part(found.destination)
        for found in read_patch(TextFile("p", SCRIPT.read_bytes()), "script").deployments
        if found.destination and found.how not in ("patch", "script", "link", "sync")
        and found.destination.endswith(".py")
    }
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.sets(st.sampled_from(DEPLOYED), min_size=1))
def test_any_files_of_a_real_script(gone: set[str]) -> None:
    before = read(SCRIPT.read_bytes())
    after = read(edited(SCRIPT.read_bytes(), gone))

    def acts(patch: PatchFile) -> Counter[Any]:
        return Counter(
            (found.source, found.destination, found.how, found.guards)
            for found in patch.deployments
            if not (names(found) & gone or (found.destination or "").endswith(".orig"))
        )

    assert acts(after) == acts(before)
    assert not any(names(found) & gone for found in after.deployments)
    assert [p.distribution for p in after.packages] == [p.distribution for p in before.packages]
    lines = SCRIPT.read_text().split("\n")
    added = [line for line in after.file.data.decode().split("\n") if line not in lines]
    assert all(line.strip() in (":", "ENGINE_FILES+=()") for line in added), added


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cp a.py $V/a.py || true\n", "cp a.py $V/a.py\n"),
        (
            "cp a.py $V/a.py 2>/dev/null || true  # maybe\n",
            "cp a.py $V/a.py 2>/dev/null  # maybe\n",
        ),
        ("cp a.py $V/a.py\n", "cp a.py $V/a.py\n"),
    ],
)
def test_a_failure_is_no_longer_hidden(before: str, after: str) -> None:
    assert without_excuse(read(before), 1).decode() == after


def test_what_hides_a_failure_elsewhere_is_refused() -> None:
    script = "{ cp a.py $V/a.py; } || true\n"
    with pytest.raises(EditRefusedError, match=r"patch\.sh:1:3: take '\|\| true' out by hand"):
        without_excuse(read(script), 1)
