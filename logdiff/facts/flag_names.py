"""Options of inference servers: their names, what became of them, and what others call them.

Sources: the argument parsers of vLLM (``vllm/engine/arg_utils.py``,
``vllm/entrypoints/openai/cli_args.py``), SGLang (``sglang/srt/server_args.py``) and llama.cpp
(``common/arg.cpp``). The lists are for suggestions: that a name is not here says nothing.
"""

from __future__ import annotations

from logdiff.tuples import NamedTuple

_NAMES = {
    "vllm": """
        host port uvicorn-log-level allow-credentials allowed-origins allowed-methods
        allowed-headers api-key lora-modules chat-template chat-template-content-format
        response-role ssl-keyfile ssl-certfile ssl-ca-certs root-path middleware
        disable-frontend-multiprocessing enable-auto-tool-choice tool-call-parser
        tool-parser-plugin reasoning-parser model task runner convert tokenizer tokenizer-mode
        trust-remote-code dtype seed hf-config-path hf-overrides revision code-revision
        tokenizer-revision max-model-len quantization enforce-eager max-seq-len-to-capture
        max-logprobs logprobs-mode disable-sliding-window disable-cascade-attn
        skip-tokenizer-init enable-prompt-embeds served-model-name config-format hf-token
        generation-config override-generation-config enable-sleep-mode model-impl load-format
        download-dir safetensors-load-strategy model-loader-extra-config ignore-patterns
        guided-decoding-backend structured-outputs-config distributed-executor-backend
        pipeline-parallel-size tensor-parallel-size data-parallel-size data-parallel-rank
        data-parallel-address enable-expert-parallel enable-eplb max-parallel-loading-workers
        ray-workers-use-nsight disable-custom-all-reduce worker-cls block-size
        gpu-memory-utilization kv-cache-memory-bytes swap-space kv-cache-dtype
        num-gpu-blocks-override enable-prefix-caching no-enable-prefix-caching
        prefix-caching-hash-algo cpu-offload-gb calculate-kv-scales limit-mm-per-prompt
        media-io-kwargs mm-processor-kwargs mm-processor-cache-gb mm-encoder-tp-mode
        skip-mm-profiling enable-lora max-loras max-lora-rank lora-dtype max-cpu-loras
        fully-sharded-loras speculative-config otlp-traces-endpoint collect-detailed-traces
        max-num-batched-tokens max-num-seqs max-num-partial-prefills
        long-prefill-token-threshold scheduling-policy enable-chunked-prefill
        no-enable-chunked-prefill disable-chunked-mm-input async-scheduling kv-transfer-config
        kv-events-config compilation-config additional-config use-v2-block-manager
        disable-log-stats enable-log-requests disable-log-requests max-log-len
        disable-fastapi-docs enable-server-load-tracking enable-prompt-tokens-details config
    """,
    "sglang": """
        model-path tokenizer-path tokenizer-mode skip-tokenizer-init load-format
        model-loader-extra-config trust-remote-code context-length is-embedding
        enable-multimodal revision model-impl host port skip-server-warmup warmups nccl-port
        dtype quantization quantization-param-path kv-cache-dtype mem-fraction-static
        max-running-requests max-queued-requests max-total-tokens chunked-prefill-size
        max-prefill-tokens schedule-policy schedule-conservativeness cpu-offload-gb page-size
        device tensor-parallel-size tp-size tp pipeline-parallel-size pp-size
        max-micro-batch-size stream-interval stream-output random-seed
        constrained-json-whitespace-pattern watchdog-timeout dist-timeout download-dir
        base-gpu-id log-level log-requests show-time-cost enable-metrics api-key
        served-model-name chat-template completion-template file-storage-path
        enable-cache-report reasoning-parser tool-call-parser data-parallel-size dp-size
        load-balance-method dist-init-addr nnodes node-rank json-model-override-args
        preferred-sampling-params enable-lora max-lora-rank lora-target-modules lora-paths
        max-loras-per-batch attention-backend decode-attention-backend prefill-attention-backend
        sampling-backend grammar-backend mm-attention-backend speculative-algorithm
        speculative-draft-model-path speculative-num-steps speculative-eagle-topk
        speculative-num-draft-tokens expert-parallel-size ep-size moe-runner-backend enable-eplb
        disable-radix-cache cuda-graph-max-bs cuda-graph-bs disable-cuda-graph
        disable-cuda-graph-padding disable-custom-all-reduce disable-overlap-schedule
        enable-mixed-chunk enable-dp-attention enable-torch-compile torch-compile-max-bs
        torchao-config triton-attention-reduce-in-fp32 enable-memory-saver
        disable-chunked-prefix-cache
    """,
    "text-generation-inference": """
        model-id tokenizer-config-path revision validation-workers sharded num-shard quantize
        speculate dtype kv-cache-dtype trust-remote-code max-concurrent-requests max-best-of
        max-stop-sequences max-top-n-tokens max-input-tokens max-input-length max-total-tokens
        waiting-served-ratio max-batch-prefill-tokens max-batch-total-tokens
        max-waiting-tokens max-batch-size cuda-graphs hostname port shard-uds-path
        master-addr master-port huggingface-hub-cache weights-cache-override
        disable-custom-kernels cuda-memory-fraction rope-scaling rope-factor json-output
        api-key lora-adapters usage-stats payload-limit enable-prefill-logprobs
    """,
    "llama.cpp": """
        model ctx-size n-gpu-layers threads batch-size ubatch-size parallel cont-batching
        flash-attn host port api-key alias chat-template jinja mmproj mlock no-mmap split-mode
        tensor-split main-gpu cache-type-k cache-type-v rope-scaling rope-freq-base lora verbose
        metrics embedding reranking n-predict seed temp hf-repo hf-file grammar-file
        reasoning-format
    """,
}

_SAME = (
    ("max-model-len", "context-length", "ctx-size", "max-total-tokens"),
    ("tensor-parallel-size", "tp-size", "tensor-split", "num-shard"),
    ("gpu-memory-utilization", "mem-fraction-static", "", "cuda-memory-fraction"),
    ("max-num-seqs", "max-running-requests", "parallel", "max-concurrent-requests"),
    ("max-num-batched-tokens", "chunked-prefill-size", "batch-size", "max-batch-prefill-tokens"),
    ("model", "model-path", "model", "model-id"),
    ("tokenizer", "tokenizer-path", "", ""),
    ("served-model-name", "served-model-name", "alias", ""),
    ("enforce-eager", "disable-cuda-graph", "", ""),
    ("no-enable-prefix-caching", "disable-radix-cache", "", ""),
    ("pipeline-parallel-size", "pp-size", "", ""),
    ("data-parallel-size", "dp-size", "", ""),
    ("enable-expert-parallel", "ep-size", "", ""),
    ("seed", "random-seed", "seed", ""),
    ("lora-modules", "lora-paths", "lora", "lora-adapters"),
    ("hf-overrides", "json-model-override-args", "", ""),
    ("reasoning-parser", "reasoning-parser", "reasoning-format", ""),
    ("enable-reasoning", "reasoning-parser", "reasoning-format", ""),
    ("scheduling-policy", "schedule-policy", "", ""),
    ("block-size", "page-size", "", ""),
)
"""What they call the same thing, in the order of their names."""
_ENGINES = ("vllm", "sglang", "llama.cpp", "text-generation-inference")
_SHORTEST = 3
"""Characters of a name of which anything can be guessed."""

_GONE = {
    "enable-reasoning": (
        "reasoning-parser",
        "vLLM 0.10 took it away: --reasoning-parser alone does it",
    ),
    "guided-decoding-backend": ("structured-outputs-config", "vLLM 0.12 renamed it"),
    "disable-log-requests": (
        None,
        "newer versions of vLLM log no requests unless they are told to",
    ),
    "use-v2-block-manager": (None, "it is always on since vLLM 0.6.4"),
    "num-scheduler-steps": (None, "the V1 engine has no multi-step scheduling"),
    "multi-step-stream-outputs": (None, "the V1 engine has no multi-step scheduling"),
    "enable-prompt-adapter": (None, "vLLM 0.10 took prompt adapters away"),
    "max-prompt-adapters": (None, "vLLM 0.10 took prompt adapters away"),
    "device": (None, "vLLM finds the platform by itself"),
    "worker-use-ray": ("distributed-executor-backend", "it is a value of another option now"),
    "engine-use-ray": (None, "vLLM took it away"),
    "max-context-len-to-capture": ("max-seq-len-to-capture", "it was renamed"),
    "speculative-model": ("speculative-config", "the options of speculative decoding are one now"),
    "num-speculative-tokens": (
        "speculative-config",
        "the options of speculative decoding are one now",
    ),
    "scheduler-delay-factor": (None, "the V1 engine has no such delay"),
    "preemption-mode": (None, "the V1 engine always computes again"),
    "swap-space": (None, "the V1 engine does not swap"),
    "task": ("runner", "newer versions of vLLM split it into --runner and --convert"),
    "rope-scaling": ("hf-overrides", "it is a part of --hf-overrides now"),
    "rope-theta": ("hf-overrides", "it is a part of --hf-overrides now"),
}
"""Options that vLLM had once: what does the same, and why they are gone."""


class Suggestion(NamedTuple):
    """What an option that a program does not know may have been meant as."""

    flag: str | None
    """The option to use instead, with its dashes; ``None`` = leave it out."""
    reason: str


def counterpart(flag: str, engine: str) -> str | None:
    """What an engine calls an option of vLLM; ``None`` where it has none that is known.

    Args:
        flag: the option with its dashes.
        engine: ``sglang``, ``llama.cpp`` or ``text-generation-inference``.
    """
    name = flag.lstrip("-")
    for names in _SAME:
        if names[0] == name:
            own = names[_ENGINES.index(engine)]
            return f"--{own}" if own else None
    return flag if name in _NAMES[engine].split() else None


def suggestion(flag: str, engine: str | None) -> Suggestion | None:
    """What to use instead of an option that an engine does not know; ``None`` if nobody can say.

    Args:
        flag: the option with its dashes.
        engine: ``vllm``, ``sglang``, ``llama.cpp``, or another name.
    """
    name = flag.lstrip("-").replace("_", "-").lower()
    if len(name) < _SHORTEST:
        return None
    if engine in _ENGINES and (other := _of_another_engine(name, engine)):
        return other
    if engine in (None, "vllm") and name in _GONE:
        instead, reason = _GONE[name]
        return Suggestion(f"--{instead}" if instead else None, reason)
    near = _nearest(name, engine) if engine in (None, *_NAMES) else None
    return Suggestion(f"--{near}", "it is the nearest name that there is") if near else None


def _of_another_engine(name: str, engine: str) -> Suggestion | None:
    own = _ENGINES.index(engine)
    if name in _NAMES[engine].split():
        return None
    for names in _SAME:
        for other, foreign in enumerate(names):
            if other != own and foreign == name and names[own] and names[own] != name:
                return Suggestion(f"--{names[own]}", f"{_title(_ENGINES[other])} calls it {name}")
    foreign_to = [other for other in _ENGINES if other != engine and name in _NAMES[other].split()]
    if foreign_to:
        return Suggestion(None, f"it is an option of {_title(foreign_to[0])}")
    return None


def _title(engine: str) -> str:
    return {"vllm": "vLLM", "sglang": "SGLang"}.get(engine, engine.replace("-", " "))


def _nearest(name: str, engine: str | None) -> str | None:
    from difflib import get_close_matches

    known = _NAMES[engine or "vllm"].split()
    if name in known:
        return None
    begun = [other for other in known if name.startswith(other) or other.startswith(name)]
    if len(begun) == 1:
        return begun[0]
    return next(iter(get_close_matches(name, known, 1, 0.75)), None)
