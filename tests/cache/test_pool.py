from __future__ import annotations

import pytest

from promptlint.cache.base import PrefixCache
from promptlint.cache.blocks import Chain, Extra, block_keys, vllm_keys
from promptlint.cache.pool import BlockPool
from promptlint.cache.radix import RadixCache


def serve(cache: PrefixCache, tokens: list[int] | range | Chain, extra: Extra | None = None) -> int:
    request = cache.start(tokens, extra or Extra())
    assert request is not None
    cache.finish(request)
    cache.check()
    return request.hit


BOTH = pytest.mark.parametrize(
    "cache", [BlockPool(1000, 4), BlockPool(None, 4), RadixCache(4000, 4), RadixCache(None, 4)]
)


@BOTH
def test_ten_matching_tokens_in_blocks_of_four_hit_eight(cache: PrefixCache) -> None:
    assert serve(cache, range(14)) == 0
    assert serve(cache, [*range(10), 50, 51, 52, 53]) == 8


@BOTH
def test_salt_and_adapter_share_nothing(cache: PrefixCache) -> None:
    prompt = range(100, 121)
    for extra in (Extra(), Extra(salt="A"), Extra(lora="sql"), Extra(lora="sql", lora_path="/other")):
        assert serve(cache, prompt, extra) == 0
        assert serve(cache, prompt, extra) == 20


@BOTH
def test_output_is_cached_but_for_its_last_token(cache: PrefixCache) -> None:
    request = cache.start(range(200, 206))
    assert request is not None
    for token in (300, 301, 302):  # the third is sampled, its slot is never taken
        cache.commit(request)
        if token != 302:
            assert cache.extend(request, [token])
    cache.finish(request)
    assert serve(cache, [*range(200, 206), 300, 301, 302, 400]) == 8


@BOTH
def test_hashes_alone_are_enough(cache: PrefixCache) -> None:
    assert serve(cache, Chain(14, ["h0", "h1", "h2"])) == 0
    assert serve(cache, Chain(12, ["h0", "h1", "h2"])) == 8
    assert serve(cache, Chain(30, ["h0", "h1", "other"])) == 8
    request = cache.start(Chain(30, ["h0", "h1", "other"]))
    assert request is not None
    assert cache.extend(request, Chain(34, ["h0", "h1", "other", "x0", "x1", "x2", "x3", "x4"]))
    with pytest.raises(ValueError, match="does not begin with"):
        cache.extend(request, Chain(40, ["h0", "h9"]))
    with pytest.raises(ValueError, match="give the longer chain"):
        cache.extend(request, [1, 2])
    cache.finish(request)
    assert serve(cache, Chain(36, ["h0", "h1", "other", "x0", "x1", "x2", "x3", "x4", "x5"])) == 32


@BOTH
def test_what_cannot_be_served_is_a_value_error(cache: PrefixCache) -> None:
    with pytest.raises(ValueError, match="at least one token"):
        cache.start([])
    with pytest.raises(ValueError, match="3 keys for a length of 11"):
        cache.start(Chain(11, ["a", "b", "c"]))
    request = cache.start(range(900, 905))
    assert request is not None
    with pytest.raises(RuntimeError, match="requests are live: 1"):
        cache.reset()
    cache.finish(request)
    with pytest.raises(ValueError, match="not live"):
        cache.finish(request)
    cache.reset()
    assert cache.stats.requests == cache.stats.cached_tokens == 0


@BOTH
def test_chunks_take_room_one_after_another(cache: PrefixCache) -> None:
    cache.reset()
    request = cache.start(range(500, 540), compute=10)
    assert request is not None
    assert (request.slots, len(request.blocks)) == (10, 3)
    cache.commit(request)
    assert cache.match(range(500, 540)) == 8
    assert cache.extend(request, compute=10)
    assert (request.slots, len(request.blocks)) == (20, 5)
    cache.finish(request)
    assert cache.match(range(500, 540)) == 20


def test_the_end_of_a_chain_is_evicted_before_its_beginning() -> None:
    gone: list[object] = []
    pool = BlockPool(8, 4, on_evict=gone.append)
    serve(pool, range(24))
    serve(pool, range(100, 117))  # five blocks: two fresh ones and three of the first request
    keys = block_keys(range(24), 4)
    assert gone == [keys[5], keys[4], keys[3]]
    assert pool.match(range(24)) == 12
    assert pool.stats.evicted_tokens == 12


def test_a_repeated_prompt_of_whole_blocks_keeps_both_last_blocks() -> None:
    pool = BlockPool(8, 4)
    assert [serve(pool, range(8)) for _ in range(3)] == [0, 4, 4]
    assert pool.stats.cached_tokens == 16  # block 0, and block 1 three times
    assert pool.stats.hit_rate == 8 / 24


def test_a_live_request_is_never_evicted() -> None:
    pool = BlockPool(4, 4)
    first = pool.start(range(12))
    assert first is not None
    assert pool.start(range(50, 58)) is None
    assert pool.stats.refused == 1
    assert not pool.extend(first, range(60, 66))
    assert first.length == 12
    second = pool.start(range(50, 54))
    assert second is not None
    assert not set(first.blocks) & set(second.blocks)


def test_a_request_that_comes_in_between_shares_what_is_there() -> None:
    pool, tree = BlockPool(16, 4), RadixCache(64, 4)
    for cache, hit in ((pool, 8), (tree, 0)):  # the tree learns of pages when they are computed
        first, second = cache.start(range(9)), cache.start(range(12))
        assert first is not None
        assert second is not None
        assert second.hit == hit
        cache.finish(first)
        cache.check()
        cache.finish(second)
        cache.check()
        assert cache.stats.free_tokens is not None


def test_pages_that_two_requests_computed_are_kept_once() -> None:
    tree = RadixCache(64, 4)
    first, second = tree.start(range(12)), tree.start(range(12))
    assert first is not None
    assert second is not None
    tree.commit(first)
    before = list(second.blocks)
    tree.commit(second)
    assert second.blocks == first.blocks != before
    assert tree.stats.free_tokens == 64 - 12
    tree.finish(first)
    tree.finish(second)
    tree.check()


def test_a_pool_with_the_engines_own_hashes() -> None:
    gone: list[object] = []
    pool = BlockPool(2, 4, hasher=vllm_keys, on_evict=gone.append)
    serve(pool, range(8))
    serve(pool, range(20, 28))
    assert gone == list(reversed(vllm_keys(range(8), 4)))


@pytest.mark.parametrize("build", [lambda: BlockPool(0), lambda: BlockPool(4, 0), lambda: RadixCache(3, 4)])
def test_impossible_sizes(build: object) -> None:
    with pytest.raises(ValueError, match="of"):
        build()  # type: ignore[operator]
