"""Variables that the grammar takes apart from the word that they stand in."""

from __future__ import annotations

import pytest

from logdiff.submission.model import TextFile
from logdiff.submission.shell.commands import read_script


@pytest.mark.parametrize(
    ("script", "words", "written"),
    [
        ("F=a\ncp x $V/o/$F.py\n", ["cp", "x", "${V}/o/a.py"], "cp x $V/o/$F.py"),
        ("F=a\ncp x $V/$F.$F/$F.c\n", ["cp", "x", "${V}/a.a/a.c"], "cp x $V/$F.$F/$F.c"),
        ("F=a\nA=$V/o/$F.py\ncp x $A\n", ["cp", "x", "${V}/o/a.py"], "cp x $A"),
        ("F=a\nA=($V/o/$F.py z)\ncp x ${A[1]}\n", ["cp", "x", "z"], "cp x ${A[1]}"),
        ("f() { cp $1 $V/$1; }\nf a\n", ["cp", "a", "${V}/a"], "cp $1 $V/$1"),
        ("F=a\r\ncp x $V/o/$F.py\r\n", ["cp", "x", "${V}/o/a.py"], "cp x $V/o/$F.py"),
        ("F=a\ncp x $V/o/'$F'.py\n", ["cp", "x", "${V}/o/$F.py"], "cp x $V/o/'$F'.py"),
    ],
)  # fmt: skip
def test_words_and_places(script: str, words: list[str], written: str) -> None:
    file = TextFile("x.sh", script.encode())
    command = read_script(file).commands[-1]
    assert [word.text for word in command.words] == words
    assert file.text(command.span) == written
    assert [file.text(word.span) for word in command.words] == written.split()


def test_errors_stand_where_they_are_in_the_file() -> None:
    script = "F=a\ncp x $V/o/$F.py; cp y $V/o/$F.py; cp 'z\n"
    with pytest.raises(Exception, match=r"x\.sh:2:38: "):
        read_script(TextFile("x.sh", script.encode()))
