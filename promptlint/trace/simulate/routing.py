"""What-ifs: the same log over n replicas, each with a cache of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from promptlint.errors import UsageError
from promptlint.trace.columns import Columns, mix
from promptlint.trace.curve.capacity import Point, separate_curves
from promptlint.words import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

ROUTERS = ("round-robin", "session", "prefix")


@dataclass(frozen=True, slots=True)
class Routed:
    """Hit ratios of one way to spread a log; ``capacity_blocks`` is that of each replica."""

    router: str
    replicas: int
    capacity_blocks: int | None
    point: Point
    busiest_share: float  # tokens of the busiest replica over the mean: 1 is even


def assign(columns: Columns, router: str, replicas: int) -> Ints:
    """Return the replica of each request.

    ``round-robin`` takes turns, ``session`` keeps a conversation together, ``prefix`` goes where
    the deepest known block of the prompt was served last, else to the replica with least tokens.

    Raises:
        UsageError: an unknown router, or fewer than one replica.
    """
    if replicas < 1:
        raise UsageError(counted(replicas, "replica"), "give a number of at least 1")
    if router == "round-robin":
        return np.arange(columns.requests, dtype=np.int64) % replicas
    if router == "session":
        return (mix(columns.session.astype(np.uint64)) % np.uint64(replicas)).astype(np.int64)
    if router == "prefix":
        return _by_prefix(columns, replicas)
    raise UsageError(f"no router {router!r}", f"choose one of {', '.join(ROUTERS)}")


def _by_prefix(columns: Columns, replicas: int) -> Ints:
    served: dict[int, int] = {}
    load = [0] * replicas
    chosen = np.zeros(columns.requests, dtype=np.int64)
    for request, (blocks, tokens) in enumerate(zip(columns.blocks(), columns.length.tolist(), strict=True)):
        low, high = 0, len(blocks)  # ids are prefixes, so known ones come first
        while low < high:
            middle = (low + high) // 2
            if blocks[middle] in served:
                low = middle + 1
            else:
                high = middle
        replica = served[blocks[low - 1]] if low else load.index(min(load))
        load[replica] += tokens
        chosen[request] = replica
        for block in blocks:
            served[block] = replica
    return chosen


def what_if(columns: Columns, router: str, replicas: int, capacity: int | None) -> Routed:
    """Return the ratios if the log were spread over replicas of the given capacity in blocks."""
    where = assign(columns, router, replicas)
    spread = replace(
        columns,
        namespace=columns.namespace * replicas + where,
        namespaces=tuple(f"{name}/{n}" for name in columns.namespaces for n in range(replicas)),
    ).separated()
    curve = separate_curves(spread)
    point = curve.points([capacity if capacity is not None else max(1, curve.unique_blocks)])[0]
    tokens = np.bincount(where, weights=columns.length, minlength=replicas)
    mean = float(tokens.mean()) or 1.0
    return Routed(router, replicas, capacity, point, float(tokens.max()) / mean)
