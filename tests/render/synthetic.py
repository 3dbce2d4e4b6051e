"""Reports built by hand: a realistic pair, a heavy one and an empty one; no log is read."""

from __future__ import annotations

from typing import Any

from logdiff.model import (
    Difference,
    Entry,
    Evidence,
    Finding,
    Fix,
    Life,
    Log,
    Mark,
    Place,
    ReadError,
    Report,
    Run,
    Section,
)

WORKERS = ("driver", "pid=71", "pid=72", "pid=73")

_TAG = "(VllmWorkerProcess pid=71) "
_ARGS = (
    "api_server.py:531] args: Namespace(host=None, port=8000, allowed_origins=['*'], "
    "model='/model', tokenizer=None, max_model_len={}, gpu_memory_utilization={}, "
    "max_num_batched_tokens={}, max_num_seqs={}, enable_chunked_prefill={}, seed=0)"
)

BAD_LINES = {
    11: "INFO 03-02 10:00:09 " + _ARGS.format(32768, 0.9, None, 1, None),
    40: _TAG + "INFO 03-02 10:00:29 model_runner.py:1119] Starting to load model /model...",
    78: _TAG + "INFO 03-02 10:00:49 model_runner.py:1130] Loading model weights took 14.1 GB",
    90: _TAG + "WARNING 03-02 10:01:10 qwen3_5.py:445] NaN in prefill GatedDeltaNet layer 0 "
    "(frac=0.9991), replacing with zeros",
    95: _TAG + "ERROR 03-02 10:01:10 _custom_ops.py:58] Error in calling custom op "
    "topk_softmax: module 'vendorlib.functions' has no attribute 'moe_topk_softmax'",
    97: _TAG + "WARNING 03-02 10:01:10 qwen3_5.py:913] FusedMoE native kernel failed "
    "(AttributeError: module 'vendorlib.functions' has no attribute 'moe_topk_softmax'), "
    "falling back to pure PyTorch experts permanently.",
}
GOOD_LINES = {
    210: "INFO 02-11 08:00:09 " + _ARGS.format(131072, 0.95, 4096, 2, "True"),
    238: _TAG + "INFO 02-11 08:00:29 model_runner.py:1074] Starting to load model /model...",
    270: _TAG + "INFO 02-11 08:00:49 model_runner.py:1085] Loading model weights took 15.2 GB",
    281: _TAG + "INFO 02-11 08:03:25 fast_gdn.py:56] Loaded fused GDN decode operator from "
    "/usr/local/vendor/lib64/libfast_gdn.so",
    284: _TAG + "INFO 02-11 08:03:25 fast_gdn.py:228] Using fused GDN prefill operator",
    288: _TAG + "INFO 02-11 08:03:25 fast_moe.py:339] Using fused MoE prefill operator: "
    "tokens=4096, kernel=grouped-wmma",
    296: _TAG + "INFO 02-11 08:03:26 fast_fa2.py:333] Using FA2 packed prefill: B=2 Hq=4",
    1480: _TAG + "ERROR 02-11 09:22:04 multiproc_worker_utils.py:231] "
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 MiB. GPU 2 has a "
    "total capacty of 31.72 GiB of which 50.92 MiB is free.",
}


def quote(run: Run, evidence: Evidence) -> Place:
    """Stand in for the function that reads a line again."""
    lines = BAD_LINES if run.role == "bad" else GOOD_LINES
    day = "2026-03-02T10:00:29" if run.role == "bad" else "2026-02-11T08:00:29"
    number = evidence.mark.line
    text = f"{day}.863469254Z {lines.get(number, f'line {number}')}"
    return Place(run.role, run.log.path, number, evidence.count, evidence.workers, text)


def seen(line: int, count: int = 4, workers: tuple[str, ...] = WORKERS) -> Evidence:
    """Make evidence for a line."""
    return Evidence(Mark(line, line * 100, 90), count, workers)


def make_run(role: str, path: str = "pair.log", section_number: int = 1) -> Run:
    """Make a run of which nothing is known."""
    log = Log(path, path)
    section = Section(section_number, 1, None)
    life = Life(1, 1, 1)
    section.lives.append(life)
    log.sections.append(section)
    return Run(role, f"{path}#{section_number}", log, section, life, None)


def bad_run() -> Run:
    """Make the run whose log ends during start-up."""
    run = make_run("bad")
    run.section.kind = "serve"
    run.section.envelopes = ("docker_timestamps",)
    run.section.lines, run.section.recognised, run.section.last_line = 199, 150, 200
    run.section.heading = "我们的最开始（只截取了部分，错误太多了）日志："
    run.life.truncated = True
    run.life.started, run.life.ended = "2026-03-02T10:00:00.1Z", "2026-03-02T10:01:21.2Z"
    run.life.facts = {
        "engine.name": "vllm",
        "engine.version": "0.6.3",
        "workers": 4,
        "reached": "profile",
        "stage.entered": ["import", "args", "load", "weights", "profile"],
        "stage.completed": ["import", "args", "load", "weights"],
        "weights.gb": 14.1,
        "kernels": [],
        "kernels.fallback": [
            Entry({"where": "qwen3_5.py:913", "what": "MoE", "occurrences": 19}, [seen(97, 19)])
        ],
        "nan": {"occurrences": 16, "layers": [0, 1, 2, 4], "fraction_max": float("nan")},
        "args.max_num_seqs": 1,
        "http": None,
    }
    run.life.evidence = {"weights.gb": [seen(78)], "nan": [seen(90, 16)]}
    return run


def good_run() -> Run:
    """Make the run that served, was pasted twice, and died."""
    run = make_run("good", section_number=2)
    run.section.kind = "serve"
    run.section.envelopes = ("docker_timestamps",)
    run.section.first_line, run.section.last_line = 204, 3210
    run.section.lines, run.section.recognised = 3006, 1200
    run.section.heading = "别人的docker日志："
    run.section.repeated_lines, run.section.repeated_physical_lines = 1400, 1503
    run.life.started, run.life.ended = "2026-02-11T08:00:00.1Z", "2026-02-11T09:22:10.2Z"
    run.life.facts = {
        "engine.name": "vllm",
        "engine.version": "0.6.3",
        "workers": 4,
        "reached": "dead",
        "serving_seconds": 4680.0,
        "stage.entered": ["import", "args", "load", "weights", "profile", "kv", "serving", "dead"],
        "stage.completed": ["import", "args", "load", "weights", "profile", "kv", "serving"],
        "weights.gb": 15.2,
        "kernels": [Entry({"operator": "fused GDN decode"}, [seen(281)])],
        "kv": {"gpu_blocks": 19000, "block_size": 16, "capacity_tokens": 304000},
        "oom": [Entry({"device": 2, "occurrences": 2}, [seen(1480, 6, WORKERS[1:])])],
        "http": {"200": 147, "400": 89, "500": 4},
        "args.max_num_seqs": 2,
    }
    run.life.evidence = {"weights.gb": [seen(270)]}
    return run


def finding(
    rule: str,
    subject: str | None,
    severity: str,
    confidence: str,
    title: str,
    evidence: list[tuple[Run, Evidence]],
    causes: tuple[Finding, ...] = (),
    run: str = "bad",
) -> Finding:
    """Make a finding and enter it with its causes."""
    made = Finding(rule, subject, run)
    made.severity, made.confidence, made.title = severity, confidence, title
    made.evidence = evidence
    made.explanation = f"Why {rule} matters, in a sentence that is long enough to be wrapped twice."
    made.caused_by = [cause.id for cause in causes]
    for cause in causes:
        cause.consequences.append(made.id)
    return made


def fix(kind: str, key: str, action: str, old: Any = None, new: Any = None, **more: Any) -> Fix:
    """Make a fix; ``more`` are its other attributes."""
    made = Fix(kind, key, action)
    made.old, made.new = old, new
    for name, value in more.items():
        setattr(made, name, value)
    return made


def _fixes() -> list[Fix]:
    return [
        fix(
            "patch", "model_runner.py", "stop-deploying", confidence="likely",
            reason="The image brings this file; the submission replaces it with another version.",
            confirm_by="model_runner.py:1074] Starting to load model",
        ),
        fix("patch", "qwen3_5.py", "stop-deploying", confidence="likely"),
        fix("config", "--max-num-seqs", "set", 1, 2, confidence="likely",
            confirm_by="max_num_seqs=2"),
        fix("config", "--max-num-batched-tokens", "set", None, 4096, confidence="likely",
            confirm_by="max_num_batched_tokens=4096"),
        fix("config", "--enable-chunked-prefill", "set", None, new=True, confidence="likely"),
        fix("config", "--max-seq-len-to-capture", "set", 8192, 32768, confidence="likely"),
        fix(
            "config", "--gpu-memory-utilization", "set", 0.9, 0.95, safety="unsafe",
            reason="good itself ran out of memory with 0.95 while its KV cache was 5 % full.",
        ),
    ]  # fmt: skip


def _findings(good: Run, bad: Run) -> list[Finding]:
    drift = finding(
        "source-drift", "model_runner.py", "high", "certain",
        "model_runner.py is not the same file in the two images",
        [(bad, seen(40)), (good, seen(238))],
    )  # fmt: skip
    drift.fixes = ["patch:model_runner.py", "patch:qwen3_5.py"]
    lost = [
        finding(
            "kernel-not-loaded", name, "high", sure,
            f"good uses {name} at start-up, bad does not", [(good, seen(line))], (drift,),
        )
        for name, sure, line in (
            ("fused MoE prefill", "certain", 288),
            ("fused GDN decode", "likely", 281),
            ("fused GDN prefill", "likely", 284),
            ("FA2 packed prefill", "likely", 296),
        )
    ]  # fmt: skip
    fallback = finding(
        "kernel-fallback", "MoE", "high", "certain",
        "MoE falls back to pure PyTorch, 19 times: vendorlib has no moe_topk_softmax",
        [(bad, seen(97, 19)), (bad, seen(95, 20))], (drift,),
    )  # fmt: skip
    nan = finding(
        "nan-output", None, "high", "certain",
        "NaN in layers 0, 1, 2, 4: 99.91–100 % of the values of GatedDeltaNet",
        [(bad, seen(90, 16))], (drift,),
    )  # fmt: skip
    weights = finding(
        "weights-differ", None, "medium", "likely",
        "15.2 → 14.1 GB per worker: the vision part is not loaded in bad",
        [(bad, seen(78)), (good, seen(270))],
    )  # fmt: skip
    arguments = finding(
        "launch-arguments-differ", None, "medium", "likely",
        "six launch arguments are not those of good", [(bad, seen(11, 1, ())),
        (good, seen(210, 1, ()))],
    )  # fmt: skip
    arguments.fixes = [
        "config:--max-num-seqs", "config:--max-num-batched-tokens",
        "config:--enable-chunked-prefill", "config:--max-seq-len-to-capture",
        "config:--gpu-memory-utilization",
    ]  # fmt: skip
    unhealthy = finding(
        "baseline-unhealthy", None, "medium", "certain",
        "good ran out of memory on 3 of 4 devices after serving 78 min",
        [(good, seen(1480, 6, WORKERS[1:]))], run="good",
    )  # fmt: skip
    eager = finding("eager-mode", None, "info", "certain", "CUDA graphs are off", [])
    cut_off = finding("log-truncated", None, "info", "certain", "the log ends early", [])
    return [drift, *lost, fallback, nan, weights, arguments, unhealthy, eager, cut_off]


def pair_report() -> Report:
    """Make the realistic report."""
    good, bad = good_run(), bad_run()
    report = Report(good, bad)
    report.status = "fail"
    report.sentence = (
        "The two images do not run the same model code; the fused kernels that good uses at "
        "start-up are not used in bad, which computes NaN."
    )
    report.findings = _findings(good, bad)
    report.fixes = _fixes()
    arguments = [(bad, seen(11, 1, ())), (good, seen(210, 1, ()))]
    weights = [(bad, seen(78)), (good, seen(270))]
    report.differences = [
        Difference("args.enable_chunked_prefill", *(True, None, None, None), arguments),
        Difference("args.gpu_memory_utilization", 0.95, 0.9, -0.05, None, arguments),
        Difference("args.max_model_len", 131072, 32768, -98304, None, arguments),
        Difference("args.max_num_batched_tokens", 4096, None, None, None, arguments),
        Difference("args.max_num_seqs", 2, 1, -1, None, arguments),
        Difference("args.max_seq_len_to_capture", 32768, 8192, -24576, None, arguments),
        Difference("weights.gb", 15.2, 14.1, -1.0999999999999996, "GB (GiB)", weights),
    ]
    why = "the bad log ends during profiling"
    report.not_reached = [
        {"fact": "kv", "what": "KV cache size", "why": why},
        {"fact": "http", "what": "HTTP statuses", "why": why},
        {"fact": "throughput", "what": "throughput", "why": why},
        *(
            {"fact": "kernels", "what": name, "why": why}
            for name in ("FA2 paged decode", "FA2 chunked prefill", "MoE decode", "GDN decode")
        ),
    ]
    report.not_judged = [
        {"rule": "patch-overrides-image", "why": "needs the patch script: --patch FILE"},
        {"rule": "launch-file-differs", "why": "needs the launch file: --launch FILE"},
        {"rule": "kv-too-small", "why": "bad has no fact kv"},
    ]
    return report


def heavy_report() -> Report:
    """Make a report with far more of everything than a screen holds."""
    report = pair_report()
    for number in range(40):
        extra = finding(
            f"rule-{number:02}", f"subject {number}", "high", "possible",
            f"something long happened in place {number} " * 4,
            [(report.bad, seen(1000 + number * 30 + line)) for line in range(30)],
        )  # fmt: skip
        report.findings.append(extra)
        change = fix("env", f"VARIABLE_{number}", "set", "a", "b", diff="-a\n+b\n")
        report.fixes.append(change)
        extra.fixes = [change.id]
        report.differences.append(Difference(f"fact.{number}", "x" * 99, "y" * 99, None, None, []))
        report.not_judged.append({"rule": f"other-{number}", "why": f"reason {number}"})
    report.bad.log.errors = [ReadError("pair.log", 7, "a line is longer than 1 MiB: cut")]
    return report


def empty_report() -> Report:
    """Make the report on a log in which there is nothing."""
    return Report(None, make_run("bad", "empty.log"))


def report_saying(text: str) -> Report:
    """Make a report in which everything that comes from outside is one text."""
    good, bad = good_run(), bad_run()
    report = Report(good, bad)
    report.status, report.sentence = "fail", text
    good.label = bad.label = bad.log.path = text
    for run in (good, bad):
        run.section.heading = run.life.started = run.life.facts["engine.version"] = text
    cause = finding(text, text, "high", "likely", text, [(bad, seen(1)), (good, seen(2))])
    below = finding("below", text, "high", "certain", text, [(bad, seen(3, 9))], (cause,))
    cause.explanation = text
    change = fix("patch", text, "stop-deploying", diff=text, reason=text, confirm_by=text)
    option = fix("config", f"--{text}", "set", text, text, safety="unsafe", reason=text)
    cause.fixes = [change.id, option.id]
    report.findings, report.fixes = [cause, below], [change, option]
    report.differences = [Difference(text, text, [text], None, text, [])]
    report.not_judged = [{"rule": text, "why": text}]
    report.not_reached = [{"fact": "kv", "what": text, "why": text}]
    bad.log.errors = [ReadError(text, 1, text)]
    return report
