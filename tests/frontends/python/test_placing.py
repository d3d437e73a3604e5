"""Tools that a loop, or a later call, takes away from a conversation that goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]


def seen(found: Program) -> list[tuple[str, str]]:
    return [(o.what, found.source(o.place)) for o in found.observations]


@pytest.mark.parametrize(
    ("later", "changed"),
    [
        ("create(messages=messages)", "create(messages=messages)"),
        ("create(messages=messages, tools=None)", "None"),
        ("create(messages=messages, tools=[])", "[]"),
        # The same tools, perhaps the same, another conversation, and another function.
        ("create(messages=messages, tools=tools)", None),
        ("create(messages=messages, **options)", None),
        ("create(messages=[question])", None),
        ("embed(messages=messages)", None),
    ],
)
def test_a_conversation_that_is_sent_on_without_its_tools(
    talking: Run, later: str, changed: str | None
) -> None:
    found = talking(f"""
def ask(question, messages, tools, options):
    reply = create(messages=messages, tools=tools)
    messages.append(reply)
    return {later}
""")
    assert seen(found) == ([("tools-changed", changed)] if changed else [])


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        # One call or the other, not one after the other; and one more try of the same request.
        ("if tools:\n        r = create(messages=messages, tools=tools)\n    else:\n        {later}", False),
        ("if tools:\n        return create(messages=messages, tools=tools)\n    {later}", False),
        (
            "try:\n        r = create(messages=messages, tools=tools)\n    except Refused:\n        {later}",
            False,
        ),
        ("r = create(messages=messages, tools=tools)\n    r = create(messages=messages)", False),
        ("if tools:\n        r = create(messages=messages, tools=tools)\n    {later}", True),
        ("messages.append(create(messages=messages, tools=tools))\n    r = create(messages=messages)", True),
    ],
)
def test_calls_of_which_only_one_is_made(talking: Run, body: str, changed: bool) -> None:
    later = "messages.append(note); r = create(messages=messages)"
    found = talking(f"""
def ask(messages, tools, note):
    {body.format(later=later)}
    return r
""")
    assert seen(found) == ([("tools-changed", "create(messages=messages)")] if changed else [])


def test_calls_in_functions_inside(talking: Run) -> None:
    found = talking("""
def run(messages, tools, note):
    for _ in range(9):
        def once(turns=messages):
            return create(messages=turns, tools=tools)
        messages.append(tried(once))
    messages.append(note)
    def at_last():
        return create(messages=messages, tools=None)
    return tried(at_last)
""")
    assert seen(found) == [("tools-changed", "None")]


@pytest.mark.parametrize(
    ("tools", "changed"),
    [
        ("TOOLS if i < 8 else None", True),
        ("[] if final_round else TOOLS", True),
        ("TOOLS if wanted else OTHERS", False),
        ("TOOLS if model.has_tools else None", False),  # the same in every round
    ],
)
@pytest.mark.parametrize("way", ["create(messages=messages, tools={})", "tools = {}"])
def test_tools_of_some_rounds(talking: Run, tools: str, changed: bool, way: str) -> None:
    found = talking(f"""
def run(messages, wanted, model, final_round):
    for i in range(9):
        {way.format(tools)}
""")
    assert seen(found) == ([("tools-changed", tools)] if changed else [])


@pytest.mark.parametrize(
    ("step", "changed"),
    [
        ("tools.extend(found(r))", "tools.extend(found(r))"),
        ("tools += found(r)", "tools += found(r)"),
        ('tools = READING if phase == "read" else WRITING', 'READING if phase == "read" else WRITING'),
        # The same in every round, and another list.
        ("tools = READING if wanted else WRITING", None),
        ("results.extend(found(r))", None),
    ],
)
def test_tools_that_become_others_while_a_conversation_goes_on(
    talking: Run, step: str, changed: str | None
) -> None:
    found = talking(f"""
def run(messages, tools, wanted, results, phase):
    while True:
        r = create(messages=messages, tools=tools)
        messages.append(r)
        phase = r.phase
        {step}
""")
    assert seen(found) == ([("tools-changed", changed)] if changed else [])


@pytest.mark.parametrize(
    ("front", "last", "told"),
    [
        ("self.turns[:-1]", "self.turns[-1]", True),
        ("self.turns", "self.answer", False),
        ("self.turns[:-1]", "self.other[-1]", False),
    ],
)
def test_what_stands_between_the_last_turn_and_the_others(
    talking: Run, front: str, last: str, told: bool
) -> None:
    found = talking(f"""
class Chat:
    def request(self):
        out = [{{"role": "system", "content": RULES}}]
        out.extend({front})
        out.append(REMINDER)
        out.append({last})
        return out
""")
    assert seen(found) == ([("history-inserted", "out.append(REMINDER)")] if told else [])
