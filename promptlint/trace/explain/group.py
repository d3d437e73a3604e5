"""Causes grouped: one row for what one change in a program would mend."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from promptlint.layout import Kind
from promptlint.trace.explain.outcome import Outcome, Reason

Key = tuple[str, ...]
_BLOCKS = frozenset(
    {Kind.RANDOM, Kind.RETRIEVED}
)  # many lines, of which some may be those of the request before


@dataclass(slots=True)
class Group:
    """Misses with one cause, with the sums over them and one example."""

    reason: Reason
    kind: Kind
    example: Outcome
    requests: int = 0
    lost: int = 0
    usd: float | None = None
    sessions: int = 0
    source: dict[str, Any] | None = None

    @property
    def rank(self) -> tuple[float, int]:
        """Return what groups are sorted by: money, then tokens."""
        return self.usd or 0.0, self.lost


class Groups:
    """Collects outcomes into groups."""

    def __init__(self) -> None:
        self._groups: dict[Key, Group] = {}
        self._sessions: dict[Key, set[str]] = {}

    def add(self, outcome: Outcome, usd: float | None) -> None:
        """Add one fault."""
        assert outcome.kind is not None
        key = _key(outcome)
        group = self._groups.setdefault(key, Group(outcome.reason, outcome.kind, outcome))
        group.requests += 1
        group.lost += outcome.lost
        if usd is not None:
            group.usd = (group.usd or 0.0) + usd
        if outcome.lost > group.example.lost:
            group.example = outcome
        seen = self._sessions.setdefault(key, set())
        if len(seen) < 10_000:
            seen.add(outcome.request.session)
        group.sessions = len(seen)

    def ranked(self) -> list[Group]:
        """Return the groups, the dearest first."""
        return sorted(self._groups.values(), key=lambda group: group.rank, reverse=True)


def _key(outcome: Outcome) -> Key:
    """Return what makes two misses one fault: the kind, and the words that stand before the change."""
    diff = outcome.difference
    place: Key = ()
    if diff is not None:
        words = re.findall(r"[A-Za-z]{3,}", diff.before[-80:])
        place = (diff.section.value, str(diff.part if diff.section.value != "messages" else ""), *words[-4:])
        if outcome.kind is Kind.HISTORY_REWRITE:
            place = (diff.section.value, diff.shape.value)
        elif outcome.kind in _BLOCKS:
            place = (*place[:2], diff.heading())
    elif outcome.reason is Reason.PARAMETER:
        place = (outcome.detail,)
    return (outcome.reason.value, str(outcome.kind), outcome.profile, *place)
