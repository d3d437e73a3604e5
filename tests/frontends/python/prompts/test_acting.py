"""What the tools of an agent change while it runs, printed in its instructions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]
BOARD = """
from dataclasses import dataclass, field
@dataclass
class Board:
    items: dict = field(default_factory=dict)
    place: str = 'home'
    lines: list = field(default_factory=list)
    client: object = None
    def add(self, title): self.items[len(self.items)] = title
    def both(self, title): return self.add(title)
    def open(self):
        if self.client is None: self.client = connect()
        return self.client
    def names(self): return list(self.items.values())
    def render(self): return ' '.join(self.names())
    @property
    def size(self): return f'{len(self.items)} items'
    def shown(self): return f'{self.open()}'
"""
AGENT = f"""
from pydantic_ai import Agent, RunContext
from board import Board
agent = Agent('openai:gpt-4.1', deps_type=Board, instructions={LONG!r})
@agent.INSTRUCTIONS
def now(ctx: RunContext[Board]) -> str:
    if not ctx.deps.items:
        return ''
    text = SHOWN
    return f'Now: {{text}}'
@agent.TOOL
def act(ctx: RunContext[Board], title: str) -> str:
    DOES
    return 'done'
"""


@pytest.mark.parametrize(
    ("kind", "shown", "tool", "does", "told"),
    [
        ("instructions", "ctx.deps.render()", "tool", "ctx.deps.add(title)", "ctx.deps.render"),
        ("instructions", "ctx.deps.size", "tool(retries=2)", "ctx.deps.both(title)", "ctx.deps.size"),
        ("instructions", "ctx.deps.place", "tool", "ctx.deps.place = title", "ctx.deps.place"),
        (
            "instructions",
            "' '.join(ctx.deps.lines)",
            "tool",
            "ctx.deps.lines.append(title)",
            "ctx.deps.lines",
        ),
        ("instructions", "ctx.deps.items", "tool", "ctx.deps.items[1] = title", "ctx.deps.items"),
        ("system_prompt(dynamic=True)", "ctx.deps.place", "tool", "ctx.deps.place = title", "ctx.deps.place"),
        # The tools read it, change something else, or open it when it is first asked for.
        ("instructions", "ctx.deps.render()", "tool", "print(ctx.deps.render())", ""),
        ("instructions", "ctx.deps.place", "tool", "ctx.deps.add(title)", ""),
        ("instructions", "ctx.deps.shown()", "tool", "ctx.deps.open()", ""),
        # No tool; a text that is kept as it was at first; only asked whether there is any.
        ("instructions", "ctx.deps.place", "output_validator", "ctx.deps.place = title", ""),
        ("system_prompt", "ctx.deps.place", "tool", "ctx.deps.place = title", ""),
        ("instructions", "'Go on.'", "tool", "ctx.deps.add(title)", ""),
    ],
)
def test_decorated(program: Run, kind: str, shown: str, tool: str, does: str, told: str) -> None:
    agent = AGENT.replace("INSTRUCTIONS", kind).replace("SHOWN", shown).replace("TOOL", tool)
    found = program({"board.py": BOARD, "app.py": agent.replace("DOES", does)})
    assert [found.source(o.place) for o in found.observations] == ([told] if told else [])
    assert ("PL312" in found.codes) is bool(told)


GIVEN = f"""
from agents import Agent, RunContextWrapper, function_tool
from board import Board
def instructions(ctx: RunContextWrapper[Board], agent): return f'{{ctx.context.place}} {LONG}'
agent = Agent(name='a', instructions=instructions)
"""
TOOLS = """
from agents import RunContextWrapper, function_tool
from board import Board
@function_tool
def act(ctx: RunContextWrapper[Board], title: str): DOES
"""


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("ctx.context.place = title", True),
        ("ctx.context.add(title)", False),
        ("return ctx.context.place", False),
    ],
)
def test_given_by_name_and_tools_of_another_file(program: Run, does: str, told: bool) -> None:
    found = program({"board.py": BOARD, "tools.py": TOOLS.replace("DOES", does), "app.py": GIVEN})
    assert ("PL312" in found.codes) is told


def test_class_of_another_program_with_the_same_name(program: Run) -> None:
    tools = TOOLS.replace("DOES", "ctx.context.place = title").replace("from board", "from other")
    found = program({"board.py": BOARD, "other.py": BOARD, "tools.py": tools, "app.py": GIVEN})
    assert "PL312" not in found.codes
