"""What the files of a submission say beside its log, and beside those of the known-good run.

Like :func:`logdiff.compare.changes`: items whose ``_evidence`` holds the lines that prove them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdiff.joins.deployments import replaced, swallowed
from logdiff.joins.launch import environment, launch_invalid, launch_mismatches
from logdiff.joins.packages import vendor_packages

if TYPE_CHECKING:
    from logdiff.model import Run


def changes(good: Run | None, bad: Run) -> dict[str, Any]:
    """What rules reason from that takes files, by the names of ``facts_table.CHANGES``."""
    return {
        "replaced": replaced(good, bad),
        "swallowed": swallowed(bad),
        "vendor_packages": vendor_packages(bad),
        "environment": environment(good, bad),
        "launch_mismatches": launch_mismatches(good, bad),
        "launch_invalid": launch_invalid(good, bad),
    }
