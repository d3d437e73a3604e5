"""Runs: the literal text of a layout in pieces that are tokenised as one.

Adjacent literals make one run as long as they stand in the same message and under the same
conditions. Where one of these changes, tokens cannot (another message) or need not (another
branch) join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptlint.layout import Segment
from promptlint.tokens.base import Counter, Run


@dataclass(frozen=True, slots=True)
class LiteralRun:
    """Literal segments ``start`` to ``end`` (exclusive) and what they count to.

    ``open_end`` tells that something else follows in the same message: its text may join the last
    tokens of the run.
    """

    start: int
    end: int
    open_end: bool
    counts: Run

    @property
    def unsettled(self) -> int:
        """Return the tokens at the end that depend on what follows the run."""
        return self.counts.total - self.counts.stable if self.open_end else 0


def literal_runs(segments: Sequence[Segment], counter: Counter) -> list[LiteralRun]:
    """Count the literal text of a layout, run by run."""
    runs: list[LiteralRun] = []
    start = 0
    while start < len(segments):
        first = segments[start]
        end = start + 1
        if not first.is_hole:
            while end < len(segments) and _continues(first, segments[end]):
                end += 1
            texts = [segment.text or "" for segment in segments[start:end]]
            open_end = end < len(segments) and _same_message(first, segments[end])
            runs.append(LiteralRun(start, end, open_end, counter.run(texts)))
        start = end
    return runs


def _continues(first: Segment, other: Segment) -> bool:
    return (
        not other.is_hole
        and _same_message(first, other)
        and other.guards == first.guards
        and other.effective_scope is first.effective_scope
    )


def _same_message(left: Segment, right: Segment) -> bool:
    return (left.section, left.role, left.message) == (right.section, right.role, right.message)
