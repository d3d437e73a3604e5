"""PL109 and PL110: text that is only sometimes there, and holes nobody knows anything about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.checks.asked import asked
from promptlint.checks.base import (
    HOW_OFTEN,
    Measure,
    Thresholds,
    costliest,
    lost_text,
    quoted,
    severity,
    weaker,
)
from promptlint.checks.behind import Behind
from promptlint.findings import Finding, Fix, Severity
from promptlint.layout import (
    DATA,
    Cause,
    Confidence,
    Guard,
    Kind,
    Layout,
    OriginKind,
    Scope,
    Section,
    Step,
)
from promptlint.source import Place
from promptlint.volatility import tests_presence
from promptlint.words import shortened

_BRANCHES = ("if", "match", "try")
# A clock or a counter in a plain test is compared with something, as in `if now() > limit`.
_ALWAYS_THERE = frozenset({Kind.CLOCK, Kind.RANDOM, Kind.COUNTER, Kind.ENVIRONMENT})
# ``if i == len(messages) - 1``
_LAST = re.compile(r"==\s*len\(.*\)\s*-\s*1\b")


@dataclass(frozen=True, slots=True)
class ConditionalSection:
    """Reports fixed text under a condition that changes more often than the text behind it."""

    code: str = "PL109"
    name: str = "conditional-section"
    default: bool = True

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each condition, at the condition where its file is one of the prompt's."""
        behind = Behind(layout)
        found = [
            finding
            for index, guard in _sections(layout)
            if (finding := self._finding(layout, measure, thresholds, behind, index, guard))
        ]
        yield from costliest(found)

    def _finding(
        self,
        layout: Layout,
        measure: Measure,
        thresholds: Thresholds,
        behind: Behind,
        index: int,
        guard: Guard,
    ) -> Finding | None:
        cause = guard.cause
        # What a machine is decides the same for all requests that share a cache.
        fixed = cause is not None and cause.scope in (Scope.RELEASE, Scope.MACHINE)
        if cause is None or fixed or not _decides(guard, cause):
            in_front = layout.segments[index].section is Section.SYSTEM
            cause = asked(layout, guard) if in_front else None
        if cause is None:
            return None
        if behind.kept_as_sent(index, cause.kind):
            return None
        cost = measure.lost_behind(index, cause.scope)
        history = behind.history(index, cause.scope, cause.kind)
        if cost.tokens <= 0 and not history:
            return None
        place, chain = _where(layout, guard), cause.chain
        if place != guard.place:
            chain = (*chain, Step(guard.place, "under the condition here"))
        condition = shortened(guard.expression)
        message = (
            f"text under the condition `{condition}` comes and goes: {quoted(cause.what)} {HOW_OFTEN[cause.scope]}; "
            f"{lost_text(cost, history)} cannot be reused"
        )
        return Finding(
            self.code,
            self.name,
            cause.kind,
            message,
            place,
            severity(cause.kind, cause.scope, cost.tokens, history),
            weaker(cause.confidence, layout.confidence),
            cause.scope,
            cause.place if cause.place != place else None,
            chain,
            cost,
            Fix("move the conditional text behind the stable text, or always send it"),
            thresholds.status(cause.kind, cause.confidence, None if history else cost, measure.profile),
            prompt=layout.name,
        )


def _where(layout: Layout, guard: Guard) -> Place:
    """Return the condition, or the text under it where nothing of the prompt stands in the file of the condition."""
    places = [layout.place, *(segment.place for segment in layout.segments)]
    if any(place.path == guard.place.path for place in places):
        return guard.place
    return next((s.place for s in layout.segments if s.text and guard in s.guards), guard.place)


def _decides(guard: Guard, cause: Cause) -> bool:
    """Tell whether a change of the value also changes which branch is taken.

    Data that differs is still there, a set in another order has the same elements, and a
    conversation that grows is still a conversation.
    """
    if cause.kind in (Kind.HISTORY, Kind.UNORDERED):
        return False
    if cause.kind in DATA and cause.confidence is Confidence.LOW:
        return False
    if _counts_turns(cause) and (tests_presence(guard) or _LAST.search(guard.expression)):
        return False  # there are some from the first answer on, and behind the last of them is nothing yet
    return cause.kind in _ALWAYS_THERE or not tests_presence(guard)


def _counts_turns(cause: Cause) -> bool:
    """Tell whether a counter is the length of a collection."""
    return cause.kind is Kind.COUNTER and cause.what.lstrip("`").startswith("len(")


def _sections(layout: Layout) -> Iterator[tuple[int, Guard]]:
    """Yield each condition that has fixed text under it, with the index of its last segment.

    A condition around a value that changes as often has that value's finding; one is enough. So it is where a fixed
    text stands for such a value in another case: ``None``, or what somebody has said.
    """
    last: dict[Guard, int] = {}
    told: set[tuple[Place, str]] = set()
    for index, segment in enumerate(layout.segments):
        for guard in segment.guards:
            if guard.kind not in _BRANCHES:
                continue
            if segment.section is Section.TOOLS and (
                guard.cause is None or guard.cause.kind is not Kind.PER_USER
            ):
                continue  # mostly a setting, whatever its name is
            if segment.section is Section.MESSAGES and segment.is_hole and segment.cause is None:
                continue  # a part of a turn, as it came
            if segment.cause is not None and not guard.scope.narrower_than(segment.cause.scope):
                told.add((guard.place, guard.expression))
            last[guard] = index
    for guard, index in last.items():
        if (guard.place, guard.expression) not in told:
            yield index, guard


@dataclass(frozen=True, slots=True)
class UnknownHole:
    """Reports a hole in front of stable text of which nothing is known."""

    code: str = "PL110"
    name: str = "unknown-hole-before-stable"
    default: bool = False

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each such hole."""
        for index, segment in enumerate(layout.segments):
            if not segment.is_hole or segment.cause is not None or segment.scope is not Scope.UNKNOWN:
                continue
            cost = measure.lost_behind(index, Scope.REQUEST)
            if cost.tokens <= 0:
                continue
            origin = segment.origin
            shown = f"`{origin.name or origin.expression}`" if origin.name or origin.expression else "a value"
            why = f" ({origin.why})" if origin.kind is OriginKind.OPAQUE and origin.why else ""
            yield Finding(
                self.code,
                self.name,
                Kind.OTHER,
                f"nothing tells how often {shown} changes{why}; if it does, {lost_text(cost, False)} cannot be reused",
                segment.place,
                Severity.INFO,
                Confidence.LOW,
                Scope.UNKNOWN,
                cost=cost,
                fix=Fix(
                    "declare its scope under [tool.promptlint.scopes], or move it behind the stable text"
                ),
                status=thresholds.status(Kind.REQUEST_INPUT, Confidence.LOW, cost, measure.profile),
                prompt=layout.name,
            )


CHECKS = (ConditionalSection(), UnknownHole())
