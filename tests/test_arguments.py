"""What launch arguments govern."""

from __future__ import annotations

import pytest

from logdiff import arguments


@pytest.mark.parametrize(
    ("name", "area"),
    [
        ("gpu_memory_utilization", "memory"),
        ("max_model_len", "context"),
        ("max_num_seqs", "batching"),
        ("long_prefill_token_threshold", "batching"),
        ("tensor_parallel_size", "parallelism"),
        ("quantization", "numerics"),
        ("enforce_eager", "kernels"),
        ("port", "address"),
        ("disable_log_requests", "logging"),
        ("an_argument_of_a_fork", "other"),
        ("", "other"),
    ],
)
def test_areas(name: str, area: str) -> None:
    assert arguments.governs(name) == area


@pytest.mark.parametrize(
    ("name", "values", "typed"),
    [
        ("seed", (0, 1), True),
        ("model", ("/a", None), True),
        ("f", ("<function f at 0x7f00>", 1), False),
        ("f", (None, "<object at 0x7f00>"), False),
        ("subparser", ("serve", "serve"), False),
        ("dispatch_function", (None, None), False),
    ],
)
def test_what_a_person_types(name: str, values: tuple[object, ...], typed: bool) -> None:
    assert arguments.is_typed(name, *values) is typed


def test_sizes_of_graphs_matter_only_where_graphs_are_captured() -> None:
    assert arguments.no_effect("max_seq_len_to_capture", eager=True)
    assert arguments.no_effect("max_seq_len_to_capture", eager=False) is None
    assert arguments.no_effect("max_model_len", eager=True) is None
