"""The real pair: what scripts that share nothing with logdiff counted is what logdiff says."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.reasoning import by_id, command, holds_at_least, report_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOG = "docker-pair-508-168.log"
START_UP = {
    "corex_moe.py:339": "certain",
    "corex_gdn.py:56": "likely",
    "corex_gdn.py:228": "likely",
    "corex_fa2.py:333": "likely",
}
BRANCHES = str.maketrans("│├└─●○", "      ")
WHILE_SERVING = {"corex_gdn.py:138", "corex_moe.py:249", "corex_fa2.py:507", "corex_fa2.py:225"}


@pytest.fixture(scope="module")
def log(shared: Path) -> str:
    path = shared / "real" / LOG
    if not path.is_file():
        pytest.skip(f"the real pair is not at {path}")
    return str(path)


@pytest.fixture(scope="module")
def expected(shared: Path, log: str) -> dict[str, Any]:
    del log
    text = (shared / "real" / "expected.yaml").read_text(encoding="utf-8")
    wanted: dict[str, Any] = yaml.safe_load(text)[LOG]
    return wanted


@pytest.fixture
def report(log: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return report_json(capsys, "compare", f"{log}#2", f"{log}#1")


@pytest.fixture
def screen(log: str, capsys: pytest.CaptureFixture[str]) -> str:
    result = command(capsys, "compare", f"{log}#2", f"{log}#1")
    assert result.status == 0, result.err
    return " ".join(result.out.translate(BRANCHES).split())


# Every key of expected.yaml, and where the report says it.


def minute(facts: dict[str, Any]) -> float:
    return float(facts["serving_seconds"]) / 60


def exceptions(run: dict[str, Any]) -> int:
    return sum(entry["occurrences"] for entry in run["facts"]["oom"])


def check_gpu0(run: dict[str, Any], wanted: dict[str, Any]) -> None:
    holds_at_least(next(e for e in run["facts"]["oom"] if e["device"] == 0), wanted)


def check_good_oom(run: dict[str, Any], wanted: dict[str, Any]) -> None:
    facts = run["facts"]
    assert exceptions(run) == wanted["exceptions"]
    assert [entry["device"] for entry in facts["oom"]] == wanted["gpus"]
    assert all(f"{e['tried_mib']:.2f} MiB" == wanted["tried_to_allocate"] for e in facts["oom"])
    check_gpu0(run, wanted["gpu0"])
    assert min(e["time"] for e in facts["oom"]) == f"{wanted['first'].isoformat()}Z"
    assert minute(facts) == pytest.approx(wanted["minutes_after_serving"], abs=0.1)
    file, function = wanted["where"].split(", ")
    for entry in facts["oom"]:
        assert entry["where"].startswith(file)
        assert entry["where"].endswith(f" in {function}")


def check_kernels(run: dict[str, Any], wanted: list[dict[str, Any]]) -> None:
    found = {kernel["where"]: kernel for kernel in run["facts"]["kernels"]}
    assert sorted(found) == sorted(kernel["where"] for kernel in wanted)
    for kernel in wanted:
        holds_at_least(found[kernel["where"]], kernel)
        assert len(found[kernel["where"]]["workers"]) == 4
    count = [place["count"] for place in run["evidence"].get("kernels", [])]
    assert count == [4] * len(wanted)


def check_fallback(run: dict[str, Any], wanted: dict[str, Any]) -> None:
    (entry,) = run["facts"]["kernels.fallback"]
    holds_at_least(entry, wanted)


def check_missing(run: dict[str, Any], wanted: dict[str, Any]) -> None:
    (entry,) = run["facts"]["ops_missing"]
    holds_at_least(entry, wanted)


def check_nan(run: dict[str, Any], wanted: dict[str, Any]) -> None:
    nan = dict(run["facts"]["nan"])
    nan["module"] = nan["modules"][0] if nan["modules"] else None
    holds_at_least(nan, wanted)


def check_kv(run: dict[str, Any], wanted: dict[str, Any]) -> None:
    kv = run["facts"]["kv"]
    holds_at_least(kv | {"at_tokens": kv["required_tokens"]}, wanted)


def check_source_lines(run: dict[str, Any], wanted: dict[str, str]) -> None:
    lines = run["facts"]["source_lines"]
    for message, place in wanted.items():
        found = {where for template, where in lines.items() if template.startswith(message)}
        assert found == {place}, message


CHECKS: dict[str, Callable[[dict[str, Any], Any], None]] = {
    "args": lambda run, wanted: holds_at_least(
        run["facts"], {f"args.{name}": value for name, value in wanted.items()}
    ),
    "custom_op_missing": check_missing,
    "engine": lambda run, wanted: holds_at_least(run["engine"], wanted),
    "engine_dead": lambda run, wanted: holds_at_least(bool(run["facts"]["engine_dead"]), wanted),
    "generation_tokens_per_s_max": lambda run, wanted: holds_at_least(
        run["facts"]["throughput"]["max"], wanted
    ),
    "http": lambda run, wanted: holds_at_least(run["facts"]["http"], wanted),
    "kernels_loaded": check_kernels,
    "kv_cache": check_kv,
    "kv_cache_usage_percent_before_oom": lambda run, wanted: holds_at_least(
        {entry["kv_usage_percent"] for entry in run["facts"]["oom"]}, {wanted}
    ),
    "kv_cache_usage_percent_max": lambda run, wanted: holds_at_least(
        run["facts"]["throughput"]["kv_usage_percent_max"], wanted
    ),
    "moe_fallback": check_fallback,
    "multimodal": lambda run, wanted: holds_at_least(run["facts"]["multimodal"], wanted),
    "nan": check_nan,
    "repeated_lines": lambda run, wanted: holds_at_least(run["logs"][0]["repeated_lines"], wanted),
    "repeated_physical_lines": lambda run, wanted: holds_at_least(
        run["logs"][0]["repeated_physical_lines"], wanted
    ),
    "source_lines": check_source_lines,
    "truncated": lambda run, wanted: holds_at_least(run["logs"][0]["truncated"], wanted),
    "lines": lambda run, wanted: holds_at_least(run["logs"][0]["lines"], wanted),
    "weights_gb": lambda run, wanted: holds_at_least(run["facts"]["weights.gb"], wanted),
    "workers": lambda run, wanted: holds_at_least(run["facts"]["workers"], wanted),
}
ELSEWHERE = {"oom", "started_serving"}
"""Keys with a test of their own below."""


@pytest.mark.parametrize("role", ["good", "bad"])
def test_every_figure_of_a_run(role: str, report: dict[str, Any], expected: dict[str, Any]) -> None:
    wanted = {key: value for key, value in expected[role].items() if key not in ELSEWHERE}
    assert wanted.keys() <= CHECKS.keys(), "expected.yaml says more than is checked"
    for key, value in wanted.items():
        CHECKS[key](report[role], value)


def test_out_of_memory(report: dict[str, Any], expected: dict[str, Any]) -> None:
    assert len(report["bad"]["facts"]["oom"]) == expected["bad"]["oom"]
    check_good_oom(report["good"], expected["good"]["oom"])


def test_the_start_of_serving_is_told_from_the_first_sign_of_it(
    report: dict[str, Any], expected: dict[str, Any]
) -> None:
    died = report["good"]["facts"]["engine_dead"]["time"]
    assert died == f"{expected['good']['oom']['first'].isoformat()}Z"
    started = expected["good"]["started_serving"]
    seconds = (expected["good"]["oom"]["first"] - started).total_seconds()
    assert report["good"]["facts"]["serving_seconds"] == pytest.approx(seconds, abs=15)


def test_the_same_as_it_stands_in_json(report: dict[str, Any], expected: dict[str, Any]) -> None:
    wanted = expected["as_json"]
    for role in ("good", "bad"):
        holds_at_least(report[role]["facts"], wanted[role], role)
    oom = report["good"]["facts"]["oom"]
    assert len(oom) == wanted["oom_devices"]
    assert exceptions(report["good"]) == 6
    assert [entry["kv_usage_percent"] for entry in oom] == [5.3] * len(oom)
    holds_at_least(report["bad"]["facts"]["kernels.fallback"], [wanted["fallback"]])
    holds_at_least(report["good"]["logs"], [wanted["logs_good"]])
    holds_at_least(report["bad"]["logs"], [wanted["logs_bad"]])


def test_six_arguments_differ_and_no_seventh(
    report: dict[str, Any], expected: dict[str, Any]
) -> None:
    wanted = sorted(expected["launch_differences"])
    found = [f["subject"] for f in report["findings"] if f["rule"] == "launch-arg-changed"]
    assert sorted(found) == wanted
    differing = [d["fact"] for d in report["differences"] if d["fact"].startswith("args.")]
    assert sorted(differing) == [f"args.{name}" for name in wanted]
    assert sum(name.startswith("args.") for name in report["bad"]["facts"]) == 114


def test_kernels_of_the_start_are_lost_and_those_of_serving_not_reached(
    report: dict[str, Any],
) -> None:
    lost = {
        f["subject"].rpartition("(")[2].rstrip(")"): f["confidence"]
        for f in report["findings"]
        if f["rule"] == "kernel-not-loaded"
    }
    assert lost == START_UP
    not_reached = [e["what"] for e in report["coverage"]["not_reached"] if e["fact"] == "kernels"]
    assert {what.rpartition("(")[2].rstrip(")") for what in not_reached} == WHILE_SERVING
    assert all(f["run"] == "bad" for f in report["findings"] if f["rule"] == "kernel-not-loaded")


def test_the_name_in_a_path_is_no_kernel(
    report: dict[str, Any], expected: dict[str, Any], shared: Path
) -> None:
    lines = (shared / "real" / LOG).read_bytes().splitlines()[1:200]
    assert sum(b"corex" in line for line in lines) == expected["corex_in_paths_of_bad"]
    assert report["bad"]["facts"]["kernels"] == []


def test_what_causes_what(report: dict[str, Any]) -> None:
    findings = by_id(report)
    order = list(findings)
    drift = findings["source-drift:model_runner.py"]
    assert drift["confidence"] == "certain"
    (nan,) = (f for f in report["findings"] if f["rule"] == "nan-output")
    assert nan["caused_by"]
    for finding in report["findings"]:
        for cause in finding["caused_by"]:
            assert order.index(cause) < order.index(finding["id"])
            assert findings[cause]["run"] == finding["run"]
    baseline = findings["baseline-unhealthy:baseline:good"]
    assert (baseline["run"], baseline["severity"]) == ("good", "medium")
    assert not baseline["caused_by"]
    assert report["verdict"]["status"] == "fail"


def test_the_advice(report: dict[str, Any]) -> None:
    fixes = {fix["key"]: fix for fix in report["fixes"]}
    assert len(fixes) == len(report["fixes"])
    for file in ("model_runner.py", "qwen3_5.py"):
        assert (fixes[file]["kind"], fixes[file]["action"]) == ("patch", "stop-deploying")
        assert fixes[file]["confidence"] == "likely"
    assert "sha256sum" in by_id(report)["source-drift:model_runner.py"]["explanation"]
    assert (fixes["--max-num-seqs"]["from"], fixes["--max-num-seqs"]["to"]) == (1, 2)
    assert (fixes["--max-num-batched-tokens"]["from"],
            fixes["--max-num-batched-tokens"]["to"]) == (None, 4096)  # fmt: skip
    assert fixes["--gpu-memory-utilization"]["safety"] == "unsafe"
    assert "--max-seq-len-to-capture" not in fixes, "it has no effect in eager mode"


STATEMENTS = {
    "it fails": ["FAIL"],
    "another model runner": ["source-drift", "model_runner.py is not the same file in the two"],
    "the kernels of good": ["kernels that good uses at start-up are not used in bad"],
    "the override of the runner": ["stop deploying model_runner.py"],
    "the override of the model": ["stop deploying qwen3_5.py", "good logs nothing from it"],
    "what is likely": ["likely", "CoreX FA2 packed prefill", "fused CoreX GDN"],
    "what is certain": ["CoreX fused MoE prefill"],
    "what would prove it": ["sha256sum"],
    "NaN": [
        "layers 0, 1, 2, 4 × 4 workers",
        "99.97",
        "qwen3_5.py:445",
        "from which good logs nothing",
    ],
    "the fallback": ["19 times", "qwen3_5.py:913"],
    "the operator": ["vllm_moe_topk_softmax"],
    "chunked prefill": ["--enable-chunked-prefill", "unset → on"],
    "memory": ["--gpu-memory-utilization 0.9 → 0.95", "not advised"],
    "why not": ["good ran with 0.95 and died of memory", "KV cache 5.3 % full"],
    "length": ["--max-model-len 100000 → 256000"],
    "batch": ["--max-num-batched-tokens unset → 4096", "--max-num-seqs 1 → 2"],
    "graphs": ["--max-seq-len-to-capture 8192 → 32768", "no effect"],
    "good itself": ["baseline-unhealthy", "78 min", "out of memory"],
    "weights": ["17.3529 → 16.2303 GB", "multimodal part"],
    "not reached": ["ends before the stage 'serving'", "CoreX paged FA2 chunked prefill"],
    "what captures more": ["docker logs -t NAME"],
}
"""What the screen must say, in words that do not depend on its layout."""


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_first_screen(screen: str, name: str) -> None:
    for words in STATEMENTS[name]:
        assert words in screen


@pytest.mark.parametrize("format_name", ["text", "json", "markdown"])
def test_two_runs_give_the_same_bytes(
    log: str, capsys: pytest.CaptureFixture[str], format_name: str
) -> None:
    line = ["compare", f"{log}#2", f"{log}#1", "-f", format_name]
    here = command(capsys, *line).out
    assert here == command(capsys, *line).out
    # Another process has another hash seed.
    other = subprocess.run(
        [sys.executable, "-c", "from logdiff.cli import main; main()", *line],
        capture_output=True,
        check=True,
    )
    assert other.stdout.decode() == here
    assert other.stderr == b""


def test_inspect_lists_both_sections(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = command(capsys, "inspect", log)
    assert result.status == 0
    assert "#1" in result.out
    assert "#2" in result.out
    listed = json.loads(command(capsys, "inspect", log, "-f", "json").out)
    assert len(listed["logs"][0]["sections"]) == 2


def test_sections_of_the_pair_must_be_named(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = command(capsys, "compare", log, log)
    assert result.status == 2
    assert f"{log}#1" in result.err
    assert f"{log}#2" in result.err


def test_good_against_itself(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = report_json(capsys, "compare", f"{log}#1", f"{log}#1")
    assert report["differences"] == []
    assert {f["rule"] for f in report["findings"]}.isdisjoint(
        {"launch-arg-changed", "source-drift", "kernel-not-loaded", "weights-differ"}
    )


# With files that could have made the bad run, written for this test: the real ones are not known.

LAUNCH = """\
concurrency: 1
command:
    - python3
    - -m
    - vllm.entrypoints.openai.api_server
    - --max-model-len
    - '100000'
    - --max-num-seqs
    - '1'
    - --gpu-memory-utilization
    - '0.9'
    - -tp
    - '4'
env:
    - name: VLLM_ENGINE_ITERATION_TIMEOUT_S
      value: '3600'
"""
SCRIPT = """\
#!/bin/bash
for P in /opt/a/vllm /opt/b/vllm; do
    if [ -d "$P" ]; then VLLM="$P"; break; fi
done
cp ./qwen3_5.py "$VLLM/model_executor/models/qwen3_5.py"
cp ./_custom_ops.py $VLLM/_custom_ops.py 2>/dev/null || true
declare -A ENGINE=(
    ["model_runner.py"]="worker/model_runner.py"
    ["llm_engine.py"]="engine/llm_engine.py"
)
for F in "${!ENGINE[@]}"; do
    cp "./$F" "$VLLM/${ENGINE[$F]}"
done
for F in protocol serving_chat; do
    cp ./$F.py $VLLM/entrypoints/openai/$F.py
done
cp parser.py "$VLLM/entrypoints/openai/tool_parsers/qwen_tool_parser.py"
"""


def test_one_patch_takes_the_model_code_out_and_leaves_the_serving_layer(
    log: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "bad"
    bad.mkdir()
    with open(log, "rb") as file:
        (bad / "container.log").write_bytes(file.read())
    (bad / "computility-run.yaml").write_text(LAUNCH)
    (bad / "patch_ops.sh").write_text(SCRIPT)
    done = command(capsys, "fix", f"{log}#2", "bad#1")
    assert done.status == 0
    assert "--gpu-memory-utilization 0.9 → 0.95\n    not advised" in done.err
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for options in (["--check"], []):
        subprocess.run(["git", "apply", *options, "-"], input=done.out, text=True, check=True)
    launch = yaml.safe_load((bad / "computility-run.yaml").read_text())["command"]
    flags = dict(pairwise(launch))
    assert (flags["--max-model-len"], flags["--max-num-seqs"]) == ("256000", "2")
    assert flags["--gpu-memory-utilization"] == "0.9"
    script = (bad / "patch_ops.sh").read_text()
    gone = [line for line in SCRIPT.split("\n") if line not in script.split("\n")]
    assert gone == [
        line
        for line in SCRIPT.split("\n")
        if any(name in line for name in ("qwen3_5.py", "_custom_ops", "model_runner", "llm_engine"))
    ]
