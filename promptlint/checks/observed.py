"""The mechanism of rules whose fault a frontend saw in the program, not in a segment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.checks.base import Measure, Thresholds, lost_text, weaker
from promptlint.findings import Cost, Finding, Fix, Severity
from promptlint.layout import OBSERVATIONS, Confidence, Kind, Layout, Observation, Scope, Section, Step
from promptlint.source import Place

# What is computed again: all behind the tools, all behind the place, or nothing that is text of ours.
BEHIND_TOOLS, BEHIND_PLACE, NOT_TEXT = "tools", "place", "none"


@dataclass(frozen=True, slots=True)
class Observed:
    """Turns observations of one kind into findings; the base of rules that also look for themselves.

    ``subject`` says what happens; the observation's own ``detail`` follows it. ``behind`` says which
    text is computed again.
    """

    code: str
    name: str
    what: tuple[str, ...]
    kind: Kind
    subject: str
    fix: str
    severity: Severity = Severity.WARNING
    scope: Scope = Scope.SESSION  # where the observation has no cause of its own
    behind: str = NOT_TEXT
    shows_code: bool = False  # the details are code, not words
    default: bool = True

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each observation."""
        yield from self.observed(layout, measure)

    def found(
        self,
        message: str,
        place: Place,
        layout: Layout,
        severity: Severity | None = None,
        fix: str = "",
        *,
        confidence: Confidence = Confidence.HIGH,
        scope: Scope = Scope.UNKNOWN,
        origin: Place | None = None,
        related: tuple[Step, ...] = (),
        cost: Cost | None = None,
    ) -> Finding:
        """Return a finding of this rule that a check has made out itself; severity and fix as a rule."""
        return Finding(
            self.code,
            self.name,
            self.kind,
            message,
            place,
            severity or self.severity,
            weaker(confidence, layout.confidence),
            scope,
            origin if origin != place else None,
            related,
            cost,
            Fix(fix or self.fix),
            prompt=layout.name,
        )

    def observed(self, layout: Layout, measure: Measure) -> Iterator[Finding]:
        """Yield one finding for each observation of the kinds that this rule is about."""
        for seen in layout.observations:
            if seen.what in self.what:
                yield self._of(layout, measure, seen)

    def _of(self, layout: Layout, measure: Measure, seen: Observation) -> Finding:
        cause = seen.cause
        cost = self._cost(layout, measure, seen)
        detail = f"`{seen.detail}`" if self.shows_code and "`" not in seen.detail else seen.detail
        detail = f": {detail}" if seen.detail else ""
        lost = f"; {lost_text(cost, False)} cannot be reused" if cost and cost.tokens else ""
        confidence = weaker(seen.confidence, layout.confidence)
        subject = self.subject if seen.what == self.what[0] else OBSERVATIONS[seen.what]
        return Finding(
            self.code,
            self.name,
            self.kind,
            f"{subject}{detail}{lost}",
            seen.place,
            self.severity,
            weaker(confidence, cause.confidence) if cause else confidence,
            cause.scope if cause else self.scope,
            cause.place if cause and cause.place != seen.place else None,
            (*(cause.chain if cause else ()), *seen.related),
            cost,
            Fix(self.fix),
            prompt=layout.name,
        )

    def _cost(self, layout: Layout, measure: Measure, seen: Observation) -> Cost | None:
        """Return the stable tokens behind what was seen, None where they are not in the layout."""
        scope = seen.cause.scope if seen.cause else self.scope
        segments = layout.segments
        if self.behind == BEHIND_TOOLS:
            tools = [index for index, segment in enumerate(segments) if segment.section is Section.TOOLS]
            index = tools[-1] if tools else None
            if index is None:
                return _whole(measure, len(segments)) if segments else None
            return measure.lost_behind(index, scope)
        if self.behind == BEHIND_PLACE:
            for index, segment in enumerate(segments):
                at = segment.place
                if at.path == seen.place.path and at.span.end >= seen.place.span.end:
                    return measure.lost_behind(index, scope)
        return None


def _whole(measure: Measure, size: int) -> Cost:
    """Return the cost of a change in front of everything."""
    tokens = sum(measure.tokens(index) for index in range(size))
    block = measure.profile.block_tokens or 1
    return Cost(tokens, tokens // block, measure.profile.name)
