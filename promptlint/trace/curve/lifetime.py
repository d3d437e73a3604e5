"""The lifetime curve: hit ratios if entries expire some time after their last touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from promptlint.trace.curve.capacity import Point, Ratios, Totals, chunks
from promptlint.trace.curve.distance import Runs, Stack, measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptlint.trace.columns import Columns

    Floats = NDArray[np.float64]

DEFAULT_LIFETIMES = (60, 300, 900, 1800, 3600, 4 * 3600, 24 * 3600)


def lifetime_curve(
    columns: Columns, lifetimes: Sequence[float], warm_after: int | None = None
) -> list[Point]:
    """Return the ratios for each lifetime in seconds, without a limit of capacity.

    The head of a chain is touched whenever its tail is, so the age along a request never falls
    and the usable part is a prefix: no second look at the blocks is needed.
    """
    half = columns.requests // 2 if warm_after is None else warm_after
    sums = np.zeros((2, len(lifetimes), 4))  # cold and warm: hit blocks, tokens, shares, first blocks
    stack, seen = Stack.empty(), 0
    for chunk in chunks(columns):
        runs, stack = measure(chunk.ids, chunk.start, chunk.time, stack)
        weights = _weights(chunk, runs)
        warm = runs.request + seen >= half
        for at, seconds in enumerate(lifetimes):
            usable = runs.age <= seconds
            sums[0, at] += weights[:, usable].sum(axis=1)
            sums[1, at] += weights[:, usable & warm].sum(axis=1)
        seen += chunk.requests
    everything = Totals(columns.requests, columns.references, columns.tokens)
    later = Totals(
        columns.requests - half, int(columns.counts[half:].sum()), int(columns.length[half:].sum())
    )
    return [
        Point(seconds, _ratios(sums[0, at], everything), _ratios(sums[1, at], later))
        for at, seconds in enumerate(lifetimes)
    ]


def _weights(columns: Columns, runs: Runs) -> Floats:
    """Return what each run is worth if it hits: a row each of blocks, tokens, shares and first blocks."""
    block, length = columns.block_tokens, columns.length[runs.request]
    covered = np.minimum((runs.first + runs.length) * block, length) - np.minimum(runs.first * block, length)
    share = runs.length / columns.counts[runs.request]
    return np.array([runs.length, covered, share, runs.first == 0], dtype=np.float64)


def _ratios(sums: Floats, totals: Totals) -> Ratios:
    blocks, tokens, share, first = (float(value) for value in sums)
    requests = max(1, totals.requests)
    return Ratios(
        blocks / max(1, totals.blocks), tokens / max(1, totals.tokens), share / requests, first / requests
    )
