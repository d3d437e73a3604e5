"""How many of the shared tokens each engine reuses.

``shared`` is the longest common prefix of a prompt with anything cached, ``length`` the prompt's
own length, both in tokens. One token is always computed: its logits give the first new token.
"""

from __future__ import annotations

from collections.abc import Sequence


def vllm_hit(shared: int, length: int, block: int = 16) -> int:
    """Return ``B*floor(min(L, N-1)/B)``: whole blocks, never the last token.

    A fully cached prompt of k whole blocks computes its last block again, not one token.
    """
    return block * (max(0, min(shared, length - 1)) // block)


def sglang_hit(shared: int, length: int, page: int = 1) -> int:
    """Return ``P*floor(min(L, N-1)/P)``: whole pages; with the default page of 1, every token but one."""
    return vllm_hit(shared, length, page)


def llamacpp_hit(shared: int, length: int) -> int:
    """Return ``min(L, N-1)``: llama.cpp keeps one sequence a slot and matches token by token."""
    return max(0, min(shared, length - 1))


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """Return the number of leading tokens in which two prompts agree."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while high - low > 1:  # halve: comparing slices is far quicker than a loop over items
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low
