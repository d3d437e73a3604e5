"""Our caches against the live classes of the engines: random traffic, operation by operation.

Needs vLLM, or SGLang; run by ``make test-engines``. With ``PROMPTLINT_RECORD=FILE`` what the engine
did is written there as gzipped JSON lines, in the form that ``test_vectors.py`` replays.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from promptlint.cache.base import Admission
from promptlint.cache.blocks import Extra, Image, vllm_keys
from promptlint.cache.pool import BlockPool
from promptlint.cache.radix import RadixCache

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("default")]  # the engines warn a lot


class VllmEngine:
    """vLLM's KVCacheManager for one attention group, driven as its scheduler drives it."""

    def __init__(self, block: int, usable: int) -> None:
        import torch
        from vllm.utils.hashing import sha256
        from vllm.v1.core.kv_cache_manager import KVCacheManager
        from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
        from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec

        init_none_hash(sha256)
        spec = FullAttentionSpec(block_size=block, num_kv_heads=1, head_size=8, dtype=torch.float32)
        config = KVCacheConfig(
            num_blocks=usable + 1, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)]
        )
        self.manager = KVCacheManager(
            config,
            max_model_len=1 << 20,
            scheduler_block_size=block,
            hash_block_size=block,
            enable_caching=True,
        )
        self.hasher = get_request_block_hasher(block, sha256)
        self.made = 0

    def request(self, tokens: list[int], extra: Extra = Extra()) -> Any:  # noqa: B008  frozen
        from vllm.sampling_params import SamplingParams
        from vllm.v1.request import Request

        self.made += 1
        more: dict[str, Any] = {}
        if extra.lora:
            from vllm.lora.request import LoRARequest

            more["lora_request"] = LoRARequest(extra.lora, 1, extra.lora_path)
        if extra.images:
            from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange

            more["mm_features"] = [
                MultiModalFeatureSpec(
                    data=None,
                    modality="image",
                    identifier=image.digest,
                    mm_position=PlaceholderRange(offset=image.start, length=image.length),
                )
                for image in extra.images
            ]
        parameters = SamplingParams(max_tokens=1 << 16)
        return Request(
            str(self.made),
            list(tokens),
            parameters,
            None,
            cache_salt=extra.salt or None,
            block_hasher=self.hasher,
            **more,
        )

    def start(self, tokens: list[int], salt: str, compute: int | None) -> tuple[int | None, Any]:
        request = self.request(tokens, Extra(salt=salt))
        blocks, hit, *_ = self.manager.get_computed_blocks(request)
        new = len(tokens) - hit if compute is None else min(len(tokens) - hit, max(1, compute))
        if self.manager.allocate_slots(request, new, hit, blocks) is None:
            return None, request
        request.num_computed_tokens = hit + new
        return hit, request

    def extend(self, request: Any, tokens: list[int], compute: int | None) -> bool:
        if tokens:
            request.append_output_token_ids(list(tokens))
        left = request.num_tokens - request.num_computed_tokens
        new = left if compute is None else min(left, compute)
        if new == 0:
            return True
        if self.manager.allocate_slots(request, new) is None:
            return False
        request.num_computed_tokens += new
        return True

    @property
    def free(self) -> int:
        count: int = self.manager.block_pool.get_num_free_blocks()
        return count


def _prompt(rng: random.Random, earlier: list[list[int]], most: int) -> list[int]:
    """Return fresh tokens, an earlier prompt, its beginning, or its beginning and something else."""
    if not earlier or rng.random() < 0.25:
        return [rng.randrange(50) for _ in range(rng.randint(1, most))]
    tokens = rng.choice(earlier)
    cut = len(tokens) if rng.random() < 0.3 else rng.randint(1, len(tokens))
    return tokens[:cut] + [rng.randrange(50) for _ in range(rng.choice([0, 0, 1, most // 3]))]


@pytest.mark.engine("vllm")
@pytest.mark.parametrize("seed", range(24))
def test_the_pool_does_what_vllm_does(seed: int) -> None:
    rng = random.Random(seed)
    block = rng.choice([1, 4, 16, 32])
    usable = rng.choice([8, 16, 39, 119])
    engine, pool = VllmEngine(block, usable), BlockPool(usable, block, hasher=vllm_keys)
    live: list[tuple[int, Admission, Any]] = []
    earlier: list[list[int]] = []
    ops: list[dict[str, Any]] = []
    most = max(2, block * usable // 3)
    for number in range(150):
        kind = rng.choice(["start", "extend", "finish"]) if live else "start"
        if kind == "start" and len(live) < 4:
            tokens, salt = _prompt(rng, earlier, most), rng.choice(["", "", "A"])
            compute = rng.choice([None, rng.randint(1, most)])
            hit, theirs = engine.start(tokens, salt, compute)
            mine = pool.start(tokens, Extra(salt=salt), compute=compute)
            assert (None if mine is None else mine.hit) == hit
            ops.append({"op": "start", "id": number, "tokens": tokens, "salt": salt, "compute": compute})
            ops[-1]["hit"] = hit
            if mine is not None:
                live.append((number, mine, theirs))
                earlier.append(tokens)
        elif kind == "extend" and live:
            name, mine, theirs = rng.choice(live)
            tokens = [rng.randrange(50) for _ in range(rng.choice([0, 1, 1, 1, block]))]
            compute = rng.choice([None, rng.randint(1, most)])
            fits = engine.extend(theirs, tokens, compute)
            assert pool.extend(mine, tokens, compute=compute) == fits
            ops.append({"op": "extend", "id": name, "tokens": tokens, "compute": compute, "fits": fits})
            if fits:
                earlier.append(list(theirs.all_token_ids))
                assert list(mine.keys) == [bytes(key) for key in theirs.block_hashes]
            else:  # preempted
                ops[-1]["free"] = engine.free
                live.remove((name, mine, theirs))
                engine.manager.free(theirs)
                pool.finish(mine)
                ops.append({"op": "finish", "id": name})
        elif live:
            entry = live.pop(rng.randrange(len(live)))
            engine.manager.free(entry[2])
            pool.finish(entry[1])
            ops.append({"op": "finish", "id": entry[0]})
        else:
            continue
        ops[-1]["free"] = engine.free
        assert pool.free_blocks == engine.free
        pool.check()
    _record({"engine": "vllm KVCacheManager", "block": block, "num_blocks": usable + 1, "ops": ops})


@pytest.mark.engine("vllm")
@pytest.mark.parametrize(
    "extra",
    [
        Extra(),
        Extra(salt="tenant-7"),
        Extra(lora="sql", lora_path="adapters/sql"),
        Extra("s", "sql", "adapters/sql", (Image("f00d", 5, 40), Image("beef", 50, 3))),
    ],
)
@pytest.mark.parametrize("block", [1, 16])
def test_our_hashes_are_vllms(extra: Extra, block: int) -> None:
    engine = VllmEngine(block, 20)
    tokens = list(range(1000, 1100))
    theirs = [bytes(key).hex() for key in engine.request(tokens, extra).block_hashes]
    assert [key.hex() for key in vllm_keys(tokens, block, extra)] == theirs


class SglangEngine:
    """SGLang's RadixCache for serial requests: match, lock, evict what is missing, insert, unlock."""

    def __init__(self, page: int, capacity: int) -> None:
        from sglang.srt.mem_cache.radix_cache import RadixCache as Theirs

        self.page = page
        self.device = "cpu"
        self.free_tokens = capacity
        self.tree = Theirs.create_simulated(mock_allocator=self, page_size=page)

    def free_segment(self, value: Any, start_pos: int = 0) -> None:
        self.free_tokens += len(value)

    def free(self, value: Any) -> None:
        self.free_tokens += len(value)

    def serve(self, tokens: list[int], salt: str) -> tuple[int | None, int]:
        import torch
        from sglang.srt.mem_cache.base_prefix_cache import EvictParams, InsertParams, MatchPrefixParams
        from sglang.srt.mem_cache.radix_cache import RadixKey

        def key(part: list[int]) -> Any:
            from array import array

            return RadixKey(array("q", part), None, cache_salt=salt or None)

        match = self.tree.match_prefix(MatchPrefixParams(key=key(tokens[:-1])))
        hit, node = match.device_prefix_len, match.last_device_node
        self.tree.inc_lock_ref(node)
        need = -(-len(tokens) // self.page) * self.page - hit
        evicted = 0
        if need > self.free_tokens:
            evicted = self.tree.evict(EvictParams(num_tokens=need - self.free_tokens)).num_tokens_evicted
        if need > self.free_tokens:
            self.tree.dec_lock_ref(node)
            return None, evicted
        self.free_tokens -= need
        value = torch.zeros(len(tokens), dtype=torch.int64)
        there = self.tree.insert(InsertParams(key=key(tokens), value=value)).prefix_len
        full = len(tokens) // self.page * self.page
        self.free_tokens += max(0, there - hit) + hit + need - full
        self.tree.dec_lock_ref(node)
        return hit, evicted


@pytest.mark.engine("sglang")
@pytest.mark.parametrize("seed", range(24))
def test_the_tree_does_what_sglang_does(seed: int) -> None:
    rng = random.Random(seed)
    page = rng.choice([1, 4, 16])
    capacity = page * rng.choice([8, 16, 64, 256])
    engine, cache = SglangEngine(page, capacity), RadixCache(capacity, page)
    earlier: list[list[int]] = []
    for _ in range(150):
        tokens, salt = _prompt(rng, earlier, max(2, capacity // 3)), rng.choice(["", "", "A"])
        before = cache.stats.evicted_tokens
        hit, evicted = engine.serve(tokens, salt)
        mine = cache.start(tokens, Extra(salt=salt))
        assert (None if mine is None else mine.hit) == hit
        if mine is not None:
            cache.finish(mine)
            earlier.append(tokens)
        assert cache.stats.evicted_tokens - before == evicted
        assert (cache.tree_tokens, cache.stats.free_tokens) == (engine.tree.total_size(), engine.free_tokens)
        cache.check()


def _record(trace: dict[str, Any]) -> None:
    target = os.environ.get("PROMPTLINT_RECORD")
    if target:
        with gzip.open(Path(target), "at", encoding="utf-8") as file:
            file.write(json.dumps(trace, separators=(",", ":")) + "\n")
