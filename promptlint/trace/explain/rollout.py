"""Texts that were changed once, for everybody: a new version of a prompt looks like another user at first.

::

    A A A │ B B B        one change, and the old text never comes back
    A B A C B            whose text it is
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from promptlint.layout import Confidence, Kind
from promptlint.trace.explain.outcome import Outcome
from promptlint.trace.model import Request

_ENOUGH = 3  # conversations on each side of a change
_HELD = 32  # changes that are waited for: more of them are no versions


@dataclass(slots=True)
class _Change:
    outcome: Outcome
    place: int  # among the faults
    part: int
    old: bytes
    new: bytes
    before: int  # conversations that had been seen
    after: set[str] = field(default_factory=set)
    back: bool = False


@dataclass(slots=True)
class Rollouts:
    """Holds back changes that nothing explains but that they are of another conversation, until more is seen."""

    _held: list[_Change] = field(default_factory=list)
    _sessions: set[str] = field(default_factory=set)
    _given_up: bool = False

    def see(self, request: Request) -> None:
        """Look at the next request."""
        if len(self._sessions) <= _ENOUGH:
            self._sessions.add(request.session)
        for change in self._held:
            digest = request.parts[change.part].digest if change.part < len(request.parts) else b""
            change.back = change.back or digest == change.old
            if digest == change.new and len(change.after) < _ENOUGH:
                change.after.add(request.session)

    def holds(self, outcome: Outcome, place: int) -> bool:
        """Tell whether a fault is held back, the one at ``place`` among all."""
        diff = outcome.difference
        guessed = outcome.kind is Kind.PER_USER and outcome.confidence is Confidence.LOW
        if not guessed or diff is None or diff.old_part is None or diff.new_part is None or self._given_up:
            return False
        self._given_up = len(self._held) == _HELD
        if self._given_up:
            return False
        old, new = diff.old_part.digest, diff.new_part.digest
        self._held.append(_Change(outcome, place, diff.part, old, new, len(self._sessions)))
        return True

    def released(self) -> Iterator[tuple[int, Outcome]]:
        """Yield what was held back, with its place among all faults; a new version of a text under its own name."""
        for change in self._held:
            once = not change.back and len(change.after) >= _ENOUGH and change.before > _ENOUGH
            said = "the text was changed once, for all conversations since"
            yield (
                change.place,
                replace(change.outcome, kind=Kind.OTHER, detail=said) if once else change.outcome,
            )
