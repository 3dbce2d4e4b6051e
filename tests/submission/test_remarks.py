"""Remarks of a patch script that say the opposite of what it does."""

from __future__ import annotations

import pytest

from logdiff.submission.files import read_patch
from logdiff.submission.model import TextFile
from logdiff.submission.remarks import contradictions


def found(script: str) -> list[tuple[int, str, tuple[str, ...]]]:
    file = TextFile("patch.sh", script.encode())
    patch = read_patch(file, "script")
    return [
        (file.line(one.remark.span.start), one.says, one.files)
        for one in contradictions(file, patch.remarks, patch.deployments)
    ]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        # by the name of a file
        ("# a.py is not deployed\ncp a.py $V/a.py\n", [(1, "not-deployed", ("a.py",))]),
        (
            "# we do not overwrite a.py any more\ncp a.py $V/a.py\n",
            [(1, "not-deployed", ("a.py",))],
        ),
        ("echo 'a.py stays untouched'\ncp a.py $V/a.py\n", [(1, "not-deployed", ("a.py",))]),
        ("# 不替换 a.py\ncp a.py $V/a.py\n", [(1, "not-deployed", ("a.py",))]),
        ("# 保留镜像自带的 a.py\ncp a.py $V/a.py\n", [(1, "not-deployed", ("a.py",))]),
        ("cp b.py $V/b.py\necho 'deployed a.py'\n", [(2, "deployed", ("a.py",))]),
        # by a word of the paths below
        (
            "# The custom ops are NOT replaced.\nfor F in x y; do\n  cp $F.py $V/ops/$F.py\ndone\n",
            [(1, "not-deployed", ("x.py", "y.py"))],
        ),
        ("# 自定义算子不部署\ncp x.py $V/layers/ops/x.py\n", [(1, "not-deployed", ("x.py",))]),
        # it is so
        ("# a.py is not deployed\ncp b.py $V/b.py\n", []),
        ("# a.py is deployed\ncp a.py $V/a.py\n", []),
        ("# deploys a.py\ncp files/* $V/\n", []),
        ("# deploys a.py\nrsync -a files/ $V/\n", []),
        ("# The custom ops are not replaced.\n\ncp x.py $V/ops/x.py\n", []),
        ("# The weights are not copied.\ncp x.py $V/ops/x.py\n", []),
        # only said where a condition holds
        ("if [ ! -f a.py ]; then echo 'a.py is not deployed'; fi\ncp a.py $V/a.py\n", []),
        # the original is put back
        ("# a.py is not replaced\ncp $V/a.py.orig $V/a.py\n", []),
        ("# nothing of this names a file\ncp a.py $V/a.py\n", []),
    ],
)
def test_contradictions(script: str, expected: list[tuple[int, str, tuple[str, ...]]]) -> None:
    assert found(script) == expected
