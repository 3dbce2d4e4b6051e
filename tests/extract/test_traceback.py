"""Tracebacks are taken apart by who writes them, whatever stands between their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from logdiff.extract import traceback
from logdiff.extract.traceback import Frame, Part, Tracebacks, Writer, classify
from logdiff.model import Mark
from tests.extract.test_scan import scan_lines

if TYPE_CHECKING:
    from logdiff.extract.traceback import Raised

TRACEBACK = "Traceback (most recent call last):"


def raised(*lines: str) -> list[Raised]:
    return list(scan_lines(*lines).tracebacks.raised.values())


def summary(*lines: str) -> list[tuple[str, str, str, int, list[str], list[str]]]:
    """Type, message, innermost frame, count, workers and places of each exception."""
    return [
        (r.kind, r.message, str(r.where or ""), r.count, [w.decode() for w in r.workers],
         list(r.places))
        for r in raised(*lines)
    ]  # fmt: skip


def worker(number: int, *lines: str) -> list[str]:
    prefix = f"(VllmWorkerProcess pid={number}) ERROR 05-02 10:00:00 worker.py:233] "
    return [prefix + line for line in lines]


def frames(name: str) -> list[str]:
    return [TRACEBACK, '  File "/opt/vllm/run.py", line 10, in main', "    run()",
            f'  File "/opt/vllm/{name}.py", line 7, in {name}', "    fail()"]  # fmt: skip


# What a line is


@pytest.mark.parametrize(
    ("message", "level", "part"),
    [
        (TRACEBACK, None, Part("start")),
        (TRACEBACK, "ERROR", Part("start")),
        ('  File "/a/b.py", line 12, in run', "ERROR", Part("frame", (8, 15), (23, 25), (30, 33))),
        (' File "b.py", line 1', None, Part("frame", (7, 11), (19, 20))),
        ('  File "<frozen runpy>", line 198, in <module>', None,
         Part("frame", (8, 22), (30, 33), (38, 46))),
        ("During handling of the above exception, another exception occurred:", None,
         Part("chain")),
        ("The above exception was the direct cause of the following exception:", None,
         Part("chain")),
        ("ValueError: too long", None, Part("exception", (0, 10), (12, 20))),
        ("ValueError", "ERROR", Part("exception", (0, 10))),
        ("AssertionError: ", None, Part("exception", (0, 14), (16, 16))),
        ("torch.OutOfMemoryError: CUDA", None, Part("exception", (0, 22), (24, 28))),
        ("KeyboardInterrupt", None, Part("exception", (0, 17))),
        ("asyncio.exceptions.CancelledError", None, Part("exception", (0, 33))),
        ("concurrent.futures.TimeoutError: x", "WARNING", Part("exception", (0, 31), (33, 34))),
        ("StopIteration: 5", None, Part("candidate", (0, 13), (15, 16))),
        ("Exception: x", None, Part("candidate", (0, 9), (11, 12))),
        # nothing of a traceback
        ("ValueError: too long", "INFO", None),
        ("ValueError: too long", "DEBUG", None),
        ("ValueError is raised", None, None),
        ("a ValueError: too long", None, None),
        ("    raise ValueError: x", None, None),
        ("    ^^^^^^^^", None, None),
        (" one blank: x", None, None),
        ("valueerror: x", None, None),
        ("", None, None),
    ],
)  # fmt: skip
def test_classify(message: str, level: str | None, part: Part | None) -> None:
    assert classify(message.encode(), level) == part


@pytest.mark.parametrize(
    ("lines", "message", "explained"),
    [
        (["  Value error, no such model [type=value_error]", "    For further information"],
         "1 validation error for ModelConfig: Value error, no such model [type=value_error]", 1),
        (["limit.max_size", "  Unexpected keyword argument"],
         "1 validation error for ModelConfig: limit.max_size: Unexpected keyword argument", 2),
        (["INFO 05-02 10:00:00 a.py:1] on", "INFO 05-02 10:00:00 a.py:1] and on", "  x"],
         "1 validation error for ModelConfig", None),
    ],
)  # fmt: skip
def test_what_an_exception_only_announces_is_read_from_the_next_lines(
    lines: list[str], message: str, explained: int | None
) -> None:
    head = [*frames("config"), "pydantic.ValidationError: 1 validation error for ModelConfig"]
    (found,) = raised(*head, *lines)
    assert found.message == message
    below = found.explanation.line - len(head) if found.explanation else None
    assert below == explained


@pytest.mark.parametrize(
    ("first", "below", "message"),
    [
        ("RuntimeError: Error(s) in loading state_dict for Small:", "\tsize mismatch for head",
         "Error(s) in loading state_dict for Small: size mismatch for head"),
        ("RuntimeError: Failed to import helio because of the following error (look up):",
         "no gate",
         "Failed to import helio because of the following error (look up): no gate"),
    ],
)  # fmt: skip
def test_others_announce_too(first: str, below: str, message: str) -> None:
    (found,) = raised(*frames("load"), first, below)
    assert found.message == message


# Who writes it


def test_one_traceback() -> None:
    lines = [*frames("kernel"), "ValueError: bad 1"]
    assert summary(*lines) == [("ValueError", "bad 1", "kernel.py:7 in kernel", 1, [""], [""])]
    (found,) = raised(*lines)
    assert (found.first.line, found.time) == (6, None)


def test_workers_that_write_line_by_line_in_turn() -> None:
    one = worker(1, *frames("attention"), "ValueError: one")
    two = worker(2, *frames("sampler"), "KeyError: two")
    lines = [line for pair in zip(one, two, strict=True) for line in pair]
    assert summary(*lines) == [
        ("ValueError", "one", "attention.py:7 in attention", 1, ["VllmWorkerProcess pid=1"],
         ["worker.py:233"]),
        ("KeyError", "two", "sampler.py:7 in sampler", 1, ["VllmWorkerProcess pid=2"],
         ["worker.py:233"]),
    ]  # fmt: skip


def test_workers_that_say_the_same_are_one_exception() -> None:
    lines = [line for n in (1, 2, 3) for line in worker(n, *frames("kernel"), f"OSError: card {n}")]
    assert summary(*lines) == [
        ("OSError", "card 1", "kernel.py:7 in kernel", 3,
         [f"VllmWorkerProcess pid={n}" for n in (1, 2, 3)], ["worker.py:233"])
    ]  # fmt: skip


def test_line_with_two_tags_and_its_orphan() -> None:
    """Two processes wrote at once: the first tag's text is on the next line."""
    core = "(EngineCore_0 pid=219) ERROR 05-02 10:00:00 [core.py:634] "
    lines = [
        *[core + line for line in frames("sampler")],
        (
            "(EngineCore_0 pid=219) (APIServer pid=1) ERROR 05-02 10:00:00 [core.py:634] "
            "RuntimeError: torn"
        ),
        "ERROR 05-02 10:00:00 [api.py:1] orphan",
    ]
    assert summary(*lines) == [
        ("RuntimeError", "torn", "sampler.py:7 in sampler", 1, ["APIServer pid=1"], ["core.py:634"])
    ]


def test_bare_exception_takes_no_frames_of_a_logger() -> None:
    lines = [*worker(1, *frames("kernel")), "RuntimeError: bare",
             *worker(1, "ValueError: mine")]  # fmt: skip
    assert [entry[:3] for entry in summary(*lines)] == [
        ("RuntimeError", "bare", ""),
        ("ValueError", "mine", "kernel.py:7 in kernel"),
    ]


def test_chained_exceptions_are_two() -> None:
    lines = [*frames("inner"), "KeyError: 'a'", "",
             "During handling of the above exception, another exception occurred:", "",
             *frames("outer"), "RuntimeError: b"]  # fmt: skip
    assert [entry[:4] for entry in summary(*lines)] == [
        ("KeyError", "'a'", "inner.py:7 in inner", 1),
        ("RuntimeError", "b", "outer.py:7 in outer", 1),
    ]


def test_prefixed_exception_and_its_bare_twin_are_one() -> None:
    logged = "ERROR 05-02 10:00:00 engine.py:135] "
    text = [*frames("kernel"), "torch.OutOfMemoryError: CUDA 12.5 GiB"]
    lines = [*[logged + line for line in text], *text[:-1], "OutOfMemoryError: CUDA 13.25 GiB"]
    assert summary(*lines) == [
        ("torch.OutOfMemoryError", "CUDA 12.5 GiB", "kernel.py:7 in kernel", 2, [""],
         ["engine.py:135", ""])
    ]  # fmt: skip


def test_exception_without_frames_counts_only_if_it_is_surely_one() -> None:
    assert [e[0] for e in summary("RuntimeError: x", "StopIteration: 5", "Warning: y")] == [
        "RuntimeError"
    ]
    assert [e[0] for e in summary(*frames("a"), "StopIteration: 5")] == ["StopIteration"]


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
def test_harmless_level_is_no_exception(level: str) -> None:
    assert not raised(f"{level} 05-02 10:00:00 a.py:1] ValueError: x")
    assert not raised(f"{level}:     ValueError: x")


def test_frame_without_a_function_or_with_a_long_number() -> None:
    lines = ['  File "a.py", line 3', "SyntaxError: x"]
    assert summary(*lines)[0][2] == "a.py:3"
    assert summary(f'  File "a.py", line {"9" * 6_000}', "SyntaxError: x")[0][:2] == (
        "SyntaxError", "x")  # fmt: skip


def test_coloured_traceback() -> None:
    """As Python prints it from 3.13 on."""
    lines = [
        TRACEBACK,
        '  File \x1b[35m"/a/b.py"\x1b[0m, line \x1b[35m1\x1b[0m2, in \x1b[35mrun\x1b[0m',
        "\x1b[1;35mValueError\x1b[0m: \x1b[35mred \x1b[1mhot\x1b[0m",
    ]
    assert summary(*lines) == [("ValueError", "red hot", "b.py:12 in run", 1, [""], [""])]


def test_paths_of_frames_are_known_by_name() -> None:
    life = scan_lines(*frames("kernel"), '  File "x.py", line 1', '  File "/dir/", line 1')
    assert life.tracebacks.paths == {
        "run.py": "/opt/vllm/run.py", "kernel.py": "/opt/vllm/kernel.py", "x.py": "x.py"
    }  # fmt: skip


def test_last_end_is_the_last_exception() -> None:
    assert scan_lines("x", "ValueError: a", "KeyError: b", "y").tracebacks.last_end == 3
    assert scan_lines("x", TRACEBACK).tracebacks.last_end == 0


# Bounds


def test_open_tracebacks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traceback, "_OPEN_LIMIT", 2)
    seen = Tracebacks()
    writers = [Writer(b"w%d" % n, "") for n in range(3)]
    for writer in writers:
        seen.frame(writer, Frame("a.py", 1, "f"))
    ends = [seen.end(w, "Odd", "m", (Mark(9, 0, 1), None), None, sure=False) for w in writers]
    assert [end is not None for end in ends] == [False, True, True]


def test_exceptions_past_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traceback, "_GROUP_LIMIT", 2)
    life = scan_lines(*[f"{name}Error: x" for name in ("A", "B", "C", "D", "A")])
    assert [(r.kind, r.count) for r in life.tracebacks.raised.values()] == [
        ("AError", 2), ("BError", 1)
    ]  # fmt: skip
    assert life.dropped == {"exceptions": 2}
