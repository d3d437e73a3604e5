"""The capacity curve: exact LRU hit ratios at every capacity, from stack distances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from promptlint.trace.columns import pieces
from promptlint.trace.curve.distance import Runs, Stack, measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptlint.trace.columns import Columns

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

CHUNK = 1 << 23  # block references handled at once: about 1 GB of working memory
_GROUP = 1 << 18  # of small caches counted at once: what sorts within the processor's cache
DEFINITIONS = {
    "block_hit_ratio": "hit blocks / all blocks; a partial last block counts as one",
    "token_hit_ratio": "sum over requests of min(hit blocks * block size, input tokens) / sum of input tokens",
    "request_mean_hit_ratio": "mean over requests of hit blocks / blocks",
    "request_any_hit_ratio": "requests with at least one hit block / requests",
    "capacity_blocks": "a request looks up all its blocks first (contiguous prefix, up to the first miss), then "
    "touches or inserts them from tail to head, then the least recently used blocks are evicted down to capacity",
    "first_use_ratio": "distinct blocks / all blocks: what no cache of any size or policy can hit",
    "continuity": "requests that follow another one in their conversation: those that begin with all its full "
    "blocks, and those that do not",
    "warm": "the same ratios over the later half of the requests, the cache warmed by the earlier half",
    "ttl_seconds": "an entry is usable if at most this long has passed since its last touch; each touch renews "
    "it; no limit of capacity",
}


@dataclass(frozen=True, slots=True)
class Ratios:
    """Hit ratios of one cache over one set of requests, each with its own denominator."""

    block: float
    token: float
    request_mean: float
    request_any: float


@dataclass(frozen=True, slots=True)
class Totals:
    """The denominators."""

    requests: int = 0
    blocks: int = 0
    tokens: int = 0

    def plus(self, other: Totals) -> Totals:
        """Return the sum."""
        return Totals(self.requests + other.requests, self.blocks + other.blocks, self.tokens + other.tokens)


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a curve: the ratios over all requests, and over the later half."""

    at: float  # capacity in blocks, or lifetime in seconds
    cold: Ratios
    warm: Ratios


_NAMES = ("blocks", "tokens", "share", "first")


@dataclass(slots=True)
class _Histogram:
    """Hit weight by stack distance, kept as differences so that a run costs two additions."""

    blocks: Floats = field(default_factory=lambda: np.zeros(2))
    tokens: Floats = field(default_factory=lambda: np.zeros(2))
    share: Floats = field(default_factory=lambda: np.zeros(2))
    first: Floats = field(default_factory=lambda: np.zeros(2))

    def add(self, runs: Runs, lengths: Ints, counts: Ints, block: int, size: int) -> None:
        """Count runs; ``lengths`` and ``counts`` are per run, ``size`` bounds the distances."""
        at, end = runs.distance, runs.distance + runs.length
        one = np.ones(len(at))
        self.blocks = _grown(self.blocks, size, (at, one), (end, -one))
        share = 1.0 / counts
        self.share = _grown(self.share, size, (at, share), (end, -share))
        full = np.clip(lengths // block - runs.first, 0, runs.length)
        rest = np.where(full < runs.length, lengths % block, 0) * (lengths // block >= runs.first)
        tokens = np.full(len(at), float(block))
        self.tokens = _grown(
            self.tokens,
            size,
            (at, tokens),
            (at + full, rest - tokens),
            (at + full + 1, -rest.astype(np.float64)),
        )
        heads = runs.first == 0
        self.first = _grown(self.first, size, (at[heads], one[heads]), (at[heads] + 1, -one[heads]))

    def merge(self, other: _Histogram) -> None:
        """Add another histogram."""
        for name in _NAMES:
            mine, theirs = getattr(self, name), getattr(other, name)
            size = max(len(mine), len(theirs))
            setattr(self, name, _sized(mine, size) + _sized(theirs, size))

    def cumulated(self) -> list[Floats]:
        """Return hits by capacity for blocks, tokens, shares and first blocks."""
        parts = (self.blocks, self.tokens, self.share, self.first)
        return [np.cumsum(np.cumsum(part)) for part in parts]


def _sized(array: Floats, size: int) -> Floats:
    return np.concatenate([array, np.zeros(size - len(array))]) if len(array) < size else array


def _grown(array: Floats, size: int, *steps: tuple[Ints, Floats]) -> Floats:
    out = _sized(array, size).copy()
    for at, weight in steps:
        counted = np.bincount(at, weights=weight, minlength=len(out)).astype(np.float64)
        out = _sized(out, len(counted))
        out += _sized(counted, len(out))
    return out


@dataclass(slots=True)
class CapacityCurve:
    """Collects a log chunk by chunk and answers for every capacity.

    ``warm_after`` is the number of requests that only warm the cache in the second set of ratios.
    Histograms of separate caches add up (`merge`): the sum is one cache of that capacity for each.
    """

    warm_after: int
    _stack: Stack = field(default_factory=Stack.empty)
    _seen: int = 0
    _cold: _Histogram = field(default_factory=_Histogram)
    _warm: _Histogram = field(default_factory=_Histogram)
    totals: Totals = field(default_factory=Totals)
    warm_totals: Totals = field(default_factory=Totals)

    @property
    def unique_blocks(self) -> int:
        """Return the number of distinct blocks seen."""
        return len(self._stack.ids)

    def add(self, columns: Columns, late: NDArray[np.bool_] | None = None) -> None:
        """Count a chunk: requests of one cache, chained, in time order, none before the last chunk.

        ``late`` says for each request whether the cache counts as warm; default: by ``warm_after``.
        Requests of several caches may follow one another if they share no id: what another cache
        holds lies below in the stack and is never counted.
        """
        counts = columns.counts
        if late is None:
            late = np.arange(self._seen, self._seen + columns.requests) >= self.warm_after
        runs, self._stack = measure(columns.ids, columns.start, columns.time, self._stack)
        size = len(self._stack.ids) + 3
        length, count = columns.length[runs.request], counts[runs.request]
        self._cold.add(runs, length, count, columns.block_tokens, size)
        self.totals = self.totals.plus(Totals(columns.requests, columns.references, columns.tokens))
        self._seen += columns.requests
        if late.any():
            kept = late[runs.request]
            some = Runs(*(getattr(runs, name)[kept] for name in Runs.__slots__))
            self._warm.add(some, length[kept], count[kept], columns.block_tokens, size)
            tail = Totals(int(late.sum()), int(counts[late].sum()), int(columns.length[late].sum()))
            self.warm_totals = self.warm_totals.plus(tail)

    def merge(self, other: CapacityCurve) -> None:
        """Add the counts of a cache that shares nothing with this one."""
        self._cold.merge(other._cold)
        self._warm.merge(other._warm)
        self.totals = self.totals.plus(other.totals)
        self.warm_totals = self.warm_totals.plus(other.warm_totals)
        joined = np.concatenate([self._stack.ids, other._stack.ids])
        self._stack = Stack(joined, np.concatenate([self._stack.time, other._stack.time]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything that `merge` and `points` need, as plain arrays."""
        found: dict[str, NDArray[Any]] = {"ids": self._stack.ids, "times": self._stack.time}
        for half, histogram, totals in (
            ("cold", self._cold, self.totals),
            ("warm", self._warm, self.warm_totals),
        ):
            found[f"{half}_totals"] = np.array(
                [totals.requests, totals.blocks, totals.tokens], dtype=np.int64
            )
            for name in _NAMES:
                found[f"{half}_{name}"] = getattr(histogram, name)
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> CapacityCurve:
        """Return the curve that gave `arrays`."""
        cold, warm = (_Histogram(*(arrays[f"{half}_{name}"] for name in _NAMES)) for half in ("cold", "warm"))
        totals, warm_totals = (Totals(*arrays[f"{half}_totals"].tolist()) for half in ("cold", "warm"))
        return cls(0, Stack(arrays["ids"], arrays["times"]), 0, cold, warm, totals, warm_totals)

    def points(self, capacities: Sequence[int]) -> list[Point]:
        """Return the exact ratios at the given capacities in blocks."""
        cold, warm = self._cold.cumulated(), self._warm.cumulated()
        return [
            Point(capacity, _ratios(cold, capacity, self.totals), _ratios(warm, capacity, self.warm_totals))
            for capacity in capacities
        ]

    def knees(self, count: int = 40) -> list[int]:
        """Return capacities spread evenly on a logarithmic axis, the last one holding everything."""
        top = max(1, self.unique_blocks)
        return sorted({round(float(value)) for value in np.geomspace(1, top, count)})


def _ratios(hits: list[Floats], capacity: int, totals: Totals) -> Ratios:
    blocks, tokens, share, first = (float(part[min(capacity, len(part) - 1)]) for part in hits)
    return Ratios(
        blocks / max(1, totals.blocks),
        tokens / max(1, totals.tokens),
        share / max(1, totals.requests),
        first / max(1, totals.requests),
    )


def chunks(columns: Columns, references: int = CHUNK) -> Iterable[Columns]:
    """Cut columns into runs of whole requests of about ``references`` block references."""
    for low, high in pieces(columns.start, references):
        yield columns.slice(low, high)


def capacity_curve(columns: Columns, warm_after: int | None = None) -> CapacityCurve:
    """Return the curve of one cache shared by all requests of ``columns`` (ids as they are)."""
    curve = CapacityCurve(columns.requests // 2 if warm_after is None else warm_after)
    for chunk in chunks(columns):
        curve.add(chunk)
    return curve


def separate_curves(columns: Columns) -> CapacityCurve:
    """Return the summed curve of one cache for each namespace, all of the same capacity.

    Caches are counted one behind the other, many small ones at once; the stack starts anew where
    whole caches have filled a chunk.
    """
    ordered = columns.take(np.argsort(columns.namespace, kind="stable"))
    _, first, sizes = np.unique(ordered.namespace, return_index=True, return_counts=True)
    rank = np.arange(ordered.requests) - np.repeat(first, sizes)
    late = rank >= np.repeat(sizes // 2, sizes)
    total = CapacityCurve(0)
    for low, high in _groups(ordered.start[np.append(first, ordered.requests)]):
        begin, end = int(first[low]), int(first[high - 1] + sizes[high - 1])
        curve = CapacityCurve(0)
        for chunk in chunks(ordered.slice(begin, end)):
            curve.add(chunk, late[begin : begin + chunk.requests])
            begin += chunk.requests
        total.merge(curve)
    return total


def _groups(ends: Ints, references: int = _GROUP) -> Iterable[tuple[int, int]]:
    """Cut caches into runs of about ``references`` block references; ``ends`` are their borders."""
    low = 0
    while low < len(ends) - 1:
        high = max(low + 1, int(np.searchsorted(ends, ends[low] + references, side="right")) - 1)
        yield low, high
        low = high
