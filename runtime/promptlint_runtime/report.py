"""What a replay found, as data: rows, rates with their denominators, times."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any

Advance = Callable[[str, int, int], None]
"""Shows progress: what is being done, how much of it is done, of how much."""


@dataclass(frozen=True, slots=True)
class Row:
    """One request. Token counts; ``ttft_ms`` is None where nothing was timed.

    ``predicted`` is None where no prediction was possible. ``template``, ``line`` and ``differs`` name
    the source line behind the first token that no earlier prompt had, ``block`` that token's block.
    """

    id: int
    label: str
    prompt_tokens: int
    predicted_hit_tokens: int | None
    measured_hit_tokens: int | None
    output_tokens: int
    ttft_ms: float | None
    template: str
    line: int | None
    first_differing_block: int | None
    shared_tokens: int
    reason: str
    preempted: int = 0
    refused: bool = False

    @property
    def equal(self) -> bool:
        """Tell whether prediction and measurement agree, or one of them is missing."""
        return (
            self.refused
            or self.predicted_hit_tokens is None
            or self.measured_hit_tokens is None
            or self.predicted_hit_tokens == self.measured_hit_tokens
        )


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, smallest and largest of repeated times, in milliseconds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Spread:
        """Summarise times given in seconds."""
        times = [1000 * s for s in seconds]
        return cls(median(times), min(times), max(times))


@dataclass(frozen=True, slots=True)
class Timing:
    """Time to first token of one prompt with P cached and Q new tokens.

    ``off``: no cache, None where an engine cannot be told so; ``cold``: an empty cache, which adds its
    bookkeeping; ``warm``: P tokens cached. ``speedup`` is cold over warm; ``bound`` what the arithmetic
    allows, None for an unknown shape; ``deviation`` the largest difference of the first token's logits,
    warm against off, None where an engine does not show them. P and Q are None where it counts no tokens.
    """

    request: int
    cached: int | None  # P
    new: int | None  # Q
    off: Spread | None
    cold: Spread
    warm: Spread
    bound: float | None
    deviation: float | None = None
    same_token: bool | None = None

    @property
    def speedup(self) -> float:
        """Return cold over warm, by medians."""
        return self.cold.median / self.warm.median

    @property
    def token_ratio(self) -> float | None:
        """Return (P+Q)/Q: what counting tokens alone would promise."""
        return None if self.cached is None or not self.new else (self.cached + self.new) / self.new


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far an approximate answer is from the exact one: logits of the first token."""

    request: int
    logits: float  # largest absolute difference
    same_token: bool


@dataclass(frozen=True, slots=True)
class Setting:
    """What was run, and on what."""

    model: str
    engine: str
    device: str
    dtype: str
    cache: str
    block_tokens: int
    capacity_tokens: int | None
    kv_storage: str
    kv_bytes_per_token: int | None
    concurrency: int
    seed: int
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """One replay of a set of prompts."""

    title: str
    setting: Setting
    rows: tuple[Row, ...]
    timings: tuple[Timing, ...] = ()
    matmul_flops: float | None = None
    evicted_tokens: int = 0
    kv_bytes: int | None = None
    partial: bool = False  # interrupted
    stopped: str = ""  # the error that ended it early
    seconds: float | None = None  # wall time of all requests, without the timings
    notes: tuple[str, ...] = ()
    counters: dict[str, float] = field(default_factory=dict)  # a server's own, as differences
    deviations: tuple[Deviation, ...] = ()  # of an approximate run; empty for an exact one

    @property
    def mismatches(self) -> tuple[Row, ...]:
        """Return the requests whose measured hit is not the predicted one."""
        return tuple(row for row in self.rows if not row.equal)

    def rates(self) -> dict[str, dict[str, float | int | str]]:
        """Return hit rates, each with what it is a share of."""
        rows = [r for r in self.rows if r.measured_hit_tokens is not None and not r.refused]
        hits = [r.measured_hit_tokens or 0 for r in rows]
        tokens, size = sum(r.prompt_tokens for r in rows), self.setting.block_tokens
        blocks = sum(r.prompt_tokens // size for r in rows)
        later = rows[1:]
        return {
            "token": _rate(sum(hits), tokens, "prompt tokens of all requests"),
            "block": _rate(sum(h // size for h in hits), blocks, f"full blocks of {size} tokens"),
            "request": _rate(sum(h > 0 for h in hits), len(rows), "requests, any hit counts"),
            "token_warm": _rate(
                sum(hits[1:]), sum(r.prompt_tokens for r in later), "prompt tokens without the first request"
            ),
        }

    def summary(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        speedups = [t.speedup for t in self.timings]
        bounds = [t.bound for t in self.timings if t.bound is not None]
        ratios = [t.token_ratio for t in self.timings if t.token_ratio is not None]
        return {
            "title": self.title,
            "requests": len(self.rows),
            "refused": sum(r.refused for r in self.rows),
            "preempted": sum(r.preempted for r in self.rows),
            "prompt_tokens": sum(r.prompt_tokens for r in self.rows),
            "output_tokens": sum(r.output_tokens for r in self.rows),
            "hit_rates": self.rates(),
            "mismatches": len(self.mismatches),
            "speedup": median(speedups) if speedups else None,
            "bound": median(bounds) if bounds else None,
            "token_ratio": median(ratios) if ratios else None,
            "matmul_flops": self.matmul_flops,
            "evicted_tokens": self.evicted_tokens,
            "kv_bytes": self.kv_bytes,
            "seconds": self.seconds,
            "partial": self.partial,
            **({"stopped": self.stopped} if self.stopped else {}),
            "notes": list(self.notes),
            "approximate": bool(self.deviations),
            **({"counters": self.counters} if self.counters else {}),
            **asdict(self.setting),
        }

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "summary": self.summary(),
            "requests": [asdict(row) for row in self.rows],
            "timings": [
                {**asdict(t), "speedup": t.speedup, "token_ratio": t.token_ratio} for t in self.timings
            ],
            "deviations": [asdict(deviation) for deviation in self.deviations],
        }


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a self-test: what was tried, what was seen, whether it is as it should be."""

    name: str
    seen: str
    passed: bool


def _rate(part: int, whole: int, of: str) -> dict[str, float | int | str]:
    return {"value": part / whole if whole else 0.0, "part": part, "whole": whole, "of": of}


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python and of those packages that are installed."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
