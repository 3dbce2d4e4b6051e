"""What click imports for other uses than ours is loaded when it is used, and only then."""

from __future__ import annotations

import subprocess
import sys

import pytest

POSTPONED = ("inspect", "uuid", "datetime", "threading", "gettext")
USES = {
    "an import alone": ("import inspect", False),
    "a second import": ("import inspect; import inspect as other", False),
    "an attribute": ("import inspect; assert inspect.isclass(int)", True),
    "a name": ("from inspect import isclass; assert isclass(int)", True),
}


def _run(script: str) -> None:
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("use", USES)
def test_a_module_is_loaded_when_it_is_used(use: str) -> None:
    code, loaded = USES[use]
    _run(
        "import sys; from logdiff.cli._postponed import standing_in\n"
        "sys.modules.pop('inspect', None)\n"
        f"with standing_in('inspect'):\n    {code}\n"
        f"    assert ('isclass' in vars(sys.modules['inspect'])) is {loaded}\n"
        "import inspect; assert inspect.isclass(int)"
    )


def test_a_lent_attribute_is_that_of_the_module_afterwards() -> None:
    _run(
        "import sys; from logdiff.cli._postponed import standing_in\n"
        "sys.modules.pop('uuid', None)\n"
        "with standing_in('uuid', UUID=int):\n    import uuid\n    assert uuid.UUID is int\n"
        "assert uuid.UUID is not int; import uuid as real; assert uuid.UUID is real.UUID"
    )


def test_a_module_that_is_there_stays() -> None:
    import sys as before

    from logdiff.cli._postponed import standing_in

    with standing_in("sys", path=[]):
        assert sys.modules["sys"] is before
    assert sys.modules["sys"] is before
    assert before.path


def test_click_works_with_what_was_not_loaded() -> None:
    _run(
        "import sys; from logdiff.cli._postponed import import_click; import_click()\n"
        f"assert not set({POSTPONED}).intersection(sys.modules)\n"
        "import click, datetime, uuid\n"
        "convert = lambda kind, text: kind.convert(text, None, None)\n"
        "assert convert(click.UUID, '0' * 32) == uuid.UUID(int=0)\n"
        "assert convert(click.DateTime(), '2026-01-02') == datetime.datetime(2026, 1, 2)\n"
        "error = click.MissingParameter(param_type='argument')\n"
        "assert error.format_message() == 'Missing argument.'"
    )


@pytest.mark.parametrize("arguments", [["--help"], ["compare", "--help"], ["diagnose", "-h"]])
def test_help_is_laid_out_with_it(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "logdiff", *arguments]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Usage: logdiff" in shown
    assert "Examples:" in shown
    assert "-h, --help" in shown


def test_a_compare_does_without_it() -> None:
    script = (
        "import sys; from logdiff.cli import run; run(['inspect', '-', '-f', 'json']); "
        "assert not {'inspect', 'uuid', 'gettext', 'ast'}.intersection(sys.modules)"
    )
    command = [sys.executable, "-c", script]
    subprocess.run(command, check=True, capture_output=True, input=b"INFO:     up\n")
