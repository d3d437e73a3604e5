"""All four ledgers of one question, the assumptions behind them, and their JSON form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from promptlint.catalog.shapes import Shape
from promptlint.estimate.compute import Compute, Memory, Time, compute_ledger
from promptlint.estimate.money import Money, Uses
from promptlint.words import counted


@dataclass(frozen=True, slots=True)
class Break:
    """What is left to reuse if the prompt first changes at this token."""

    at: int
    reusable_ratio: float
    speedup: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """The ledgers for one prompt. Memory and time are None for a model of unknown shape."""

    shape: Shape | None
    compute: Compute
    money: Money
    memory: Memory | None
    time: Time | None
    with_attention: Time | None
    breaks: tuple[Break, ...]
    reuses: int | None
    assumptions: tuple[str, ...]
    open_holes: int = 0  # that count one token each: what is saved is at most what the ledgers say

    @property
    def expected(self) -> Uses | None:
        """Return the row of the money table for the stated number of reuses."""
        return None if self.reuses is None else self.money.table[self.reuses]

    @property
    def advice(self) -> tuple[str, str]:
        """Return what to do first, in two lines, from the figures."""
        return _first(self), _then(self)

    def json(self) -> dict[str, Any]:
        """Return the JSON form; figures that need an unknown shape are null."""
        c, m, t, a, e = self.compute, self.memory, self.time, self.with_attention, self.money
        return {
            "compute": {
                "prefix_tokens": c.prefix,
                "new_tokens": c.new,
                "reusable_ratio": c.reusable_ratio,
                "prefill_speedup": c.linear_speedup,
                "prefill_speedup_with_attention": c.flop_speedup,
                "flops_miss": c.linear_miss,
                "flops_hit": c.linear_hit,
                "attention_flops_miss": c.attention_miss,
                "attention_flops_hit": c.attention_hit,
                "attention_share": c.attention_share,
                "attention_share_last_token": c.attention_share_last,
                "breaks": [
                    {"at": b.at, "reusable_ratio": b.reusable_ratio, "prefill_speedup": b.speedup}
                    for b in self.breaks
                ],
            },
            "memory": {
                "kv_bytes_per_token": m and m.kv_bytes_per_token,
                "prefix_bytes": m and m.prefix_bytes,
                "weight_bytes": m and m.weight_bytes,
                "memory_bytes": m and m.memory_bytes,
                "prefixes_that_fit": m and m.prefixes_that_fit,
            },
            "time": {
                "fixed_ms": t and t.fixed_ms,
                "prefill_miss_ms": t and t.prefill_miss_ms,
                "prefill_hit_ms": t and t.prefill_hit_ms,
                "ttft_miss_ms": t and t.ttft_miss_ms,
                "ttft_hit_ms": t and t.ttft_hit_ms,
                "ttft_speedup": t and t.speedup,
                "prefill_miss_with_attention_ms": a and a.prefill_miss_ms,
                "prefill_hit_with_attention_ms": a and a.prefill_hit_ms,
            },
            "money": {
                "profile": e.profile,
                "model": e.model,
                "ttl": e.ttl,
                "write_multiplier": e.write_multiplier,
                "read_multiplier": e.read_multiplier,
                "write_premium": e.write_premium,
                "break_even_reuses": e.break_even_reuses,
                "usd_per_million_tokens": e.price and e.price.ordinary,
                "minimum_tokens": e.below_minimum,
                "expected": self.expected and _uses(self.expected),
                "traffic": e.traffic
                and {
                    "interval_s": e.traffic.interval,
                    "lifetime_s": e.traffic.lifetime,
                    "hit_rate": e.traffic.hit_rate,
                    "relative_cost": e.traffic.relative_cost,
                    "pays_up_to_interval_s": e.traffic.pays_up_to,
                },
                "table": [_uses(row) for row in e.table],
            },
            "assumptions": list(self.assumptions),
            "advice": list(self.advice),
        }


def _uses(row: Uses) -> dict[str, Any]:
    return {
        "uses": row.uses,
        "relative_cost": float(row.cost / row.uses),
        "saving_percent": float(row.saving_percent),
        "usd": row.usd,
    }


def breaks(prefix: int, new: int, at: tuple[int, ...]) -> tuple[Break, ...]:
    """Return what is left of a prompt's reuse for each place of its first change, the given one first."""
    total = prefix + new
    made = []
    for place in dict.fromkeys((prefix, *at)):
        left = compute_ledger(place, total - place, None)
        made.append(Break(place, left.reusable_ratio, left.linear_speedup))
    return tuple(made)


def _first(estimate: Estimate) -> str:
    time, ratio = estimate.time, estimate.compute.reusable_ratio
    traffic = estimate.money.traffic
    if better := _better(estimate):
        return (
            f"First: put what changes behind the stable text. The first change then stands at token {better.at:,} "
            f"instead of {estimate.compute.prefix:,}, and {better.reusable_ratio:.1%} of each prompt can be reused."
        )
    if estimate.money.below_minimum:
        return (
            f"First: lengthen the prefix to {estimate.money.below_minimum:,} tokens or leave it uncached; "
            "below the minimum nothing is written or read."
        )
    if traffic and traffic.relative_cost >= 1:
        return (
            f"First: raise the hit rate. At one request in {traffic.interval:,.0f} s only "
            f"{traffic.hit_rate:.0%} find the prefix; take a longer lifetime or send them closer together."
        )
    if time is None:
        return f"First: the hit rate. Up to {ratio:.1%} of each prompt can be read instead of computed."
    saved = time.ttft_miss_ms - time.ttft_hit_ms
    return (
        f"First: the hit rate. A hit saves {saved:,.0f} of {time.ttft_miss_ms:,.0f} ms to the first token; "
        f"each 10 points of hit rate are worth {saved / 10:,.0f} ms."
    )


def _better(estimate: Estimate) -> Break | None:
    """Return the best place of the first change, if it gives at least twice the reuse and can be cached.

    The provider's minimum does not bind a model that one runs oneself, whose time is known.
    """
    best = max(estimate.breaks, key=lambda b: b.at, default=None)
    if best is None or best.at < 2 * max(1, estimate.compute.prefix):
        return None
    minimum = 0 if estimate.time else estimate.money.below_minimum or 0
    return best if best.at >= minimum else None


def _then(estimate: Estimate) -> str:
    rest = (
        "chunked prefill, disaggregation, speculative decoding and KV quantization each act on another part; "
        "their factors do not multiply with this one."
    )
    if estimate.time is None:
        return f"Then: {counted(estimate.compute.new, 'new token')}, computed in any case; {rest}"
    share = estimate.time.left_share
    what = "shorten the new part" if share > 0.5 else "look at the fixed part and at decoding"
    return f"Then: prefill is {share:.0%} of the time to first token on a hit, so {what}; {rest}"
