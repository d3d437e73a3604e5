"""Plain replacement policies over block chains: the yardstick of the curve, and what-ifs."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from promptlint.trace.columns import Columns
from promptlint.trace.curve.capacity import Ratios


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
    """First in, first out: a touch changes nothing."""

    capacity: int | None
    _order: OrderedDict[int, None]

    def request(self, blocks: list[int]) -> int:
        """See `Policy`."""
        order = self._order
        hit = _prefix(blocks, order)
        for block in reversed(blocks):
            order.setdefault(block, None)
        if self.capacity is not None:
            while len(order) > self.capacity:
                order.popitem(last=False)
        return hit


@dataclass(slots=True)
class Belady:
    """Evict what is needed last: the bound that no real policy beats, with the future known."""

    capacity: int | None
    _next: Iterator[list[int]]  # per request, the next use of each of its blocks
    _resident: dict[int, int]
    _heap: list[tuple[int, int]]

    def request(self, blocks: list[int]) -> int:
        """See `Policy`."""
        hit = _prefix(blocks, self._resident)
        uses = next(self._next)
        for block, use in zip(reversed(blocks), reversed(uses), strict=True):
            self._resident[block] = use
            heapq.heappush(self._heap, (-use, block))
        if self.capacity is not None:
            while len(self._resident) > self.capacity:
                use, block = heapq.heappop(self._heap)
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


def run(columns: Columns, policy: Policy) -> Ratios:
    """Run a policy over a log of one cache and return its hit ratios."""
    ids, start, length = columns.ids.tolist(), columns.start.tolist(), columns.length.tolist()
    blocks_hit = tokens_hit = any_hit = 0
    share = 0.0
    for request in range(columns.requests):
        blocks = ids[start[request] : start[request + 1]]
        hit = policy.request(blocks)
        blocks_hit += hit
        tokens_hit += min(hit * columns.block_tokens, length[request])
        share += hit / len(blocks) if blocks else 0.0
        any_hit += hit > 0
    requests = max(1, columns.requests)
    return Ratios(
        blocks_hit / max(1, columns.references),
        tokens_hit / max(1, columns.tokens),
        share / requests,
        any_hit / requests,
    )
