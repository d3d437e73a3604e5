"""Agents of libraries that are run with a conversation: their instructions stand in front of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]

HEAD = """
from datetime import datetime
from agents import Agent, Runner
from langchain.agents import create_agent
from langgraph.prebuilt import create_react_agent
from pydantic_ai import Agent as Typed
"""
NOW = "f'It is {datetime.now()}.'"
SYSTEM = "<system>It is {datetime.now() ~clock/request}."


@pytest.mark.parametrize(
    ("agent", "run"),
    [
        (f"create_react_agent(llm, [], prompt={NOW})", "agent.invoke({'messages': [*history, question]})"),
        (f"create_react_agent(llm, [], prompt={NOW})", "agent.astream_events({'messages': list(history)})"),
        (f"create_agent(llm, system_prompt={NOW})", "agent.stream({'messages': history + [question]})"),
        (f"Agent(name='a', instructions={NOW})", "Runner.run(agent, history + [question])"),
        (f"Agent(name='a', instructions={NOW})", "Runner.run_sync(starting_agent=agent, input=history)"),
        (f"Typed('m', system_prompt={NOW})", "agent.run(question, message_history=history)"),
    ],
)
def test_a_conversation_stands_behind_what_the_agent_was_told(program: Run, agent: str, run: str) -> None:
    found = program(f"{HEAD}\ndef ask(llm, history, question):\n    agent = {agent}\n    return {run}\n")
    assert [one for one in found.texts if one.startswith(SYSTEM + "<") and "history" in one]
    assert "PL101" in found.codes


@pytest.mark.parametrize(
    ("agent", "run"),
    [
        (f"create_react_agent(llm, [], prompt={NOW})", "agent.invoke({'messages': [('user', question)]})"),
        (f"Typed('m', system_prompt={NOW})", "agent.run(question)"),
        ("Typed('m', system_prompt='Be brief.')", "agent.run(question, message_history=history)"),
        (f"Shop(title={NOW})", "agent.run(question, history)"),
    ],
)
def test_nothing_is_lost_where_no_conversation_goes_on(program: Run, agent: str, run: str) -> None:
    found = program(f"{HEAD}\ndef ask(llm, history, question):\n    agent = {agent}\n    return {run}\n")
    assert "PL101" not in found.codes


def test_an_agent_that_is_kept_has_the_time_at_which_it_was_made(program: Run) -> None:
    found = program(
        f"{HEAD}\nclass Bot:\n    def __init__(self, llm):\n        self.agent = create_react_agent(llm, [], prompt={NOW})\n"
        "    def ask(self, history, question):\n        return self.agent.invoke({'messages': history + [question]})\n"
    )
    assert any("~clock/session" in one and "history" in one for one in found.texts)
    assert not any("~clock/request" in one and "history" in one for one in found.texts)
