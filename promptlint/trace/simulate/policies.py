"""Plain replacement policies over block chains: the yardstick of the curve, and what-ifs."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from promptlint.trace.columns import Columns
from promptlint.trace.curve.capacity import Point, Ratios


class Policy(Protocol):
    """A cache of blocks under request-atomic rules: look up all, then touch tail to head, then evict."""

    def request(self, blocks: list[int]) -> int:
        """Return the leading blocks found, and take the request in."""
        ...


@dataclass(slots=True)
class Lru:
    """Least recently used."""

    capacity: int | None
    _order: OrderedDict[int, None]

    def request(self, blocks: list[int]) -> int:
        """See `Policy`."""
        order = self._order
        hit = _prefix(blocks, order)
        for block in reversed(blocks):
            order[block] = None
            order.move_to_end(block)
        if self.capacity is not None:
            while len(order) > self.capacity:
                order.popitem(last=False)
        return hit


@dataclass(slots=True)
class Fifo:
    """First in, first out: a touch changes nothing, and a block makes room when it comes in, head first."""

    capacity: int | None
    _order: OrderedDict[int, None]

    def request(self, blocks: list[int]) -> int:
        """See `Policy`."""
        order = self._order
        hit = _prefix(blocks, order)
        for block in blocks:
            if block in order:
                continue
            if self.capacity is not None and len(order) >= self.capacity:
                order.popitem(last=False)
            order[block] = None
        return hit


@dataclass(slots=True)
class Belady:
    """Evict what is needed last, of equals the deepest: the bound that no real policy beats."""

    capacity: int | None
    _next: Iterator[list[int]]  # per request, the next use of each of its blocks
    _resident: dict[int, int]
    _heap: list[tuple[int, int, int]]

    def request(self, blocks: list[int]) -> int:
        """See `Policy`."""
        hit = _prefix(blocks, self._resident)
        for depth, (block, use) in enumerate(zip(blocks, next(self._next), strict=True)):
            self._resident[block] = use
            heapq.heappush(self._heap, (-use, -depth, block))
        if self.capacity is not None:
            while len(self._resident) > self.capacity:
                use, _, block = heapq.heappop(self._heap)
                if self._resident.get(block) == -use:
                    del self._resident[block]
        return hit


def _prefix(blocks: list[int], known: dict[int, None] | OrderedDict[int, None] | dict[int, int]) -> int:
    hit = 0
    for block in blocks:
        if block not in known:
            break
        hit += 1
    return hit


def _next_uses(columns: Columns) -> Iterator[list[int]]:
    """Yield for each request the number of the request that uses each of its blocks next."""
    never = columns.requests
    upcoming: dict[int, int] = {}
    rows: list[list[int]] = []
    ids, start = columns.ids.tolist(), columns.start.tolist()
    for request in range(columns.requests - 1, -1, -1):
        blocks = ids[start[request] : start[request + 1]]
        rows.append([upcoming.get(block, never) for block in blocks])
        for block in blocks:
            upcoming[block] = request
    yield from reversed(rows)


def lru(columns: Columns, capacity: int | None) -> Policy:
    """Return an empty LRU cache."""
    return Lru(capacity, OrderedDict())


def fifo(columns: Columns, capacity: int | None) -> Policy:
    """Return an empty FIFO cache."""
    return Fifo(capacity, OrderedDict())


def belady(columns: Columns, capacity: int | None) -> Policy:
    """Return an empty cache that knows the log's future."""
    return Belady(capacity, _next_uses(columns), {}, [])


POLICIES: dict[str, Callable[[Columns, int | None], Policy]] = {"lru": lru, "fifo": fifo, "belady": belady}


@dataclass(slots=True)
class _Sums:
    blocks: int = 0
    hit_blocks: int = 0
    tokens: int = 0
    hit_tokens: int = 0
    requests: int = 0
    any_hit: int = 0
    share: float = 0.0

    def add(self, blocks: int, hit: int, tokens: int, hit_tokens: int) -> None:
        self.requests += 1
        self.blocks += blocks
        self.hit_blocks += hit
        self.tokens += tokens
        self.hit_tokens += hit_tokens
        self.any_hit += hit > 0
        self.share += hit / blocks if blocks else 0.0

    def ratios(self) -> Ratios:
        requests = max(1, self.requests)
        return Ratios(
            self.hit_blocks / max(1, self.blocks),
            self.hit_tokens / max(1, self.tokens),
            self.share / requests,
            self.any_hit / requests,
        )


def run(columns: Columns, policy: Policy, capacity: int | None = None) -> Point:
    """Run a policy over a log of one cache; return its hit ratios over all requests and the later half."""
    cold, warm = _Sums(), _Sums()
    for request, (blocks, tokens) in enumerate(zip(columns.blocks(), columns.length.tolist(), strict=True)):
        hit = policy.request(blocks)
        row = (len(blocks), hit, tokens, min(hit * columns.block_tokens, tokens))
        cold.add(*row)
        if request >= columns.requests // 2:
            warm.add(*row)
    return Point(float(capacity or 0), cold.ratios(), warm.ratios())
