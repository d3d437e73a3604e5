"""The decision: for every request that read less than it could have, the one reason that explains most."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

from promptlint.catalog.profile import Profile, TtlKind
from promptlint.layout import Confidence, Kind, Section
from promptlint.trace.explain.diff import Difference, Shape, Spot, agreed_tokens, difference, locate
from promptlint.trace.explain.evidence import kind_of
from promptlint.trace.explain.history import Entry, History
from promptlint.trace.explain.ledger import Ledger, Obstacle, Reading
from promptlint.trace.explain.outcome import Outcome, Reason
from promptlint.trace.model import Request
from promptlint.words import counted

_IDLE = 3600.0  # seconds without use after which nobody promises anything
_LAST_TURN = 128  # tokens up to which a change of the latest message is no fault
_BULK = 0.4  # a cut of this share of the conversation is a planned compaction


@dataclass(slots=True)
class Explainer:
    """Takes requests in the order of time and says what became of each.

    ``min_lost`` is the loss in tokens from which on a request counts as a miss.
    """

    profile: Profile | None
    min_lost: int = 32
    _histories: dict[tuple[str, str, str], History] = field(default_factory=dict)
    _ledgers: dict[tuple[str, str, str], Ledger] = field(default_factory=dict)

    def explain(self, request: Request) -> Outcome:
        """Return the outcome of the next request."""
        space = request.namespace
        history = self._histories.setdefault(space, History())
        profile = self.profile
        ledger = self._ledgers.setdefault(space, Ledger(profile)) if profile else None
        entry = history.entry(request)
        outcome = self._outcome(entry, history, ledger)
        history.remember(entry)
        if ledger:
            ledger.write(entry)
        return outcome

    def _outcome(self, entry: Entry, history: History, ledger: Ledger | None) -> Outcome:
        request = entry.request
        before = history.predecessor(entry)
        spot = locate(before, entry) if before else None
        agreed = agreed_tokens(before, entry, spot) if before else 0.0
        reading = ledger.read(entry, before, agreed) if ledger else Reading(0, 0)
        predicted = round(reading.tokens)
        usage = request.usage
        counted = usage is not None and usage.read is not None
        read = usage.read if usage and usage.read is not None else predicted
        if before is None:
            reason, against = Reason.FIRST, None
        else:
            reason, against = Reason.READ, before.request
        ends = [round(border) for border in entry.borders]
        base = Outcome(
            request,
            reason,
            read,
            read,
            counted=counted,
            against=against,
            profile=self.profile.name if self.profile else "",
            predicted=predicted,
            sizes=tuple(high - low for low, high in pairwise(ends)),
        )
        if before is None:
            return base
        if ledger and (refused := self._refused(base, entry, ledger)):
            return refused
        content = self._content(base, before, entry, spot, reading, ledger)
        if content and content.reason is Reason.COMPACTED:
            return content  # paid for once, on purpose
        rules = self._rules(base, before, entry, spot, agreed, reading, ledger)
        candidates = [found for found in (content, rules) if found]
        if not candidates:
            return replace(base, reason=_without_fault(base, entry, ledger))
        return max(candidates, key=lambda outcome: outcome.lost)

    @staticmethod
    def _refused(base: Outcome, entry: Entry, ledger: Ledger) -> Outcome | None:
        """Report a request with more marks than the provider takes, where it refuses such requests."""
        limit, marks = ledger.profile.max_breakpoints, len(entry.request.marks)
        if not limit or marks <= limit or ledger.profile.overflow != "error_400" or base.read:
            return None
        size = entry.request.input_tokens
        said = f"{counted(marks, 'mark')}, allowed {limit}: the provider refuses the request"
        return replace(
            base, reason=Reason.MARKS, kind=Kind.BREAKPOINT_LIMIT, reusable=size, lost=size, detail=said
        )

    def _enough(self, lost: float, whole: float, profile: Profile | None) -> bool:
        grain = profile.block_tokens or 1 if profile else 1
        # Positions inside a part are estimates: one step of a block profile is within their error.
        return lost >= max(self.min_lost, 0.02 * whole) and (lost > grain or grain == 1)

    def _content(
        self,
        base: Outcome,
        before: Entry,
        entry: Entry,
        spot: Spot | None,
        reading: Reading,
        ledger: Ledger | None,
    ) -> Outcome | None:
        """Explain a loss by a change of the prefix."""
        if spot is None or spot.shape is Shape.SHORTER:
            return None
        agreed = spot.token
        profile = ledger.profile if ledger else None
        if ledger and before.borders[-1] < ledger.minimum:
            return None  # what could have been kept was too short to be cached
        # What the unchanged beginning would have given is not lost by the change.
        open_to_read = reading.possible
        if ledger and not ledger.by_marks:
            open_to_read = max(open_to_read, agreed if agreed >= ledger.minimum else 0)
        kept = max(base.read, open_to_read)
        most = min(before.borders[-1], entry.borders[-1])
        if not self._enough(most - kept, most, profile):
            return None
        if "compacted" in entry.request.notes:
            return replace(
                base, reason=Reason.COMPACTED, reusable=round(most), detail="the client compacted it"
            )
        if base.counted and base.read > agreed + max(self.min_lost, 0.02 * most):
            return None  # another request had this prefix
        section = before.request.parts[spot.part].section
        if entry.first_of_talk and entry.request.session and section is Section.MESSAGES:
            return None  # a conversation of its own begins as it likes
        if ledger and ledger.by_marks and max(ledger.marks(entry.request), default=spot.part) < spot.part:
            return None  # no mark behind the change: nothing there was meant to be cached
        changed = difference(before, entry, spot)
        reusable = min(agreed + changed.behind, float(before.request.input_tokens))
        # The time may go with the turn that it was sent with; pictures and results of tools were sent to stay.
        passing = _in_last_turn(before, spot) and before.request.parts[spot.part].kind == "text"
        if before.talk == entry.talk and section is Section.MESSAGES and not passing:
            # Appended to, the conversation would have been read as far as it had been sent.
            reusable = max(reusable, min(before.request.input_tokens, entry.request.input_tokens))
        lost = reusable - kept
        if passing and lost < _LAST_TURN:
            return None
        if not self._enough(lost, reusable, profile):
            return None
        share = changed.behind / max(1.0, reusable)
        kind, confidence, what = kind_of(changed, before, entry)
        if kind is Kind.HISTORY_REWRITE and _is_bulk(changed, before, entry):
            return replace(
                base, reason=Reason.COMPACTED, reusable=round(reusable), detail="a large part was cut at once"
            )
        if ledger and ledger.by_marks and share < 0.5 and self._misplaced(before, entry, changed, ledger):
            kind, confidence = Kind.BREAKPOINT_MISPLACED, Confidence.HIGH
            what = "every mark stands behind text that changes; the stable text before it has none"
        return replace(
            base,
            reason=Reason.CHANGED,
            reusable=round(reusable),
            lost=round(lost),
            kind=kind,
            confidence=confidence,
            detail=what,
            difference=changed,
        )

    def _misplaced(self, before: Entry, entry: Entry, changed: Difference, ledger: Ledger) -> bool:
        """Tell whether long stable text stands before the difference and no mark does."""
        start = entry.borders[changed.part]
        marks = ledger.marks(entry.request)
        return start >= ledger.minimum and bool(marks) and min(marks) >= changed.part

    def _rules(
        self,
        base: Outcome,
        before: Entry,
        entry: Entry,
        spot: Spot | None,
        agreed: float,
        reading: Reading,
        ledger: Ledger | None,
    ) -> Outcome | None:
        """Explain a loss by the rules of the cache: the prefix was there, and was not read."""
        if ledger is None:
            return None
        request, profile = entry.request, ledger.profile
        stranger = entry.first_of_talk and bool(request.session)
        reusable = max(agreed, reading.possible)
        if spot is None and before.request.usage:
            reusable = min(reusable, float(before.request.usage.input))
        if ledger.by_marks and reading.obstacle not in (Obstacle.NO_MARKS, Obstacle.NOT_WRITTEN):
            reusable = reading.possible
        if ledger.by_marks and before.request.usage and before.request.usage.cached and not stranger:
            reusable = min(reusable, float(before.request.usage.cached))
        grain = profile.block_tokens
        if grain and not ledger.by_marks:
            reusable = reusable // grain * grain
        lost = reusable - base.read
        result = replace(base, reusable=round(reusable), lost=round(lost))
        if reading.obstacle is Obstacle.BELOW_MINIMUM or reusable < ledger.minimum:
            return self._below(result, entry, reusable, ledger, grown=spot is None)
        if not self._enough(lost, reusable, profile):
            return None
        if stranger:
            return None  # the first request of a conversation owes nothing to the others
        if reading.obstacle is Obstacle.EXPIRED and (base.read < reusable):
            return replace(result, reason=Reason.EXPIRED, kind=Kind.TTL, detail=reading.detail)
        found = _OBSTACLES.get(reading.obstacle)
        if reading.obstacle is Obstacle.TOO_MANY_MARKS:
            return replace(result, reason=Reason.MARKS, kind=Kind.BREAKPOINT_LIMIT, detail=reading.detail)
        if found:
            reason, kind = found
            if reading.obstacle in (Obstacle.NO_MARKS, Obstacle.NOT_WRITTEN) and not ledger.by_marks:
                return self._elsewhere(result, before, entry)
            if reading.obstacle is Obstacle.NOT_WRITTEN:
                return self._unwritten(result, before, entry, ledger)
            detail = reading.detail or "the request has no mark, and without one nothing is cached"
            return replace(result, reason=reason, kind=kind, detail=detail)
        if reading.obstacle is Obstacle.NONE and base.counted:
            if ledger.by_marks and lost <= reusable - reading.tokens:
                return None  # what lies behind the last mark was never meant to be cached
            return self._elsewhere(result, before, entry)
        return None

    def _unwritten(self, result: Outcome, before: Entry, entry: Entry, ledger: Ledger) -> Outcome | None:
        """Explain why nothing was written although the requests agree."""
        limit, marks = ledger.profile.max_breakpoints, len(before.request.marks)
        if limit and max(marks, len(entry.request.marks)) > limit:
            said = f"{counted(max(marks, len(entry.request.marks)), 'mark')}, allowed {limit}"
            return replace(result, reason=Reason.MARKS, kind=Kind.BREAKPOINT_LIMIT, detail=said)
        said = "no mark stands where this request and the one before still agree"
        return replace(result, reason=Reason.MARKS, kind=Kind.BREAKPOINT_MISPLACED, detail=said)

    def _below(
        self, result: Outcome, entry: Entry, reusable: float, ledger: Ledger, *, grown: bool
    ) -> Outcome | None:
        """Report a prefix under the minimum where somebody wanted it cached; a conversation that grows reaches it."""
        request = entry.request
        if grown:
            parts = (request.parts[mark] for mark in request.marks)
            wanted = any(part.section is not Section.MESSAGES for part in parts)
        else:
            wanted = bool(request.marks) or reusable >= ledger.minimum * 0.5
        if (
            not wanted
            or result.read
            or reusable < self.min_lost
            or (entry.first_of_talk and entry.request.session)
        ):
            return None
        if not ledger.minimum:
            return None
        said = f"{counted(round(reusable), 'token')} in common, the minimum is {ledger.minimum}"
        return replace(
            result,
            reason=Reason.BELOW_MINIMUM,
            kind=Kind.BELOW_MINIMUM,
            lost=0,
            reusable=0,
            detail=said,
        )

    def _elsewhere(self, result: Outcome, before: Entry, entry: Entry) -> Outcome | None:
        """Explain what is left: another machine, another key, or an eviction."""
        request, earlier = entry.request, before.request
        if entry.first_of_talk and entry.request.session:
            return None
        for name in ("routing", "replica"):
            was, now = getattr(earlier, name), getattr(request, name)
            if was != now and (was or now):
                said = "another cache key" if name == "routing" else "another replica"
                return replace(result, reason=Reason.ROUTED, kind=Kind.ROUTING, detail=f"{said} than before")
        changed = sorted({name for name, _ in earlier.parameters.items() ^ request.parameters.items()})
        if changed:
            said = f"{', '.join(changed)} differs from the request before"
            return replace(
                result,
                reason=Reason.PARAMETER,
                kind=Kind.PARAMETER_CHANGE,
                confidence=Confidence.MEDIUM,
                detail=said,
            )
        promised = self.profile is not None and self.profile.ttl_kind is TtlKind.CONTRACT
        if self.profile and not promised and request.time is not None and earlier.time is not None:
            idle = request.time - earlier.time
            least = min(self.profile.ttl_seconds.values(), default=_IDLE)
            if idle > least:
                said = f"{idle:.0f} s without use; entries may be gone after {least:.0f} s"
                return replace(
                    result, reason=Reason.EXPIRED, kind=Kind.TTL, confidence=Confidence.MEDIUM, detail=said
                )
        confidence = Confidence.MEDIUM if promised else Confidence.LOW
        said = "the same prefix was sent in time and not found"
        if result.read:
            said += f"; {counted(result.read, 'token')} of it could be read, so an older copy stands on that machine"
        return replace(result, reason=Reason.ROUTED, kind=Kind.ROUTING, confidence=confidence, detail=said)


_OBSTACLES: dict[Obstacle, tuple[Reason, Kind]] = {
    Obstacle.NO_MARKS: (Reason.MARKS, Kind.BREAKPOINT_MISPLACED),
    Obstacle.NOT_WRITTEN: (Reason.MARKS, Kind.BREAKPOINT_MISPLACED),
    Obstacle.NO_MARK_BEHIND: (Reason.MARKS, Kind.BREAKPOINT_MISPLACED),
    Obstacle.LOOKBACK: (Reason.LOOKBACK, Kind.BREAKPOINT_MISPLACED),
    Obstacle.NOT_YET_READABLE: (Reason.NOT_YET_READABLE, Kind.OTHER),
    Obstacle.PARAMETER: (Reason.PARAMETER, Kind.PARAMETER_CHANGE),
}


def _without_fault(base: Outcome, entry: Entry, ledger: Ledger | None) -> Reason:
    """Say what became of a request that lost nothing that somebody could mend."""
    if base.read:
        return Reason.READ
    return Reason.BELOW_MINIMUM if ledger and entry.borders[-1] < ledger.minimum else Reason.NOTHING


def _in_last_turn(before: Entry, spot: Spot) -> bool:
    """Tell whether a request differs in the last message of the earlier one."""
    parts = before.request.parts
    last, part = parts[-1], parts[spot.part]
    return part.section is Section.MESSAGES and part.index == last.index and bool(part.role) and spot.part > 0


def _is_bulk(changed: Difference, before: Entry, entry: Entry) -> bool:
    """Tell whether a large share of the conversation went at once: a compaction, paid for once."""
    if changed.shape is Shape.EDITED:
        return False
    kept = {part.digest for part in entry.request.parts}
    if sum(part.digest not in kept for part in before.request.parts) < 2:
        return False  # one long text or picture
    return entry.borders[-1] < (1 - _BULK) * before.borders[-1]
