"""Stack distances of a log of block chains, for all requests at once.

A request looks up all its blocks, then touches them from tail to head. In an LRU stack the head
of a chain therefore lies above its tail, and a cache of C blocks holds exactly the top C of the
stack. A block is a hit at every capacity from its *stack distance* on: one more than the number
of distinct blocks touched since its own last touch (Mattson et al., 1970).

Two observations make this fast in numpy:

* Blocks of a request that were last touched side by side keep lying side by side, so distances
  grow by one along such a *run*. Only the head of a run needs counting. A prompt of hundreds of
  blocks has a handful of runs: one for every earlier request that it overlaps deepest.
* For the head of a run, last touched at position h of the timeline, the distance is the number
  of positions since h, less those whose block was touched again in the meantime. Each run of an
  earlier request is one interval of such dead positions: a weighted count of inversions, done by
  partitioning bit by bit.

    timeline   . . [c b a] . . [d a] . . | request (a b c ...)
                    tail→head      ^ last touch of a        one run: a;  another: b, c
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from promptlint.trace.columns import ordering

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Keys = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Stack:
    """The LRU stack between two chunks of a log, least recent block first."""

    ids: Keys
    time: Floats

    @classmethod
    def empty(cls) -> Stack:
        """Return the stack before the first request."""
        return cls(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of blocks that were seen before, one array element each.

    ``first`` is the index of the run's head block within its request, ``length`` its blocks;
    their stack distances are ``distance``, ``distance + 1``, … and all were last touched ``age``
    seconds before the request.
    """

    request: Ints
    first: Ints
    length: Ints
    distance: Ints
    age: Floats


def measure(ids: Keys, start: Ints, time: Floats, stack: Stack) -> tuple[Runs, Stack]:
    """Return the runs of the requests in ``ids[start[i]:start[i + 1]]`` and the stack after them.

    Ids must stand for whole prefixes (`Columns.chained`), requests come oldest first. Memory is
    proportional to the chunk plus the distinct blocks so far.
    """
    base = len(stack.ids)
    counts = np.diff(start)
    total = base + len(ids)
    owner = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    # Position on the timeline: the stack first, then each request from its tail to its head.
    place = (base + start[:-1] + start[1:] - 1)[owner] - np.arange(len(ids), dtype=np.int64)
    timeline = np.empty(total, dtype=np.uint64)
    timeline[:base] = stack.ids
    timeline[place] = ids
    touched = np.concatenate([stack.time, time[owner]])

    now, before, last = _previous(timeline)
    after = Stack(timeline[last], touched[last])
    # The stack holds every block once, so `now` lies behind it.
    when = owner[now - base] if len(now) else now
    joined = np.zeros(len(now), dtype=bool)
    joined[1:] = (
        (now[1:] == now[:-1] + 1)
        & (before[1:] == before[:-1] + 1)
        & (when[1:] == when[:-1])
        & (touched[before[1:]] == touched[before[:-1]])
    )
    opens = np.flatnonzero(~joined)
    closes = np.append(opens[1:], len(now))[: len(opens)]
    length = closes - opens
    heads = closes - 1
    request = when[heads]
    high = before[heads]
    dead = _larger_before(high, length)
    opened = base + start[request]  # position at which the request begins
    first = base + start[request + 1] - 1 - now[heads]
    return Runs(request, first, length, opened - high - dead, time[request] - touched[high]), after


def _previous(timeline: Keys) -> tuple[Ints, Ints, Ints]:
    """Return (position, previous position of the same id) in order, and the last positions."""
    size = len(timeline)
    if size == 0:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, empty
    order, same = ordering(timeline)
    previous = np.empty(size, dtype=np.int64)
    seen = np.zeros(size, dtype=bool)
    later = order[1:][same]
    previous[later] = order[:-1][same]
    seen[later] = True
    final = np.ones(size, dtype=bool)
    final[order[:-1][same]] = False
    now = np.flatnonzero(seen)
    return now, previous[now], np.flatnonzero(final)


def _larger_before(keys: Ints, weights: Ints) -> Ints:
    """Return for each element the weight of the earlier elements with a larger key.

    Keys are distinct. Elements are split by one bit of their key's rank at a time, the order
    inside each half kept; an element of the lower half then owes the weight of those elements of
    the upper half that came before it.
    """
    size = len(keys)
    owed = np.zeros(size, dtype=np.int64)
    if size < 2:
        return owed
    rank = np.empty(size, dtype=np.int64)
    rank[np.argsort(keys)] = np.arange(size, dtype=np.int64)
    who = np.arange(size, dtype=np.int64)
    for bit in reversed(range(int(size - 1).bit_length())):
        upper = (rank >> bit) & 1
        weight = weights[who]
        running = np.cumsum(weight * upper)
        # A node holds the ranks of one prefix of bits; it begins at the slot of its least rank.
        begin = (rank >> (bit + 1)) << (bit + 1)
        ahead = np.cumsum(upper)
        base_weight = np.where(begin > 0, running[begin - 1], 0)
        base_ahead = np.where(begin > 0, ahead[begin - 1], 0)
        low = upper == 0
        owed[who[low]] += running[low] - base_weight[low]
        within = ahead - base_ahead  # upper elements of this node up to and with this one
        target = np.where(low, np.arange(size) - within, begin + (1 << bit) + within - 1)
        moved_rank, moved_who = np.empty_like(rank), np.empty_like(who)
        moved_rank[target], moved_who[target] = rank, who
        rank, who = moved_rank, moved_who
    return owed
