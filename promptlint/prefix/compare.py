"""The same prompt in the order that a cache likes best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from promptlint.catalog.profile import Profile
from promptlint.layout import Layout, Scope, Section, Segment
from promptlint.prefix.measure import Measure
from promptlint.prefix.reusable import Reusable
from promptlint.tokens.base import Counter

_SECTIONS = tuple(Section)
_BRANCHING = ("if", "try", "match")  # the text of a loop is one piece


@dataclass(frozen=True, slots=True)
class Reordering:
    """A better order and what it is worth.

    Attributes:
        order: indices of the layout's segments in the new order; equal to the old one if nothing helps.
        before, after: the reusable prefix for ``scope``, as written and reordered.
    """

    scope: Scope
    order: tuple[int, ...]
    before: Reusable
    after: Reusable

    @property
    def gained(self) -> int:
        """Return the literal tokens that become reusable."""
        return self.after.tokens - self.before.tokens

    @property
    def changed(self) -> bool:
        """Tell whether the order differs from the one as written."""
        return any(index != at for at, index in enumerate(self.order))


def compare(layout: Layout, profile: Profile, counter: Counter, scope: Scope) -> Reordering:
    """Put the stable before the changing, as far as that keeps what the prompt says.

    Segments are sorted by scope, stably, within the tools, within the system prompt, and within each
    message; conversations keep their order. Text under one condition stays together, and is sorted in itself.
    Whether the text still reads well is for a person to judge.
    """
    order = best_order(layout.segments)
    before = Measure(layout, profile, counter).prefix(scope)
    moved = layout.with_segments(tuple(layout.segments[index] for index in order))
    after = Measure(moved, profile, counter).prefix(scope)
    if after.tokens <= before.tokens:
        return Reordering(scope, tuple(range(len(order))), before, before)
    return Reordering(scope, order, before, after)


def best_order(segments: tuple[Segment, ...]) -> tuple[int, ...]:
    """Return the indices of the segments in the order of `compare`."""
    return tuple(_ordered(range(len(segments)), segments, 0))


def _ordered(indices: Sequence[int], segments: tuple[Segment, ...], depth: int) -> list[int]:
    """Order segments that stand under the same conditions, ``depth`` of them."""

    def rank(unit: list[int]) -> tuple[int, int, int]:
        first = segments[unit[0]]
        place = _SECTIONS.index(first.section)
        message = first.message if first.section is Section.MESSAGES else 0
        return place, message, max(segments[at].effective_scope.rank for at in unit)

    out: list[int] = []
    for unit in sorted(_units(indices, segments, depth), key=rank):
        guards = segments[unit[0]].guards[depth:]
        if len(unit) == 1 or not guards or guards[0].kind not in _BRANCHING:
            out += unit
            continue
        for _, branch in groupby(unit, key=lambda at: segments[at].guards[depth].branch):
            out += _ordered(list(branch), segments, depth + 1)
    return out


def _units(indices: Sequence[int], segments: tuple[Segment, ...], depth: int) -> list[list[int]]:
    """Return runs of segments that move together: those under one condition in one message."""
    units: list[list[int]] = []
    before: Segment | None = None
    for at in indices:
        segment = segments[at]
        guards = segment.guards[depth:]
        if (
            before is not None
            and guards
            and before.guards[depth:]
            and guards[0].place == before.guards[depth].place
            and segment.of_message == before.of_message
        ):
            units[-1].append(at)
        else:
            units.append([at])
        before = segment
    return units
