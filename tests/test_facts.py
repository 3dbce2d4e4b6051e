"""Small logs, and the facts that they add up to."""

# ruff: noqa: E501  # a case is a few whole lines, however long their messages

from __future__ import annotations

import json
from typing import Any

import pytest

from logdiff.extract.observations import Observations
from logdiff.facts import derive
from logdiff.redact import fingerprint, harmless
from tests.reasoning import HEAD, facts_of, holds_at_least, run_of, text

LOADED = "INFO 05-02 10:01:00 model_runner.py:1067] Loading model weights took 11.4210 GB"
BLOCKS = (
    "INFO 05-02 10:01:30 distributed_gpu_executor.py:57] # GPU blocks: 4120, # CPU blocks: 2048"
)
SERVING = "INFO:     Application startup complete."
WORKER = "(VllmWorkerProcess pid=78) "
METRICS = "INFO 05-02 10:05:{:02} metrics.py:345] Avg prompt throughput: 12.5 tokens/s, Avg generation throughput: {} tokens/s, Running: 1 reqs, Swapped: 0 reqs, Pending: 2 reqs, GPU KV cache usage: {}%, CPU KV cache usage: 0.0%."
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of 23.50 GiB of which 21.12 MiB is free. Of the allocated memory 22.10 GiB is allocated by PyTorch, and 1.50 GiB is reserved by PyTorch but unallocated."
SHUTDOWN = text(
    "INFO 05-02 11:00:00 launcher.py:57] Gracefully stopping http server",
    "INFO:     Shutting down",
    "INFO:     Application shutdown complete.",
)
DIED = "ERROR 05-02 11:00:00 async_llm_engine.py:65] Engine background task failed\n"

CASES: list[tuple[str, str, dict[str, Any]]] = [
    # engine and workers
    ("the version", HEAD, {"engine.name": "vllm", "engine.version": "0.6.3", "reached": "args"}),
    ("the version of a vendor", HEAD.replace("0.6.3", "0.6.3+acme.7"), {"engine.version": "0.6.3+acme.7"}),
    (
        "the engine names the version",
        text("(EngineCore_0 pid=9) INFO 05-02 10:00:12 [core.py:74] Initializing a V1 LLM engine (v0.10.1) with config: model='/m', tensor_parallel_size=1, seed=0"),
        {"engine.version": "0.10.1", "engine_config.seed": 0, "workers": 1, "reached": "load"},
    ),
    ("an unknown program", text("INFO nothing of a server"), {"engine.name": None, "reached": None, "workers": None}),
    (
        "the driver and its worker, V0",
        HEAD + text(LOADED, WORKER + LOADED),
        {"workers": 2, "weights.gb": 11.421},
    ),
    (
        "the driver and a worker of Ray, V0",
        HEAD + text(LOADED, "(RayWorkerWrapper pid=78, ip=203.0.113.4) " + LOADED),
        {"workers": 2, "weights.gb": 11.421},
    ),
    (
        "workers of V1, none of them untagged",
        HEAD + text(*(f"(Worker_TP{n} pid={70 + n}) INFO 05-02 10:01:00 [gpu_model_runner.py:1953] Model loading took 7.5 GiB memory and 12.81 seconds" for n in (0, 1))),
        {"workers": 2, "weights.gb": 7.5},
    ),
    (
        "workers of Ray in V1, where the server has no tag",
        HEAD + text("(EngineCore_0 pid=9) INFO 05-02 10:00:12 [core.py:74] waiting", "(RayWorkerWrapper pid=78) " + LOADED),
        {"workers": 1, "weights.gb": 11.421},
    ),
    # weights
    (
        "workers that do not agree",
        HEAD + text(LOADED, WORKER + LOADED.replace("11.4210", "9.5")),
        {"weights.gb": {"driver": 11.421, "VllmWorkerProcess pid=78": 9.5}},
    ),
    ("GiB after all", text("INFO 05-02 10:01:00 [gpu_model_runner.py:1953] Model loading took 14.2487 GiB and 3.1 seconds"), {"weights.gb": 14.2487}),
    (
        "a second model, to speculate with",
        HEAD + text(LOADED, LOADED.replace("11.4210", "0.5")),
        {"weights.gb": 11.921},
    ),
    ("no weights", HEAD, {"weights.gb": None, "weights.skipped": None}),
    ("weights, none left out", HEAD + text(LOADED), {"weights.skipped": 0}),
    (
        "weights left out",
        HEAD + text("WARNING 05-02 10:01:00 nimbus.py:77] Skipping loading visual.blocks.0.attn.qkv.weight", LOADED),
        {"weights.skipped": 1},
    ),
    # not seen, and nothing seen
    ("before the weights", HEAD, {"kernels": None, "kernels.fallback": None, "ops_missing": None, "nan": None, "oom": [], "kv": None, "http": None, "throughput": None}),
    ("after the weights", HEAD + text(LOADED, "INFO 05-02 10:01:02 worker.py:1] on"), {"kernels": [], "kernels.fallback": [], "ops_missing": [], "nan": None, "reached": "profile"}),
    ("weights and nothing after", HEAD + text(LOADED), {"kernels": None, "reached": "weights"}),
    ("after profiling", HEAD + text(LOADED, BLOCKS), {"nan": {"occurrences": 0, "layers": [], "fraction_min": None}, "kernels": []}),
    ("nobody asked yet", HEAD + text(SERVING), {"http": {}, "reached": "serving"}),
    # kernels
    (
        "a kernel, its variant and its witnesses",
        HEAD + text(LOADED, *(tag + "INFO 05-02 10:01:10 helio_moe.py:120] Using Helio grouped MoE operator: tokens=2048, kernel=grouped-tile" for tag in ("", WORKER))),
        {"kernels": [{"where": "helio_moe.py:120", "operator": "Helio grouped MoE", "library": None, "variant": "grouped-tile", "workers": ["VllmWorkerProcess pid=78", "driver"]}]},
    ),
    (
        "the same kernel with other figures is one",
        HEAD + text(LOADED, *(f"INFO 05-02 10:01:10 helio_moe.py:120] Using Helio grouped MoE operator: tokens={n}, kernel=grouped-tile" for n in (8, 4096))),
        {"kernels": [{"where": "helio_moe.py:120"}]},
    ),
    (
        "a path is no kernel",
        HEAD + text(LOADED, "/opt/helio/lib/python3/site-packages/helio/cuda/__init__.py:51: FutureWarning: The helio kernel package is deprecated.", "INFO 05-02 10:01:02 worker.py:1] on"),
        {"kernels": []},
    ),
    (
        "a missing operator",
        HEAD + text("ERROR 05-02 10:01:10 _custom_ops.py:58] Error in calling custom op topk_softmax: module 'helio.ops' has no attribute 'moe_topk'"),
        {"ops_missing": [{"op": "topk_softmax", "missing": "helio.ops.moe_topk", "package": "helio", "where": "_custom_ops.py:58", "occurrences": 1}]},
    ),
    (
        "an operator of the engine's own extension",
        text("AttributeError: '_OpNamespace' '_moe_C' object has no attribute 'topk_softmax'"),
        {"ops_missing": [{"op": "topk_softmax", "missing": "_moe_C.topk_softmax", "package": "vllm", "where": None}]},
    ),
    (
        "two reasons at one place are two fallbacks",
        HEAD + text(*(f"WARNING 05-02 10:01:10 nimbus.py:310] FusedMoE native kernel failed ({why}), falling back to pure PyTorch experts." for why in ("no symbol", "no memory", "no memory"))),
        {"kernels.fallback": [{"reason": "no symbol", "occurrences": 1}, {"reason": "no memory", "occurrences": 2}]},
    ),
    (
        "layers and fractions",
        HEAD + text(*(f"{tag}WARNING 05-02 10:01:10 nimbus.py:210] NaN in prefill GatedScan layer {layer} (frac={part}), replacing with zeros" for tag in ("", WORKER) for layer, part in ((10, "0.5"), (2, "1.0000")))),
        {"nan": {"occurrences": 4, "layers": [2, 10], "modules": ["GatedScan"], "phases": ["prefill"], "fraction_min": 0.5, "fraction_max": 1.0, "where": "nimbus.py:210", "workers": ["VllmWorkerProcess pid=78", "driver"]}},
    ),
    # the KV cache
    (
        "blocks times their size, V0",
        HEAD + text("INFO 05-02 10:00:09 api_server.py:529] args: Namespace(model='/m', block_size=32)", BLOCKS, "INFO 05-02 10:01:30 distributed_gpu_executor.py:61] Maximum concurrency for 32768 tokens per request: 2.01x"),
        {"kv": {"gpu_blocks": 4120, "cpu_blocks": 2048, "block_size": 32, "capacity_tokens": 131840, "concurrency": 2.01, "required_tokens": 32768}},
    ),
    ("blocks of an unknown size", HEAD + text(BLOCKS), {"kv": {"gpu_blocks": 4120, "block_size": None, "capacity_tokens": None}}),
    (
        "tokens, V1",
        HEAD + text("INFO 05-02 10:01:20 [gpu_worker.py:276] Available KV cache memory: 11.02 GiB", "INFO 05-02 10:01:30 [kv_cache_utils.py:864] GPU KV cache size: 65,920 tokens", "INFO 05-02 10:01:30 [kv_cache_utils.py:868] Maximum concurrency for 8,192 tokens per request: 8.05x"),
        {"kv": {"gpu_blocks": None, "capacity_tokens": 65920, "required_tokens": 8192, "concurrency": 8.05, "available_gib": 11.02}},
    ),
    # memory
    (
        "units, and the figure that a message leaves out",
        HEAD + text(SERVING, METRICS.format(0, 1.0, 3.1), METRICS.format(10, 1.0, 38.8), METRICS.format(20, 1.0, 5.3), OOM.format("2.00 GiB", 1), OOM.format("64.00 MiB", 0), METRICS.format(30, 1.0, 90.0)),
        {
            "oom": [
                {"device": 0, "tried_mib": 64.0, "capacity_gib": 23.5, "free_mib": 21.12, "reserved_unallocated_mib": 1536.0, "stage": "serving", "kv_usage_percent": 5.3, "occurrences": 1},
                {"device": 1, "tried_mib": 2048.0, "kv_usage_percent": 5.3},
            ],
            "throughput": {"kv_usage_percent_max": 90.0, "count": 4},
        },
    ),
    (
        "innermost place",
        HEAD + text(SERVING, "ERROR 05-02 11:00:00 engine.py:9] Traceback (most recent call last):", 'ERROR 05-02 11:00:00 engine.py:9]   File "/opt/vllm/worker.py", line 10, in run', 'ERROR 05-02 11:00:00 engine.py:9]   File "/opt/vllm/layer.py", line 77, in forward', "ERROR 05-02 11:00:00 engine.py:9] " + OOM.format("64.00 MiB", 0)),
        {"oom": [{"where": "layer.py:77 in forward"}], "exceptions": [{"type": "torch.OutOfMemoryError", "where": "layer.py:77 in forward", "occurrences": 1}]},
    ),
    ("a warning about memory", HEAD + text("WARNING 05-02 10:00:11 arg_utils.py:963] The model has a long context length (65536). This may cause OOM errors during the initial memory profiling phase"), {"oom": []}),
    # serving
    (
        "statuses",
        HEAD + text(SERVING, *(f'INFO:     203.0.113.4:{port} - "POST /v1/chat/completions HTTP/1.1" {status}' for port, status in ((41112, "200 OK"), (41113, "200 OK"), (41114, "400 Bad Request")))),
        {"http": {"200": 2, "400": 1}},
    ),
    (
        "throughput while it is busy",
        HEAD + text(SERVING, *(METRICS.format(n, rate, 1.0) for n, rate in enumerate((0.0, 10.0, 30.0, 20.0)))),
        {"throughput": {"unit": "tokens/s", "count": 4, "min": 10.0, "max": 30.0, "median": 20.0}},
    ),
    ("a log that begins while it serves", text(METRICS.format(0, 1.0, 2.0)), {"reached": "serving", "truncated": True}),
    # settings
    ("prefix caching", text("WARNING 05-03 10:00:11 arg_utils.py:906] --enable-prefix-caching is currently not supported for multimodal models and has been disabled."), {"prefix_cache_disabled": {"reason": "multimodal models"}, "multimodal": True}),
    ("threads", text("WARNING 05-02 10:00:12 multiproc_gpu_executor.py:53] Reducing Torch parallelism from 32 threads to 1 to avoid unnecessary CPU contention."), {"thread_reduction": {"before": 32, "after": 1}}),
    ("chunks", text("INFO 05-02 10:00:11 config.py:1005] Chunked prefill is enabled with max_num_batched_tokens=2048."), {"chunked_prefill": {"enabled": True, "tokens": 2048, "reason": None}}),
    ("no chunks", text("WARNING 05-03 10:00:11 arg_utils.py:1080] Chunked prefill is not supported for sliding window models."), {"chunked_prefill": {"enabled": False, "tokens": None, "reason": "sliding window models"}}),
    (
        "chunks, then none after all",
        text("WARNING 05-02 10:00:10 arg_utils.py:1080] Chunked prefill is not supported for sliding window models.", "INFO 05-02 10:00:11 config.py:1005] Chunked prefill is enabled with max_num_batched_tokens=2048."),
        {"chunked_prefill": {"enabled": False, "tokens": 2048}},
    ),
    ("eager", text("(APIServer pid=7) WARNING 05-02 10:00:11 [vllm.py:703] Enforce eager set, disabling torch.compile, CUDAGraphs"), {"eager_mode": True}),
    ("the attention backend", text("INFO 05-02 10:00:20 selector.py:115] Using XFormers backend."), {"backends": {"attention": "XFormers"}}),
    ("no backend", HEAD, {"backends": None}),
    (
        "backends of all kinds",
        text(
            "INFO 05-02 10:00:15 pynccl.py:63] vLLM is using nccl==2.21.5",
            "WARNING 05-02 10:00:15 custom_all_reduce.py:143] Custom allreduce is disabled because the cards are far apart. To silence this warning, say so.",
            "INFO 05-02 10:00:20 [cuda.py:412] Using AttentionBackendEnum.TRITON_ATTN backend.",
            "INFO 05-02 10:00:20 [nvfp4.py:203] Using 'HELIO_CUTLASS' NvFp4 MoE backend out of potential backends: ['HELIO_CUTLASS'].",
            "INFO 05-02 10:00:20 [gdn_linear_attn.py:147] Using Triton/FLA GDN prefill kernel (requested=auto)",
            "INFO 05-02 10:00:20 [gptq_marlin.py:387] Using HelioLinearKernel for GPTQMarlinLinearMethod",
        ),
        {"backends": {"attention": "TRITON_ATTN", "moe": "HELIO_CUTLASS", "gdn": "Triton/FLA", "quantisation": "HelioLinearKernel", "all_reduce": "nccl 2.21.5, no custom kernel (because the cards are far apart)"}},
    ),
    (
        "backends of a vendor",
        text(
            "INFO 05-02 10:01:10 helio_attn.py:77] Using Helio paged decode: B=2 Hq=8",
            "INFO 05-02 10:01:10 helio_scan.py:90] Using fused Helio GDN prefill operator",
            "WARNING 05-02 10:01:10 nimbus.py:310] FusedMoE native kernel failed (no symbol), falling back to pure PyTorch experts.",
        ),
        {"backends": {"attention": "Helio paged decode", "gdn": "fused Helio GDN prefill", "moe": "pure PyTorch experts (fallback)"}},
    ),
    (
        "a quantisation that is only asked for",
        text("INFO 05-02 10:00:09 api_server.py:529] args: Namespace(model='/m', quantization='awq')"),
        {"backends": {"quantisation": "awq"}},
    ),
    # ends
    ("a stop", HEAD + text(SERVING) + SHUTDOWN, {"reached": "stopped", "engine_dead": None, "truncated": False}),
    ("a death and the stop that follows", HEAD + text(SERVING) + DIED + SHUTDOWN, {"reached": "dead", "truncated": False, "engine_dead": {"time": "05-02 11:00:00", "error": None}}),
    ("a stop and the death that follows", HEAD + text(SERVING) + SHUTDOWN + DIED, {"reached": "stopped", "engine_dead": None}),
    ("a log that is cut", HEAD + text(SERVING), {"truncated": True}),
    (
        "an uncaught exception before anything is served",
        HEAD + text("Traceback (most recent call last):", '  File "/opt/vllm/config.py", line 3, in check', "ValueError: the model does not fit"),
        {"reached": "dead", "engine_dead": {"error": "ValueError: the model does not fit"}},
    ),
    (
        "farewells after it",
        HEAD + text("Traceback (most recent call last):", '  File "/opt/vllm/config.py", line 3, in check', "ValueError: the model does not fit", *["/usr/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown", "  warnings.warn('resource_tracker: There appear to be %d '"] * 4),
        {"reached": "dead"},
    ),
    (
        "an exception after which it goes on",
        HEAD + text("Traceback (most recent call last):", '  File "/opt/vllm/config.py", line 3, in check', "ValueError: no matter", *[f"INFO 05-02 10:01:0{n} worker.py:{n}] still here" for n in range(6)]),
        {"reached": "args", "engine_dead": None},
    ),
    (
        "an exception of a request while it serves",
        HEAD + text(SERVING, "Traceback (most recent call last):", '  File "/opt/vllm/serving_chat.py", line 3, in create', "jinja2.exceptions.TemplateError: roles must alternate"),
        {"reached": "serving", "engine_dead": None},
    ),
    (
        "a client's exception",
        text("Traceback (most recent call last):", '  File "/home/me/ask.py", line 3, in <module>', "openai.BadRequestError: Error code: 400"),
        {"reached": None, "engine_dead": None},
    ),
    (
        "the worker's error, not its echoes",
        text(
            "(Worker_TP1 pid=9) ERROR 05-02 11:00:00 [multiproc_executor.py:953] WorkerProc failed to start.",
            "(Worker_TP1 pid=9) ERROR 05-02 11:00:00 [multiproc_executor.py:953] Traceback (most recent call last):",
            '(Worker_TP1 pid=9) ERROR 05-02 11:00:00 [multiproc_executor.py:953]   File "/opt/vllm/loader.py", line 5, in load',
            "(Worker_TP1 pid=9) ERROR 05-02 11:00:00 [multiproc_executor.py:953] FileNotFoundError: no shard 3",
            "(EngineCore pid=8) ERROR 05-02 11:00:02 [core.py:1510] EngineCore failed to start.",
            "(EngineCore pid=8) ERROR 05-02 11:00:02 [core.py:1510] Traceback (most recent call last):",
            '(EngineCore pid=8) ERROR 05-02 11:00:02 [core.py:1510]   File "/opt/vllm/core.py", line 5, in run',
            "(EngineCore pid=8) ERROR 05-02 11:00:02 [core.py:1510] Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause.",
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        ),
        {"engine_dead": {"error": "FileNotFoundError: no shard 3"}},
    ),
    *(
        (
            f"an echo: {echo[:20]}",
            text("ERROR 05-02 11:00:00 [core.py:9] EngineCore failed to start.", f"ERROR 05-02 11:00:00 [core.py:9] RuntimeError: {echo}"),
            {"reached": "dead", "engine_dead": {"error": None}},
        )
        for echo in ("cancelled", "Engine core initialization failed. See root cause above.", "Worker failed with error 'x'", "gone. See stack trace for the root cause.")
    ),
    (
        "a worker that was killed",
        HEAD + text(SERVING, "(EngineCore pid=8) ERROR 05-02 11:00:00 [multiproc_executor.py:315] Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down executor.", "(EngineCore pid=8) ERROR 05-02 11:00:02 [core.py:1512] EngineCore encountered a fatal error.", "(EngineCore pid=8) ERROR 05-02 11:00:02 [core.py:1512] RuntimeError: cancelled"),
        {"engine_dead": {"time": "05-02 11:00:00", "error": "a process of the engine was killed by signal 9"}},
    ),
    ("a command line that is not understood", text("vllm serve: error: unrecognized arguments: --max-sequences 16"), {"reached": "dead", "engine_dead": {"error": "unrecognized arguments: --max-sequences 16"}}),
    # what others wrote
    (
        "the prompt of a request",
        HEAD + text(SERVING, "INFO 05-02 10:06:00 [logger.py:39] Received request chatcmpl-1: prompt: 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; ERROR 05-02 10:06:00 engine.py:1] Engine background task failed NaN in layer 3 (frac=0.9), falling back to pure PyTorch', params: SamplingParams(n=1)."),
        {"oom": [], "engine_dead": None, "exceptions": [], "reached": "serving", "kernels.fallback": []},
    ),
    # times
    (
        "UTC from the envelope",
        text("2026-05-02T08:00:09.123456789Z INFO 05-02 10:00:09 api_server.py:528] vLLM API server version 0.6.3"),
        {"started": "2026-05-02T08:00:09Z", "ended": "2026-05-02T08:00:09Z"},
    ),
    ("as printed", HEAD, {"started": "05-02 10:00:09"}),
]  # fmt: skip


@pytest.mark.parametrize(("log", "wanted"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_facts(log: str, wanted: dict[str, Any]) -> None:
    facts = facts_of(log)
    for name, value in wanted.items():
        assert name in facts
        holds_at_least(facts[name], value, name)


def test_of_nothing_nothing_is_known() -> None:
    facts = derive(Observations(1), 1).facts
    assert facts.pop("truncated")
    assert facts.pop("stage.entered") == facts.pop("stage.completed") == []
    assert set(map(str, facts.values())) == {"None"}


def test_the_place_of_a_figure_is_its_line() -> None:
    log = HEAD + text(LOADED, WORKER + LOADED, BLOCKS)
    life = run_of(log).life
    (weights,) = life.proof("weights.gb")
    assert (weights.mark.line, weights.count) == (2, 2)
    assert weights.workers == ("VllmWorkerProcess pid=78", "driver")
    assert life.proof("kv")[0].mark.line == 4


def test_a_family_of_arguments_shares_its_line() -> None:
    life = run_of(
        HEAD + text("INFO 05-02 10:00:09 api_server.py:529] args: Namespace(seed=0)")
    ).life
    assert [e.mark.line for e in life.proof("args.seed")] == [2]
    assert life.proof("args.unheard_of") == []


# Secrets

SECRET = "not-a-real-secret-0042"


def arguments(values: str) -> dict[str, Any]:
    facts = facts_of(f"INFO 05-02 10:00:09 api_server.py:529] args: Namespace({values})\n")
    return {name[5:]: value for name, value in facts.items() if name.startswith("args.")}


def test_a_secret_is_known_by_its_hash() -> None:
    found = arguments(f"api_key='{SECRET}', hf_token=None, seed=1")
    assert found == {"api_key": fingerprint(SECRET), "hf_token": None, "seed": 1}
    assert found == arguments(f"api_key='{SECRET}', hf_token=None, seed=1")
    assert found != arguments(f"api_key='{SECRET}-2', hf_token=None, seed=1")


@pytest.mark.parametrize(
    "values",
    [
        f"api_key=['{SECRET}', '{SECRET}']",
        f"api_key=('{SECRET}',)",
        f"extra={{'deep': {{'api_key': '{SECRET}'}}}}",
        f"extra={{'api_key': {{'first': '{SECRET}', 'second': ['{SECRET}']}}}}",
        f"extra=[{{'hf_token': '{SECRET}'}}]",
        f"extra=({{'hf_token': '{SECRET}'}}, 1)",
        f"endpoint='https://me:{SECRET}@example.org/v1'",
        f"extra='--api-key {SECRET}'",
        f'extra=\'{{"api_key": "{SECRET}"}}\'',
        "extra='sk-0123456789abcdefghij'",
        "extra=['hf_0123456789abcdefghij']",
        "extra={'hf_0123456789abcdefghij': 1}",
    ],
)
def test_secrets_in_arguments(values: str) -> None:
    found = arguments(values)
    assert found
    assert SECRET not in repr(found)
    assert "0123456789abcdef" not in repr(found)


def test_what_holds_a_secret_can_be_compared() -> None:
    one, same, other = (
        arguments(f"endpoint='https://me:{secret}@example.org/v1'")["endpoint"]
        for secret in (SECRET, SECRET, "another-one")
    )
    assert one == same != other
    assert "example.org" in one


def test_secrets_in_what_is_no_argument() -> None:
    log = HEAD + text(
        f"WARNING 05-02 10:01:10 nimbus.py:310] FusedMoE native kernel failed (api_key={SECRET}), falling back to pure PyTorch experts.",
        f"ERROR 05-02 10:01:10 _custom_ops.py:58] Error in calling custom op topk_softmax: token={SECRET} refused",
        f"INFO 05-02 10:01:11 hub.py:20] Using the token of the hub, token={SECRET}",
        f"WARNING 05-02 10:01:12 arg_utils.py:906] Prefix caching is not supported for api_key={SECRET}",
        f"ValueError: no model with api_key={SECRET}",
        f"RuntimeError: {SECRET.replace('not-a-real', 'sk-0123456789')}",
    )
    run = run_of(log)
    assert run.facts["kernels.fallback"]
    assert run.facts["ops_missing"]
    assert run.facts["prefix_cache_disabled"]
    assert SECRET not in repr(run.facts)
    assert "sk-0" not in repr(run.facts)
    assert SECRET not in repr(run.life.sources)


@pytest.mark.parametrize(
    "line",
    [
        "WARNING 05-02 10:01:10 a.py:1] NaN in prefill X layer " + "9" * 5000,
        f"WARNING 05-02 10:01:10 a.py:1] Reducing Torch parallelism from {'9' * 5000} threads to 1",
        f"INFO 05-02 10:01:10 a.py:1] # GPU blocks: {'9' * 4299}, # CPU blocks: 1",
        f"INFO 05-02 10:01:10 a.py:1] GPU KV cache size: {'9' * 5000} tokens",
        f"RuntimeError: NPU out of memory. Tried to allocate {'9' * 5000} GiB",
    ],
)
def test_numbers_that_are_none_do_no_harm(line: str) -> None:
    namespace = "INFO 05-02 10:00:09 api_server.py:529] args: Namespace(block_size=9999999999)"
    facts = run_of(HEAD + text(namespace, line)).facts
    assert "9" * 100 not in json.dumps(facts["kv"])
    assert "9" * 100 not in json.dumps([facts["nan"], facts["thread_reduction"]])


@pytest.mark.parametrize(
    "value",
    [
        [{"name": "HF_TOKEN", "value": "plainsecret"}],
        ["--api-key", "plainsecret"],
        [("Authorization", "Basic plainsecret")],
    ],
)
def test_a_secret_inside_a_structured_argument_is_masked(value: object) -> None:
    shown = str(harmless("env", value))
    assert "plainsecret" not in shown
    assert "***" in shown
