"""The lifetime curve: hit ratios if entries expire some time after their last touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from promptlint.trace.curve.capacity import Point, Ratios, Totals
from promptlint.trace.curve.distance import Stack, measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptlint.trace.columns import Columns

    Floats = NDArray[np.float64]

DEFAULT_LIFETIMES = (60, 300, 900, 1800, 3600, 4 * 3600, 24 * 3600)


@dataclass(frozen=True, slots=True)
class _Weights:
    blocks: Floats
    tokens: Floats
    share: Floats
    first: Floats

    def ratios(self, usable: NDArray[np.bool_], totals: Totals) -> Ratios:
        """Return what the usable runs amount to."""
        parts = (float(part[usable].sum()) for part in (self.blocks, self.tokens, self.share, self.first))
        blocks, tokens, share, first = parts
        return Ratios(
            blocks / max(1, totals.blocks),
            tokens / max(1, totals.tokens),
            share / max(1, totals.requests),
            first / max(1, totals.requests),
        )


def lifetime_curve(
    columns: Columns, lifetimes: Sequence[float], warm_after: int | None = None
) -> list[Point]:
    """Return the ratios for each lifetime in seconds, without a limit of capacity.

    The head of a chain is touched whenever its tail is, so the age along a request never falls
    and the usable part is a prefix: no second look at the blocks is needed.
    """
    half = columns.requests // 2 if warm_after is None else warm_after
    counts = columns.counts
    runs, _ = measure(columns.ids, columns.start, columns.time, Stack.empty())
    block, length = columns.block_tokens, columns.length[runs.request]
    covered = np.minimum((runs.first + runs.length) * block, length) - np.minimum(runs.first * block, length)
    weights = _Weights(
        runs.length.astype(np.float64),
        covered.astype(np.float64),
        runs.length / counts[runs.request],
        (runs.first == 0).astype(np.float64),
    )
    everything = Totals(columns.requests, columns.references, columns.tokens)
    later = Totals(columns.requests - half, int(counts[half:].sum()), int(columns.length[half:].sum()))
    warm = runs.request >= half
    return [
        Point(
            seconds,
            weights.ratios(runs.age <= seconds, everything),
            weights.ratios((runs.age <= seconds) & warm, later),
        )
        for seconds in lifetimes
    ]
