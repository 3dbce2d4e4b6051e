"""Launch arguments that cannot go together."""

from __future__ import annotations

from typing import Any

import pytest

from logdiff.combinations import invalid


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"max_num_batched_tokens": 128, "max_num_seqs": 256}, ("max_num_batched_tokens", 256)),
        ({"max_num_batched_tokens": 256, "max_num_seqs": 256}, None),
        ({"max_num_batched_tokens": 128}, None),
        (
            {
                "max_num_batched_tokens": 2048,
                "max_model_len": 4096,
                "enable_chunked_prefill": False,
            },
            ("max_num_batched_tokens", 4096),
        ),
        ({"max_num_batched_tokens": 2048, "max_model_len": 4096}, None),
        ({"max_model_len": 9000}, ("max_model_len", 7600)),
        ({"max_model_len": 8000}, None),
        ({"tensor_parallel_size": 3}, ("tensor_parallel_size", 2)),
        ({"tensor_parallel_size": 4}, None),
        (
            {"enable_prefix_caching": True, "disable_prefix_caching": True},
            ("disable_prefix_caching", None),
        ),
        ({"enable_prefix_caching": True}, None),
        ({"max_num_batched_tokens": "$TOKENS", "max_num_seqs": 256}, None),
    ],
)
def test_what_cannot_be(given: dict[str, Any], found: tuple[str, Any] | None) -> None:
    wrong = [(item["key"], item["to"]) for item in invalid(given, 8000, 28)]
    assert wrong == ([found] if found else [])
