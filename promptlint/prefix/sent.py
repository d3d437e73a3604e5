"""A layout as the request that a hosted cache gets, and what of it such a cache would write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Protocol

from promptlint.cache.hosted import hosted_cache
from promptlint.cache.request import Block, Request, section_order
from promptlint.catalog.profile import Granularity, Profile
from promptlint.layout import Layout, Scope, Segment
from promptlint.source import Place


class Counted(Protocol):
    """A layout whose tokens are known."""

    @property
    def layout(self) -> Layout:
        """Return the layout."""
        ...

    def tokens(self, index: int) -> int:
        """Return the tokens of a segment, 0 for a hole."""
        ...


def one_way(measure: Counted) -> list[int]:
    """Return the indices of the segments on one way through the conditions: always the longer branch."""
    segments = measure.layout.segments
    weights: dict[Place, Counter[int]] = {}
    for index, segment in enumerate(segments):
        for guard in segment.guards:
            if guard.kind in ("if", "match", "try"):
                weights.setdefault(guard.place, Counter())[guard.branch] += measure.tokens(index) + 1
    longest = {place: counts.most_common(1)[0][0] for place, counts in weights.items()}
    return [
        index
        for index, segment in enumerate(segments)
        if all(longest.get(guard.place, guard.branch) == guard.branch for guard in segment.guards)
    ]


def as_request(
    measure: Counted, chosen: list[int], profile: Profile, turn: int = 0, best: bool = False
) -> Request:
    """Return some segments of a layout as the request number ``turn`` of a day.

    ``best`` takes them all as one section, and marks the last stable one where the provider needs marks.
    """
    layout = measure.layout
    stable = [
        index for index in chosen if not layout.segments[index].effective_scope.narrower_than(Scope.DAY)
    ]
    marked = stable[-1] if best and stable and profile.needs_marks else None
    blocks = []
    for index in chosen:
        segment = layout.segments[index]
        changes = segment.effective_scope.narrower_than(Scope.DAY)
        key = f"{index}:{turn if changes else ''}:{segment.text or segment.origin.expression}"
        mark = ("" if index == marked else None) if best else _mark(segment)
        blocks.append(
            Block(
                key,
                1 if segment.is_hole else measure.tokens(index),
                "messages" if best else segment.section.value,
                "tool" if not best and segment.section.value == "tools" else "text",
                mark,
                segment.message,
                segment.role,
            )
        )
    return Request(tuple(blocks), at=float(turn), automatic=None if best else _automatic(layout))


def _mark(segment: Segment) -> str | None:
    return segment.breakpoint.ttl if segment.breakpoint else None


def _automatic(layout: Layout) -> str | None:
    return "" if any(parameter.name == "cache_control" for parameter in layout.parameters) else None


def dearly_written(measure: Counted, profile: Profile) -> Iterator[tuple[int, float]]:
    """Yield up to which segment a cache that knows nothing writes, and the price of such a token.

    In the order in which it is billed: each price counts for what the one before has not covered. Nothing,
    where writing costs no more than not caching.
    """
    if profile.granularity is not Granularity.EXACT or max(profile.write_multiplier.values(), default=1) <= 1:
        return
    order = section_order(profile.order)
    chosen = sorted(one_way(measure), key=lambda at: order.index(measure.layout.segments[at].section.value))
    marks = hosted_cache(profile).send(as_request(measure, chosen, profile)).marks
    for mark in sorted(marks, key=lambda mark: (-(profile.lifetime(mark.ttl) or 0.0), mark.block)):
        if mark.result == "written":
            yield chosen[mark.block], profile.write_price(mark.ttl)
