"""What one function puts into a mapping that a framework hands to another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from promptlint.findings import Status
from promptlint.frontends.python.evaluate import sharing
from tests.frontends.python.build import LONG, Program, analyze

Run = Callable[..., Program]
STATE = f"""
import time, uuid
from datetime import datetime
from google.adk.agents import LlmAgent
RULES = {LONG!r}
class Hooks:
    def look(self, tool_context): tool_context.state['method'] = datetime.now().isoformat()
def before(callback_context):
    callback_context.state['moment'] = datetime.now().isoformat()
    mark = uuid.uuid4().hex
    callback_context.state.update({{'mark': mark}})
    callback_context.state['tone'] = 'plain'
    callback_context.config['style'] = datetime.now().isoformat()
    own = {{}}
    own['mode'] = datetime.now().isoformat()
    if 'begun' not in callback_context.state:
        callback_context.state['begun'] = datetime.now().isoformat()
def instruction(ctx):
    value = READ
    return f'{{value}}. {{RULES}}'
agent = LlmAgent(name='a', model='gemini-2.5-flash', instruction=instruction, before_agent_callback=before)
"""


@pytest.mark.parametrize(
    ("read", "code"),
    [
        ("ctx.state['moment']", "PL101"),
        ("ctx.state.get('moment', '')", "PL101"),
        ("ctx.session.state.get('method')", "PL101"),
        ("ctx.state['mark']", "PL102"),
        # The same in all requests, of another mapping, of a local one, or of none.
        ("ctx.state['tone']", ""),
        ("ctx.state['style']", ""),
        ("ctx.state['mode']", ""),
        ("ctx.config['tone']", ""),
        # Put there once for a conversation.
        ("ctx.state['begun']", ""),
    ],
)
def test_attribute_of_what_is_given(program: Run, read: str, code: str) -> None:
    found = program(STATE.replace("READ", read))
    told = {one.code for one in found.findings if one.status is Status.ACTIVE}
    assert told - {"PL110"} == ({code} if code else set())  # PL110: nothing tells how often it changes


GRAPH = f"""
import time
from typing import TypedDict
from langchain_core.messages import SystemMessage
from langchain_openai import ChatOpenAI
RULES = {LONG!r}
class State(TypedDict):
    messages: list
    style: str
class Log(TypedDict):
    style: str
def look({{argument}}):
    return {{returned}}
def answer(state: State):
    return {{{{'messages': [ChatOpenAI().invoke([SystemMessage(f"{{{{state['style']}}}} {{{{RULES}}}}"), *state['messages']])]}}}}
"""


@pytest.mark.parametrize(
    ("argument", "returned", "told"),
    [
        ("state: State", "{'style': f'at {time.time()}'}", True),
        ("s: 'State'", "Command(goto='answer', update={'style': f'at {time.time()}'})", True),
        ("state: State", "{'style': 'short'}", False),
        ("state: State", "{'other': f'at {time.time()}'}", False),
        ("state: Log", "{'style': f'at {time.time()}'}", False),
        ("state", "{'style': f'at {time.time()}'}", False),
    ],
)
def test_state_of_a_graph(program: Run, argument: str, returned: str, told: bool) -> None:
    assert ("PL101" in program(GRAPH.format(argument=argument, returned=returned)).codes) is told


HOOK = "from datetime import datetime\ndef before(context):\n    context.state['now'] = datetime.now().isoformat()\n"
READER = f"""
from google.adk.agents import LlmAgent
def instruction(ctx): return f"{{ctx.state['now']}}. {LONG}"
agent = LlmAgent(name='a', model='gemini-2.5-flash', instruction=instruction)
"""


@pytest.mark.parametrize(
    ("reader", "writer", "told"),
    [
        ("app/agent.py", "app/hooks.py", True),
        ("app/agents/main.py", "app/hooks/clock.py", True),
        ("agent.py", "hooks/clock.py", True),
        # Another program of the same project.
        ("shop/agent.py", "bank/hooks.py", False),
        ("agent.py", "examples/hooks.py", False),
    ],
)
def test_files_of_one_program(reader: str, writer: str, told: bool) -> None:
    units = analyze({reader: READER, writer: HOOK})
    causes = [s.cause for unit in units for layout in unit.layouts for s in layout.segments if s.cause]
    assert any(cause.kind == "clock" for cause in causes) is told


def test_a_key_that_many_functions_make_of_itself_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    evaluated = sharing._evaluated
    monkeypatch.setattr(sharing, "_evaluated", lambda *given: asked.append(given[4]) or evaluated(*given))
    masked = "def hidden(row: Row):\n    return {'key': hide(row.get('key', ''))}\n"
    files = {f"app/m{n}.py": masked for n in range(12)}
    analyze(
        {"app/prompt.py": "def prompt(row: Row):\n    return hide(row.get('key')) + ' Be brief.'\n", **files}
    )
    assert 0 < len(asked) <= 20
