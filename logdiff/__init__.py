"""Compares logs of inference servers and says which difference matters, and what to change.

What the command line does can be called from Python as well::

    from logdiff import compare_runs, read_run

    report = compare_runs(read_run("good.log", "good"), read_run("bad.log", "bad"))
    for finding in report.findings:
        print(finding.severity, finding.title)
"""

from __future__ import annotations

from logdiff.version import __version__

TYPE_CHECKING = False
"""As in :mod:`typing`, which takes longer to import than all else that this module needs."""
if TYPE_CHECKING:
    from logdiff.model import Report, Run

__all__ = ["__version__", "compare_runs", "diagnose_run", "read_run"]


def read_run(path: str, role: str = "bad") -> Run:
    """Read the run that a path, ``-`` or ``file#N`` means.

    Its log stays open, so that lines can be quoted: ``run.source.close()`` when that is done.

    Args:
        path: as on the command line.
        role: ``good`` or ``bad``.

    Raises:
        logdiff.errors.UsageError: there is no such file or section, or several and none is named.
    """
    from logdiff.pipeline import Reader

    return Reader().run(path, role)


def compare_runs(good: Run, bad: Run) -> Report:
    """Judge a bad run against a known-good one, by the built-in rules."""
    from logdiff.pipeline import compare_runs as compare

    return compare(good, bad)


def diagnose_run(run: Run) -> Report:
    """Judge one run by itself, by the built-in rules."""
    from logdiff.pipeline import diagnose_runs

    return diagnose_runs([run])
