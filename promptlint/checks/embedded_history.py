"""PL111: the conversation so far, printed into one text in front of a fixed block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from promptlint.checks.base import (
    LABEL,
    Measure,
    Thresholds,
    costliest,
    is_history,
    lost_text,
    quoted,
    severity,
    weaker,
)
from promptlint.checks.behind import Behind
from promptlint.findings import Finding, Fix
from promptlint.layout import Cause, Kind, Layout, LayoutKind, Scope
from promptlint.source import Place


@dataclass(frozen=True, slots=True)
class HistoryBeforeStable:
    """Reports history in front of fixed text of the same message.

    As messages of its own a history is fine, and in a chat template it is the prompt itself.
    """

    code: str = "PL111"
    name: str = "history-before-stable"
    default: bool = True

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each place where the history is printed into a text."""
        if layout.kind is not LayoutKind.CHAT_TEMPLATE:
            last = {place: (index, cause) for index, place, cause in _printed(layout)}
            own = _own_tokens(layout, measure) if last else []
            behind = Behind(layout)
            found = [
                finding
                for place, (index, cause) in last.items()
                # Tags and labels of other values are no text that could go first.
                if min(own[index], behind.longest(index, measure)) >= LABEL
                and (finding := self._finding(layout, measure, thresholds, index, own[index], place, cause))
            ]
            yield from costliest(found)

    def _finding(
        self,
        layout: Layout,
        measure: Measure,
        thresholds: Thresholds,
        index: int,
        own: int,
        place: Place,
        cause: Cause,
    ) -> Finding | None:
        cost = measure.lost_behind(index, Scope.SESSION)
        if own < cost.tokens:  # what follows in later messages moves on in any case
            cost = replace(cost, tokens=own, blocks=own // (measure.profile.block_tokens or 1))
        if cost.tokens <= 0:
            return None
        one = (cause.name or cause.what.strip("`")).endswith("]")  # a turn of it, or the last few
        moves = "changes" if one else "grows"
        return Finding(
            self.code,
            self.name,
            Kind.RETRIEVED,
            f"the conversation {quoted(cause.what)} {moves} with every turn; {lost_text(cost, False)} cannot be reused",
            place,
            severity(Kind.RETRIEVED, Scope.REQUEST, cost.tokens),
            weaker(cause.confidence, layout.confidence),
            Scope.REQUEST,
            cause.place if cause.place != place else None,
            cause.chain,
            cost,
            Fix("put the fixed text first and the conversation last, or send its turns as messages"),
            thresholds.status(Kind.RETRIEVED, cause.confidence, cost, measure.profile),
            prompt=layout.name,
        )


def _printed(layout: Layout) -> Iterator[tuple[int, Place, Cause]]:
    """Yield each segment that prints history: its index, the place to report, and the cause."""
    for index, segment in enumerate(layout.segments):
        loop = next((g for g in segment.guards if g.kind == "for" and is_history(g.cause)), None)
        if loop is not None and loop.cause is not None:
            yield index, loop.place, loop.cause
        elif segment.cause is not None and is_history(segment.cause):
            yield index, segment.place, segment.cause


def _own_tokens(layout: Layout, measure: Measure) -> list[int]:
    """Return for each segment the stable tokens behind it in its own message."""
    segments = layout.segments
    behind = [0] * len(segments)
    for index in range(len(segments) - 2, -1, -1):
        here, following = segments[index], segments[index + 1]
        if here.of_message == following.of_message:
            stable = Scope.SESSION.narrower_than(following.effective_scope)
            behind[index] = behind[index + 1] + (measure.tokens(index + 1) if stable else 0)
    return behind
