"""What a layout costs and what a cache can reuse of it. Nothing is counted before it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from promptlint.catalog.profile import Profile
from promptlint.findings import Cost
from promptlint.layout import Guard, Layout, Scope
from promptlint.prefix.reusable import Reusable, block_of, reusable
from promptlint.prefix.sent import dearly_written
from promptlint.prefix.stable import LiteralRun, literal_runs
from promptlint.prefix.tree import behind, path_to
from promptlint.tokens.base import Counter


class Measure:
    """Token counts of one layout under one profile.

    Holes count 0: their text is not known. Messages are counted without the markup that a chat
    template puts between them.
    """

    def __init__(self, layout: Layout, profile: Profile, counter: Counter) -> None:
        self.layout = layout
        self.profile = profile
        self.counter = counter
        self._behind: dict[tuple[int, frozenset[Guard]], list[int]] = {}
        self._prefixes: dict[Scope, Reusable] = {}

    @cached_property
    def runs(self) -> list[LiteralRun]:
        """Return the literal runs with their counts."""
        return literal_runs(self.layout.segments, self.counter)

    @cached_property
    def _tokens(self) -> list[int]:
        tokens = [0] * len(self.layout.segments)
        for run in self.runs:
            before = 0
            for index, end in enumerate(run.counts.ends, run.start):
                tokens[index], before = end - before, end
        return tokens

    def tokens(self, index: int) -> int:
        """Return the tokens of a literal segment, 0 for a hole."""
        return self._tokens[index]

    @property
    def total(self) -> int:
        """Return the literal tokens of the longest prompt: of alternatives the longest, loops once."""
        return self._weights_behind(_EVERY)[-1]

    @property
    def estimated(self) -> bool:
        """Tell whether the counts are estimates."""
        return not self.counter.exact

    def prefix(self, scope: Scope) -> Reusable:
        """Return what requests share that agree in everything of ``scope`` and wider."""
        known = self._prefixes.get(scope)
        if known is None:
            known = self._prefixes[scope] = self._prefix(scope)
        return known

    def _prefix(self, scope: Scope) -> Reusable:
        segments = self.layout.segments
        first = next(
            (at for at, segment in enumerate(segments) if segment.effective_scope.narrower_than(scope)),
            None,
        )
        if first is None:
            holes = sum(segment.is_hole for segment in segments)
            return reusable(self.total, self.profile, None, holes)
        front = path_to(segments, first)
        chosen = [segments[at] for at in front]
        tokens = behind(chosen, lambda at: self._tokens[front[at]])[-1]
        if front:
            last = next((run for run in self.runs if run.end == front[-1] + 1), None)
            tokens -= last.unsettled if last else 0
        return reusable(tokens, self.profile, first, sum(segment.is_hole for segment in chosen))

    def lost_behind(self, index: int, scope: Scope, within: Iterable[Guard] = ()) -> Cost:
        """Return the literal tokens behind a segment that would be reusable but for it.

        Those are the ones whose scope is wider than ``scope``, the segment's own. Of alternatives
        the longest counts, loops count once. What stands under conditions that hold for all requests in
        question, ``within``, is there in each of them.
        """
        shared = frozenset(guard for guard in within if guard.scope.rank >= scope.rank)
        left = self._weights_behind(scope.rank, shared)
        tokens = left[index]
        blocks = tokens // block_of(self.profile)
        return Cost(
            tokens,
            blocks,
            self.profile.name,
            self.estimated,
            price=self._price(index, left) if tokens else 1.0,
        )

    @cached_property
    def _dearly_written(self) -> tuple[tuple[int, float], ...]:
        return tuple(dearly_written(self, self.profile))

    def _price(self, index: int, left: list[int]) -> float:
        """Return the mean price of the tokens behind a segment, which no request finds; ``left`` counts them."""
        paid, billed = 0.0, index
        for end, price in self._dearly_written:
            if end > billed:
                paid += (price - 1) * max(0, left[billed] - left[end])
                billed = end
        return 1 + paid / left[index]

    def _weights_behind(self, rank: int, shared: frozenset[Guard] = frozenset()) -> list[int]:
        """Return the tokens of scopes wider than ``rank`` behind each segment."""
        known = self._behind.get((rank, shared))
        if known is None:
            segments, tokens = self.layout.segments, self._tokens

            def weight(at: int) -> int:
                return tokens[at] if segments[at].scope_within(shared).rank < rank else 0

            known = self._behind[rank, shared] = behind(segments, weight)
        return known


_EVERY = len(Scope) + 1
