"""Entries of all logs in the order of time, without duplicates."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from promptlint.trace.explain.history import chain_of
from promptlint.trace.model import Request

_WINDOW = 4096  # requests that are held back to be put in order
_REMEMBERED = 200_000


@dataclass(slots=True)
class Intake:
    """Orders and cleans a stream of requests, in bounded memory.

    Logs are nearly in order: what lies further apart than the window is counted as ``late`` and
    passed on where it comes.
    """

    duplicates: int = 0
    late: int = 0
    without_time: int = 0
    _seen: OrderedDict[tuple[str, bytes], None] = field(default_factory=OrderedDict)

    def ordered(self, requests: Iterator[Request], by_time: bool) -> Iterator[Request]:
        """Yield requests oldest first; those without a time stay beside their neighbours."""
        heap: list[tuple[float, int, Request]] = []
        clock, last = 0.0, float("-inf")
        for number, request in enumerate(requests):
            if self._is_duplicate(request):
                self.duplicates += 1
                continue
            if request.time is None:
                self.without_time += 1
            clock = request.time if request.time is not None else clock
            if not by_time:
                yield request
                continue
            heapq.heappush(heap, (clock, number, request))
            if len(heap) > _WINDOW:
                time, _, first = heapq.heappop(heap)
                self.late += time < last
                last = max(last, time)
                yield first
        while heap:
            yield heapq.heappop(heap)[2]

    def _is_duplicate(self, request: Request) -> bool:
        """Tell whether a request of the same id and content was seen: exports repeat rows."""
        if not request.id:
            return False
        chain = chain_of(request.parts)
        key = (request.id, chain[-1] if chain else b"")
        if key in self._seen:
            return True
        self._seen[key] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return False
