"""What the launch arguments of a server govern.

Names are those of vLLM's engine and server arguments, in all the spellings of its versions.
Source: ``vllm/engine/arg_utils.py`` and ``vllm/entrypoints/openai/cli_args.py``.
"""

from __future__ import annotations

from logdiff.redact import MASK

_AREAS = {
    "memory": (
        "gpu_memory_utilization swap_space cpu_offload_gb kv_cache_dtype num_gpu_blocks_override "
        "block_size kv_cache_memory_bytes preemption_mode"
    ),
    "context": "max_model_len max_seq_len rope_scaling rope_theta",
    "batching": (
        "max_num_seqs max_num_batched_tokens enable_chunked_prefill scheduling_policy "
        "num_scheduler_steps scheduler_delay_factor max_num_partial_prefills long_prefill_token_"
        "threshold disable_chunked_mm_input async_scheduling"
    ),
    "parallelism": (
        "tensor_parallel_size pipeline_parallel_size data_parallel_size enable_expert_parallel "
        "distributed_executor_backend worker_use_ray disable_custom_all_reduce"
    ),
    "identity": "model revision code_revision tokenizer tokenizer_revision served_model_name",
    "numerics": (
        "dtype quantization quantization_param_path load_format tokenizer_mode config_format "
        "model_loader_extra_config hf_overrides seed"
    ),
    "kernels": (
        "enforce_eager max_seq_len_to_capture max_context_len_to_capture compilation_config device "
        "attention_backend cudagraph_capture_sizes"
    ),
    "cache": "enable_prefix_caching disable_sliding_window use_v2_block_manager",
    "multimodal": (
        "limit_mm_per_prompt mm_processor_kwargs mm_processor_cache_gb media_io_kwargs "
        "skip_mm_profiling language_model_only"
    ),
    "requests": (
        "chat_template chat_template_content_format response_role enable_auto_tool_choice "
        "tool_call_parser tool_parser_plugin enable_reasoning reasoning_parser "
        "guided_decoding_backend max_logprobs enable_lora max_lora_rank "
        "max_loras lora_modules generation_config override_generation_config "
        "structured_outputs_config"
    ),
    "speculation": "speculative_config speculative_model num_speculative_tokens",
    "address": (
        "host port uds root_path api_key ssl_keyfile ssl_certfile ssl_ca_certs ssl_cert_reqs "
        "allowed_origins allowed_methods allowed_headers allow_credentials data_parallel_address "
        "master_addr master_port node_rank nnodes api_server_count"
    ),
    "logging": (
        "disable_log_stats disable_log_requests enable_log_requests max_log_len uvicorn_log_level "
        "disable_uvicorn_access_log otlp_traces_endpoint collect_detailed_traces "
        "disable_fastapi_docs enable_log_outputs show_hidden_metrics_for_version log_error_stack "
        "enable_log_deltas enable_server_load_tracking enable_request_id_headers"
    ),
}
_GOVERNED = {name: area for area, names in _AREAS.items() for name in names.split()}
_NOT_TYPED = frozenset(("subparser", "dispatch_function", "model_tag", "config"))
"""What the program adds to the arguments itself."""
_VARIABLE_PREFIXES = (
    "VLLM_", "SGLANG_", "SGL_", "NCCL_", "HCCL_", "RCCL_", "MCCL_", "GLOO_", "UCX_", "CUDA_",
    "PYTORCH_", "TORCH_", "TORCHINDUCTOR_", "HIP_", "ROCM_", "HSA_", "ASCEND_", "ATB_", "MUSA_",
    "GPU_", "XLA_", "TRITON_", "FLASHINFER_", "FLASH_", "XFORMERS_", "OMP_", "MKL_", "OPENBLAS_",
    "RAY_", "LMCACHE_", "NVIDIA_", "KMP_",
)  # fmt: skip
_VARIABLES = frozenset(
    "LD_LIBRARY_PATH LD_PRELOAD PYTHONPATH TOKENIZERS_PARALLELISM HF_HUB_OFFLINE "
    "TRANSFORMERS_OFFLINE".split()
)
"""Environment variables of engines, of the libraries below them, and of the vendors of cards."""
_GRAPH_SIZES = frozenset(("max_seq_len_to_capture", "max_context_len_to_capture"))


def governs(name: str) -> str:
    """The area that an argument governs; ``other`` where it is not known."""
    return _GOVERNED.get(name, "other")


def in_area(area: str) -> list[str]:
    """The arguments that govern an area."""
    return _AREAS[area].split()


def is_engine_variable(name: str) -> bool:
    """Whether an environment variable changes how an inference server works."""
    return name.startswith(_VARIABLE_PREFIXES) or name in _VARIABLES


def is_typed(name: str, *values: object) -> bool:
    """Whether an argument is one that a person sets, with values that can be compared."""
    texts = (value for value in values if isinstance(value, str))
    return name not in _NOT_TYPED and not any(" at 0x" in text for text in texts)


def plain(written: str | bool) -> str | bool | float:
    """A value of a launch file as the number that it is, so that it compares with the log's."""
    if isinstance(written, bool):
        return written
    for kind in (int, float):
        try:
            number = kind(written)
        except ValueError:
            continue
        # What is written otherwise than a program prints it ("1_000", "nan") stays a text.
        return number if written.strip("0123456789.-+e") == "" else written
    return written


def is_comparable(written: object, logged: object) -> bool:
    """Whether a value of a launch file and one that a server printed can be compared.

    What a server prints of lists and objects is its own spelling, and secrets are hidden.
    """
    if logged is None or isinstance(logged, (dict, list)):
        return False
    return MASK not in f"{logged} {written}" and "$" not in str(written)


def is_same(written: object, logged: object) -> bool:
    """Whether a value of a launch file is what a server printed."""
    if str(written).lower() == str(logged).lower():
        return True
    try:
        return float(str(written)) == float(str(logged))
    except ValueError:
        return str(written).rstrip("/") == str(logged).rstrip("/")


def no_effect(name: str, eager: bool) -> str | None:
    """Why a change of an argument changes nothing, where that is known."""
    if name in _GRAPH_SIZES and eager:
        return "--enforce-eager captures no graph"
    return None
