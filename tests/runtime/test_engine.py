"""Scheduler, ledger and engine with a model that is a hash: no tensor anywhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlint.cache.base import PrefixCache
from promptlint.cache.blocks import Extra
from promptlint.cache.pool import BlockPool
from promptlint.cache.radix import RadixCache
from promptlint_runtime.engine import Outcome, recall, run
from promptlint_runtime.ledger import Ledger
from promptlint_runtime.scheduler import Limits, Scheduler
from promptlint_runtime.sequence import Chunk, Request, runs


class HashModel:
    """Gives as next token a number that depends on everything before it, read back from its slots."""

    def __init__(self) -> None:
        self.memory: dict[int, tuple[int, int]] = {}  # slot → position, token
        self.computed = 0

    def __call__(self, chunks: Sequence[Chunk]) -> list[int]:
        for chunk in chunks:
            own = [slot for first, count in chunk.own for slot in range(first, first + count)]
            for at, (slot, token) in enumerate(zip(own, chunk.tokens, strict=True)):
                self.memory[slot] = (chunk.start + at, token)
            self.computed += len(own)
        return [self._next(chunk) for chunk in chunks if chunk.sample]

    def _next(self, chunk: Chunk) -> int:
        slots = [s for first, count in (*chunk.past, *chunk.own) for s in range(first, first + count)]
        seen = [self.memory[slot] for slot in slots]
        assert [position for position, _ in seen] == list(range(len(seen)))
        return next_token([token for _, token in seen])


def next_token(tokens: Sequence[int]) -> int:
    return hash(tuple(tokens)) % 5


def greedy(request: Request) -> tuple[int, ...]:
    tokens = list(request.tokens)
    for _ in range(request.max_new):
        tokens.append(next_token(tokens))
        if tokens[-1] in request.stop:
            break
    return tuple(tokens[len(request.tokens) :])


def mixed(seed: int, count: int) -> list[Request]:
    """Prompts that share prefixes with one another, with salts, repeats, and answers continued."""
    rng = random.Random(seed)
    made: list[Request] = []
    for number in range(count):
        base: tuple[int, ...] = ()
        if made and rng.random() < 0.8:
            earlier = rng.choice(made)
            base = earlier.tokens + greedy(earlier)
            base = base[: rng.randrange(1, len(base) + 1)]
        tokens = base + tuple(rng.randrange(5) for _ in range(rng.randrange(0 if base else 1, 20)))
        salt = rng.choice(["", "", "", "a"])
        stop = frozenset({3}) if rng.random() < 0.2 else frozenset()
        made.append(Request(number, tokens[:90], rng.randrange(1, 8), Extra(salt=salt), stop))
    return made


CACHES: list[Callable[[], PrefixCache]] = [
    lambda: BlockPool(None, 4),
    lambda: BlockPool(26, 4),
    lambda: BlockPool(104, 1),
    lambda: RadixCache(104, 1),
    lambda: RadixCache(112, 4),
]


@pytest.mark.parametrize("limits", [Limits(), Limits(3, 7), Limits(8, 64)], ids=str)
@pytest.mark.parametrize("make", CACHES)
def test_outputs_and_hits_of_300_mixed_requests(make: Callable[[], PrefixCache], limits: Limits) -> None:
    requests = mixed(1, 300)
    cache, model = make(), HashModel()
    outcomes = list(run(requests, cache, model, limits))
    cache.check()
    assert sorted(o.request.id for o in outcomes) == list(range(300))
    for outcome in outcomes:
        assert not outcome.refused
        assert outcome.output == greedy(outcome.request)
        assert outcome.hit == outcome.measured == outcome.verified
    again = run(requests, make(), recall({o.request.id: o.output for o in outcomes}), limits)
    assert hits(again) == hits(outcomes)
    assert sum(hits(outcomes).values()) > 0
    limited = cache.capacity_tokens is not None
    assert (cache.stats.evicted_tokens > 0) == limited


def hits(outcomes: Sequence[Outcome] | object) -> dict[int, int]:
    return {o.request.id: o.measured for o in outcomes}  # type: ignore[attr-defined]


def test_serial_hits_without_limit_follow_the_formula() -> None:
    requests, block = mixed(2, 100), 4
    known: list[tuple[str, tuple[int, ...]]] = []
    for outcome in run(requests, BlockPool(None, block), HashModel(), Limits()):
        tokens, salt = outcome.request.tokens, outcome.request.extra.salt
        shared = max((common(tokens, other) for s, other in known if s == salt), default=0)
        assert outcome.measured == min(shared, len(tokens) - 1) // block * block
        # the last token out was never computed
        known.append((salt, (tokens + outcome.output)[:-1]))


def common(left: Sequence[int], right: Sequence[int]) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )


def test_preemption_is_felt_and_harmless() -> None:
    requests = [Request(i, tuple([i] * 8), max_new=12) for i in range(4)]
    outcomes = list(run(requests, BlockPool(8, 4), HashModel(), Limits(4, 64)))
    assert sum(o.preempted for o in outcomes) > 0
    assert all(o.output == greedy(o.request) for o in outcomes)


def test_prefill_is_cut_into_chunks_and_decode_goes_on_beside_it() -> None:
    scheduler = Scheduler(BlockPool(None, 4), Limits(running=2, step_tokens=6))
    scheduler.add(Request(0, (1, 2, 3), max_new=3))
    scheduler.add(Request(1, tuple(range(10)), max_new=1))
    seen = []
    while not scheduler.idle:
        chunks = scheduler.step()
        seen.append([(c.request, c.start, len(c.tokens)) for c in chunks])
        scheduler.complete([0] * sum(c.sample for c in chunks))
    assert seen == [[(0, 0, 3), (1, 0, 3)], [(0, 3, 1), (1, 3, 5)], [(0, 4, 1), (1, 8, 2)]]


def test_a_request_larger_than_the_cache_is_refused_and_the_others_served() -> None:
    requests = [Request(0, tuple(range(50))), Request(1, tuple(range(16)))]
    outcomes = {o.request.id: o for o in run(requests, BlockPool(4, 4), HashModel(), Limits())}
    assert outcomes[0].refused
    assert not outcomes[1].refused
    with pytest.raises(ValueError, match="more room"):
        Scheduler(BlockPool(4, 4), Limits()).add(requests[0])


def test_runs_join_neighbours() -> None:
    assert runs([7, 3, 4, 9], 4, 0, 16) == ((28, 4), (12, 8), (36, 4))
    assert runs([7, 3, 4, 9], 4, 3, 9) == ((31, 1), (12, 5))
    assert runs([7], 4, 2, 2) == ()


def test_the_ledger_sees_a_slot_that_holds_something_else() -> None:
    ledger = Ledger()
    ledger.record(Chunk(0, (1, 2, 3, 4), 0, (), ((0, 4),), True), Extra())
    later = Chunk(1, (9,), 4, ((0, 4),), ((4, 1),), True)
    assert ledger.verified(Request(1, (1, 2, 3, 4, 9)), later) == 4
    assert ledger.verified(Request(1, (1, 2, 8, 4, 9)), later) == 2
    assert ledger.verified(Request(1, (1, 2, 3, 4, 9), extra=Extra(salt="x")), later) == 0
    ledger.record(Chunk(2, (5,), 0, (), ((1, 1),), True), Extra())
    assert ledger.verified(Request(1, (1, 2, 3, 4, 9)), later) == 1


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    block=st.sampled_from([1, 2, 4, 16]),
    room=st.integers(100, 300),
    running=st.integers(1, 6),
    step=st.integers(1, 80),
    radix=st.booleans(),
)
def test_any_setting_gives_the_same_answers_and_predictable_hits(
    seed: int, block: int, room: int, running: int, step: int, radix: bool
) -> None:
    def make() -> PrefixCache:
        return RadixCache(room, block) if radix else BlockPool(room // block, block)

    requests, limits, cache = mixed(seed, 25), Limits(running, step), make()
    outcomes = list(run(requests, cache, HashModel(), limits))
    cache.check()
    assert all(o.refused or o.output == greedy(o.request) for o in outcomes)
    assert all(o.hit == o.measured == o.verified for o in outcomes)
    outputs = {o.request.id: o.output for o in outcomes}
    assert hits(run(requests, make(), recall(outputs), limits)) == hits(outcomes)
