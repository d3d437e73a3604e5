"""Counts of the tokens that a request took, and what a conversation makes of them in the next one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]
GAUGE = f"""
from openai import OpenAI
RULES = {LONG!r}
class Runner:
    {{field}}
    def __init__(self, tools):
        {{begun}}
        self.history = []
    def note(self, reply, limit, options):
        {{noted}}
    def system(self):
        return {{{{'role': 'system', 'content': f'Used: {{{{self.used}}}}. {{{{RULES}}}}'}}}}
    def run(self, task):
        self.history.append({{{{'role': 'user', 'content': task}}}})
        while True:
            reply = OpenAI().chat.completions.create(model='m', messages=[self.system(), *self.history])
            {{after}}
            self.history.append(reply.choices[0].message)
"""


@pytest.mark.parametrize(
    ("field", "begun", "noted", "after", "told"),
    [
        ("", "self.used = 0", "pass", "self.used = reply.usage.total_tokens", True),
        (
            "",
            "self.used = 0.0",
            "self.used = reply.usage.prompt_tokens / 9000",
            "self.note(reply, 1, {})",
            True,
        ),
        ("", "self.used = 0", "pass", "self.used = reply['usage']['total_tokens']", True),
        ("", "self.used = 0", "pass", "self.used = reply.usage_metadata.total_token_count", True),
        ("used = 0", "pass", "pass", "self.used = reply.usage.total_tokens", True),
        # What a caller or the options say is the same in all turns.
        ("", "self.used = 5", "self.used = limit", "pass", False),
        ("", "self.used = 5", "self.used = int(options['limit'])", "pass", False),
        ("used = 5", "pass", "self.used = options.most", "pass", False),
        ("", "self.used = 5", "self.used = 2", "pass", False),
        # What is kept elsewhere is not printed.
        ("", "self.used = 5; self.total = 0", "pass", "self.total = reply.usage.total_tokens", False),
    ],
)
def test_attribute(program: Run, field: str, begun: str, noted: str, after: str, told: bool) -> None:
    found = program(GAUGE.format(field=field or "pass", begun=begun, noted=noted, after=after))
    assert ("PL106" in found.codes) is told


LOOP = f"""
from anthropic import Anthropic
RULES = {LONG!r}
_used = 0
def half(n):
    return n // 2
def talk(turns):
    {{begun}}
    while True:
        out = Anthropic().messages.create(model='m', max_tokens={{most}}, system={{system}},
            thinking={{{{'type': 'enabled', 'budget_tokens': {{budget}}}}}}, messages=turns)
        {{name}} = out.usage.input_tokens
        turns.append({{{{'role': 'assistant', 'content': out.content}}}})
"""


@pytest.mark.parametrize(
    ("begun", "name", "system", "budget", "most", "code"),
    [
        ("used = 0", "used", "f'Used: {used}. {RULES}'", "2000", "4000", "PL106"),
        ("global _used", "_used", "f'Used: {_used}. {RULES}'", "2000", "4000", "PL106"),
        ("used = 0", "used", "RULES", "9000 - used", "4000", "PL702"),
        ("used = 0", "used", "RULES", "max(1024, half(9000 - used))", "4000", "PL702"),
        # How long an answer may be is no part of what is compared.
        ("used = 0", "used", "RULES", "2000", "max(1024, 9000 - used)", ""),
        ("used = 0; limit = 5", "used", "f'At most {limit}. {RULES}'", "2000", "4000", ""),
    ],
)
def test_name_of_a_loop(
    program: Run, begun: str, name: str, system: str, budget: str, most: str, code: str
) -> None:
    found = program(LOOP.format(begun=begun, name=name, system=system, budget=budget, most=most))
    assert {"PL106", "PL702"} & set(found.codes) == ({code} if code else set())


BUDGET = f"""
from anthropic import Anthropic
class Editor:
    def __init__(self):
        self.turns, self.budget = [], 2000
        self.used = 0
    def allow(self, budget):
        self.budget = max(1024, budget)
    def round(self):
        out = Anthropic().messages.create(model='m', max_tokens=4000, system={LONG!r}, messages=self.turns,
            thinking={{{{'type': 'enabled', 'budget_tokens': {{budget}}}}}})
        self.used = out.usage.input_tokens + out.usage.cache_read_input_tokens
        self.turns.append({{{{'role': 'assistant', 'content': out.content}}}})
"""


@pytest.mark.parametrize(
    ("budget", "told"), [("(9000 - self.used) // 2", True), ("self.budget", False), ("2000", False)]
)
def test_setting(program: Run, budget: str, told: bool) -> None:
    assert ("PL702" in program(BUDGET.format(budget=budget)).codes) is told
