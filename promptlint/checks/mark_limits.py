"""PL602 to PL604: too many marks, marks on too little, and no mark where one is needed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.catalog.profile import Granularity, Profile
from promptlint.checks.base import Measure, Thresholds, costliest
from promptlint.checks.marks import automatic, injected, literal_tokens, marked, rules_of, written
from promptlint.checks.observed import Observed
from promptlint.findings import Cost, Finding, Severity
from promptlint.layout import Confidence, Kind, Layout, LayoutKind, Parameter, Scope, Segment, Step
from promptlint.source import Place
from promptlint.words import counted

_FEWER = "mark the end of tools, of the system prompt and of the last one or two turns, no more"
# Loops over a whole conversation; one over a cut of it (`[-2:]`) has its own end.
_ITERATED = re.compile(r"[\w.]+")
_CONVERSATION = re.compile(r"\b(?:messages|history|turns|conversation|contents)\b(?!\s*\[)")


@dataclass(frozen=True, slots=True)
class Limit(Observed):
    """Reports requests with more marks than the provider takes."""

    code: str = "PL602"
    name: str = "mark-limit"
    what: tuple[str, ...] = ("mark-limit",)
    kind: Kind = Kind.BREAKPOINT_LIMIT
    subject: str = "more cache marks than the provider takes"
    fix: str = _FEWER
    severity: Severity = Severity.ERROR

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for a request, or for each place that marks without bound."""
        found = list(self.observed(layout, measure))
        marks, points = marked(layout), list(injected(layout))
        profile = rules_of(layout, measure) if marks or points else None
        if profile is not None and profile.max_breakpoints:
            found += self._unbounded(layout, profile)
            found += self._injected(layout, profile, points)
            if not found:
                found += self._counted(layout, profile, len(points))
        yield from costliest(found)

    def _finding(
        self, layout: Layout, profile: Profile, place: Place, message: str, **more: object
    ) -> Finding:
        refused = profile.overflow != "keep_latest"
        what = "the request is refused" if refused else "only the latest write"
        return self.found(
            f"{message}, {profile.max_breakpoints} are allowed: {what}",
            place,
            layout,
            Severity.ERROR if refused else Severity.WARNING,
            _FEWER,
            **more,  # type: ignore[arg-type]
        )

    def _unbounded(self, layout: Layout, profile: Profile) -> Iterator[Finding]:
        """Report a mark on each element of a conversation, of documents or of tools, with no condition around it."""
        for index, mark in marked(layout):
            segment = layout.segments[index]
            guards = segment.guards
            if any(guard.kind not in ("for", "while") for guard in guards) or not _inside(
                mark.place, segment.place
            ):
                continue
            for guard in guards:
                history = guard.cause is not None and guard.cause.kind is Kind.HISTORY
                turns = history or _CONVERSATION.search(guard.expression) is not None
                if history or (guard.kind == "for" and (turns or _ITERATED.fullmatch(guard.expression))):
                    each = "message of the conversation" if turns else f"element of `{guard.expression}`"
                    yield self._finding(
                        layout,
                        profile,
                        mark.place,
                        f"every {each} gets a mark",
                        confidence=Confidence.HIGH if history else Confidence.MEDIUM,
                        related=(Step(guard.place, "for each message here"),),
                    )
                    break

    def _injected(self, layout: Layout, profile: Profile, points: list[Parameter]) -> Iterator[Finding]:
        """Report injection points that name a role with many messages and no index."""
        for point in points:
            role, index = _point(point)
            if index is None and role in ("user", "assistant", "tool", "function"):
                yield self._finding(
                    layout,
                    profile,
                    point.place,
                    f"the injection point names the role `{role}` without an index, so that every message "
                    "of it gets a mark",
                )

    def _counted(self, layout: Layout, profile: Profile, extra: int) -> Iterator[Finding]:
        """Report a request whose marks can be counted: those of one way through its conditions."""
        asked = automatic(layout)
        slot = 1 if asked is not None and asked.name == profile.automatic_marker_field else 0
        together = _one_way([layout.segments[index] for index, _ in marked(layout)])
        count = len(together) + extra + slot
        if profile.max_breakpoints and count > profile.max_breakpoints:
            place = _marked_at(together) or layout.place
            with_slot = " with the automatic one" if slot else ""
            yield self._finding(
                layout, profile, place, f"{counted(count, 'cache mark')}{with_slot} in one request"
            )


def _marked_at(segments: list[Segment]) -> Place | None:
    """Return where the last of some marks is set; where one place sets several, the text that it is set on tells more."""
    places = [segment.breakpoint.place for segment in segments if segment.breakpoint]
    if not places:
        return None
    return segments[-1].place if places.count(places[-1]) > 1 else places[-1]


def _inside(mark: Place, element: Place) -> bool:
    """Tell whether a mark is written in the element that a loop repeats, not set on one of them later."""
    return (
        mark.path == element.path
        and element.span.start <= mark.span.start
        and mark.span.end <= element.span.end
    )


def _point(point: Parameter) -> tuple[str, object]:
    """Return role and index of a LiteLLM injection point."""
    try:
        entry = json.loads(point.text or "")
    except ValueError:
        return "", 0
    if not isinstance(entry, dict) or entry.get("location", "message") != "message":
        return "", 0
    return str(entry.get("role") or ""), entry.get("index")


def _one_way(segments: list[Segment]) -> list[Segment]:
    """Return the marked segments on the way through the conditions that meets most of them."""
    branches: dict[Place, Counter[int]] = {}
    for segment in segments:
        for guard in segment.guards:
            if guard.kind in ("if", "match"):
                branches.setdefault(guard.place, Counter())[guard.branch] += 1
    best = {place: counts.most_common(1)[0][0] for place, counts in branches.items()}
    return [
        segment
        for segment in segments
        if all(best.get(guard.place, guard.branch) == guard.branch for guard in segment.guards)
    ]


# Values of a few words: a date, a number, an id, a host's name.
_SHORT = frozenset((Kind.CLOCK, Kind.IDENTIFIER, Kind.COUNTER, Kind.ENVIRONMENT))
_SHORT_TOKENS = 32
_WHOLE = 400  # tokens of a file that is no stand-in for another


@dataclass(frozen=True, slots=True)
class BelowMinimum(Observed):
    """Reports marks whose whole prefix is shorter than the minimum of the model."""

    code: str = "PL603"
    name: str = "mark-below-minimum"
    what: tuple[str, ...] = ("mark-below-minimum",)
    kind: Kind = Kind.BELOW_MINIMUM
    subject: str = (
        "the marked prefix is shorter than the provider's minimum: it is not cached, and nothing says so"
    )
    fix: str = "mark a longer prefix, or leave the mark out"

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield a finding for a request whose longest known marked prefix is too short.

        Where the provider places a mark at its end as well, the conversation is cached as soon as it is long enough.
        """
        yield from self.observed(layout, measure)
        marks = marked(layout)
        judged = marks and layout.complete and layout.kind is LayoutKind.REQUEST and not automatic(layout)
        profile = rules_of(layout, measure) if judged else None
        if profile is None or not profile.min_tokens:
            return
        known = [(index, mark) for index, mark in marks if _known(layout, measure, index, mark.place.path)]
        if not known:
            return
        index, mark = known[-1]
        last = known[-1] == marks[-1]
        holes = sum(segment.is_hole for segment in layout.segments[: index + 1])
        tokens = literal_tokens(measure, index + 1) + holes * _SHORT_TOKENS
        if tokens >= profile.min_tokens:
            return
        least = f"{profile.min_tokens:,}"
        if other := [f"{alt:,}" for alt in profile.min_tokens_alt]:
            least += f" (other sources say {' or '.join(other)})"
        who = layout.model or profile.title
        at_most = "at most " if holes else ""
        then = ", and nothing says so" if last else " at it, only at a longer one behind it"
        yield self.found(
            f"{at_most}{counted(tokens, 'token')} up to the mark, {who} caches from {least}: nothing is written or read{then}",
            mark.place,
            layout,
            Severity.WARNING if last else Severity.INFO,
            cost=written(layout, measure, index, profile),
        )


def _known(layout: Layout, measure: Measure, index: int, path: str) -> bool:
    """Tell whether all text up to a mark is written where the mark is, or in long files.

    A hole may hold any length unless it is a date, a number or an id. A file that is read where the program runs
    may be longer there, where what lies here is but a few lines.
    """
    return all(
        not segment.guards
        and (
            _is_short(segment)
            if segment.text is None
            else segment.place.path == path or measure.tokens(at) >= _WHOLE
        )
        for at, segment in enumerate(layout.segments[: index + 1])
    )


def _is_short(segment: Segment) -> bool:
    cause = segment.cause
    return cause is not None and cause.kind in _SHORT and cause.confidence is not Confidence.LOW


@dataclass(frozen=True, slots=True)
class Missing(Observed):
    """Reports requests to a provider that needs marks, with a long stable prefix and none."""

    code: str = "PL604"
    name: str = "mark-missing"
    what: tuple[str, ...] = ("mark-missing", "mark-stops", "turns-unmarked")
    shows_code: bool = True
    kind: Kind = Kind.BREAKPOINT_MISPLACED
    subject: str = "a long stable prefix has no mark although the provider needs one"
    fix: str = "mark the end of the last text that is equal in every request"

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield a finding for a request that would read its prefix if it were marked."""
        yield from self.observed(layout, measure)
        if layout.kind is not LayoutKind.REQUEST or not layout.complete or not layout.provider:
            return
        if marked(layout) or automatic(layout) or any(injected(layout)):
            return
        profile = rules_of(layout, measure)
        if profile is None or not profile.needs_marks or profile.granularity is not Granularity.EXACT:
            return
        end = next(
            (
                at
                for at, segment in enumerate(layout.segments)
                if segment.effective_scope is not Scope.RELEASE
            ),
            len(layout.segments),
        )
        tokens = literal_tokens(measure, end)
        if not end or tokens < max(profile.min_tokens or 0, *profile.min_tokens_alt, 1):
            return
        estimated = measure.lost_behind(0, Scope.RELEASE).estimated
        yield self.found(
            f"{counted(tokens, 'stable token')} in front and no `{profile.marker_field}`: {profile.title} caches only what is marked",
            layout.place,
            layout,
            Severity.INFO,
            "mark the end of the last text that is equal in every request, if requests come more often "
            f"than every {profile.lifetime() or 300:,.0f} s",
            confidence=Confidence.MEDIUM,
            related=(Step(layout.segments[end - 1].place, "the last text that is equal in every request"),),
            cost=Cost(tokens, 0, profile.name, estimated),
        )


CHECKS = (Limit(), BelowMinimum(), Missing())
