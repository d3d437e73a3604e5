"""Which tokens of which requests are computed in the next step. No tensor here.

::

    waiting ──admit──▶ running: prefill in chunks, then one token a step ──▶ done
       ▲                  │
       └──── preempt ─────┘   the request that came last gives its blocks back and starts again later

Requests are served first come, first served: while one is being prefilled no later one overtakes it,
so what a request finds in the cache is computed before it, or earlier within the same step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from promptlint.cache.base import PrefixCache
from promptlint_runtime.sequence import Chunk, Progress, Request, runs


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is done at once: requests in flight, and tokens computed in one step."""

    running: int = 1
    step_tokens: int = 8192

    def __post_init__(self) -> None:
        if self.running < 1 or self.step_tokens < 1:
            raise ValueError("at least one request and one token must be possible in a step")


class Scheduler:
    """Continuous batching over a bounded cache.

    Call `step`, compute what it returns, hand the sampled tokens to `complete`, until `idle`.
    """

    def __init__(self, cache: PrefixCache, limits: Limits) -> None:
        self._cache = cache
        self._limits = limits
        self._waiting: deque[Progress] = deque()
        self._running: list[Progress] = []
        self._step: list[tuple[Progress, Chunk]] = []
        self._preempted = False

    @property
    def idle(self) -> bool:
        """Tell whether every request is done."""
        return not (self._waiting or self._running)

    def never_fits(self, request: Request) -> bool:
        """Tell whether a request needs more room than the whole cache has."""
        capacity, block = self._cache.capacity_tokens, self._cache.block_tokens
        need = len(request.tokens) + request.max_new - 1  # the last token out is never computed
        return capacity is not None and -(-need // block) * block > capacity

    def add(self, request: Request) -> None:
        """Append a request to those that wait.

        Raises:
            ValueError: it can never fit; see `never_fits`.
        """
        if self.never_fits(request):
            raise ValueError(f"request {request.id} needs more room than the cache has")
        self._waiting.append(Progress(request))

    def step(self) -> list[Chunk]:
        """Choose the tokens to compute now; never empty unless `idle`."""
        if self._step:
            raise RuntimeError("the last step was not completed")
        budget = self._limits.step_tokens
        for progress in list(self._running):
            if budget and progress in self._running:
                budget -= self._go_on(progress, budget)
        short = self._preempted  # whoever was just preempted must not take the room back at once
        self._preempted = False
        while not short and self._waiting and budget and len(self._running) < self._limits.running:
            took = self._admit(self._waiting[0], budget)
            if not took:
                break
            self._running.append(self._waiting.popleft())
            budget -= took
        return [chunk for _, chunk in self._step]

    def complete(self, sampled: Sequence[int]) -> list[Progress]:
        """Take the tokens that the sampling chunks of the last step gave, in their order.

        Returns the requests that are done now; their blocks stay in the cache.
        """
        tokens = iter(sampled)
        done = []
        for progress, chunk in self._step:
            admission = progress.admission
            assert admission is not None
            progress.computed += len(chunk.tokens)
            if not progress.preempted:
                progress.reached = min(progress.computed, len(progress.request.tokens))
                progress.prefilled += max(0, progress.reached - chunk.start)
            if chunk.sample:
                progress.output.append(next(tokens))
            if progress.done:
                self._cache.finish(admission)
                self._running.remove(progress)
                done.append(progress)
            else:
                self._cache.commit(admission)
        self._step = []
        return done

    def _admit(self, progress: Progress, budget: int) -> int:
        admission = self._cache.start(progress.tokens, progress.request.extra, compute=budget)
        if admission is None:
            return 0
        progress.admission = admission
        progress.computed = admission.hit
        if progress.hit is None:
            progress.hit = admission.hit
        return self._schedule(progress)

    def _go_on(self, progress: Progress, budget: int) -> int:
        """Give a running request room, at the cost of later ones if it must be."""
        admission = progress.admission
        assert admission is not None
        new = progress.tokens[admission.length :]
        while not self._cache.extend(admission, new, compute=budget):
            victim = self._running.pop()
            self._preempt(victim)
            if victim is progress:
                return 0
        return self._schedule(progress)

    def _preempt(self, progress: Progress) -> None:
        assert progress.admission is not None
        self._cache.finish(progress.admission)
        progress.admission = None
        progress.computed = 0
        progress.preempted += 1
        self._preempted = True
        self._waiting.appendleft(progress)

    def _schedule(self, progress: Progress) -> int:
        admission = progress.admission
        assert admission is not None
        start, stop, size = progress.computed, admission.slots, self._cache.block_tokens
        chunk = Chunk(
            request=progress.request.id,
            tokens=progress.tokens[start:stop],
            start=start,
            past=runs(admission.blocks, size, 0, start),
            own=runs(admission.blocks, size, start, stop),
            sample=stop == progress.length,
        )
        self._step.append((progress, chunk))
        return stop - start
