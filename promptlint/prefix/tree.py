"""Segments under branches: of alternatives only one is in a prompt.

::

    segments   s0   s1(if)   s2(else)   s3          guards of s1, s2: the same condition, branches 0 and 1
    tree       s0   [ s1 | s2 ]         s3
    longest    w0 + max(w1, w2) + w3

All sums run over the tree once, so that a layout of n segments costs O(n times its nesting).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from promptlint.layout import Guard, Segment
from promptlint.source import Place

Weight = Callable[[int], int]


def behind(segments: Sequence[Segment], weight: Weight) -> list[int]:
    """Return, for each segment, the most weight that can stand behind it in one prompt.

    Branches that exclude the segment's own do not count; of others the heaviest does. One entry
    more than segments: the last is the whole prompt, in front of the first segment.
    """
    after = [0] * (len(segments) + 1)
    after[-1] = _fill(segments, weight, 0, len(segments), 0, 0, after)
    return after


def _fill(
    segments: Sequence[Segment],
    weight: Weight,
    start: int,
    end: int,
    depth: int,
    base: int,
    after: list[int],
) -> int:
    """Fill ``after`` for segments ``start`` to ``end``; return the weight from ``start`` on."""
    total = base
    for low, high in _groups_backwards(segments, start, end, depth):
        if high - low == 1 and len(segments[low].guards) <= depth:
            after[low] = total
            total += weight(low)
            continue
        ways = [
            _fill(segments, weight, first, last, depth + 1, total, after)
            for first, last in _branches(segments, low, high, depth)
        ]
        total = max(total, *ways)
    return total


def path_to(segments: Sequence[Segment], index: int) -> list[int]:
    """Return the segments that can stand in front of one in the same prompt."""
    guards = segments[index].guards
    return [at for at in range(index) if not _excludes(segments[at].guards, guards)]


def _excludes(left: tuple[Guard, ...], right: tuple[Guard, ...]) -> bool:
    """Tell whether two segments stand in different branches of one condition."""
    for one, two in zip(left, right, strict=False):
        if _condition(one) != _condition(two):
            return False
        if one.branch != two.branch:
            return True
    return False


def _condition(guard: Guard) -> tuple[str, Place]:
    return guard.kind, guard.place


def _groups_backwards(
    segments: Sequence[Segment], start: int, end: int, depth: int
) -> Iterator[tuple[int, int]]:
    """Yield ranges under one condition, or single segments under none, from the end."""
    high = end
    while high > start:
        low = high - 1
        guards = segments[low].guards
        if len(guards) > depth:
            own = _condition(guards[depth])
            while low > start:
                before = segments[low - 1].guards
                if len(before) <= depth or _condition(before[depth]) != own:
                    break
                low -= 1
        yield low, high
        high = low


def _branches(segments: Sequence[Segment], start: int, end: int, depth: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of one condition's branches."""
    low = start
    for at in range(start + 1, end + 1):
        if at == end or segments[at].guards[depth].branch != segments[low].guards[depth].branch:
            yield low, at
            low = at
