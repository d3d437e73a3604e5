"""How long what an object holds stays the same: as long as the object that holds it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

TICKET = f"""
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from openai import OpenAI
RULES = {LONG!r}
@dataclass
class Ticket:
    who: str = 'me'
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    @property
    def route(self):
        return f'desk-{{self.who}}-{{self.key}}'
    def drawn(self):
        return uuid.uuid4().hex
"""
CREATE = "OpenAI().responses.create(model='m', instructions=RULES, input=items, prompt_cache_key={})"
MADE_ONCE = "def __init__(self, who):\n        self.ticket = Ticket(who)"


@pytest.mark.parametrize(
    ("ticket", "key", "anew"),
    [
        (MADE_ONCE, "self.ticket.key", False),
        (MADE_ONCE, "self.ticket.route", False),
        (MADE_ONCE, "self.ticket.drawn()", True),
        ("@property\n    def ticket(self):\n        return Ticket('me')", "self.ticket.key", True),
        ("def make(self):\n        return Ticket('me')", "self.make().route", True),
        (
            "def __init__(self):\n        self.ticket = Ticket('me', key=uuid.uuid4().hex)",
            "self.ticket.key",
            False,
        ),
        ("def __init__(self):\n        self.tickets = {}", "self.of(items).key", False),
    ],
)
def test_what_is_made_with_an_object_that_another_keeps(
    program: Run, ticket: str, key: str, anew: bool
) -> None:
    found = program(f"""{TICKET}
class Desk:
    {ticket}
    def of(self, who):
        if who not in self.tickets:
            self.tickets[who] = Ticket(who)
        return self.tickets[who]
    def order(self, items):
        return {CREATE.format(key)}
""")
    assert ("PL609" in found.codes) is anew


@pytest.mark.parametrize(("at", "anew"), [("SESSIONS = {}", False), ("", True)])
def test_what_is_kept_under_a_key_is_made_once_for_it(program: Run, at: str, anew: bool) -> None:
    found = program(f"""{TICKET}
{at}
def order(who, items):
    {"SESSIONS = {}" if anew else "pass"}
    ticket = SESSIONS.get(who)
    if ticket is None:
        ticket = SESSIONS[who] = Ticket(who)
    return {CREATE.format("ticket.route")}
""")
    assert ("PL609" in found.codes) is anew


NOTES = f"""
from functools import cached_property
from openai import OpenAI
RULES = {LONG!r}
class Notes:
    def __init__(self, path):
        self.path = path
    @{{kind}}
    def summary(self):
        {{body}}
class Desk:
    def __init__(self, path):
        self.notes = Notes(path)
    def ask(self, question):
        notes = {{notes}}
        system = f'What you know: {{{{notes.summary}}}}. {{{{RULES}}}}'
        return OpenAI().responses.create(model='m', instructions=system, input=question)
"""


@pytest.mark.parametrize(
    "body",
    [
        "return self.path.read_text()",
        "return self.path.read_text() if self.path.exists() else '(empty)'",
        "with open(self.path) as file:\n            return file.read()",
    ],
)
@pytest.mark.parametrize(
    ("kind", "notes", "anew"),
    [
        ("cached_property", "self.notes", False),
        ("property", "self.notes", True),
        ("cached_property", "Notes(question)", True),
    ],
)
def test_what_a_property_has_computed_once_is_not_told_by_its_name(
    program: Run, body: str, kind: str, notes: str, anew: bool
) -> None:
    found = program(NOTES.format(kind=kind, body=body, notes=notes))
    assert ("PL108" in found.codes) is anew


def test_what_a_kept_property_is_made_of_keeps_its_names(program: Run) -> None:
    found = program(
        NOTES.format(kind="cached_property", body="return f'On: {self.question}'", notes="self.notes")
    )
    assert found.codes == ["PL108"]


@pytest.mark.parametrize(
    ("before", "within", "scope"),
    [
        ("goal = input('Goal: ')", "pass", "session"),
        ("goal = input('Goal: ')\n    goal += ' Be quick.'", "pass", "session"),
        ("pass", "goal = input('Goal: ')", "request"),
        ("pass", "goal = asked()", "request"),
    ],
)
def test_asked_once_for_all_that_is_said(program: Run, before: str, within: str, scope: str) -> None:
    found = program(f"""
from openai import OpenAI
def asked():
    return input('Goal: ')
def main():
    {before}
    messages = []
    while True:
        {within}
        system = {{'role': 'system', 'content': f'Reach this. {{goal}}'}}
        reply = OpenAI().chat.completions.create(model='m', messages=[system, *messages])
        messages.append(reply.choices[0].message)
""")
    assert f"~request-input/{scope}" in found.text
