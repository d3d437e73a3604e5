"""Numbers in the parts of an object, which its methods count while a conversation goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

PROGRAM = f"""
from openai import OpenAI
from dataclasses import dataclass
client = OpenAI()
@dataclass
class State:
    seen: int = 0
    used: int = 0
    name: str = "harbour"
    def left(self):
        return 1000 - self.used
class Plain:
    def __init__(self):
        self.seen = 0
        self.used = 0
class Agent:
    def __init__(self, given):
        self.state = MADE
        self.messages = []
    def ask(self, text):
        state = self.state
        self.messages.append({{"role": "user", "content": text}})
        system = {{"role": "system", "content": f"SHOWN. {LONG}"}}
        reply = client.chat.completions.create(model="m", messages=[system, *self.messages])
        AFTER
    def note(self, usage):
        self.state.used += usage.total_tokens
"""


@pytest.mark.parametrize("made", ["State()", "Plain()", "given", "given or State()"])
@pytest.mark.parametrize(
    ("shown", "after", "counted"),
    [
        ("Turn {self.state.seen}", "self.state.seen += 1", True),
        ("Turn {state.seen}", "state.seen += 1", True),
        ("Used {self.state.used}", "self.state.used = reply.usage.total_tokens", True),
        ("Turn {self.state.seen}", "print(reply)", False),
        ("Name {self.state.name}", "self.state.seen += 1", False),
        ("Turn {self.state.seen}", "self.state.name = text", False),
    ],
)
def test_a_number_in_a_part_of_the_object(
    program: Run, made: str, shown: str, after: str, counted: bool
) -> None:
    found = program(PROGRAM.replace("MADE", made).replace("SHOWN", shown).replace("AFTER", after))
    if made.startswith("given") and "{state" in shown:
        return  # of what was handed in, only what is written out is known
    assert ("PL106" in found.codes) is counted


@pytest.mark.parametrize(("after", "counted"), [("self.note(reply.usage)", True), ("pass", True)])
def test_what_a_method_of_the_part_makes_of_it(program: Run, after: str, counted: bool) -> None:
    shown = PROGRAM.replace("MADE", "State()").replace("SHOWN", "Left {self.state.left() if text else 0}")
    assert ("PL106" in program(shown.replace("AFTER", after)).codes) is counted
    never = shown.replace("AFTER", "pass").replace("self.state.used += ", "return ")
    assert "PL106" not in program(never).codes


def test_a_thinking_budget_that_follows_what_was_used(program: Run) -> None:
    text = """
import anthropic
class Meter:
    def __init__(self):
        self.used = 0
    def room(self):
        return max(4_000, 60_000 - self.used)
class Writer:
    def __init__(self):
        self.meter = Meter()
        self.messages = []
    def write(self, text):
        self.messages.append({"role": "user", "content": text})
        budget = {"type": "enabled", "budget_tokens": BUDGET}
        out = anthropic.Anthropic().messages.create(
            model="claude-sonnet-4-5", max_tokens=9, thinking=budget, messages=self.messages)
        self.meter.used = out.usage.input_tokens + out.usage.output_tokens
"""
    assert "PL702" in program(text.replace("BUDGET", "self.meter.room() // 2")).codes
    assert "PL702" not in program(text.replace("BUDGET", "8_000")).codes
