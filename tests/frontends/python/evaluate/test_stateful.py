"""What a conversation changes while it goes on, and what a request is made of that follows it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]
PLANNER = """
from openai import OpenAI
class Planner:
    def __init__(self, notes):
        self.done = []
        self.gist = ''
        self.prompt = ''
        self.notes = notes
        self.messages = []
    def note(self, text):
        self.done.append(text)
    def rename(self, name):
        self.notes = name
    def fill(self):
        self.prompt = self.filled({{**self.notes}})
    def count(self):
        self.prompt = self.filled(self.prompt)
    def load(self):
        self.prompt = store.read(self.notes)
    def step(self, text):
        self.messages.append({{'role': 'user', 'content': text}})
        system = {system}
        OpenAI().chat.completions.create(model='m', messages=[{{'role': 'system', 'content': system}}, *self.messages])
        {after}
"""


@pytest.mark.parametrize(
    ("system", "after", "told"),
    [
        ("f'Be brief. {self.done}'", "self.done.append(text)", "{self.done}"),
        ("f'Be brief. {self.done}'", "self.note(text)", "{self.done}"),
        ("f'Be brief. {self.gist}'", "self.gist = shorten(text)", "{self.gist}"),
        # Nothing changes it here; it is made once, when it is first asked for.
        ("f'Be brief. {self.done}'", "pass", ""),
        ("f'Be brief. {self.notes}'", "self.note(text)", ""),
        ("f'Be brief. {self.prompt}'", "if not self.prompt: self.prompt = load()", ""),
        # Made anew of the same, or of what changes.
        ("f'Be brief. {self.prompt}'", "self.fill()", ""),
        ("f'Be brief. {self.prompt}'", "self.fill(); self.rename(text)", "{self.prompt}"),
        ("f'Be brief. {self.prompt}'", "self.count()", "{self.prompt}"),
        ("f'Be brief. {self.prompt}'", "self.load()", "{self.prompt}"),
    ],
)
def test_state_in_front_of_the_turns(program: Run, system: str, after: str, told: str) -> None:
    found = program(PLANNER.format(system=system, after=after))
    assert [found.source(o.place) for o in found.observations] == ([told] if told else [])
    assert ("PL312" in found.codes) is bool(told)


LOOP = """
from openai import OpenAI
def chat(run, deep, tools):
    messages, editing, n = [], False, 0
    while True:
        messages.append({{'role': 'user', 'content': input()}})
        reply = OpenAI().chat.completions.create(model={model}, messages=messages, tools={tools})
        editing = run(reply)
        n += 1
"""


@pytest.mark.parametrize(
    ("model", "tools", "seen"),
    [
        ("'m'", "[READ, WRITE] if editing else [READ]", ["tools-changed"]),
        ("'m'", "[READ] if n % 2 else None", ["tools-changed"]),
        ("'large' if n < 5 else 'small'", "[READ]", ["parameter-flips"]),
        # Chosen for the conversation.
        ("'large' if deep else 'small'", "[READ, WRITE] if deep else [READ]", []),
        ("'m'", "tools if tools else None", []),
    ],
)
def test_what_each_turn_of_a_loop_sets_anew(program: Run, model: str, tools: str, seen: list[str]) -> None:
    names = "READ, WRITE = {'name': 'read'}, {'name': 'write'}\n"
    assert program(names + LOOP.format(model=model, tools=tools)).seen == seen


def test_tools_that_an_object_finds_on_its_way(program: Run) -> None:
    found = program(
        """
        from openai import OpenAI
        class Agent:
            def __init__(self, registry):
                self.registry = registry
                self.active = [registry['search']]
                self.messages = []
            def step(self, text):
                self.messages.append({'role': 'user', 'content': text})
                reply = OpenAI().chat.completions.create(model='m', messages=self.messages, tools=self.active)
                self.active.append(self.registry[reply.name])
        """
    )
    [seen] = found.observations
    assert (seen.what, found.source(seen.place)) == (
        "tools-changed",
        "self.active.append(self.registry[reply.name])",
    )
