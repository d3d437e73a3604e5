"""What in a file tells that its lists of turns are sent to a model."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]

WINDOW = """
def shown(turns):
    places = [i for i, turn in enumerate(turns) if turn[{asked!r}] == "tool"]
    return [{copy} if i in places[:-3] else turn for i, turn in enumerate(turns)]
"""


@pytest.mark.parametrize(
    ("asked", "copy", "told"),
    [
        # The role of a turn is asked, and another content is put into a copy of it.
        ("role", "{**turn, 'content': '[old]'}", True),
        ("role", "dict(turn, content='[old]')", True),
        ("role", "replace(turn, text='[old]')", True),
        # A page folds its rows, and a mail knows roles of another kind.
        ("kind", "{**turn, 'content': '[old]'}", False),
        ("role", "{**turn, 'folded': True}", False),
    ],
)
def test_a_copy_of_a_turn_with_another_content(program: Run, asked: str, copy: str, told: bool) -> None:
    assert ("history-rewritten" in program(WINDOW.format(asked=asked, copy=copy)).seen) is told


@pytest.mark.parametrize(
    ("path", "told"),
    [("app/context.py", True), ("app/webui/transcript.py", False), ("frontend/talk.py", False)],
)
def test_what_shows_conversations_to_people_sends_none(program: Run, path: str, told: bool) -> None:
    source = WINDOW.format(asked="role", copy="{**turn, 'content': '[old]'}")
    assert ("history-rewritten" in program({path: source}).seen) is told


@pytest.mark.parametrize(
    ("asked", "told"),
    [('msg.role == "user"', True), ('turn.role == "assistant"', True), ('user.role == "user"', False)],
)
def test_who_said_a_turn_is_asked(program: Run, asked: str, told: bool) -> None:
    found = program(f"""
def last_rounds(query, most):
    kept, rounds = [], 0
    for {asked.partition(".")[0]} in query.messages[::-1]:
        if rounds < most:
            kept.append({asked.partition(".")[0]})
            if {asked}:
                rounds += 1
        else:
            break
    query.messages = kept[::-1]
""")
    assert ("history-cut" in found.seen) is told
