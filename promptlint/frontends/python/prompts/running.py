"""Agents of libraries that are run with a conversation: what they were made with stands in front of it.

::

    agent = create_react_agent(model, tools, prompt=f"It is {now()}. …")
    agent.invoke({"messages": [*history, question]})

    Runner.run(Agent(instructions=…), turns)          agent.run(question, message_history=turns)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import text
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.forms import is_history
from promptlint.frontends.python.values.values import DictV, ListV, Unknown, Value

if TYPE_CHECKING:
    from promptlint.catalog.model import Sink
    from promptlint.frontends.python.evaluate.machine import Frame, Machine

_RUNS = frozenset(
    (
        *("invoke", "ainvoke", "stream", "astream", "astream_events", "astream_log"),
        *("run", "arun", "run_sync", "run_stream", "run_streamed", "iter", "chat", "achat"),
    )
)
_TURNS = ("messages", "message_history", "chat_history", "history", "input")
_CONVERSATION = "<turns>"


def running(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> tuple[Sink, Arguments] | None:
    """Return an agent's instructions with the conversation that it is run with, as one request; None for other calls."""
    if not (isinstance(node.func, ast.Attribute) and node.func.attr in _RUNS):
        return None
    turns = next(filter(_goes_on, _handed(given)), None)
    if turns is None:
        return None
    owner = (
        m.evaluate(node.func.value, frame) if isinstance(node.func.value, ast.Name | ast.Attribute) else None
    )
    for agent in (owner, given.get(0, "agent", "starting_agent")):
        if not isinstance(agent, Unknown) or agent.given is None:
            continue
        sink = m.sink(agent.path.removesuffix("()"))
        if sink is not None and sink.returns == "agent":
            carried = {name: what for name, what in sink.arguments.items() if what == "system"}
            positions = [agent.given[name] for name in agent.given if name.isdigit()]
            told = Arguments(positions, {**agent.given, _CONVERSATION: turns})
            return replace(sink, arguments={**carried, _CONVERSATION: "messages"}, returns="response"), told
    return None


def _handed(given: Arguments) -> Iterator[Value]:
    """Yield what may be the conversation that an agent is given."""
    for value in (*given.args[:2], *given.keywords.values()):
        if isinstance(value, DictV):
            inner = text.keys_of(value)
            yield from (inner[name] for name in _TURNS if name in inner)
    yield from given.args[:2]
    yield from (given.keywords[name] for name in _TURNS if name in given.keywords)


def _goes_on(value: Value) -> bool:
    """Tell whether a value holds earlier turns, not only what is asked now."""
    if not isinstance(value, ListV):
        return is_history(value)
    return any(item.spread and (is_history(value) or is_history(item.value)) for item in value.items)
