"""The mechanism of most rules: a value in front of text that changes less often.

What a rule adds is which causes are its own (`BeforeStable.owns`) and how it names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from promptlint.checks.base import (
    BY_PLACE,
    DATA_FIRST,
    ENVIRONMENT,
    HOW_OFTEN,
    LABEL,
    NEAR,
    NEAR_DATA,
    UNSEEN,
    WORDS,
    Measure,
    Thresholds,
    costliest,
    lost_text,
    of_tokens,
    quoted,
    severity,
    weaker,
)
from promptlint.checks.behind import Behind
from promptlint.findings import Finding, Fix, Severity, Status
from promptlint.layout import DATA, Cause, Confidence, Guard, Kind, Layout, Scope, Section, Step
from promptlint.source import Place


@dataclass(frozen=True, slots=True)
class BeforeStable:
    """Reports values of one kind in front of text that changes less often.

    ``subject`` is the start of the message and may use ``{what}``; ``fix`` is what a person can do.
    ``variants`` narrows the kinds (`Cause.variant`), ``sections`` the part of the request.
    """

    code: str
    name: str
    kinds: frozenset[Kind]
    subject: str
    fix: str
    variants: frozenset[str] | None = None
    sections: frozenset[Section] = frozenset({Section.SYSTEM, Section.MESSAGES})
    reported: Kind | None = None  # the kind to report, where it is not the cause's own
    default: bool = True
    subjects: Mapping[Scope, str] = field(default_factory=dict)  # a better subject for some scopes
    fixes: Mapping[Scope, str] = field(default_factory=dict)  # a better fix for some scopes
    peers: frozenset[Kind] = frozenset()  # kinds of a sister rule, whose values may lead a group of ours

    def owns(self, cause: Cause, section: Section) -> bool:
        """Tell whether a cause in a section is this rule's, or a sister rule's, to report."""
        if section not in self.sections:
            return False
        kinds = self.kinds | self.peers
        return cause.kind in kinds and (self.variants is None or cause.variant in self.variants)

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each group of such values that stand together, with its cost."""
        behind = Behind(layout)
        found = [
            _Seen(cause, finding, branches(layout, measure, index), layout.segments[index].of_message)
            for index, place, cause in sorted(self._values(layout, behind), key=lambda value: value[0])
            if (finding := self._finding(layout, measure, thresholds, behind, index, place, cause))
        ]
        groups = grouped(found)
        if self.peers:
            groups = (finding for finding in groups if finding.kind in self.kinds)
        yield from costliest(groups)

    def _values(self, layout: Layout, behind: Behind) -> Iterator[tuple[int, Place, Cause]]:
        """Yield each value that is this rule's: its segment, the place to report, and its cause."""
        clock = any(seen.what == "template-clock" for seen in layout.observations)  # PL401 tells of it
        for index, segment in enumerate(layout.segments):
            cause = segment.cause
            if cause is not None and clock and cause.kind is Kind.CLOCK:
                continue
            if cause is not None and self.owns(cause, segment.section):
                yield index, segment.place, cause
        for index, guard in loops(layout):
            # How many turns there are is the conversation's own affair.
            data = guard.cause is not None and guard.cause.kind in DATA
            if (
                data
                and layout.segments[index].section is Section.MESSAGES
                and behind.makes_turns(index, guard)
            ):
                continue
            if guard.cause is not None and self.owns(guard.cause, layout.segments[index].section):
                yield index, guard.place, guard.cause

    def _finding(
        self,
        layout: Layout,
        measure: Measure,
        thresholds: Thresholds,
        behind: Behind,
        index: int,
        place: Place,
        cause: Cause,
    ) -> Finding | None:
        made_anew = behind.made_anew(index, cause)
        if cause.scope is Scope.RELEASE or (behind.kept_as_sent(index, cause.kind) and not made_anew):
            return None
        # Turns of the same loop stand in front of it, and are no more than it is at another place each time.
        if behind.follows_turns(index) and not made_anew:
            return None
        if cause.kind in DATA and behind.is_marked(index, measure):
            return None
        cost = behind.cost(index, cause.scope, cause.kind, measure)
        history = behind.history(index, cause.scope, cause.kind) and not behind.opens_turns(index, cause.kind)
        # That the system text changes with each request takes more than a name that settings have as well.
        named = cause.confidence is Confidence.LOW and cause.kind is Kind.REQUEST_INPUT
        guessed = named or (cause.variant in BY_PLACE and cause.kind in DATA)
        history = history and not guessed
        history = history or made_anew
        history = history or (cause.kind is Kind.UNORDERED and behind.turns_of(index, place))
        printed = behind.printed_by(place, measure) if cause.kind is Kind.UNORDERED else 0
        unseen = behind.unseen(index)
        if not history and not printed and not unseen and (cost.tokens <= 0 or behind.only_closes(index)):
            return None
        if printed:
            cost = of_tokens(cost, cost.tokens + printed, measure.profile)
        kind = self.reported or cause.kind
        assumed = replace(cost, tokens=cost.tokens + UNSEEN) if unseen else cost
        if not unseen:
            piece = behind.longest(index, measure) if kind in DATA else cost.tokens
            least = LABEL if kind in DATA or cause.confidence is Confidence.LOW else WORDS
            # More stands behind tools and system text, for who shares the value.
            section = layout.segments[index].section
            wide = section is Section.SYSTEM and not cause.scope.narrower_than(Scope.SESSION)
            few = LABEL if wide else least if section is Section.MESSAGES else 0
            labels = few and not printed and behind.longest(index, measure, any_value=True) < few
            if (piece < least or labels) and not history:
                return None
            if kind in DATA and piece < DATA_FIRST:
                assumed = replace(cost, tokens=min(cost.tokens, piece))
        sure = weaker(cause.confidence, layout.confidence)
        before = 0 if unseen or sure is not Confidence.LOW else sum(map(measure.tokens, range(index)))
        what = quoted(cause.what)
        # An environment variable says of itself what it is.
        subject = (
            "the {what}" if what.startswith(ENVIRONMENT) else self.subjects.get(cause.scope, self.subject)
        )
        level = severity(kind, cause.scope, assumed.tokens, history)
        in_vain = kind is Kind.UNORDERED and level is Severity.INFO
        message = f"{subject.format(what=what)} {HOW_OFTEN[cause.scope]}; {lost_text(cost, history, unseen)} cannot be reused"
        return Finding(
            self.code,
            self.name,
            kind,
            message,
            place,
            level,
            sure,
            cause.scope,
            cause.place if cause.place != place else None,
            cause.chain,
            cost,
            Fix(self.fixes.get(cause.scope, self.fix)),
            # A time taken once for a conversation: the turns that follow match, only the first misses.
            Status.BELOW_THRESHOLD
            if cause.variant == "snapshot" or (in_vain and behind.led(index, cause.scope))
            else thresholds.status(
                kind,
                cause.confidence,
                None if history else assumed,
                measure.profile,
                cause.variant,
                before,
            ),
            prompt=layout.name,
        )


def branches(layout: Layout, measure: Measure, index: int) -> frozenset[tuple[Place, int]]:
    """Return the alternatives that a segment stands in with a text of their own behind it.

    ``SHORT if small else LONG``, each with a date in it, are two texts to mend.
    """
    segments = layout.segments
    found = []
    for guard in segments[index].guards:
        if guard.kind == "if":
            own = (at for at in range(index + 1, len(segments)) if guard in segments[at].guards)
            if sum(map(measure.tokens, own)) >= NEAR_DATA:
                found.append((guard.place, guard.branch))
    return frozenset(found)


def exclusive(one: frozenset[tuple[Place, int]], other: frozenset[tuple[Place, int]]) -> bool:
    """Tell whether two values stand in different branches of one condition."""
    taken = dict(one)
    return any(taken.get(place, branch) != branch for place, branch in other)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A value with its finding, the alternatives that it stands in, and its message."""

    cause: Cause
    finding: Finding
    within: frozenset[tuple[Place, int]]
    message: tuple[Section, int]

    def goes_with(self, other: _Seen) -> bool:
        """Tell whether a value is one fault with the one before it: it changes as often, and stands near it."""
        near = NEAR_DATA if self.finding.kind in DATA else NEAR
        apart = self.finding.kind in DATA and self.message != other.message
        return self.finding.scope is other.finding.scope and not apart and other.behind - self.behind < near

    @property
    def behind(self) -> int:
        """Return the stable tokens behind the value."""
        return self.finding.cost.tokens if self.finding.cost else 0


def grouped(found: list[_Seen]) -> Iterator[Finding]:
    """Yield the first of findings that belong together; the others become steps of it.

    One value printed several times is one fault, and so is ``Issue: {title} by {author}, {body}``: values
    that change as often, with less than `NEAR` stable tokens between each and the next (data may be
    `NEAR_DATA` apart, within a message). Values of alternatives with texts of their own (`branches`) are faults of each.
    """
    groups: list[list[tuple[Cause, Finding, str]]] = []
    led: list[frozenset[tuple[Place, int]]] = []  # the branches of the first of each group
    of_value: dict[tuple[str, Scope], list[int]] = {}
    before: tuple[int, _Seen] | None = None
    for seen in found:
        cause, finding = seen.cause, seen.finding
        value = cause.name or cause.what, finding.scope
        known = of_value.get(value, ())
        again = next((group for group in known if not exclusive(led[group], seen.within)), None)
        together = None
        if before is not None and seen.goes_with(before[1]):
            together = before[0] if not exclusive(led[before[0]], seen.within) else None
        group = again if again is not None else together
        if group is None:
            group = len(groups)
            groups.append([])
            led.append(seen.within)
        bare = cause.what.partition("` (")[0].strip("`")
        note = "printed again" if again is not None else f"together with {quoted(bare)}"
        groups[group].append((cause, finding, note))
        owners = of_value.setdefault(value, [])
        if group not in owners:
            owners.append(group)
        before = group, seen
    yield from map(_leader, groups)


def _leader(group: list[tuple[Cause, Finding, str]]) -> Finding:
    """Return the first finding of a group with steps to the others; one that counts, or has a better reason, goes first."""
    told = [finding for cause, finding, _ in group if cause.name or cause.variant not in BY_PLACE]
    every = [finding for _, finding, _ in group]
    counting = (finding for finding in (*told, *every) if finding.status is Status.ACTIVE)
    first = next(counting, told[0] if told else every[0])
    others: dict[Place, Step] = {}  # of alternatives at one place the first
    for _, finding, note in group:
        if finding.primary != first.primary:
            others.setdefault(finding.primary, Step(finding.primary, note))
    return replace(first, related=(*first.related, *others.values()))


def loops(layout: Layout) -> Iterator[tuple[int, Guard]]:
    """Yield each loop whose length changes, with the index of its last segment.

    A loop that prints a changing value of its own is left to that value's finding.
    """
    last: dict[Guard, int] = {}
    printing: set[Guard] = set()
    for index, segment in enumerate(layout.segments):
        for guard in segment.guards:
            if guard.kind in ("for", "while") and guard.cause is not None:
                last[guard] = index
                if segment.cause is not None and segment.cause.kind is guard.cause.kind:
                    printing.add(guard)
    yield from ((index, guard) for guard, index in last.items() if guard not in printing)
