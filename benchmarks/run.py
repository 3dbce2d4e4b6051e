"""Measures logdiff against other programs in the same run; prints ratios, judges nothing.

    python benchmarks/run.py [--megabytes N] [--runs N]

Two things are measured, each as CPU time (user and system) of whole processes, medians of runs
taken in turn, so that a busy machine slows all of them alike:

* a small compare, against ``python -c pass``: what a user waits for;
* the scan of a large log, against ``rg -c`` with the same patterns where ripgrep is installed.

The large log is made from the lines of a fixture, with running times and changing numbers.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASE = ROOT / "fixtures" / "lost-kernels"
LOGDIFF = [sys.executable, "-m", "logdiff"]
STAMP = re.compile(rb"\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)\.\d{9}Z ")


def main() -> None:
    """Run the benchmarks and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    small(max(options.runs, 5))
    with tempfile.TemporaryDirectory() as folder:
        large(Path(folder) / "large.log", options.megabytes, options.runs)


def small(runs: int) -> None:
    """A compare of two small logs against the start of Python."""
    pair = [str(CASE / run / "container.log") for run in ("good", "bad")]
    table(
        "compare of two small logs, in units of 'python -c pass'",
        {
            "python -c pass": [sys.executable, "-c", "pass"],
            "logdiff --version": [*LOGDIFF, "--version"],
            "logdiff --help": [*LOGDIFF, "--help"],
            "compare, JSON": [*LOGDIFF, "compare", *pair, "-f", "json"],
            "compare, text": [*LOGDIFF, "compare", *pair],
        },
        runs,
    )


def large(path: Path, megabytes: int, runs: int) -> None:
    """The scan of a large log against ripgrep with the same patterns."""
    write_large(path, megabytes * 1_000_000)
    commands = {"logdiff diagnose": [*LOGDIFF, "diagnose", str(path), "-f", "json"]}
    ripgrep = shutil.which("rg")
    if ripgrep:
        patterns = path.with_suffix(".patterns")
        patterns.write_bytes(b"\n".join(signal_patterns()) + b"\n")
        command = [ripgrep, "--no-unicode", "-c", "-f", str(patterns), str(path)]
        commands = {"rg -c, same patterns": command, **commands}
    commands = {"wc -l": ["wc", "-l", str(path)], **commands}
    title = f"scan of {path.stat().st_size / 1e6:.0f} MB"
    if not ripgrep:
        title += " (ripgrep is not installed: no comparison with it)"
    table(title, commands, runs)


def signal_patterns() -> list[bytes]:
    """The patterns of all built-in signals, without the names of their groups."""
    from logdiff.engine.ruleset import load_builtin

    sources = [source for signal in load_builtin().signals for source, _, _ in signal.patterns]
    # They are anchored at the message, which for another program starts anywhere.
    # Looking around is unknown to ripgrep: its patterns hold a little more often.
    sources = [re.sub(rb"\(\?<?[=!](?:\\.|[^()\\])*\)", b"", source) for source in sources]
    plain = (re.sub(rb"\?P<\w+>", b"", source.removeprefix(b"^")) for source in sources)
    return [re.sub(rb"[\x80-\xff]", lambda m: b"\\x%02X" % m[0][0], source) for source in plain]


def write_large(path: Path, size: int) -> None:
    """Write a log of about ``size`` bytes: a start, then serving, again and again."""
    lines = (CASE / "good" / "container.log").read_bytes().splitlines(keepends=True)
    served = next(i for i, line in enumerate(lines) if b"startup complete" in line)
    body = [line for line in lines[served + 1 :] if STAMP.match(line)][:-10]
    clock = datetime.fromisoformat(lines[served].decode()[:19]) + timedelta(minutes=1)
    written = 0
    with path.open("wb") as file:
        for line in lines[: served + 1]:
            written += file.write(line)
        number = 0
        while written < size:
            for line in body:
                number += 1
                clock += timedelta(milliseconds=700)
                stamp = clock.isoformat(timespec="milliseconds").encode() + b"000000Z "
                text = STAMP.sub(b"", line).replace(b"usage: ", b"usage: %d" % (number % 9))
                written += file.write(stamp + text)


def table(title: str, commands: dict[str, list[str]], runs: int) -> None:
    """Run commands in turn and print their median CPU time and its ratio to the first."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    memory: dict[str, int] = dict.fromkeys(commands, 0)
    for round_ in range(runs + 1):
        for name, command in commands.items():
            used, peak = measure(command)
            memory[name] = max(memory[name], peak)
            if round_:  # the first round warms caches
                seconds[name].append(used)
    reference = next(iter(commands))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    print(f"\n{title}, {runs} runs")
    print(f"{'':24} {'CPU ms':>10} {'ratio':>8} {'lowest':>8} {'peak MB':>8}")
    for name, median in medians.items():
        ratio = median / medians[reference]
        lowest = min(seconds[name]) * 1000
        print(f"{name:24} {median * 1000:10.1f} {ratio:8.2f} {lowest:8.1f} {memory[name]:8}")


def measure(command: list[str]) -> tuple[float, int]:
    """CPU seconds and peak megabytes of one process, which must do its work."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):  # 1 = findings, or nothing found
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace")
            sys.exit(f"status {process.returncode} of {command[0]}: {said[:2000]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


if __name__ == "__main__":
    main()
