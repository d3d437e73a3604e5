"""Random lives of requests, in our caches and in the naive ones, step by step."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from promptlint.cache.base import Admission, PrefixCache
from promptlint.cache.blocks import Extra
from promptlint.cache.pool import BlockPool
from promptlint.cache.radix import RadixCache
from tests.cache.naive import NaivePool, NaiveRadix, Request

Pair = tuple[Admission, Request]
TOKENS = st.lists(st.integers(0, 1), min_size=1, max_size=14)
COMPUTE = st.one_of(st.none(), st.integers(0, 6))


class Machine(RuleBasedStateMachine):
    """Starts, chunks, outputs, commits and ends; both caches must agree on everything visible."""

    ours: PrefixCache
    naive: Any
    pairs = Bundle("pairs")

    @rule(target=pairs, tokens=TOKENS, salt=st.sampled_from(["", "A"]), compute=COMPUTE)
    def start(self, tokens: list[int], salt: str, compute: int | None) -> Any:
        foreseen = self.ours.match(tokens, Extra(salt=salt))
        mine = self.ours.start(tokens, Extra(salt=salt), compute=compute)
        theirs = self.naive.start(tokens, salt, compute)
        assert (mine is None) == (theirs is None)
        if mine is None or theirs is None:
            return multiple()
        assert mine.hit == theirs.hit == foreseen
        assert mine.hit < len(tokens)
        return (mine, theirs)

    @rule(pair=pairs, tokens=st.lists(st.integers(0, 1), max_size=5), compute=COMPUTE)
    def extend(self, pair: Pair, tokens: list[int], compute: int | None) -> None:
        before = (pair[0].length, pair[0].slots, list(pair[0].blocks))
        grown = self.ours.extend(pair[0], tokens, compute=compute)
        assert grown == self.naive.extend(pair[1], list(tokens), compute)
        if not grown:
            assert before == (pair[0].length, pair[0].slots, pair[0].blocks)

    @rule(pair=consumes(pairs))
    def finish(self, pair: Pair) -> None:
        self.ours.finish(pair[0])
        self.naive.finish(pair[1])

    @invariant()
    def our_own_invariants_hold(self) -> None:
        if hasattr(self, "ours"):
            self.ours.check()


class PoolMachine(Machine):
    @initialize(blocks=st.integers(1, 10), size=st.integers(1, 4))
    def build(self, blocks: int, size: int) -> None:
        self.ours = BlockPool(blocks, size)
        self.naive = NaivePool(blocks, size)

    @invariant()
    def as_many_blocks_are_free(self) -> None:
        if hasattr(self, "ours"):
            assert self.ours.stats.free_tokens == len(self.naive.free) * self.naive.size


class RadixMachine(Machine):
    @initialize(pages=st.integers(1, 12), size=st.integers(1, 3))
    def build(self, pages: int, size: int) -> None:
        self.ours = RadixCache(pages * size, size)
        self.naive = NaiveRadix(pages, size)

    @rule(pair=Machine.pairs)
    def commit(self, pair: Pair) -> None:
        self.ours.commit(pair[0])
        self.naive.commit(pair[1])

    @invariant()
    def sizes_agree(self) -> None:
        if hasattr(self, "ours"):
            stats, size = self.ours.stats, self.naive.size
            assert stats.free_tokens == self.naive.free * size
            assert stats.cached_tokens == sum(node.size for node in self.naive.nodes) * size
            assert stats.evicted_tokens == self.naive.evicted * size


TestPool = PoolMachine.TestCase
TestRadix = RadixMachine.TestCase
TestPool.settings = TestRadix.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
