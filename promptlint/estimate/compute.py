"""The ledgers of compute, memory and time.

::

    S = P + Q       linear      2·N·S  without the cache,  2·N·Q  with it
                    attention   2·L·d·S²                   2·L·d·(S² - P²)     causal mask, d = heads x head size
    memory          KV values x layers x bytes, a token
    time            fixed + FLOPs / (FLOP/s)
"""

from __future__ import annotations

from dataclasses import dataclass

from promptlint.catalog.shapes import Shape


@dataclass(frozen=True, slots=True)
class Compute:
    """FLOPs of a prefill of ``prefix`` reusable and ``new`` tokens; None without a known shape."""

    prefix: int
    new: int
    linear_miss: float | None = None
    linear_hit: float | None = None
    attention_miss: float | None = None
    attention_hit: float | None = None
    attention_share: float | None = None  # of the linear work, averaged over the prompt (causal mask)
    attention_share_last: float | None = None  # of the linear work, for the prompt's last token

    @property
    def reusable_ratio(self) -> float:
        """Return r = P / (P + Q)."""
        return self.prefix / (self.prefix + self.new)

    @property
    def linear_speedup(self) -> float:
        """Return (P + Q) / Q: what a hit saves in linear layers alone."""
        return (self.prefix + self.new) / self.new

    @property
    def flop_speedup(self) -> float | None:
        """Return the ratio of all FLOPs: new tokens still attend to the cached ones."""
        if self.linear_miss is None or self.attention_miss is None:
            return None
        hit = (self.linear_hit or 0.0) + (self.attention_hit or 0.0)
        return (self.linear_miss + self.attention_miss) / hit


def attention_flops(shape: Shape, start: int, end: int) -> float:
    """Return the FLOPs in which tokens ``start`` to ``end`` attend to themselves and all before them.

    Query-key and value products cost four FLOPs for each pair of tokens and each unit of width; a window
    bounds how far back its layers look.
    """

    def pairs(length: int, window: int) -> float:
        if not window or length <= window:
            return length * length / 2
        return window * window / 2 + (length - window) * window

    full = shape.layers - shape.windowed_layers
    total = full * (pairs(end, 0) - pairs(start, 0))
    total += shape.windowed_layers * (pairs(end, shape.window) - pairs(start, shape.window))
    return 4.0 * shape.width * total


def compute_ledger(prefix: int, new: int, shape: Shape | None) -> Compute:
    """Return the compute ledger; with an unknown shape only what token counts give.

    Raises:
        ValueError: no new token, or a negative count: the last token is always computed.
    """
    if prefix < 0 or new < 1:
        raise ValueError("the prefix has no negative length, and at least one token is new")
    if shape is None:
        return Compute(prefix, new)
    length = prefix + new
    per_token = 2 * shape.active
    miss = attention_flops(shape, 0, length)
    exact = 2 * shape.exact_active
    return Compute(
        prefix,
        new,
        linear_miss=per_token * length,
        linear_hit=per_token * new,
        attention_miss=miss,
        attention_hit=attention_flops(shape, prefix, length),
        attention_share=miss / (exact * length),
        attention_share_last=4.0 * shape.layers * shape.width * length / exact,
    )


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of keys and values, and how many prefixes fit beside the weights."""

    kv_bytes_per_token: float
    prefix_bytes: float
    weight_bytes: float
    memory_bytes: float | None
    prefixes_that_fit: int | None


def memory_ledger(
    prefix: int, shape: Shape, memory: float | None, kv_bytes: float = 2, weight_bytes: float = 2
) -> Memory:
    """Return the memory ledger; ``kv_bytes`` and ``weight_bytes`` are bytes a number."""
    per_layer = shape.kv_values * kv_bytes
    full = shape.layers - shape.windowed_layers
    kept = full * prefix + shape.windowed_layers * min(prefix, shape.window or prefix)
    weights = shape.size * weight_bytes
    fit = None
    if memory is not None and kept:
        fit = max(0, int((memory - weights) // (per_layer * kept)))
    return Memory(per_layer * shape.layers, per_layer * kept, weights, memory, fit)


@dataclass(frozen=True, slots=True)
class Time:
    """Milliseconds of prefill, and to the first token with a fixed part beside it."""

    prefill_miss_ms: float
    prefill_hit_ms: float
    fixed_ms: float

    @property
    def ttft_miss_ms(self) -> float:
        """Return the time to first token without a hit."""
        return self.fixed_ms + self.prefill_miss_ms

    @property
    def ttft_hit_ms(self) -> float:
        """Return the time to first token with a hit."""
        return self.fixed_ms + self.prefill_hit_ms

    @property
    def speedup(self) -> float:
        """Return how many times sooner the first token comes with a hit."""
        return self.ttft_miss_ms / self.ttft_hit_ms

    @property
    def left_share(self) -> float:
        """Return the part of the time to first token on a hit that is still prefill."""
        return self.prefill_hit_ms / self.ttft_hit_ms


def time_ledger(
    compute: Compute, flops: float, fixed_ms: float = 0.0, attention: bool = False
) -> Time | None:
    """Return the time ledger at ``flops`` FLOP/s reached; ``attention`` adds its work to the linear one."""
    if compute.linear_miss is None or compute.linear_hit is None:
        return None
    miss = compute.linear_miss + (compute.attention_miss or 0.0) * attention
    hit = compute.linear_hit + (compute.attention_hit or 0.0) * attention
    return Time(1000 * miss / flops, 1000 * hit / flops, fixed_ms)
