"""The same prompt in the order that a cache likes best."""

from __future__ import annotations

from dataclasses import dataclass

from promptlint.catalog.profile import Profile
from promptlint.layout import Layout, Scope, Section, Segment
from promptlint.prefix.measure import Measure
from promptlint.prefix.reusable import Reusable
from promptlint.tokens.base import Counter

_SECTIONS = tuple(Section)


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
    message; conversations keep their order and text under one condition stays together. Whether the
    text still reads well is for a person to judge.
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
    units = _units(segments)

    def rank(unit: list[int]) -> tuple[int, int, int]:
        first = segments[unit[0]]
        place = _SECTIONS.index(first.section)
        message = first.message if first.section is Section.MESSAGES else 0
        return place, message, max(segments[at].effective_scope.rank for at in unit)

    return tuple(at for unit in sorted(units, key=rank) for at in unit)


def _units(segments: tuple[Segment, ...]) -> list[list[int]]:
    """Return runs of segments that move together: those under one outermost condition in one message."""
    units: list[list[int]] = []
    for at, segment in enumerate(segments):
        if units and at:
            before = segments[at - 1]
            together = (
                bool(segment.guards and before.guards)
                and segment.guards[0].place == before.guards[0].place
                and (segment.section, segment.message) == (before.section, before.message)
            )
            if together:
                units[-1].append(at)
                continue
        units.append([at])
    return units
