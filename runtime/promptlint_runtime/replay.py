"""Replays prompts on the model: a pass for the hits, then times of the prompts that hit most."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import torch

from promptlint.cache.base import PrefixCache
from promptlint.cache.blocks import Extra
from promptlint.cache.pool import BlockPool
from promptlint.cache.radix import RadixCache
from promptlint.errors import UsageError
from promptlint.words import counted
from promptlint_runtime.compute import ModelCompute
from promptlint_runtime.engine import Outcome, run
from promptlint_runtime.kv import KvStore, Storage, bytes_per_token
from promptlint_runtime.measure import Timer, matmul_rate
from promptlint_runtime.memory import check_room, explained, free_bytes, gib
from promptlint_runtime.models import Loaded
from promptlint_runtime.predict import predict
from promptlint_runtime.report import Advance, Run, Setting, Timing, versions
from promptlint_runtime.rows import Sent, rows_of
from promptlint_runtime.scheduler import Limits
from promptlint_runtime.sequence import Request

_SHARE = 0.6  # of the free memory that keys and values take when no size is given


@dataclass(frozen=True, slots=True)
class Options:
    """How to replay. ``kv_memory`` in bytes; None: room for everything, as far as memory goes."""

    cache: str = "block"  # "block" as vLLM, "radix" as SGLang, "off"
    block_tokens: int = 16
    kv_memory: int | None = None
    storage: Storage = Storage.MODEL
    limits: Limits = field(default_factory=Limits)
    max_new: int = 1
    order: str = "given"  # "given", "shuffled", "by-prefix"
    passes: int = 1  # how often the whole set is sent
    repeats: int | None = None  # of each timing; None: fewer where a prompt takes long
    timed: int = 1  # prompts that are timed
    seed: int = 0


class Replay:
    """A loaded model with memory for keys and values; replays one set of prompts after another."""

    def __init__(self, loaded: Loaded, options: Options, largest: int) -> None:
        """Reserve memory; ``largest`` is the number of tokens that all requests of a run need.

        Raises:
            InputError: it does not fit.
        """
        self._loaded = loaded
        self._options = options
        adapter = loaded.adapter
        self._token_bytes = bytes_per_token(adapter.sizes, adapter.dtype, options.storage)
        self._capacity = self._fit(largest)
        check_room(
            self._capacity * self._token_bytes,
            adapter.device,
            f"keys and values of {counted(self._capacity, 'token')}",
            "give a smaller --kv-memory, or --kv int8",
        )
        with explained("give a smaller --kv-memory"):
            self._kv = KvStore(adapter.sizes, self._capacity, adapter.dtype, adapter.device, options.storage)

    def _fit(self, largest: int) -> int:
        block = self._options.block_tokens
        if self._options.kv_memory is not None:
            tokens = self._options.kv_memory // self._token_bytes // block * block
            if not tokens:
                raise UsageError(
                    f"{gib(self._options.kv_memory)} do not hold one block of {counted(block, 'token')}",
                    f"give at least {gib(block * self._token_bytes)}",
                )
            return int(tokens)
        free = free_bytes(self._loaded.adapter.device)
        possible = largest if free is None else int(free * _SHARE) // self._token_bytes
        return max(block, -(-min(largest, possible) // block) * block)

    def make_cache(self) -> PrefixCache:
        """Return an empty cache of the kind and size asked for."""
        block = self._options.block_tokens
        if self._options.cache == "radix":
            return RadixCache(self._capacity, block)
        return BlockPool(self._capacity // block, block)

    def run(self, title: str, sent: Sequence[Sent], advance: Advance) -> Run:
        """Replay on an empty cache; an interrupt ends it with what is known so far.

        Raises:
            InputError: memory ran out.
        """
        step = f"give a smaller --kv-memory, or --step-tokens below {self._options.limits.step_tokens}"
        with explained(step):
            return self._run(title, sent, advance)

    def _run(self, title: str, sent: Sequence[Sent], advance: Advance) -> Run:
        options, adapter = self._options, self._loaded.adapter
        requests = [self._request(s) for s in sent]
        cache, outcomes, partial = self.make_cache(), [], False
        compute = ModelCompute(adapter, self._kv)
        begun = perf_counter()
        try:
            for outcome in run(requests, cache, compute, options.limits):
                outcomes.append(outcome)
                advance(title, len(outcomes), len(requests))
        except KeyboardInterrupt:
            partial = True
        seconds = perf_counter() - begun
        predicted = self._predict(requests, outcomes, partial)
        timings: tuple[Timing, ...] = ()
        rate = None
        if not partial:
            timings, partial = self._time(outcomes, advance)
        try:
            rate = matmul_rate(adapter.shape, adapter.dtype, adapter.device) if timings else None
        except KeyboardInterrupt:
            partial = True
        notes = []
        if adapter.device.type == "cpu":
            threads = counted(torch.get_num_threads(), "CPU thread")
            notes.append(f"no GPU is used: times are those of {threads}")
        if self._loaded.tokenizer is None and any(item.prompt.ids is None for item in sent):
            notes.append("the model has no tokenizer: its tokens are those of another vocabulary, renamed")
        return Run(
            title=title,
            setting=self._setting(),
            rows=rows_of(sent, outcomes, predicted, options.block_tokens),
            timings=timings,
            matmul_flops=rate,
            evicted_tokens=cache.stats.evicted_tokens,
            kv_bytes=self._kv.nbytes,
            partial=partial,
            seconds=seconds,
            notes=tuple(notes),
        )

    def _request(self, sent: Sent) -> Request:
        # With the cache off every request has a salt of its own, so that nothing is ever found.
        salt = f"off-{sent.number}" if self._options.cache == "off" else sent.prompt.salt
        return Request(
            sent.number, sent.encoded.ids, self._options.max_new, Extra(salt=salt), self._loaded.stop
        )

    def _predict(
        self, requests: Sequence[Request], outcomes: Sequence[Outcome], partial: bool
    ) -> dict[int, int]:
        outputs = {o.request.id: o.output for o in outcomes}
        if partial:
            if self._options.limits.running > 1:
                return {}  # when the others would have started is not known
            requests = [r for r in requests if r.id in outputs]
        return predict(requests, self.make_cache, self._options.limits, outputs)

    def _time(self, outcomes: Sequence[Outcome], advance: Advance) -> tuple[tuple[Timing, ...], bool]:
        """Time the prompts that hit most; the second value tells of an interrupt."""
        best: dict[tuple[int, ...], Outcome] = {}
        for outcome in sorted(outcomes, key=lambda o: -o.hit):
            if outcome.hit:
                best.setdefault(outcome.request.tokens, outcome)
        chosen = list(best.values())[: self._options.timed]
        options, adapter = self._options, self._loaded.adapter
        timer = Timer(adapter, self._kv, self.make_cache, options.limits.step_tokens, options.repeats)
        timings: list[Timing] = []
        try:
            for outcome in chosen:
                advance("timing", len(timings), len(chosen))
                timings.append(timer.time(outcome.request.id, outcome.request.tokens, outcome.hit))
        except KeyboardInterrupt:
            return tuple(timings), True
        return tuple(timings), False

    def _setting(self) -> Setting:
        options, adapter = self._options, self._loaded.adapter
        return Setting(
            model=self._loaded.name,
            engine=f"promptlint ({type(adapter).__name__})",
            device=_device_name(adapter.device),
            dtype=str(adapter.dtype).removeprefix("torch."),
            cache=options.cache,
            block_tokens=options.block_tokens,
            capacity_tokens=self._capacity,
            kv_storage=options.storage.value,
            kv_bytes_per_token=self._token_bytes,
            concurrency=options.limits.running,
            seed=options.seed,
            versions=versions("torch", "transformers", "promptlint-cache"),
        )


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    return f"{device} ({platform.machine()}, {counted(torch.get_num_threads(), 'thread')})"
