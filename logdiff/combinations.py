"""Launch arguments that contradict each other, or what is known of the machine.

Each is what vLLM itself refuses, or runs into. Source: the checks of ``vllm/config`` (scheduler,
parallel and model configuration).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def invalid(
    given: Mapping[str, Any], capacity_tokens: int | None = None, heads: int | None = None
) -> list[dict[str, Any]]:
    """What of some launch arguments cannot be.

    Args:
        given: arguments by their names, numbers as numbers.
        capacity_tokens: tokens that the KV cache holds with these memory settings, where known.
        heads: attention heads of the model, where known.

    Returns:
        Items with ``names`` (arguments that take part), ``why``, ``key``, ``to`` (the argument that
        would mend it, and its value) and ``takes_capacity``.
    """
    return [
        *_batching(given),
        *_capacity(given, capacity_tokens),
        *_parallelism(given, heads),
        *_opposites(given),
    ]


def _item(names: tuple[str, ...], why: str, key: str, to: Any) -> dict[str, Any]:
    return {"names": names, "why": why, "key": key, "to": to, "takes_capacity": False}


def _number(given: Mapping[str, Any], name: str) -> int | None:
    value = given.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _batching(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    tokens = _number(given, "max_num_batched_tokens")
    sequences = _number(given, "max_num_seqs")
    length = _number(given, "max_model_len")
    if tokens is not None and sequences is not None and tokens < sequences:
        yield _item(
            ("max_num_batched_tokens", "max_num_seqs"),
            f"a step of {tokens:,} tokens cannot hold one of each of {sequences:,} sequences",
            "max_num_batched_tokens",
            sequences,
        )
    chunked = given.get("enable_chunked_prefill")
    if chunked is False and tokens is not None and length is not None and tokens < length:
        yield _item(
            ("max_num_batched_tokens", "max_model_len", "enable_chunked_prefill"),
            f"without chunked prefill a prompt of {length:,} tokens does not fit into a step of "
            f"{tokens:,}",
            "max_num_batched_tokens",
            length,
        )


def _capacity(given: Mapping[str, Any], capacity: int | None) -> Iterator[dict[str, Any]]:
    length = _number(given, "max_model_len")
    if capacity and length and length > capacity:
        why = f"the KV cache of good, with the same memory settings, holds {capacity:,} tokens"
        fits = int(capacity * 0.95) // 16 * 16
        yield {**_item(("max_model_len",), why, "max_model_len", fits), "takes_capacity": True}


def _parallelism(given: Mapping[str, Any], heads: int | None) -> Iterator[dict[str, Any]]:
    workers = _number(given, "tensor_parallel_size")
    if workers and heads and heads % workers:
        yield _item(
            ("tensor_parallel_size",),
            f"{heads:,} attention heads cannot be shared out to {workers} workers",
            "tensor_parallel_size",
            max(size for size in range(1, workers) if heads % size == 0),
        )


_OPPOSITES = (
    ("enable_prefix_caching", "disable_prefix_caching"),
    ("enable_chunked_prefill", "disable_chunked_prefill"),
    ("enable_log_requests", "disable_log_requests"),
)


def _opposites(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for one, other in _OPPOSITES:
        if given.get(one) is True and given.get(other) is True:
            flag = "--" + other.replace("_", "-")
            yield _item((one, other), f"{flag} takes back what the other one asks for", other, None)
