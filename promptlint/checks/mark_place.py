"""PL601, PL605 to PL608: where a mark stands, and what stands in front of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from promptlint.catalog.profile import Profile
from promptlint.checks.base import HOW_OFTEN, Measure, Thresholds, costliest
from promptlint.checks.marks import automatic, marked, report, rules_of, written
from promptlint.checks.observed import Observed
from promptlint.findings import Finding, Severity
from promptlint.layout import (
    Breakpoint,
    Cause,
    Confidence,
    Guard,
    Kind,
    Layout,
    LayoutKind,
    Scope,
    Section,
    Segment,
    Step,
)

_MIDDLE = "put another mark in the middle of long turns, every 15 blocks or so"
_KEEP = "mark the same place in every call, and add a mark at the new end"
_MOVE = "put the mark at the end of the last text that is equal in every request"
_SEEN_CHANGING = Observed(
    "PL601",
    "mark-behind-changing",
    ("mark-on-changing",),
    Kind.BREAKPOINT_MISPLACED,
    "a cache mark stands on or behind text that changes: it is written each time and never read",
    _MOVE,
    scope=Scope.REQUEST,
)


@dataclass(frozen=True, slots=True)
class BehindChanging:
    """Reports marks whose prefix differs in every request."""

    code: str = "PL601"
    name: str = "mark-behind-changing"
    default: bool = True

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each mark that covers a value of one request."""
        found = list(_SEEN_CHANGING.run(layout, measure, thresholds))
        marks = marked(layout)
        profile = rules_of(layout, measure) if marks else None
        for index, mark in marks if profile else ():
            changing = first_changing(layout, index)
            if changing is not None and profile is not None:
                found.append(self._finding(layout, measure, profile, index, mark, *changing))
        yield from costliest(found)

    def _finding(
        self,
        layout: Layout,
        measure: Measure,
        profile: Profile,
        index: int,
        mark: Breakpoint,
        segment: Segment,
        cause: Cause,
    ) -> Finding:
        cost = written(layout, measure, index, profile)
        price = profile.write_price(mark.ttl)
        paid = f", at {price:g} times the price," if price > 1 else ""
        where = "on" if segment is layout.segments[index] else "behind"
        return report(
            (self.code, self.name),
            Kind.BREAKPOINT_MISPLACED,
            f"the mark stands {where} {cause.what}, which {HOW_OFTEN[cause.scope]}: its prefix is "
            f"written{paid} and never read",
            mark.place,
            layout,
            Severity.WARNING,
            _MOVE,
            confidence=cause.confidence,
            scope=cause.scope,
            origin=cause.place or segment.place,
            related=(*cause.chain, Step(segment.place, "enters the prompt here")),
            cost=cost,
        )


def first_changing(layout: Layout, index: int) -> tuple[Segment, Cause] | None:
    """Return the first value in a mark's prefix that belongs to one request only.

    In a conversation the newest turns differ by nature, and their mark is read by the next request;
    there only tools and system prompt count. A document under a mark may be asked about many times.
    """
    conversation = layout.repeated or any(
        segment.cause is not None and segment.cause.kind is Kind.HISTORY for segment in layout.segments
    )
    whole = layout.complete and layout.kind is LayoutKind.REQUEST
    for segment in layout.segments[: index + 1]:
        cause = segment.cause
        if cause is None or cause.scope is not Scope.REQUEST:
            continue
        if cause.confidence is Confidence.LOW and not _whole_question(layout, segment, index):
            continue
        if cause.kind is Kind.HISTORY:
            continue
        if segment.section is Section.MESSAGES:
            if conversation or not whole or cause.kind is Kind.RETRIEVED:
                continue
            if any(guard.kind in ("for", "while") for guard in segment.guards):
                continue
        return segment, cause
    return None


def _whole_question(layout: Layout, segment: Segment, index: int) -> bool:
    """Tell whether a value known by its name only must be the question: the marked end of the prompt."""
    last = layout.segments[-1]
    return (
        segment is last is layout.segments[index] and last.section is Section.MESSAGES and last.role == "user"
    )


_SEEN_ORDER = Observed(
    "PL605",
    "mark-longer-after-shorter",
    ("mark-order",),
    Kind.BREAKPOINT_MISPLACED,
    "a longer lifetime stands behind a shorter one: the request is refused",
    "give the earlier marks the longer lifetime",
    severity=Severity.ERROR,
)


@dataclass(frozen=True, slots=True)
class LongerAfterShorter:
    """Reports a mark with a longer lifetime behind one with a shorter, where the provider refuses that."""

    code: str = "PL605"
    name: str = "mark-longer-after-shorter"
    default: bool = True

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each such mark."""
        yield from _SEEN_ORDER.run(layout, measure, thresholds)
        marks = marked(layout)
        profile = rules_of(layout, measure) if len(marks) > 1 else None
        if profile is None or profile.ttl_order != "longer_first":
            return
        for (at, earlier), (behind, later) in pairwise(marks):
            if _excluded(layout.segments[at], layout.segments[behind]):
                continue
            if (profile.lifetime(later.ttl) or 0) > (profile.lifetime(earlier.ttl) or 0):
                short = earlier.ttl or profile.ttl_default
                yield report(
                    (self.code, self.name),
                    Kind.BREAKPOINT_MISPLACED,
                    f"the lifetime {later.ttl or profile.ttl_default} stands behind {short}: "
                    "longer ones come first, this request is refused",
                    later.place,
                    layout,
                    Severity.ERROR,
                    "give the earlier marks the longer lifetime",
                    related=(Step(earlier.place, f"{short} here"),),
                )


def _excluded(one: Segment, other: Segment) -> bool:
    """Tell whether two segments stand in different branches of one condition."""
    branches = {guard.place: guard.branch for guard in one.guards if guard.kind in ("if", "match")}
    return any(branches.get(guard.place, guard.branch) != guard.branch for guard in other.guards)


_SEEN_FORBIDDEN = Observed(
    "PL606",
    "mark-on-wrong-block",
    ("mark-forbidden",),
    Kind.BREAKPOINT_MISPLACED,
    "this block cannot carry a cache mark",
    "mark the block before it",
    severity=Severity.ERROR,
)


@dataclass(frozen=True, slots=True)
class OnWrongBlock:
    """Reports marks on blocks that cannot carry one: tools of some providers, empty text."""

    code: str = "PL606"
    name: str = "mark-on-wrong-block"
    default: bool = True

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each such mark."""
        yield from _SEEN_FORBIDDEN.run(layout, measure, thresholds)
        marks = marked(layout)
        profile = rules_of(layout, measure) if marks else None
        for index, mark in marks if profile else ():
            segment = layout.segments[index]
            if profile is None or mark.marker not in (profile.marker_field, *_also(profile)):
                continue  # written for another provider; a gateway may translate it
            what = ""
            if segment.section is Section.TOOLS and "tools" in profile.marker_forbidden:
                what = "a tool"
            elif segment.text == "" and "empty_text" in profile.marker_forbidden:
                what = "an empty text"
            if what:
                yield report(
                    (self.code, self.name),
                    Kind.BREAKPOINT_MISPLACED,
                    f"{what} cannot carry a cache mark at {profile.title}",
                    mark.place,
                    layout,
                    Severity.ERROR,
                    "mark the first block behind the tools"
                    if what == "a tool"
                    else "mark the block before it",
                )


def _also(profile: Profile) -> tuple[str, ...]:
    """Return the other fields in which a provider takes marks."""
    other = profile.extras.get("marker_field_invoke")
    return (other,) if isinstance(other, str) else ()


_SEEN_LOOKBACK = Observed(
    "PL607",
    "mark-lookback",
    ("mark-lookback",),
    Kind.BREAKPOINT_MISPLACED,
    "one step adds more blocks than a mark looks back over, so that the earlier write is not found",
    _MIDDLE,
)


@dataclass(frozen=True, slots=True)
class Lookback:
    """Reports turns so long that their mark does not find the write of the turn before."""

    code: str = "PL607"
    name: str = "mark-lookback"
    default: bool = True

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each mark at the end of such a turn."""
        yield from _SEEN_LOOKBACK.run(layout, measure, thresholds)
        marks = marked(layout)
        profile = rules_of(layout, measure) if marks else None
        if profile is None or profile.lookback is None or profile.lookback_unit != "block":
            return
        for index, mark in marks:
            blocks = step_blocks(layout, index)
            if blocks >= profile.lookback:
                yield report(
                    (self.code, self.name),
                    Kind.BREAKPOINT_MISPLACED,
                    f"at least {blocks} blocks since the turn before, a mark looks back over "
                    f"{profile.lookback}: what that turn wrote is not found",
                    mark.place,
                    layout,
                    Severity.WARNING,
                    _MIDDLE,
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


_SEEN_MOVED = Observed(
    "PL608",
    "mark-moved",
    ("mark-moved",),
    Kind.BREAKPOINT_MISPLACED,
    "a mark moves away from where it was written before, so that the earlier write is never read",
    _KEEP,
)
_PER_CALL = re.compile(r"%|\b(?:turn|step|round|iteration|attempt|count|first|last|len\()", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Moved:
    """Reports marks that only some calls of a conversation carry: the others read nothing."""

    code: str = "PL608"
    name: str = "mark-moved"
    default: bool = True

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each mark that is there on one side of such a condition only."""
        yield from _SEEN_MOVED.run(layout, measure, thresholds)
        marks = marked(layout)
        profile = rules_of(layout, measure) if marks else None
        if profile is None or not profile.needs_marks or automatic(layout) is not None:
            return
        for index, mark in marks:
            guard = self._condition(layout, index)
            if guard is not None:
                yield report(
                    (self.code, self.name),
                    Kind.BREAKPOINT_MISPLACED,
                    f"the mark is set only where `{guard.expression}`: the other calls do not read what it wrote",
                    mark.place,
                    layout,
                    Severity.WARNING,
                    _KEEP,
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
            if other and not behind and not any(segment.breakpoint for segment in other):
                return guard
        return None


CHECKS = (BehindChanging(), LongerAfterShorter(), OnWrongBlock(), Lookback(), Moved())
