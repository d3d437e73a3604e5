"""A system text and the turns behind it, given to one call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]

ASK = """
from datetime import datetime
from llms import model
def answer(settings, history, question):
    system = settings.get("system").replace("{{date}}", {date})
    turns = {turns}
    return {call}
"""
PAST = "[{'role': m['role'], 'content': m['content']} for m in history]"


@pytest.mark.parametrize(
    ("call", "turns", "date", "codes"),
    [
        ("model.chat(system, turns, settings)", PAST, "str(datetime.now())", ["PL101"]),
        ("model.complete(system=system, history=history)", PAST, "str(datetime.now())", ["PL101"]),
        (
            "model.chat(system, turns)",
            PAST,
            "str(datetime.now().date())",
            [],
        ),  # the same for all turns of a day
        ("model.chat(system, turns)", PAST, "settings.date", []),
        ("model.store(system, turns)", PAST, "str(datetime.now())", []),
        # One question is no conversation.
        ("model.chat(system, turns)", "[{'role': 'user', 'content': question}]", "str(datetime.now())", []),
    ],
)
def test_turns_stand_behind_the_system_text_that_is_given_with_them(
    program: Run, call: str, turns: str, date: str, codes: list[str]
) -> None:
    found = program(ASK.format(call=call, turns=turns, date=date))
    assert [f.code for f in found.findings if f.code == "PL101"] == codes


def test_a_text_that_is_handed_on_twice_is_one_fault(program: Run) -> None:
    call = "model.chat(system, turns) if question else model.stream_chat(system, turns)"
    found = program(ASK.format(call=call, turns=PAST, date="str(datetime.now())"))
    places = {found.source(f.primary) for f in found.findings if f.code == "PL101"}
    assert places == {'settings.get("system").replace("{date}", str(datetime.now()))'}
