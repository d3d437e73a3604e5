"""PL601, PL605 and PL606: where a mark stands, and what stands in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from promptlint.catalog.profile import Profile
from promptlint.checks.base import HOW_OFTEN, NEAR, Measure, Thresholds, costliest, quoted
from promptlint.checks.marks import automatic, literal_tokens, marked, rules_of, written
from promptlint.checks.observed import Observed
from promptlint.findings import Finding, Severity
from promptlint.layout import (
    DATA,
    Breakpoint,
    Cause,
    Confidence,
    Kind,
    Layout,
    LayoutKind,
    Scope,
    Section,
    Segment,
    Step,
)


@dataclass(frozen=True, slots=True)
class BehindChanging(Observed):
    """Reports marks whose prefix differs in every request."""

    code: str = "PL601"
    name: str = "mark-behind-changing"
    what: tuple[str, ...] = ("mark-on-changing",)
    kind: Kind = Kind.BREAKPOINT_MISPLACED
    subject: str = (
        "a cache mark stands on or behind text that changes: it is written each time and never read"
    )
    fix: str = "put the mark at the end of the last text that is equal in every request"
    scope: Scope = Scope.REQUEST

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each mark that covers a value of one request."""
        found = list(self.observed(layout, measure))
        marks = marked(layout) or list(_at_the_end(layout, measure))
        profile = rules_of(layout, measure) if marks else None
        read = 0  # tokens up to the last mark that every request finds again
        for index, mark in marks if profile else ():
            changing = first_changing(layout, index)
            if changing is None:
                read = literal_tokens(measure, index + 1)
            elif profile is not None and not 0 < read > literal_tokens(measure, index + 1) - NEAR:
                # Behind an earlier mark that is read, the value itself is all that is written anew.
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
        short = cost.tokens < (profile.min_tokens or 0)  # it may be written, if the values are long
        never = "no request reads its prefix" if short else f"its prefix is written{paid} and never read"
        where = "on" if segment is layout.segments[index] else "behind"
        return self.found(
            f"the mark stands {where} {quoted(cause.what)}, which {HOW_OFTEN[cause.scope]}: {never}",
            mark.place,
            layout,
            confidence=cause.confidence,
            scope=cause.scope,
            origin=cause.place or segment.place,
            related=(*cause.chain, Step(segment.place, "enters the prompt here")),
            cost=cost if short else replace(cost, price=price),
        )


def _at_the_end(layout: Layout, measure: Measure) -> Iterator[tuple[int, Breakpoint]]:
    """Yield the mark that a parameter has the provider set on the last block."""
    asked = automatic(layout)
    profile = rules_of(layout, measure) if asked is not None else None
    if asked is not None and profile is not None and asked.name == profile.automatic_marker_field:
        yield len(layout.segments) - 1, Breakpoint(asked.place, asked.name)


def first_changing(layout: Layout, index: int) -> tuple[Segment, Cause] | None:
    """Return the value in a mark's prefix that belongs to one request only: the surest, and of those the first.

    In a conversation the newest turns differ by nature, and their mark is read by the next request;
    there only tools and system prompt count. A document under a mark may be asked about many times.
    """
    found = list(_changing(layout, index))
    return max(found, key=lambda one: one[1].confidence.rank) if found else None


def _changing(layout: Layout, index: int) -> Iterator[tuple[Segment, Cause]]:
    conversation = layout.repeated or any(
        segment.cause is not None and segment.cause.kind is Kind.HISTORY for segment in layout.segments
    )
    whole = layout.complete and layout.kind is LayoutKind.REQUEST
    for segment in layout.segments[: index + 1]:
        cause = segment.cause
        if cause is None or cause.scope is not Scope.REQUEST:
            continue
        if cause.confidence is Confidence.LOW and not _must_be_data(layout, segment, index):
            continue
        if cause.kind is Kind.HISTORY:
            continue
        if segment.section is Section.MESSAGES:
            if conversation or not whole or cause.kind is Kind.RETRIEVED:
                continue
            if any(guard.kind in ("for", "while") for guard in segment.guards):
                continue
        yield segment, cause


def _must_be_data(layout: Layout, segment: Segment, index: int) -> bool:
    """Tell whether its place supports what only a name says of a value.

    The marked end of the prompt is the question, and so is what stands in front of a marked document; found
    documents in a system prompt are found anew.
    """
    last = layout.segments[-1]
    marked_text = layout.segments[index]
    if (
        segment.section is Section.MESSAGES
        and segment.message == marked_text.message
        and segment is not marked_text
    ):
        cause = segment.cause
        return cause is not None and cause.kind is Kind.REQUEST_INPUT and not cause.variant
    if segment.section is Section.SYSTEM:
        # Texts gathered in a loop are sorted out of the messages, not looked up for this request.
        looped = any(guard.kind in ("for", "while") for guard in segment.guards)
        data = segment.cause is not None and segment.cause.kind in DATA
        # Who has no word of his own there marks what he is given as the system text.
        own = any(s.text and s.text.strip() for s in layout.segments if s.section is Section.SYSTEM)
        return data and own and not looped and layout.kind is LayoutKind.REQUEST
    at_end = segment is last is layout.segments[index]
    return at_end and last.section is Section.MESSAGES and last.role == "user"


@dataclass(frozen=True, slots=True)
class LongerAfterShorter(Observed):
    """Reports a mark with a longer lifetime behind one with a shorter, where the provider refuses that."""

    code: str = "PL605"
    name: str = "mark-longer-after-shorter"
    what: tuple[str, ...] = ("mark-order",)
    kind: Kind = Kind.TTL
    subject: str = "a longer lifetime stands behind a shorter one: the request is refused"
    fix: str = "give the earlier marks the longer lifetime"
    severity: Severity = Severity.ERROR

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each such mark."""
        yield from self.observed(layout, measure)
        marks = marked(layout)
        profile = rules_of(layout, measure) if len(marks) > 1 else None
        if profile is None or profile.ttl_order != "longer_first":
            return
        for (at, earlier), (behind, later) in pairwise(marks):
            if _excluded(layout.segments[at], layout.segments[behind]):
                continue
            if (profile.lifetime(later.ttl) or 0) > (profile.lifetime(earlier.ttl) or 0):
                short = earlier.ttl or profile.ttl_default
                long = later.ttl or profile.ttl_default
                yield self.found(
                    f"the lifetime {short} stands in front of {long}: longer ones come first, this request is refused",
                    earlier.place,
                    layout,
                    related=(Step(later.place, f"{long} here"),),
                )


def _excluded(one: Segment, other: Segment) -> bool:
    """Tell whether two segments stand in different branches of one condition."""
    branches = {guard.place: guard.branch for guard in one.guards if guard.kind in ("if", "match")}
    return any(branches.get(guard.place, guard.branch) != guard.branch for guard in other.guards)


@dataclass(frozen=True, slots=True)
class OnWrongBlock(Observed):
    """Reports marks on blocks that cannot carry one: tools of some providers, empty text."""

    code: str = "PL606"
    name: str = "mark-on-wrong-block"
    what: tuple[str, ...] = ("mark-forbidden",)
    kind: Kind = Kind.BREAKPOINT_MISPLACED
    subject: str = "this block cannot carry a cache mark"
    fix: str = "mark the block before it"
    severity: Severity = Severity.ERROR

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each such mark."""
        yield from self.observed(layout, measure)
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
                yield self.found(
                    f"{what} cannot carry a cache mark at {profile.title}",
                    mark.place,
                    layout,
                    fix="mark the first block behind the tools" if what == "a tool" else "",
                )


def _also(profile: Profile) -> tuple[str, ...]:
    """Return the other fields in which a provider takes marks."""
    other = profile.extras.get("marker_field_invoke")
    return (other,) if isinstance(other, str) else ()


CHECKS = (BehindChanging(), LongerAfterShorter(), OnWrongBlock())
