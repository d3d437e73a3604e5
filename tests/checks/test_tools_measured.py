"""Tools that are asked before each request whether they work now."""

from __future__ import annotations

import pytest

from tests.frontends.python.build import LONG, run

HEAD = f"""
import random, socket
from datetime import datetime
from openai import OpenAI
client = OpenAI()
def answers(port):
    with socket.socket() as probe:
        probe.settimeout(0.3)
        return probe.connect_ex(("barn.local", port)) == 0
def late():
    return datetime.now().hour > 18
class Tool:
    def __init__(self, name, ready=lambda: True):
        self.name, self.ready = name, ready
    def schema(self):
        return {{"type": "function", "function": {{"name": self.name, "description": "{LONG}"}}}}
SCALE = {{"type": "function", "function": {{"name": "scale", "description": "{LONG}"}}}}
"""
SENT = f"""
    while True:
        {{each}}
        reply = client.chat.completions.create(
            model="m", messages=[{{{{"role": "system", "content": "{LONG}"}}}}, *messages], tools=tools
        )
        messages.append(reply.choices[0].message)
"""
LISTED = "TOOLS = [Tool('yield'), Tool('scale', ready=lambda: {asked})]\n"
ASKED = ["answers(7001)", "late()", "random.random() > 0.5", "not late()"]


@pytest.mark.parametrize("asked", ASKED)
def test_a_list_of_what_works_now(asked: str) -> None:
    head = HEAD + LISTED.format(asked=asked) + "def turn(messages):"
    chosen = "tools = [tool.schema() for tool in TOOLS if tool.ready()]"
    assert run(head + SENT.format(each=chosen)).codes == ["PL303"]
    once = head.replace("TOOLS = [", "READY = " + asked + "\nTOOLS = [").replace(
        "lambda: " + asked, "lambda: READY"
    )
    assert not run(once + SENT.format(each=chosen)).codes


@pytest.mark.parametrize("asked", ASKED)
def test_a_tool_that_is_added_where_it_works_now(asked: str) -> None:
    added = f"tools = [Tool('yield').schema(), *([SCALE] if {asked} else [])]"
    assert run(HEAD + "def turn(messages):" + SENT.format(each=added)).codes == ["PL303"]
    once = added.replace(f"if {asked} ", "if READY ")
    assert not run(f"{HEAD}READY = {asked}\ndef turn(messages):" + SENT.format(each=once)).codes
