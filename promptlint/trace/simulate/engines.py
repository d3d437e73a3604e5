"""Engines over a log: the very bookkeeping of vLLM and SGLang that `promptlint.cache` holds."""

from __future__ import annotations

from dataclasses import dataclass

from promptlint.cache.base import PrefixCache
from promptlint.cache.blocks import Chain
from promptlint.cache.pool import BlockPool
from promptlint.cache.radix import RadixCache
from promptlint.trace.columns import Columns


@dataclass(frozen=True, slots=True)
class EngineResult:
    """Counts of one engine over a log; ratios are hit tokens over input tokens of admitted requests."""

    engine: str
    capacity_tokens: int | None
    requests: int
    refused: int
    input_tokens: int
    hit_tokens: int
    evicted_tokens: int

    @property
    def token_hit_ratio(self) -> float:
        """Return hit tokens over input tokens."""
        return self.hit_tokens / self.input_tokens if self.input_tokens else 0.0


def make_engine(engine: str, block: int, capacity_blocks: int | None) -> PrefixCache:
    """Return an empty cache: ``vllm`` (blocks, LRU) or ``sglang`` (radix tree, leaves)."""
    if engine == "sglang":
        return RadixCache(None if capacity_blocks is None else capacity_blocks * block, page=block)
    return BlockPool(capacity_blocks, block)


def run_engine(columns: Columns, engine: str, capacity_blocks: int | None) -> EngineResult:
    """Run a log of one cache through an engine, one request after the other.

    As in the engine, only full blocks are kept and the last token of a prompt is always computed:
    the ratio is a little lower than that of the curve, which counts what is the same.
    """
    cache = make_engine(engine, columns.block_tokens, capacity_blocks)
    block = columns.block_tokens
    for blocks, tokens in zip(columns.blocks(), columns.length.tolist(), strict=True):
        if tokens < 1:
            continue
        keys = blocks[: tokens // block]
        if (admission := cache.start(Chain(tokens, keys))) is not None:
            cache.finish(admission)
    stats = cache.stats
    return EngineResult(
        engine,
        stats.capacity_tokens,
        stats.requests,
        stats.refused,
        stats.prompt_tokens,
        stats.hit_tokens,
        stats.evicted_tokens,
    )
