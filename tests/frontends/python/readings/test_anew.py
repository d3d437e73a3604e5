"""Tools that each round of a loop lists anew."""

from __future__ import annotations

import pytest

from tests.frontends.python.build import LONG, run

PROGRAM = f"""
from openai import OpenAI
client = OpenAI()
A = {{"type": "function", "function": {{"name": "a", "description": "{LONG}"}}}}
B = {{"type": "function", "function": {{"name": "b", "description": "{LONG}"}}}}
def turn(messages, weigh):
    HEAD
    while True:
        MADE
        IF
            tools.append(B)
        reply = client.chat.completions.create(
            model="m", messages=[{{"role": "system", "content": "{LONG}"}}, *messages], tools=tools
        )
        found = reply.choices[0].message
        messages.append(found)
"""


@pytest.mark.parametrize(
    ("head", "made", "condition", "changes"),
    [
        ("pass", "tools = [A]", "if weigh:", False),
        ("pass", "tools = list((A,))", "if weigh:", False),
        ("pass", "tools: list = [A]", "if not weigh:", False),
        ("tools = [A]", "pass", "if weigh:", True),
        ("found = None", "tools = [A]", "if found:", True),
        ("tools = [A]", "tools = [*tools]", "if weigh:", True),
    ],
)
def test_tools_that_are_listed_anew(head: str, made: str, condition: str, changes: bool) -> None:
    text = PROGRAM.replace("HEAD", head).replace("MADE", made).replace("IF", condition)
    assert ("PL303" in run(text).codes) is changes
