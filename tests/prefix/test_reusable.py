from __future__ import annotations

import pytest

from promptlint.catalog.profiles import get_profile
from promptlint.prefix.reusable import aligned, block_of, reusable


@pytest.mark.parametrize(
    ("profile", "tokens", "length", "found"),
    [
        ("vllm", 3500, 3700, 3488),
        ("vllm", 3500, None, 3488),
        ("vllm", 32, 32, 16),
        ("vllm", 32, None, 32),
        ("vllm-cpu", 3500, None, 3456),
        ("sglang", 200, 200, 199),
        ("llamacpp", 170, 170, 169),
        ("openai-auto", 1023, None, 0),
        ("openai-auto", 1024, 1024, 1024),
        ("openai-auto", 3500, None, 3456),
        ("anthropic", 1000, None, 0),
        ("anthropic", 3500, None, 3500),
        ("vllm", 0, None, 0),
    ],
)
def test_what_a_profile_can_match(profile: str, tokens: int, length: int | None, found: int) -> None:
    assert aligned(tokens, get_profile(profile), length) == found


def test_blocks_are_whole_ones() -> None:
    vllm = get_profile("vllm")
    assert block_of(vllm) == 16
    assert reusable(3500, vllm, 3).blocks == 218
    assert reusable(15, vllm, 3).blocks == 0
    assert reusable(32, vllm, None).aligned_tokens == 16  # nothing follows: the last block is computed
    assert reusable(32, vllm, None, holes=1).aligned_tokens == 32  # at least: the holes add to the prompt
