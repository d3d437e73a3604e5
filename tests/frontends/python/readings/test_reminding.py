"""Only the newest turn of a copy is sent with something that is not kept, told by its form alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]

ASKED = (
    "def asked(message):\n    return message['role'] == 'user' and not message['content'].startswith('[')\n"
)
FINDERS = """
def last_question(turns):
    for i in range(len(turns) - 1, -1, -1):
        if turns[i]["role"] == "user":
            return i
    return None

def first_question(turns):
    for i in range(len(turns)):
        if turns[i]["role"] == "user":
            return i
    return None
"""


def changed(found: Program) -> list[str]:
    return sorted({found.source(o.place) for o in found.observations if o.what == "history-rewritten"})


LOOP = """
def dress(turns):
    out = {copy}
    for m in {over}:
        if {test}:
            m["content"] {adds}
            break
    return out
"""


@pytest.mark.parametrize(
    ("copy", "over", "test", "adds", "changes"),
    [
        ("[dict(m) for m in turns]", "reversed(out)", "asked(m)", "+= REMINDER", True),
        ("copy.deepcopy(turns)", "out[::-1]", "m['role'] == 'user'", "= m['content'] + REMINDER", True),
        (
            "[{'role': m.role, 'content': m.text} for m in turns]",
            "reversed(out)",
            "asked(m)",
            "+= X",
            True,
        ),
        # The first turn is the first in every request; and the turn itself, changed, is sent so again.
        ("[dict(m) for m in turns]", "out", "asked(m)", "+= REMINDER", False),
        ("list(turns)", "reversed(out)", "asked(m)", "+= REMINDER", False),
        ("turns", "reversed(out)", "asked(m)", "+= REMINDER", False),
        # Rules are the last of their kind in every request.
        ("[dict(m) for m in turns]", "reversed(out)", "m['role'] == 'system'", "+= RULES", False),
    ],
)
def test_a_loop_from_the_end_that_stops(
    talking: Run, copy: str, over: str, test: str, adds: str, changes: bool
) -> None:
    found = talking(ASKED + LOOP.format(copy=copy, over=over, test=test, adds=adds))
    assert changed(found) == (['m["content"]'] if changes else [])


@pytest.mark.parametrize(
    ("at", "newest"),
    [
        ("next((i for i in reversed(range(len(out))) if asked(out[i])), None)", True),
        ("max(i for i, m in enumerate(out) if m['role'] == 'user')", True),
        ("[i for i, m in enumerate(out) if m['role'] == 'user'][-1]", True),
        ("last_question(out)", True),
        ("next((i for i in range(len(out)) if asked(out[i])), None)", False),
        ("[i for i, m in enumerate(out) if m['role'] == 'user'][0]", False),
        ("first_question(out)", False),
    ],
)
def test_a_place_that_is_looked_for(talking: Run, at: str, newest: bool) -> None:
    found = talking(f"""{FINDERS}{ASKED}
def dress(turns):
    out = list(turns)
    at = {at}
    if at is not None:
        out[at] = {{**out[at], "content": out[at]["content"] + REMINDER}}
    return out
""")
    assert changed(found) == (["out[at]"] if newest else [])


@pytest.mark.parametrize(("stop", "newest"), [("", True), ("break", False)])
def test_a_place_that_a_loop_leaves_behind(talking: Run, stop: str, newest: bool) -> None:
    found = talking(f"""
def dress(turns):
    out = [dict(m) for m in turns]
    at = -1
    for i, m in enumerate(out):
        if m["role"] == "user":
            at = i
            {stop}
    out[at]["content"] = out[at]["content"] + REMINDER
    return out
""")
    assert changed(found) == (['out[at]["content"]'] if newest else [])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("m.content.append({'type': 'text', 'text': REMINDER})", True),
        ("m.content[-1]['cache_control'] = {'type': 'ephemeral'}", False),
    ],
)
def test_parts_that_a_method_adds(talking: Run, change: str, told: bool) -> None:
    found = talking(f"""
class Team:
    def outgoing(self):
        out = [m.model_copy(deep=True) for m in self.history]
        for m in reversed(out):
            if m.role == "user":
                {change}
                break
        return out
""")
    assert changed(found) == ([change] if told else [])


@pytest.mark.parametrize(
    ("send", "changes"),
    [
        ("create(messages=dress(self.messages))", True),
        ("self.messages = dress(self.messages); create(messages=self.messages)", False),
        ("self.messages[:] = dress(self.messages); create(messages=self.messages)", False),
    ],
)
def test_a_copy_that_takes_the_place_of_the_conversation(talking: Run, send: str, changes: bool) -> None:
    dress = LOOP.format(
        copy="[dict(m) for m in turns]", over="reversed(out)", test="asked(m)", adds="+= REMINDER"
    )
    found = talking(f"""{ASKED}{dress}
class Team:
    def ask(self, text):
        self.messages.append({{"role": "user", "content": text}})
        {send}
""")
    assert changed(found) == (['m["content"]'] if changes else [])


def test_turns_that_are_put_together(talking: Run) -> None:
    found = talking("""
def joined(messages):
    out = []
    for m in messages:
        if out and out[-1]["role"] == m["role"]:
            out[-1]["content"] += m["content"]
        else:
            out.append({"role": m["role"], "content": m["content"]})
    return out
""")
    assert changed(found) == []
