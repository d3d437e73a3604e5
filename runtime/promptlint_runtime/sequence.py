"""Requests, what is known of one on its way, and its share of one step. No tensor here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from promptlint.cache.base import Admission
from promptlint.cache.blocks import PLAIN, Extra

Run = tuple[int, int]  # first slot, number of slots


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt as the engine gets it: greedy decode of ``max_new`` tokens, or up to one of ``stop``."""

    id: int
    tokens: tuple[int, ...]
    max_new: int = 1
    extra: Extra = PLAIN
    stop: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one request computes in one step: ``tokens`` at positions from ``start`` on."""

    request: int
    tokens: tuple[int, ...]
    start: int
    past: tuple[Run, ...]  # slots of the positions before `start`
    own: tuple[Run, ...]  # slots of the tokens themselves
    sample: bool  # whether the last token's logits are needed


@dataclass(slots=True, eq=False)
class Progress:
    """A request on its way: what is computed, what came out, what it found in the cache."""

    request: Request
    admission: Admission | None = None  # None while it waits
    output: list[int] = field(default_factory=list)
    computed: int = 0  # leading tokens whose keys and values stand in memory
    prefilled: int = 0  # prompt tokens run through the model at the first admission
    reached: int = 0  # prompt tokens that stood in memory at the end of the first admission
    hit: int | None = None  # tokens found at the first admission
    preempted: int = 0

    @property
    def tokens(self) -> tuple[int, ...]:
        """Return the prompt and what was generated so far."""
        return self.request.tokens + tuple(self.output)

    @property
    def length(self) -> int:
        """Return the number of tokens known so far."""
        return len(self.request.tokens) + len(self.output)

    @property
    def done(self) -> bool:
        """Tell whether nothing more is to be generated."""
        if len(self.output) >= self.request.max_new:
            return True
        return bool(self.output) and self.output[-1] in self.request.stop


def runs(blocks: Sequence[int], size: int, start: int, stop: int) -> tuple[Run, ...]:
    """Return the slots of positions ``start`` to ``stop``, joined where blocks are neighbours.

    Block ``b`` holds slots ``b·size`` to ``(b+1)·size``.
    """
    found: list[Run] = []
    for first, count in _pieces(blocks, size, start, stop):
        if found and found[-1][0] + found[-1][1] == first:
            found[-1] = (found[-1][0], found[-1][1] + count)
        else:
            found.append((first, count))
    return tuple(found)


def _pieces(blocks: Sequence[int], size: int, start: int, stop: int) -> Iterator[Run]:
    at = start
    while at < stop:
        index, inside = divmod(at, size)
        count = min(size - inside, stop - at)
        yield blocks[index] * size + inside, count
        at += count
