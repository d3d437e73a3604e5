"""Runs requests to their end, and says what each found, what was computed, and how long it took.

The same loop predicts (with a `compute` that only recalls known outputs) and measures (with a model).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from promptlint.cache.base import PrefixCache
from promptlint_runtime.ledger import Ledger
from promptlint_runtime.scheduler import Limits, Scheduler
from promptlint_runtime.sequence import Chunk, Progress, Request

Compute = Callable[[Sequence[Chunk]], list[int]]
"""Computes the chunks of one step; returns the next token of each chunk that samples."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request. Times are seconds from its admission.

    ``hit`` is what the cache's bookkeeping claims, ``verified`` how many leading tokens of the prompt
    really stood in memory before the first step, ``measured`` the prompt tokens that did not run
    through the model. All three are of the first admission, before any preemption.
    """

    request: Request
    hit: int
    verified: int
    measured: int
    output: tuple[int, ...]
    first_token: float
    total: float
    preempted: int
    refused: bool = False  # needs more room than the whole cache has


def run(
    requests: Sequence[Request], cache: PrefixCache, compute: Compute, limits: Limits
) -> Iterator[Outcome]:
    """Serve requests, as many at a time as ``limits`` says; yield each when it is done.

    A request that can never fit is yielded at once, as refused.
    """
    scheduler, ledger = Scheduler(cache, limits), Ledger()
    by_id = {request.id: request for request in requests}
    if len(by_id) != len(requests):
        raise ValueError("request ids must differ")
    for request in requests:
        if scheduler.never_fits(request):
            yield Outcome(request, 0, 0, 0, (), 0.0, 0.0, 0, refused=True)
        else:
            scheduler.add(request)
    begun: dict[int, float] = {}
    first: dict[int, float] = {}
    verified: dict[int, int] = {}
    booking = 0.0  # our own accounts are no part of anybody's time
    while not scheduler.idle:
        before = perf_counter() - booking
        chunks = scheduler.step()
        for chunk in chunks:
            begun.setdefault(chunk.request, before)
        sampled = compute(chunks)
        done_at = perf_counter()
        now = done_at - booking
        for chunk in chunks:
            request = by_id[chunk.request]
            if chunk.request not in verified:
                verified[chunk.request] = ledger.verified(request, chunk)
            ledger.record(chunk, request.extra)
            if chunk.sample:
                first.setdefault(chunk.request, now)
        booking += perf_counter() - done_at
        for progress in scheduler.complete(sampled):
            yield _outcome(progress, verified[progress.request.id], begun, first, now)


def _outcome(
    progress: Progress, verified: int, begun: Mapping[int, float], first: Mapping[int, float], now: float
) -> Outcome:
    request = progress.request
    return Outcome(
        request=request,
        hit=progress.hit or 0,
        verified=verified,
        measured=progress.reached - progress.prefilled,
        output=tuple(progress.output),
        first_token=first[request.id] - begun[request.id],
        total=now - begun[request.id],
        preempted=progress.preempted,
    )


def recall(outputs: Mapping[int, Sequence[int]]) -> Compute:
    """Return a `Compute` that gives known outputs, for predictions."""
    given: dict[int, int] = {}

    def compute(chunks: Sequence[Chunk]) -> list[int]:
        tokens = []
        for chunk in chunks:
            if chunk.sample:
                at = given.get(chunk.request, 0)
                given[chunk.request] = at + 1
                tokens.append(outputs[chunk.request][at])
        return tokens

    return compute
