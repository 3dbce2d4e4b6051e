"""What can be called from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import logdiff

if TYPE_CHECKING:
    from pathlib import Path


def test_runs_are_read_and_compared(fixtures_directory: Path) -> None:
    case = fixtures_directory / "memory-while-serving"
    good = logdiff.read_run(str(case / "good" / "container.log"), "good")
    bad = logdiff.read_run(str(case / "bad" / "container.log"))
    assert (good.role, bad.role) == ("good", "bad")
    report = logdiff.compare_runs(good, bad)
    assert report.status == "fail"
    assert report.findings[0].rule == "oom-while-serving"
    assert logdiff.diagnose_run(good).status == "pass"
    for run in (good, bad):
        run.source.close()


def test_importing_the_package_imports_hardly_anything() -> None:
    import subprocess
    import sys

    code = "import sys, logdiff; print(*sorted(m for m in sys.modules if 'logdiff' in m))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["logdiff", "logdiff.version"]
