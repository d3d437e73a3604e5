from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptlint.cache.align import common_prefix, llamacpp_hit, sglang_hit, vllm_hit


def test_3500_shared_tokens_are_3488_in_blocks_of_16() -> None:
    assert vllm_hit(3500, 3700, 16) == 3488


def test_ten_matching_tokens_in_blocks_of_four_are_eight() -> None:
    assert vllm_hit(10, 14, 4) == 8


def test_a_prompt_of_whole_blocks_computes_its_last_block_again() -> None:
    assert [vllm_hit(n, n, 16) for n in (16, 32, 33)] == [0, 16, 32]


def test_pages_of_one_token_leave_only_the_last_token() -> None:
    assert sglang_hit(200, 200) == 199
    assert sglang_hit(50, 200) == 50
    assert [sglang_hit(n, 200, 16) for n in (200, 176, 50)] == [192, 176, 48]


def test_llama_cpp_matches_token_by_token() -> None:
    assert llamacpp_hit(150, 170) == 150
    assert llamacpp_hit(170, 170) == 169
    assert llamacpp_hit(0, 0) == 0


@given(st.lists(st.integers(0, 2), max_size=40), st.lists(st.integers(0, 2), max_size=40))
def test_common_prefix_is_the_count_of_equal_leading_items(left: list[int], right: list[int]) -> None:
    slow = 0
    while slow < min(len(left), len(right)) and left[slow] == right[slow]:
        slow += 1
    assert common_prefix(left, right) == slow
