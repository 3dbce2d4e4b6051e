"""A module that is postponed is loaded when something of it is used, and only then."""

from __future__ import annotations

import subprocess
import sys

import pytest

USES = {
    "an import alone": ("import inspect", False),
    "a second import": ("import inspect; import inspect as other", False),
    "an attribute": ("import inspect; assert inspect.isclass(int)", True),
    "a name": ("from inspect import isclass; assert isclass(int)", True),
}


@pytest.mark.parametrize("use", USES)
def test_a_module_is_loaded_when_it_is_used(use: str) -> None:
    code, loaded = USES[use]
    script = (
        "import sys; from logdiff.cli._postponed import postpone; "
        f"sys.modules.pop('inspect', None); postpone('inspect'); {code}; "
        f"assert ('isclass' in vars(sys.modules['inspect'])) is {loaded}"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_module_that_is_there_stays() -> None:
    import sys as before

    from logdiff.cli._postponed import postpone

    postpone("sys")
    assert sys.modules["sys"] is before


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
        "assert 'isclass' not in vars(sys.modules['inspect']); assert 'ast' not in sys.modules"
    )
    command = [sys.executable, "-c", script]
    subprocess.run(command, check=True, capture_output=True, input=b"INFO:     up\n")
