"""Times of one prompt with the cache off, empty and warm, and the matrix rate of the same machine."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import torch
from torch import Tensor
from torch.nn import functional

from promptlint.cache.base import PrefixCache
from promptlint.words import counted
from promptlint_runtime.adapters.base import Adapter, batch_of
from promptlint_runtime.compute import ModelCompute
from promptlint_runtime.engine import recall, run
from promptlint_runtime.kv import KvStore
from promptlint_runtime.report import Spread, Timing
from promptlint_runtime.scheduler import Limits
from promptlint_runtime.sequence import Chunk, Request
from promptlint_runtime.shapes import Shape, speedup_bound
from promptlint_runtime.trials import enough


def matmul_rate(shape: Shape | None, dtype: torch.dtype, device: torch.device, rows: int = 2048) -> float:
    """Return floating point operations a second of the model's own largest product, the best of several.

    ``rows`` tokens times the gate and up projections; a square product of like size where the shape
    is not known.
    """
    hidden, wide = (2048, 2048) if shape is None else (shape.hidden, 2 * shape.mlp)
    x = torch.randn(rows, hidden, device=device).to(dtype)
    w = torch.randn(wide, hidden, device=device).to(dtype)
    best, spent = float("inf"), 0.0
    while spent < 0.5:
        begun = perf_counter()
        for _ in range(4):
            functional.linear(x, w)
        synchronize(device)
        took = perf_counter() - begun
        spent += took
        best = min(best, took / 4)
    return 2.0 * rows * hidden * wide / best


def synchronize(device: torch.device) -> None:
    """Wait until the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


_UNTIMED = 2  # warm runs before the first timed one: allocations, and graphs on a GPU


class Timer:
    """Times prompts on one model and store; nothing else may use the store meanwhile."""

    def __init__(
        self,
        adapter: Adapter,
        kv: KvStore,
        make_cache: Callable[[], PrefixCache],
        step_tokens: int,
        repeats: int | None,
    ) -> None:
        self._adapter = adapter
        self._kv = kv
        self._make_cache = make_cache
        self._limits = Limits(1, step_tokens)
        self._repeats = repeats
        self._compute = ModelCompute(adapter, kv)

    def time(self, number: int, tokens: tuple[int, ...], cached: int) -> Timing:
        """Time one prompt of which ``cached`` tokens (a hit of the cache, so whole blocks) are reusable."""
        exact = self._direct(tokens, 0)
        reused = self._direct(tokens, cached)
        for _ in range(_UNTIMED):
            self._engine(tokens, cached)
        off: list[float] = []
        cold: list[float] = []
        warm: list[float] = []
        while not enough(cold, self._repeats):
            begun = perf_counter()
            self._direct(tokens, 0)
            synchronize(self._adapter.device)
            off.append(perf_counter() - begun)
            cold.append(self._engine(tokens, 0))
            warm.append(self._engine(tokens, cached))
        shape = self._adapter.shape
        return Timing(
            request=number,
            cached=cached,
            new=len(tokens) - cached,
            off=Spread.of(off),
            cold=Spread.of(cold),
            warm=Spread.of(warm),
            bound=None if shape is None else speedup_bound(shape, len(tokens), cached),
            deviation=(exact.float() - reused.float()).abs().max().item(),
            same_token=bool(exact.argmax() == reused.argmax()),
        )

    def _direct(self, tokens: tuple[int, ...], start: int) -> Tensor:
        """Compute the tokens from ``start`` on, in slots of their own position; return the last logits."""
        step, logits = self._limits.step_tokens, None
        for first in range(start, len(tokens), step):
            stop = min(len(tokens), first + step)
            past = ((0, first),) if first else ()
            last = stop == len(tokens)
            chunk = Chunk(0, tokens[first:stop], first, past, ((first, stop - first),), sample=last)
            logits = self._adapter.forward(batch_of([chunk], self._adapter.device), self._kv)
        assert logits is not None
        return logits[0]

    def _engine(self, tokens: tuple[int, ...], cached: int) -> float:
        """Return the time to first token through scheduler and cache.

        A fresh cache gives out the same slots in the same order each time, and `_direct` left the
        prompt's keys and values in them: telling the cache of the prefix is all that makes it warm.
        """
        cache = self._make_cache()
        if cached:
            list(run([Request(0, tokens[:cached])], cache, recall({0: (0,)}), self._limits))
        (outcome,) = run([Request(1, tokens)], cache, self._compute, self._limits)
        if outcome.hit != cached:
            raise RuntimeError(f"the warm run hit {counted(outcome.hit, 'token')} instead of {cached}")
        return outcome.first_token
