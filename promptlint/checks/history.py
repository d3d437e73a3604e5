"""PL311 to PL313: a conversation that is not only appended to."""

from __future__ import annotations

from collections.abc import Iterator

from promptlint.checks.base import BY_PLACE, Measure
from promptlint.checks.observed import Observed
from promptlint.findings import Finding, Severity
from promptlint.layout import DATA, Kind, Layout, Scope, Section, Segment

CUT = Observed(
    "PL311",
    "history-cut",
    ("history-cut",),
    Kind.HISTORY_REWRITE,
    "earlier turns are dropped from the front, so that what is left moves to another position",
    "cut rarely and in large steps, or summarise once and go on from the summary",
    shows_code=True,
)


class _Rewritten(Observed):
    __slots__ = ()

    def observed(self, layout: Layout, measure: Measure) -> Iterator[Finding]:
        """Leave out a first message that is set again where the value in it has a rule of its own."""
        if not any(map(_told, layout.segments)):
            yield from Observed.observed(self, layout, measure)


def _told(segment: Segment) -> bool:
    cause = segment.cause
    if cause is None or segment.section is not Section.SYSTEM or not cause.scope.narrower_than(Scope.SESSION):
        return False
    return cause.kind not in DATA or cause.variant not in BY_PLACE


REWRITTEN = _Rewritten(
    "PL312",
    "history-rewritten",
    ("history-rewritten",),
    Kind.HISTORY_REWRITE,
    "a turn that was already sent is changed",
    "send earlier turns as they were; put what is new into a new message at the end",
    severity=Severity.ERROR,
    shows_code=True,
)
INSERTED = Observed(
    "PL313",
    "history-inserted",
    ("history-inserted",),
    Kind.HISTORY_REWRITE,
    "something is put before the end of the conversation",
    "append it to the end, and keep it there in later requests",
    shows_code=True,
)

CHECKS = (CUT, REWRITTEN, INSERTED)
