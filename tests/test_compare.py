"""Two small logs, and what is not the same in them."""

# ruff: noqa: E501  # a case is a few whole lines, however long their messages

from __future__ import annotations

from typing import Any

import pytest

from logdiff import compare
from tests.reasoning import HEAD, judge, run_of, text

LOADED = "INFO 05-02 10:01:00 model_runner.py:1067] Loading model weights took {} GB"
SCAN = "INFO 05-02 10:01:10 helio_scan.py:90] Using fused Helio scan prefill operator"
MOE = "INFO 05-02 10:01:11 helio_moe.py:120] Using Helio grouped MoE operator: tokens=2048"
BLOCKS = (
    "INFO 05-02 10:01:30 distributed_gpu_executor.py:57] # GPU blocks: 4120, # CPU blocks: 2048"
)
SERVING = "INFO:     Application startup complete."
PAGED = "INFO 05-02 10:02:30 helio_attn.py:57] Using Helio paged decode: B=1 Hq=4"
STOPPED = "INFO:     Application shutdown complete."
WORKER = "(VllmWorkerProcess pid={}) "


def changes(good: str, bad: str) -> dict[str, Any]:
    return compare.changes(run_of(good), run_of(bad))


def names(good: str, bad: str) -> dict[str, tuple[Any, Any]]:
    found = compare.differences(run_of(good), run_of(bad))
    return {difference.fact: (difference.good, difference.bad) for difference in found}


# Launch arguments


def namespace(values: str) -> str:
    return HEAD + text(f"INFO 05-02 10:00:09 api_server.py:529] args: Namespace({values})")


def non_default(values: str) -> str:
    return HEAD + text(f"INFO 05-02 10:00:09 [utils.py:286] non-default args: {{{values}}}")


@pytest.mark.parametrize(
    ("good", "bad", "wanted"),
    [
        (namespace("seed=0, port=1"), namespace("port=1, seed=0"), []),
        (namespace("seed=0, a=None"), namespace("seed=1, a=None"), [("seed", 0, 1)]),
        (namespace("a=None, b=1"), namespace("a=4096, b=1"), [("a", None, 4096)]),
        (namespace("a=True"), namespace("a=False"), [("a", True, False)]),
        (namespace("a=['x', 'y']"), namespace("a=['x']"), [("a", ["x", "y"], ["x"])]),
        # addresses of functions and what the program adds itself
        (namespace("f=<function serve at 0x7f01>"), namespace("f=<function serve at 0x7f02>"), []),
        (namespace("dispatch_function=<function a>, a=1"), namespace("dispatch_function=<function b>, a=1"), []),
        (non_default("'model_tag': '/a', 'seed': 1"), non_default("'model_tag': '/b', 'seed': 1"), []),
        # two lists of what is not the default: what one leaves out is unset
        (non_default("'seed': 1, 'max_num_seqs': 4"), non_default("'seed': 1"), [("max_num_seqs", 4, None)]),
        (non_default("'seed': 1"), non_default("'seed': 1, 'enforce_eager': True"), [("enforce_eager", None, True)]),
        # all arguments against those that are not the default: only what both print is known
        (namespace("seed=0, max_num_seqs=256, a=None, b=None"), non_default("'seed': 0"), []),
        (namespace("seed=0, max_num_seqs=256, a=None, b=None"), non_default("'seed': 1"), [("seed", 0, 1)]),
        (non_default("'seed': 1"), namespace("seed=0, max_num_seqs=256, a=None, b=None"), [("seed", 1, 0)]),
        # all arguments of two versions: what one does not have is no difference
        (namespace("seed=0, old=1, a=None"), namespace("seed=0, new=2, a=None"), []),
        # equal secrets are equal
        (namespace("api_key='k-0123456789', a=1"), namespace("api_key='k-0123456789', a=1"), []),
    ],
)  # fmt: skip
def test_arguments(good: str, bad: str, wanted: list[tuple[str, Any, Any]]) -> None:
    found = changes(good, bad)["arguments"]
    assert [(item["name"], item["good"], item["bad"]) for item in found or ()] == wanted
    differing = {name for name in names(good, bad) if name.startswith("args.")}
    assert differing == {f"args.{name}" for name, _, _ in wanted}


def test_other_secrets_are_another_argument() -> None:
    (item,) = changes(namespace("api_key='one', a=1"), namespace("api_key='two', a=1"))["arguments"]
    assert item["name"] == "api_key"
    assert {item["good"][:3], item["bad"][:3]} == {"***"}
    assert item["secret"]


def test_nobody_is_told_to_type_a_mask() -> None:
    good, bad = (namespace(f"hf_token='not-real-{n}', seed=0") for n in (1, 2))
    report = judge(bad, good)
    assert [finding.subject for finding in report.findings] == ["hf_token"]
    assert report.fixes == []


def test_arguments_that_one_run_does_not_print_are_not_compared() -> None:
    assert changes(namespace("seed=0"), HEAD)["arguments"] is None
    assert changes(HEAD, HEAD)["arguments"] is None


def test_an_argument_without_effect() -> None:
    eager = "enforce_eager={}, max_seq_len_to_capture={}"
    (item,) = changes(namespace(eager.format(True, 1)), namespace(eager.format(True, 2)))[
        "arguments"
    ]
    assert item["no_effect"]
    (item,) = changes(namespace(eager.format(False, 1)), namespace(eager.format(False, 2)))[
        "arguments"
    ]
    assert item["no_effect"] is None


# Source files


def printed(*places: str, message: str = "Starting to load the model") -> str:
    lines = [f"INFO 05-02 10:00:{n:02} {place}] {message}" for n, place in enumerate(places, 20)]
    return HEAD + text(*lines)


@pytest.mark.parametrize(
    ("good", "bad", "wanted"),
    [
        (printed("runner.py:10"), printed("runner.py:10"), {}),
        (printed("runner.py:10"), printed("runner.py:12"), {"runner.py": 1}),
        (printed("runner.py:10"), printed("other.py:12"), {}),
        # several places print it: which of them moved is not known
        (printed("runner.py:10", "runner.py:30"), printed("runner.py:12"), {}),
        (printed("runner.py:10"), printed("runner.py:12", "runner.py:40"), {}),
        # too short to be one message
        (printed("runner.py:10", message="Done"), printed("runner.py:12", message="Done"), {}),
        (printed("a/runner.py:10"), printed("b/runner.py:12"), {"runner.py": 1}),
    ],
)
def test_moved_messages(good: str, bad: str, wanted: dict[str, int]) -> None:
    found = changes(good, bad)["source_files"]
    assert {item["file"]: len(item["messages"]) for item in found} == wanted


def test_a_message_of_one_worker_only() -> None:
    """All workers must print it from the other line."""
    line = "INFO 05-02 10:00:20 runner.py:{}] Starting to load the model"
    good = HEAD + text(line.format(10), WORKER.format(7) + line.format(10))
    bad = HEAD + text(line.format(10), WORKER.format(7) + line.format(12))
    assert changes(good, bad)["source_files"] == []


def test_an_error_message_is_no_sign_of_drift() -> None:
    error = "ERROR 05-02 10:00:20 runner.py:{}] The request could not be served"
    assert changes(HEAD + text(error.format(1)), HEAD + text(error.format(2)))["source_files"] == []


def test_implicated_files() -> None:
    fallback = "WARNING 05-02 10:00:25 nimbus.py:{}] Falling back to pure PyTorch experts"
    line = "INFO 05-02 10:00:20 nimbus.py:{}] Building the expert layers now"
    good = HEAD + text(line.format(1))
    (item,) = changes(good, HEAD + text(line.format(2), fallback.format(9)))["source_files"]
    assert item["implicated"]
    (item,) = changes(good, HEAD + text(line.format(2)))["source_files"]
    assert not item["implicated"]


def test_new_files() -> None:
    assert changes(printed("a.py:1"), printed("a.py:1", "b.py:2"))["new_files"] == ["b.py"]
    assert changes(printed("a.py:1", "b.py:2"), printed("a.py:1"))["new_files"] == []
    # The same message of both files, in another order.
    assert changes(printed("a.py:1", "b.py:2"), printed("b.py:2"))["new_files"] == []


# Kernels

GOOD = HEAD + text(LOADED.format(11.4), SCAN, MOE, BLOCKS, SERVING, PAGED)
FALLBACK = "WARNING 05-02 10:01:10 nimbus.py:310] Grouped MoE native kernel failed (no symbol), falling back to pure PyTorch experts."


def certainty(bad: str) -> dict[str, str]:
    return {item["operator"]: item["status"] for item in changes(GOOD, bad)["kernels"]}


@pytest.mark.parametrize(
    ("bad", "scan", "moe", "paged"),
    [
        # completed: the absence is certain
        (HEAD + text(LOADED.format(11.4), BLOCKS), "certain", "certain", "not_reached"),
        (HEAD + text(LOADED.format(11.4), BLOCKS, SERVING), "certain", "certain", "not_reached"),
        (HEAD + text(LOADED.format(11.4), BLOCKS, SERVING, "INFO 05-02 10:03:00 a.py:1] on"), "certain", "certain", "likely"),
        (HEAD + text(LOADED.format(11.4), BLOCKS, SERVING, STOPPED), "certain", "certain", "certain"),
        # the fallback is printed
        (HEAD + text(LOADED.format(11.4), FALLBACK, "INFO 05-02 10:01:12 a.py:1] on"), "likely", "certain", "not_reached"),
        # entered, and went on
        (HEAD + text(LOADED.format(11.4), "INFO 05-02 10:01:12 a.py:1] on", "INFO 05-02 10:01:13 a.py:2] on"), "likely", "likely", "not_reached"),
        # entered, and ended there
        (HEAD + text(LOADED.format(11.4), "INFO 05-02 10:01:12 a.py:1] on"), "not_reached", "not_reached", "not_reached"),
        # not entered
        (HEAD + text(LOADED.format(11.4)), "not_reached", "not_reached", "not_reached"),
        (HEAD, "not_reached", "not_reached", "not_reached"),
    ],
)  # fmt: skip
def test_how_sure_it_is_that_a_kernel_is_lost(bad: str, scan: str, moe: str, paged: str) -> None:
    assert certainty(bad) == {
        "fused Helio scan prefill": scan,
        "Helio grouped MoE": moe,
        "Helio paged decode": paged,
    }


def test_kernels_that_both_have() -> None:
    assert changes(GOOD, GOOD)["kernels"] == []
    assert changes(GOOD, GOOD.replace("helio_scan.py:90", "helio_scan.py:95"))["kernels"] == []


def test_a_kernel_that_good_has_twice_and_bad_once() -> None:
    good = HEAD + text(LOADED.format(11.4), SCAN, SCAN.replace(":90", ":190"), BLOCKS)
    bad = HEAD + text(LOADED.format(11.4), SCAN, BLOCKS)
    assert [item["where"] for item in changes(good, bad)["kernels"]] == ["helio_scan.py:190"]


def test_kernels_of_a_good_run_that_does_not_come_to_them() -> None:
    assert changes(HEAD, GOOD)["kernels"] is None


# Weights, stages and what differs between any two runs


@pytest.mark.parametrize(
    ("good", "bad", "differ", "lighter"),
    [
        ("10.0", "10.0", False, False),
        ("10.0", "10.04", False, False),
        ("10.0", "10.06", True, False),
        ("10.0", "9.94", True, True),
    ],
)
def test_weights(good: str, bad: str, differ: bool, lighter: bool) -> None:
    found = changes(HEAD + text(LOADED.format(good)), HEAD + text(LOADED.format(bad)))["weights"]
    assert (found["differ"], found["lighter"]) == (differ, lighter)
    assert len(found["_evidence"]) == 2


def test_weights_of_workers_that_do_not_agree() -> None:
    log = HEAD + text(LOADED.format("10.0"), WORKER.format(7) + LOADED.format("{}"))
    found = changes(log.format("8.0"), log.format("4.0"))["weights"]
    assert (found["good"], found["bad"], found["differ"]) == (9.0, 7.0, True)
    other_ids = log.format("8.0").replace("pid=7", "pid=99")
    assert not changes(log.format("8.0"), other_ids)["weights"]["differ"]


def test_weights_that_are_not_known() -> None:
    assert changes(HEAD, HEAD + text(LOADED.format("1.0")))["weights"] is None


def test_stages() -> None:
    found = changes(GOOD, HEAD + text(LOADED.format(11.4)))["stages"]
    assert found == {"missing": ["profile", "kv", "serving"], "last": "weights"}
    assert changes(GOOD, GOOD)["stages"]["missing"] == []
    assert changes(GOOD, "")["stages"]["last"] is None


def test_differences_have_units_and_changes() -> None:
    good, bad = (run_of(HEAD + text(LOADED.format(size))) for size in ("10.0", "8.5"))
    (difference,) = compare.differences(good, bad)
    assert (difference.fact, difference.change, difference.unit) == ("weights.gb", -1.5, "GB (GiB)")
    assert [run.role for run, _ in difference.evidence]


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (GOOD, GOOD),
        (GOOD, GOOD.replace("05-02", "05-09")),
        (
            HEAD + text(LOADED.format(1.5), WORKER.format(71) + SCAN, WORKER.format(71) + LOADED.format(1.5)),
            HEAD + text(LOADED.format(1.5), WORKER.format(99) + SCAN, WORKER.format(99) + LOADED.format(1.5)),
        ),
        (printed("a.py:1", message="Worker 71 of 4 took 2.1 s"), printed("a.py:1", message="Worker 99 of 4 took 3.7 s")),
        ("", ""),
        ("nothing of a server\n", "something else\n"),
    ],
)  # fmt: skip
def test_pairs_that_do_not_differ(good: str, bad: str) -> None:
    assert names(good, bad) == {}
    found = changes(good, bad)
    assert not found["arguments"]
    assert not found["kernels"]
    assert found["source_files"] == found["new_files"] == found["stages"]["missing"] == []
