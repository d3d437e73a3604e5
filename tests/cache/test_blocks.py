from __future__ import annotations

import hashlib
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlint.cache.blocks import (
    PLAIN,
    Extra,
    Hasher,
    Image,
    block_keys,
    page_keys,
    vllm_keys,
    vllm_root,
)

TOKENS = st.lists(st.integers(0, 2**32 - 1), max_size=60)
CHAINED = [block_keys, vllm_keys]


@pytest.mark.parametrize("hasher", [block_keys, vllm_keys, page_keys])
def test_only_full_blocks_have_a_key(hasher: Hasher) -> None:
    assert [len(hasher(range(n), 16)) for n in (0, 15, 16, 31, 32)] == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("hasher", CHAINED)
@given(tokens=TOKENS, block=st.integers(1, 9), cut=st.integers(0, 9))
def test_a_chain_goes_on_where_it_stopped(hasher: Hasher, tokens: list[int], block: int, cut: int) -> None:
    whole = list(hasher(tokens, block))
    cut = min(cut, len(whole))
    rest = hasher(tokens[cut * block :], block, parent=whole[cut - 1] if cut else None, first=cut * block)
    assert whole[:cut] + list(rest) == whole


@pytest.mark.parametrize("hasher", CHAINED)
@given(left=TOKENS, right=TOKENS, shared=TOKENS, block=st.integers(1, 9))
def test_keys_are_equal_exactly_as_far_as_the_blocks_are(
    hasher: Hasher, left: list[int], right: list[int], shared: list[int], block: int
) -> None:
    one, two = shared + left, shared + right
    for at, (a, b) in enumerate(zip(hasher(one, block), hasher(two, block), strict=False)):
        end = (at + 1) * block
        assert (a == b) == (one[:end] == two[:end])


def _vllm_by_hand(tokens: list[int], block: int, extras: list[object]) -> list[bytes]:
    def digest(value: object) -> bytes:
        return hashlib.sha256(pickle.dumps(value, pickle.HIGHEST_PROTOCOL)).digest()

    parent, keys = digest("vllm-none-hash"), []
    for at in range(0, len(tokens) - block + 1, block):
        parent = digest((parent, tuple(tokens[at : at + block]), extras[at // block]))
        keys.append(parent)
    return keys


def test_vllm_keys_follow_the_engines_formula() -> None:
    tokens = list(range(12))
    assert vllm_keys(tokens, 4) == _vllm_by_hand(tokens, 4, [None] * 3)
    salted = [(("cache_salt", "A"),), None, None]
    assert vllm_keys(tokens, 4, Extra(salt="A")) == _vllm_by_hand(tokens, 4, salted)
    adapter = ("lora", "sql", "adapters/sql")
    both = [(adapter, ("cache_salt", "A")), (adapter,), (adapter,)]
    assert vllm_keys(tokens, 4, Extra("A", "sql", "adapters/sql")) == _vllm_by_hand(tokens, 4, both)
    image = [None, (("mm", "f00", 1),), (("mm", "f00", -3),)]
    assert vllm_keys(tokens, 4, Extra(images=(Image("f00", 5, 4),))) == _vllm_by_hand(tokens, 4, image)
    assert vllm_keys(tokens, 4, parent=vllm_root("0")) != vllm_keys(tokens, 4)


@pytest.mark.parametrize("hasher", [block_keys, vllm_keys, page_keys])
def test_salt_and_adapter_keep_whole_prompts_apart(hasher: Hasher) -> None:
    extras = [PLAIN, Extra(salt="A"), Extra(salt="B"), Extra(lora="A"), Extra(lora="A", lora_path="/b")]
    first = {hasher(range(8), 4, extra)[0] for extra in extras}
    assert len(first) == len(extras)


@pytest.mark.parametrize("hasher", [block_keys, page_keys])
def test_an_image_changes_the_block_it_stands_in_and_no_earlier_one(hasher: Hasher) -> None:
    one = hasher([7] * 12, 4, Extra(images=(Image("aa", 6, 3),)))
    two = hasher([7] * 12, 4, Extra(images=(Image("bb", 6, 3),)))
    plain = hasher([7] * 12, 4)
    assert one[0] == two[0] == plain[0]
    assert len({one[1], two[1], plain[1]}) == 3
    assert len({one[2], two[2], plain[2]}) == 3
    moved = hasher([7] * 12, 4, Extra(images=(Image("aa", 5, 3),)))
    assert moved[1] != one[1]


def test_what_cannot_be_hashed_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and"):
        block_keys([-1, 2], 2)
    with pytest.raises(ValueError, match="between 0 and"):
        page_keys([2**32, 2], 2)
    with pytest.raises(ValueError, match="size of 0"):
        block_keys([1], 0)
    with pytest.raises(TypeError, match="cannot go on from the key 'h1'"):
        block_keys([1], 1, parent="h1")


@pytest.mark.parametrize(
    ("extra", "last"),
    [
        (Extra(), "c0584d033a1c9a35c9b7f943d26bd4c62ee4fc70aa0464be2839e4d69454eba6"),
        (Extra(salt="tenant-7"), "aff52f77af94f16ac16d7e0fe722b0da2efc9c5546146fbe38da9b067751d6b2"),
        (
            Extra(lora="sql", lora_path="adapters/sql"),
            "bc2a26e34572ddc5ff4ba5d7802b68468e2cf6313c45ead2ab8fe14afcf11a2d",
        ),
        (
            Extra("s", "sql", "adapters/sql", (Image("f00d", 5, 40), Image("beef", 50, 3))),
            "2c097c3781de89064ba4d81be53400b8e478f1c7d9d410b2016cf07e0b6341cc",
        ),
    ],
)
def test_vllm_keys_are_those_that_vllm_gave(extra: Extra, last: str) -> None:
    """Read off ``Request.block_hashes`` of vLLM 0.32.0 for 100 tokens in blocks of 16."""
    keys = vllm_keys(range(1000, 1100), 16, extra)
    assert (len(keys), keys[-1].hex()) == (6, last)
