"""An independent account of what stands in each slot: the measured side of every hit.

When a token is computed its slot gets a mark that stands for the token, its position and everything
before it. A hit counts as measured only if the marks of its slots are those of the prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptlint.cache.blocks import Extra
from promptlint_runtime.sequence import Chunk, Request, Run

_UNKNOWN = hash("unknown")


class Ledger:
    """Marks of all slots, kept beside the cache's own bookkeeping and never read by it."""

    def __init__(self) -> None:
        self._marks: dict[int, int] = {}

    def record(self, chunk: Chunk, extra: Extra) -> None:
        """Note that the tokens of a chunk are computed and stand in its own slots."""
        mark = _root(extra)
        if chunk.start:
            *_, (first, count) = chunk.past
            # What was computed before this account began stays unknown, and so does all behind it.
            mark = self._marks.get(first + count - 1, _UNKNOWN)
        for slot, token in zip(_slots(chunk.own), chunk.tokens, strict=True):
            mark = hash((mark, token))
            self._marks[slot] = mark

    def verified(self, request: Request, chunk: Chunk) -> int:
        """Return how many leading tokens of a request stand in the slots before its first chunk."""
        mark, good = _root(request.extra), 0
        for slot, token in zip(_slots(chunk.past), request.tokens, strict=False):
            mark = hash((mark, token))
            if self._marks.get(slot) != mark:
                break
            good += 1
        return good


def _root(extra: Extra) -> int:
    return hash(extra.namespace)


def _slots(runs: Sequence[Run]) -> Iterator[int]:
    for first, count in runs:
        yield from range(first, first + count)
