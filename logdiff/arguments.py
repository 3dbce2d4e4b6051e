"""What the launch arguments of a server govern.

Names are those of vLLM's engine and server arguments, in all the spellings of its versions.
Source: ``vllm/engine/arg_utils.py`` and ``vllm/entrypoints/openai/cli_args.py``.
"""

from __future__ import annotations

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
_GRAPH_SIZES = frozenset(("max_seq_len_to_capture", "max_context_len_to_capture"))


def governs(name: str) -> str:
    """The area that an argument governs; ``other`` where it is not known."""
    return _GOVERNED.get(name, "other")


def is_typed(name: str, *values: object) -> bool:
    """Whether an argument is one that a person sets, with values that can be compared."""
    texts = (value for value in values if isinstance(value, str))
    return name not in _NOT_TYPED and not any(" at 0x" in text for text in texts)


def no_effect(name: str, eager: bool) -> str | None:
    """Why a change of an argument changes nothing, where that is known."""
    if name in _GRAPH_SIZES and eager:
        return "--enforce-eager captures no graph"
    return None
