"""Sampled curves for logs whose blocks do not fit in memory: a share of the blocks, spread by hash.

A block is in the sample if a hash of its id is; distances among sampled blocks, divided by the
rate, estimate true distances (SHARDS, Waldspurger et al., FAST 2015). The sample is split into
groups that share no block, and the spread of their curves gives the error bars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from promptlint.errors import UsageError
from promptlint.trace.columns import Columns, mix
from promptlint.trace.curve.capacity import Point, Ratios, chunks
from promptlint.trace.curve.distance import Runs, Stack, measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Keys = NDArray[np.uint64]

GROUPS = 8
_MODULUS = 1 << 24


@dataclass(frozen=True, slots=True)
class _Group:
    """Cumulated hit weights of one group by its own stack distance, and its denominators."""

    hits: tuple[Floats, Floats, Floats, Floats]
    warm: tuple[Floats, Floats, Floats, Floats]
    rate: float


@dataclass(frozen=True, slots=True)
class SampledCurve:
    """Curves of disjoint groups of blocks, each ``rate / GROUPS`` of all."""

    groups: tuple[_Group, ...]
    rate: float
    unique_blocks: int  # estimated

    def rows(self, capacities: list[int]) -> list[tuple[Point, Ratios]]:
        """Return for each capacity the mean of the groups, and its standard error."""
        found = []
        for capacity in capacities:
            cold = np.array([_at(group.hits, capacity * group.rate) for group in self.groups])
            warm = np.array([_at(group.warm, capacity * group.rate) for group in self.groups])
            error = cold.std(axis=0, ddof=1) / np.sqrt(len(self.groups))
            point = Point(capacity, Ratios(*cold.mean(axis=0).tolist()), Ratios(*warm.mean(axis=0).tolist()))
            found.append((point, Ratios(*error.tolist())))
        return found

    def knees(self, count: int = 40) -> list[int]:
        """Return capacities spread evenly on a logarithmic axis; below one sampled block nothing is known."""
        low, top = max(1.0, GROUPS / self.rate), max(2.0, float(self.unique_blocks))
        return sorted({round(float(value)) for value in np.geomspace(min(low, top), top, count)})


def sampled_curve(columns: Columns, rate: float) -> SampledCurve:
    """Return an estimate of the capacity curve from a share of the blocks.

    Every request keeps its length and weight; a group's ratio is that of its own blocks.

    Raises:
        UsageError: a rate that is not between 0 and 1.
    """
    if not 0 < rate <= 1:
        raise UsageError(f"a sample of {rate}", "give a share of the blocks above 0 and up to 1")
    width = rate * _MODULUS / GROUPS
    at, ids = _drawn(columns, rate * _MODULUS)
    lots, block = _lots(ids), columns.block_tokens
    owner = np.searchsorted(columns.start, at, side="right") - 1
    index = at - columns.start[owner]
    covered = np.clip(columns.length[owner] - index * block, 0, block).astype(np.float64)
    share = 1.0 / columns.counts[owner]
    groups, unique = [], 0
    for number in range(GROUPS):
        kept = np.flatnonzero((lots >= number * width) & (lots < (number + 1) * width))
        kept_owner = owner[kept]
        start = np.searchsorted(kept_owner, np.arange(columns.requests + 1))
        runs, stack = measure(ids[kept], start.astype(np.int64), columns.time, Stack.empty())
        unique += len(stack.ids)
        weights = (np.ones(len(kept)), covered[kept], share[kept], (index[kept] == 0).astype(np.float64))
        late = kept_owner >= columns.requests // 2
        every = _distances(runs, start, len(kept))
        groups.append(
            _Group(
                _cumulated(every, weights, np.ones(len(kept), dtype=bool)),
                _cumulated(every, weights, late),
                rate / GROUPS,
            )
        )
    return SampledCurve(tuple(groups), rate, round(unique / rate))


def _lots(ids: Keys) -> Ints:
    """Return the lot of each id: 24 bits."""
    return (mix(mix(ids)) >> np.uint64(40)).astype(np.int64)


def _drawn(columns: Columns, limit: float) -> tuple[Ints, Keys]:
    """Return positions and ids of the references whose lot is below ``limit``, a chunk at a time."""
    at: list[Ints] = [np.zeros(0, dtype=np.int64)]
    ids: list[Keys] = [np.zeros(0, dtype=np.uint64)]
    begun = 0
    for chunk in chunks(columns):
        found = np.flatnonzero(_lots(chunk.ids) < limit)
        at.append(found + begun)
        ids.append(chunk.ids[found])
        begun += chunk.references
    return np.concatenate(at), np.concatenate(ids)


def _distances(runs: Runs, start: Ints, size: int) -> Ints:
    """Return the distance of each sampled reference; 0 for those that were never seen before."""
    found = np.zeros(size, dtype=np.int64)
    head = start[runs.request] + runs.first
    steps = np.arange(int(runs.length.sum()), dtype=np.int64) - np.repeat(
        np.cumsum(runs.length) - runs.length, runs.length
    )
    found[np.repeat(head, runs.length) + steps] = np.repeat(runs.distance, runs.length) + steps
    return found


def _cumulated(
    distances: Ints, weights: tuple[Floats, ...], chosen: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats, Floats]:
    rows = []
    for weight in weights:
        counted = np.bincount(distances[chosen], weights=weight[chosen], minlength=2)
        total = max(1e-300, float(counted.sum()))
        counted[0] = 0.0
        rows.append(np.cumsum(counted) / total)
    return rows[0], rows[1], rows[2], rows[3]


def _at(hits: tuple[Floats, ...], capacity: float) -> list[float]:
    """Return the hit weights at a capacity in sampled blocks, interpolated between whole ones."""
    return [float(np.interp(capacity, np.arange(len(row)), row)) for row in hits]
