"""What stands behind a segment, beside countable text."""

from __future__ import annotations

import re
from functools import cached_property

from promptlint.checks.base import NEAR, Measure, is_history
from promptlint.layout import Kind, Layout, Scope, Section
from promptlint.source import Place

_TAG = re.compile(r"</?[\w:-]+>")
_WORD = re.compile(r"\w")


class Behind:
    """Answers for one layout; each is found by one walk over its segments, however many ask."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    @cached_property
    def _last_history(self) -> int | None:
        found = None
        for index, segment in enumerate(self._layout.segments):
            if is_history(segment.cause, *(guard.cause for guard in segment.guards)):
                found = index
        return found

    @cached_property
    def _last_word(self) -> int | None:
        found = None
        for index, segment in enumerate(self._layout.segments):
            if segment.text and _WORD.search(_TAG.sub("", segment.text)):
                found = index
        return found

    @cached_property
    def _goes_on(self) -> bool:
        """Tell whether turns may be added: not where all messages are there and none of them changes."""
        turns = [s for s in self._layout.segments if s.section is Section.MESSAGES]
        return not turns or any(turn.is_hole or turn.guards for turn in turns)

    def history(self, index: int, scope: Scope, kind: Kind) -> bool:
        """Tell whether the conversation so far stands behind a segment, and changes less often than it.

        It does when a later message holds the history, or when the system part is rendered anew in
        front of a conversation that goes on. What was asked for is the same in all turns of that.
        """
        if not scope.narrower_than(Scope.SESSION):
            return False
        here = self._layout.segments[index]
        anew = self._layout.repeated and here.section is not Section.MESSAGES and self._goes_on
        if anew and kind is not Kind.REQUEST_INPUT:
            return True
        last = self._last_history
        if last is None or last <= index:
            return False
        there = self._layout.segments[last]
        return (there.section, there.message) != (here.section, here.message)

    def turns_of(self, index: int, loop: Place) -> bool:
        """Tell whether the loop at a place makes whole turns, with further turns behind the last of them.

        In another order each of them is another prompt from there on, whatever they say.
        """
        segments = self._layout.segments
        last = segments[index]
        if last.section is not Section.MESSAGES or segments[-1].message == last.message:
            return False
        turn = [segment for segment in segments if segment.message == last.message]
        return all(any(guard.place == loop for guard in segment.guards) for segment in turn)

    def printed_by(self, loop: Place, measure: Measure) -> int:
        """Return the fixed tokens that the loop at a place prints for each element; 0 for a few words.

        In another order the elements themselves are recomputed, from the first that stands elsewhere.
        """
        of_loop = (
            index
            for index, segment in enumerate(self._layout.segments)
            if segment.text and any(guard.place == loop for guard in segment.guards)
        )
        tokens = sum(map(measure.tokens, of_loop))
        return tokens if tokens >= NEAR else 0

    def opens_turns(self, index: int, kind: Kind) -> bool:
        """Tell whether a segment is what a user asked: the turns behind it go on from it, and stay with it."""
        here = self._layout.segments[index]
        return kind is Kind.REQUEST_INPUT and here.section is Section.MESSAGES and here.role == "user"

    def only_closes(self, index: int) -> bool:
        """Tell whether no word stands behind a segment, only what closes it: ``</asked_at>``, ``".``, ``)``."""
        return self._last_word is None or self._last_word <= index

    def kept_as_sent(self, index: int) -> bool:
        """Tell whether a segment belongs to a message that enters a conversation once and stays as it is.

        ``messages.append({"role": "user", "content": f"{now}: {text}"})`` costs nothing later: the next
        request repeats the same bytes.
        """
        here = self._layout.segments[index]
        in_turn = here.section is Section.MESSAGES and here.role not in ("system", "developer")
        return self._layout.repeated and in_turn
