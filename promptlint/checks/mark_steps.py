"""PL607 and PL608: marks from one call of a conversation to the next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.checks.base import Measure, Thresholds
from promptlint.checks.marks import automatic, marked, rules_of
from promptlint.checks.observed import Observed
from promptlint.findings import Finding
from promptlint.layout import Confidence, Guard, Kind, Layout, Scope, Section, Step
from promptlint.words import counted


@dataclass(frozen=True, slots=True)
class Lookback(Observed):
    """Reports turns so long that their mark does not find the write of the turn before."""

    code: str = "PL607"
    name: str = "mark-lookback"
    what: tuple[str, ...] = ("mark-lookback",)
    kind: Kind = Kind.BREAKPOINT_MISPLACED
    subject: str = (
        "one step adds more blocks than a mark looks back over, so that the earlier write is not found"
    )
    fix: str = "put another mark in the middle of long turns, every 15 blocks or so"

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each mark at the end of such a turn."""
        yield from self.observed(layout, measure)
        marks = marked(layout)
        profile = rules_of(layout, measure) if marks else None
        if profile is None or profile.lookback is None or profile.lookback_unit != "block":
            return
        for index, mark in marks:
            blocks = step_blocks(layout, index)
            if blocks >= profile.lookback:
                yield self.found(
                    f"at least {counted(blocks, 'block')} since the turn before, a mark looks back over "
                    f"{profile.lookback}: what that turn wrote is not found",
                    mark.place,
                    layout,
                    confidence=Confidence.MEDIUM,
                )


def step_blocks(layout: Layout, index: int) -> int:
    """Return the least number of blocks that a marked message adds to the conversation, 0 for the first.

    A block of fixed text is one literal segment, so that two literals side by side are two blocks;
    text with holes may be one block or several and counts as one. Another mark in between starts anew.
    """
    last = layout.segments[index]
    if last.section is not Section.MESSAGES:
        return 0
    count, at = 1, index
    while at > 0:
        before = layout.segments[at - 1]
        if before.section is not Section.MESSAGES:
            return 0
        if before.message != last.message:
            return count
        if before.breakpoint is not None:
            return 0
        if before.text is not None and layout.segments[at].text is not None:
            count += 1
        at -= 1
    return 0


_PER_CALL = re.compile(r"%|\b(?:turn|step|round|iteration|attempt|count|first|last|len\()", re.IGNORECASE)
# Where a turn stands, as the loop over them asks it: `i == len(messages) - 1`, `n in newest`.
_BY_PLACE = re.compile(r"\b(?:i|j|k|n|idx|index|pos|position)\b\s*(?:[<>!=]=?|(?:not\s+)?in\b)")


@dataclass(frozen=True, slots=True)
class Moved(Observed):
    """Reports marks that only some calls of a conversation carry: the others read nothing."""

    code: str = "PL608"
    name: str = "mark-moved"
    what: tuple[str, ...] = ("mark-moved",)
    kind: Kind = Kind.BREAKPOINT_MISPLACED
    subject: str = (
        "a mark moves away from where it was written before, so that the earlier write is never read"
    )
    fix: str = "mark the same place in every call, and add a mark at the new end"

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each mark that is there on one side of such a condition only."""
        yield from self.observed(layout, measure)
        marks = marked(layout)
        profile = rules_of(layout, measure) if marks else None
        if profile is None or not profile.needs_marks or automatic(layout) is not None:
            return
        for index, mark in marks:
            guard = self._condition(layout, index)
            if guard is not None:
                yield self.found(
                    f"the mark is set only where `{guard.expression}`: the other calls do not read what it wrote",
                    mark.place,
                    layout,
                    confidence=Confidence.MEDIUM,
                    related=(Step(guard.place, "depends on this"),),
                )

    def _condition(self, layout: Layout, index: int) -> Guard | None:
        """Return the condition that takes a mark away between calls, None where another mark stays."""
        for guard in layout.segments[index].guards:
            if guard.kind != "if" or not (guard.scope is Scope.REQUEST or _PER_CALL.search(guard.expression)):
                continue
            other = [
                segment
                for segment in layout.segments
                if any(g.place == guard.place and g.branch != guard.branch for g in segment.guards)
            ]
            behind = [
                segment
                for segment in layout.segments[index:]
                if segment.breakpoint and not any(g.place == guard.place for g in segment.guards)
            ]
            turns = any(segment.section is Section.MESSAGES and segment.is_hole for segment in other)
            if turns and _BY_PLACE.search(guard.expression):
                continue  # which turns have the mark: those at the end of each request
            if other and not behind and not any(segment.breakpoint for segment in other):
                return guard
        return None


CHECKS = (Lookback(), Moved())
