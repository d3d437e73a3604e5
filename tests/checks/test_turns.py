"""Values within conversations: what stands behind an answer, what each begins with, what earlier turns precede."""

from __future__ import annotations

from dataclasses import replace

import pytest

from promptlint.checks import CHECKS, Thresholds
from promptlint.findings import Finding, Severity, Status
from promptlint.layout import Confidence, Kind, Layout, Scope, Segment
from tests.checks.build import MESSAGES, SYSTEM, Words, cause, guard, hole, layout, text

R = Scope.REQUEST


def run(made: Layout) -> list[Finding]:
    found = [f for check in CHECKS if check.default for f in check.run(made, Words(made), Thresholds())]
    return [finding for finding in found if finding.status is Status.ACTIVE]


def turn(segment: Segment, message: int, role: str = "user", **more: object) -> Segment:
    return replace(segment, section=MESSAGES, role=role, message=message, **more)  # type: ignore[arg-type]


ROLE = text(10, section=SYSTEM, role="system", message=1)
DATA = turn(hole(cause(Kind.REQUEST_INPUT, R)), 2)
ANSWER = turn(hole(), 4, "assistant")


def test_data_costs_what_stands_in_front_of_the_first_answer() -> None:
    [found] = run(layout(ROLE, DATA, turn(text(60), 3), ANSWER, turn(text(500), 5)))
    assert found.cost is not None
    assert (found.code, found.cost.tokens) == ("PL108", 60)
    assert run(layout(ROLE, DATA, turn(text(20), 3), ANSWER, turn(text(500), 5))) == []


def test_an_answer_that_the_program_wrote_is_an_example_and_fixed_text() -> None:
    [found] = run(layout(ROLE, DATA, turn(text(20), 3), turn(text(5), 4, "assistant"), turn(text(100), 5)))
    assert found.cost is not None
    assert found.cost.tokens == 125


def test_answers_that_may_not_be_there_hide_nothing() -> None:
    earlier = guard(kind="for", expression="earlier")
    made = layout(
        ROLE, DATA, turn(text(20), 3), turn(hole(), 4, "assistant", guards=(earlier,)), turn(text(100), 5)
    )
    [found] = run(made)
    assert found.cost is not None
    assert found.cost.tokens == 120


def test_what_each_round_of_a_loop_adds_stands_behind_the_answer() -> None:
    rounds = (guard(kind="while", expression="tries < 5"),)
    later = turn(text(100), 5, guards=rounds)
    assert run(layout(ROLE, DATA, turn(text(20), 3), later)) == []
    # What is said in a round is sent again as it is.
    said = turn(hole(cause(Kind.REQUEST_INPUT, R)), 4, guards=rounds)
    assert run(layout(ROLE, said, later)) == []


def test_a_conversation_in_another_branch_is_not_behind() -> None:
    chat = guard(expression="mode == 'chat'")
    plain = replace(chat, branch=1)
    clock = turn(hole(cause(Kind.CLOCK, R)), 2, guards=(chat,))
    turns = hole(cause(Kind.HISTORY, Scope.SESSION))
    assert run(layout(ROLE, clock, turn(turns, 3, guards=(plain,)))) == []
    assert [f.code for f in run(layout(ROLE, clock, turn(turns, 3, guards=(chat,))))] == ["PL101"]


def test_data_at_the_beginning_of_a_conversation_that_goes_on() -> None:
    made = layout(ROLE, DATA, turn(text(100), 3), repeated=True)
    assert [found.code for found in run(made)] == ["PL108"]
    # A time there is the same in all requests of the conversation.
    clock = turn(hole(cause(Kind.CLOCK, R)), 2)
    assert run(layout(ROLE, clock, turn(text(100), 3), repeated=True)) == []


def test_a_turn_that_a_loop_adds_is_kept_as_it_was_sent() -> None:
    looped = (guard(kind="while", expression="True"),)
    added = [turn(hole(cause(Kind.REQUEST_INPUT, R)), 2, guards=looped), turn(text(100), 3, guards=looped)]
    assert run(layout(ROLE, *added, repeated=True)) == []
    # Of what the loop adds nothing could stand in front of the first turn.
    assert run(layout(ROLE, DATA, turn(text(100), 3, guards=looped), repeated=True)) == []


@pytest.mark.parametrize("kind", [Kind.CLOCK, Kind.REQUEST_INPUT, Kind.UNORDERED])
def test_what_follows_the_turns_so_far_moves_with_them(kind: Kind) -> None:
    history = turn(hole(cause(Kind.HISTORY, Scope.SESSION)), 2, "")
    value = turn(hole(cause(kind, R)), 3)
    assert run(layout(ROLE, history, value, turn(text(200), 4))) == []


def test_how_many_turns_there_are_is_no_input() -> None:
    inputs = guard(cause(Kind.REQUEST_INPUT, R), kind="for", expression="inputs")
    turns = turn(text(3), 2, guards=(inputs,))
    assert run(layout(ROLE, turns, turn(text(100), 3))) == []


def test_a_time_in_each_of_the_turns_that_a_loop_makes() -> None:
    loop = guard(cause(Kind.HISTORY, Scope.SESSION), kind="for", expression="turns", at=500)
    now = cause(Kind.CLOCK, R, "`now()`")
    said = turn(hole(None, "turn.text"), 2, guards=(loop,))
    [found] = run(layout(ROLE, turn(hole(now), 2, guards=(loop,)), said))
    assert (found.code, found.severity) == ("PL101", Severity.ERROR)
    assert "the whole conversation" in found.message
    # Requests that a loop makes, parts of one text, and a time that only a name tells of.
    parts = guard(kind="for", expression="parts", at=500)
    one = (turn(hole(now), 2, guards=(parts,)), turn(hole(None, "part"), 2, guards=(parts,)))
    assert not run(layout(ROLE, *one))
    assert not run(layout(turn(hole(now), 2, guards=(loop,)), said))
    named = hole(replace(now, confidence=Confidence.LOW))
    assert not run(layout(ROLE, turn(named, 2, guards=(loop,)), said))
