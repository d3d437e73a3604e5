"""What stands behind a segment, beside countable text."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from promptlint.checks.base import LABEL, NEAR, Measure, is_history, of_tokens
from promptlint.findings import Cost
from promptlint.layout import (
    DATA,
    Cause,
    Confidence,
    Guard,
    Kind,
    Layout,
    LayoutKind,
    Scope,
    Section,
    Segment,
)
from promptlint.source import Place

_TAG = re.compile(r"</?[\w:-]+>")
_NEW = frozenset({Kind.CLOCK, Kind.RANDOM, Kind.IDENTIFIER})
_WORD = re.compile(r"\w")


def _is_loop(guard: Guard) -> bool:
    return guard.kind in ("for", "while")


def _is_counting(guard: Guard) -> bool:
    """Tell whether a condition asks how many turns there are: what it guards may be a message of one of them."""
    return guard.cause is not None and guard.cause.kind is Kind.COUNTER


def _is_counted(guard: Guard) -> bool:
    """Tell whether a loop goes on and on, or counts, and does not run over things that are there."""
    return guard.kind == "while" or (guard.kind == "for" and guard.expression.startswith("range("))


def _has_words(text: str) -> bool:
    """Tell whether a text says something: tags around a value do not."""
    return _WORD.search(_TAG.sub("", text)) is not None


def _only_tags(text: str) -> bool:
    return "<" in text and not _has_words(text)


def _is_traced(segment: Segment) -> bool:
    """Tell whether it is known why a segment changes unseen, not only guessed by its name."""
    cause = segment.cause
    return cause is not None and cause.kind not in DATA and cause.confidence is not Confidence.LOW


def _with(here: Segment, other: Segment) -> bool:
    """Tell whether two segments may be in one request: not in different branches of a condition."""
    taken = {guard.place: guard.branch for guard in here.guards}
    return all(taken.get(guard.place, guard.branch) == guard.branch for guard in other.guards)


class Behind:
    """Answers for one layout; each is found by one walk over its segments, however many ask."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._runs: dict[bool, list[int]] = {}

    @cached_property
    def _histories(self) -> list[int]:
        return [
            index
            for index, segment in enumerate(self._layout.segments)
            if is_history(segment.cause, *(guard.cause for guard in segment.guards))
        ]

    @cached_property
    def _last_word(self) -> int | None:
        found = None
        for index, segment in enumerate(self._layout.segments):
            if segment.text and _has_words(segment.text):
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
        other_worker = self._differs_by_worker(kind, scope)
        if not (scope.narrower_than(Scope.SESSION) or other_worker):
            return False
        here = self._layout.segments[index]
        anew = self._layout.repeated and here.section is not Section.MESSAGES and self._goes_on
        if anew and kind is not Kind.REQUEST_INPUT:
            return True
        later = (
            self._layout.segments[at]
            for at in reversed(self._histories[bisect_right(self._histories, index) :])
        )
        last = next((segment for segment in later if _with(here, segment)), None)
        return last is not None and last.of_message != here.of_message

    def _differs_by_worker(self, kind: Kind, scope: Scope) -> bool:
        """Tell whether another worker that answers the next turn has another order of the same set."""
        return kind is Kind.UNORDERED and scope is Scope.PROCESS and not self._layout.repeated

    def made_anew(self, index: int, cause: Cause) -> bool:
        """Tell whether a value that is new in each request stands in one of the turns that a loop makes for each.

        ``[{"content": f"{now() - t.at} ago: {t.text}"} for t in turns]`` changes all of them; a set that is printed
        in each does when another process answers. Where there is nothing but what the loop makes, it makes requests.
        """
        here = self._layout.segments[index]
        new = cause.scope is Scope.REQUEST and cause.kind in _NEW
        new = (
            new or self._differs_by_worker(cause.kind, cause.scope)
        ) and cause.confidence is Confidence.HIGH
        kept = self._layout.repeated and not self._layout.rebuilt
        if not new or here.section is not Section.MESSAGES or kept:
            return False
        loops = {
            guard for guard in self._around(here) if guard.kind == "for" and self._is_over_turns(guard, here)
        }
        return any(not loops <= set(segment.guards) for segment in self._layout.segments)

    def _is_over_turns(self, loop: Guard, here: Segment) -> bool:
        """Tell whether a loop makes the turns so far again: of a history, or of rows that say whose turn each is.

        What is added behind a question that is being answered is made once, and sent again as it is.
        """
        if is_history(loop.cause):
            return True
        turns = [s for s in self._layout.segments if s.section is Section.MESSAGES]
        if self._layout.kind is not LayoutKind.REQUEST or loop not in self._around(turns[0]):
            return False
        return any(turn.role in ("", "assistant") for turn in turns if loop in self._around(turn))

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

    def follows_turns(self, index: int) -> bool:
        """Tell whether the conversation so far stands, as messages of its own, in front of a segment's message.

        It has grown by the next request: no cache finds what is behind it where it was.
        """
        first = self._first_turns
        return first is not None and first < index and not self._same_message(first, index)

    def is_marked(self, index: int, measure: Measure) -> bool:
        """Tell whether a segment's own part of a message ends in a cache mark: many requests ask about one document.

        ``{"text": f"<report>{report}</report>", "cache_control": …}, {"text": question}``
        """
        segments, dress = self._layout.segments, 0
        for at in range(index, len(segments)):
            dress += measure.tokens(at) if at > index else 0
            if not self._same_message(index, at) or dress >= LABEL:
                return False
            if segments[at].breakpoint is not None:
                return segments[at].section is Section.MESSAGES
        return False

    @cached_property
    def _first_turns(self) -> int | None:
        for index, segment in enumerate(self._layout.segments):
            whole = segment.of_message not in self._written
            if is_history(segment.cause) and whole and segment.section is Section.MESSAGES:
                return index
        return None

    def _same_message(self, one: int, other: int) -> bool:
        first, second = self._layout.segments[one], self._layout.segments[other]
        return first.of_message == second.of_message

    def makes_turns(self, index: int, loop: Guard) -> bool:
        """Tell whether a loop makes whole messages, the one of a segment among them."""
        return loop in self._around(self._layout.segments[index])

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
        """Tell whether a segment is what a user asked, or all that the system says: the turns behind it go on from it.

        A program that has no word of its own in its system text hands on what it is given, for all of them.
        """
        here = self._layout.segments[index]
        if kind is not Kind.REQUEST_INPUT:
            return False
        if here.section is Section.SYSTEM:
            return not any(
                s.text and s.text.strip() for s in self._layout.segments if s.section is Section.SYSTEM
            )
        asked = here.role in ("user", "")  # "": messages that were given whole
        return here.section is Section.MESSAGES and asked

    def only_closes(self, index: int) -> bool:
        """Tell whether no word stands behind a segment, only what closes it: ``</asked_at>``, ``".``, ``)``."""
        return self._last_word is None or self._last_word <= index

    def led(self, index: int, scope: Scope) -> bool:
        """Tell whether data in front of a segment changes more often, so that nothing would match with it in order."""
        here, segments = self._layout.segments[index], self._layout.segments
        return any(
            one.cause is not None
            and one.cause.kind in DATA
            and one.cause.scope.narrower_than(scope)
            and _with(here, one)
            for one in segments[:index]
        )

    def unseen(self, index: int) -> str:
        """Say what stands behind a segment and was not seen, "" where nothing does: a text of the program.

        Behind a tool that is shown by itself stands the whole prompt.
        """
        here = self._layout.segments[index]
        if here.section is Section.TOOLS and self._describes_tools and _is_traced(here):
            return "the system prompt"
        for at in self._unseen[bisect_right(self._unseen, index) :]:
            segment = self._layout.segments[at]
            if _with(here, segment):
                return f"the text of `{segment.origin.shown}`"
        return ""

    @cached_property
    def _describes_tools(self) -> bool:
        """Tell whether the layout is words about tools, and nothing else."""
        return self._last_word is not None and all(
            segment.section is Section.TOOLS for segment in self._layout.segments
        )

    @cached_property
    def _unseen(self) -> list[int]:
        return [index for index, segment in enumerate(self._layout.segments) if segment.origin.fixed]

    def kept_as_sent(self, index: int, kind: Kind) -> bool:
        """Tell whether a segment belongs to a message that enters a conversation once and stays as it is.

        ``messages.append({"role": "user", "content": f"{now}: {text}"})`` costs nothing later: the next
        request repeats the same bytes. Data in the turns that each conversation begins with does, in the next one.
        """
        here = self._layout.segments[index]
        spoken = here.role not in ("system", "developer") or any(map(_is_counted, self._around(here)))
        in_turn = here.section is Section.MESSAGES and spoken
        added = self._layout.repeated or any(loop.kind == "while" for loop in self._around(here))
        anew = (kind in DATA and self._begins(here)) or self._put_in_front(index)
        return added and in_turn and not anew

    def _put_in_front(self, index: int) -> bool:
        """Tell whether a message is made for each request, and put in front of the turns so far: ``[now, *turns]``.

        What a round of the loop adds to the turns is one of them.
        """
        here, segments = self._layout.segments[index], self._layout.segments
        anew = self._layout.rebuilt and not any(map(_is_loop, self._around(here)))
        later = self._histories[bisect_right(self._histories, index) :] if anew else []
        return any(segments[at].of_message != here.of_message for at in later)

    def _begins(self, here: Segment) -> bool:
        """Tell whether a segment is of the turns that are there before a conversation goes on."""
        segments = self._layout.segments
        alone = all(s.of_message == here.of_message for s in segments)
        return not alone and not any(map(_is_loop, self._around(here)))

    def _around(self, here: Segment) -> tuple[Guard, ...]:
        """Return the conditions and loops that a whole message stands in."""
        return self._of_messages[here.of_message]

    @cached_property
    def _of_messages(self) -> dict[tuple[Section, int], tuple[Guard, ...]]:
        found: dict[tuple[Section, int], tuple[Guard, ...]] = {}
        for segment in self._layout.segments:
            key, guards = segment.of_message, segment.guards
            known = found.get(key, guards)
            found[key] = guards if known is guards else tuple(one for one in known if one in guards)
        return found

    @cached_property
    def _written(self) -> frozenset[tuple[Section, int]]:
        """Return the messages in which the program has text of its own."""
        return frozenset(s.of_message for s in self._layout.segments if s.text and s.text.strip())

    def cost(self, index: int, scope: Scope, kind: Kind, measure: Measure) -> Cost:
        """Return the stable tokens behind a segment; behind data, those that could stand in front of it.

        What a conversation asks for after the model's answer cannot, nor what each of its rounds adds::

            issue, "Find the cause."      (the answer)      "Now write a patch. …"
        """
        # Of the requests that have the value, all have what stands under the same condition.
        guards = [guard for guard in self._layout.segments[index].guards if not _is_loop(guard)]
        shared = [guard for guard in guards if not _is_counting(guard)]
        cost = measure.lost_behind(index, scope, shared)
        if len(shared) < len(guards):
            last = self._last_of_message(index)
            own = (
                measure.lost_behind(index, scope, guards).tokens
                - measure.lost_behind(last, scope, guards).tokens
            )
            cost = of_tokens(cost, max(cost.tokens, own), measure.profile)
        end = self._turns_end(index) if kind in DATA else None
        if end is None:
            return cost
        tokens = max(0, cost.tokens - measure.lost_behind(end - 1, scope, shared).tokens)
        return of_tokens(cost, tokens, measure.profile)

    def _last_of_message(self, index: int) -> int:
        segments = self._layout.segments
        return max(at for at in range(index, len(segments)) if self._same_message(index, at))

    def longest(self, index: int, measure: Measure, *, any_value: bool = False) -> int:
        """Return the tokens of the longest text behind a segment that no changing value interrupts.

        With ``any_value`` no value at all, and no condition.

        Between the fields of a form stand labels, which go wherever the data goes::

            # Code: {code}  # Output: {output}  # Feedback: {feedback}
        """
        if any_value not in self._runs:
            runs, run, segments = [0], 0, self._layout.segments
            for at in reversed(range(len(segments))):
                segment = segments[at]
                words = 0 if segment.text and _only_tags(segment.text) else measure.tokens(at)
                ends = segment.is_hole if any_value else segment.cause is not None
                if any_value and at + 1 < len(segments):  # of alternatives there is one
                    run *= segment.guards == segments[at + 1].guards
                run = 0 if ends else run + words
                runs.append(max(run, runs[-1]))
            self._runs[any_value] = runs[::-1]
        return self._runs[any_value][index + 1]

    @cached_property
    def _later(self) -> list[tuple[int, set[Guard], bool]]:
        """Return the segments of turns that come later: the loops around each, and whether a model wrote it."""
        found = []
        for at, one in enumerate(self._layout.segments):
            if one.section is Section.MESSAGES:
                loops = set(filter(_is_loop, self._around(one)))
                answer = one.role == "assistant" and one.of_message not in self._written
                if loops or answer:
                    found.append((at, loops, answer))
        return found

    def _turns_end(self, index: int) -> int | None:
        """Return the first segment behind one that a conversation has only when it has gone on."""
        here = self._layout.segments[index]
        own = set(self._around(here))
        for at, loops, answer in self._later[bisect_right(self._later, index, key=lambda one: one[0]) :]:
            if self._layout.segments[at].message == here.message:
                continue
            looped = not loops <= own
            again = self._layout.repeated or any(loop.kind == "while" for loop in loops - own)
            if looped and again and here.section is Section.MESSAGES:
                return at
            if answer and not looped:
                return at
        return None
