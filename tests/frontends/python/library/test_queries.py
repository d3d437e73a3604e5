"""What a query tells of its rows: what is like something, and what is about one user."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]
System = Callable[..., str]

HEAD = """
import sqlite3
base = sqlite3.connect("people.db")
def row(key):
    return base.execute({query!r}, (key,)).fetchone()
"""


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        ("SELECT name, diet FROM profile WHERE chat_id = ?", "per-user/user"),
        ("select name, street from household where phone = ?", "per-user/user"),
        ("SELECT plan FROM app.users WHERE id = $1", "per-user/user"),
        ("SELECT rules FROM handbook WHERE tenant_id = %s", "per-user/tenant"),
        ("SELECT body FROM notes ORDER BY embedding <-> $1 LIMIT 3", "retrieved/request"),
        # What is looked up by another key may be the same for all, and so is a whole table.
        ("SELECT text FROM prompts WHERE name = ?", ""),
        ("SELECT name FROM users ORDER BY name", ""),
    ],
)
def test_a_row(system: System, query: str, cause: str) -> None:
    shown = system("f'{row(key)[0]} Be brief.'", HEAD.format(query=query), arguments="question, key")
    assert shown == ("{row(key)[0]" + (f" ~{cause}" if cause else "") + "} Be brief.")


def test_the_turns_of_a_user_are_the_conversation(system: System) -> None:
    head = HEAD.format(query="SELECT role, content FROM turns WHERE user_id = ?")
    assert "per-user" not in system("str(row(key))", head, arguments="question, key")


def test_a_row_fills_the_fields_of_an_object(system: System) -> None:
    head = (
        HEAD.format(query="SELECT name, street FROM household WHERE phone = ?")
        + """
from typing import NamedTuple
class Household(NamedTuple):
    name: str
    street: str
    language: str = "de"
def caller(key):
    return Household(*(row(key) or ("somebody", "somewhere")))
"""
    )
    shown = system("f'{who.name} of {who.street}'", head, "who = caller(key)", arguments="question, key")
    assert shown == "{who.name ~per-user/user} of {who.street ~per-user/user}"


def test_a_prompt_about_queries_is_read_at_once(program: Run) -> None:
    """Each of SELECT, FROM and WHERE stands in it many times, and no key."""
    rules = "SELECT a FROM b WHERE c IS NULL. " * 400
    start = time.process_time()
    program(f"PROMPT = {rules!r}\ndef ask(db, q):\n    prompt = db.execute(PROMPT)\n    return prompt")
    assert time.process_time() - start < 2


STORE = """
from dataclasses import dataclass
from pydantic_ai import Agent, RunContext
from sqlalchemy import text

RULES = "Plan at most four sessions a week, and one rest day after each hard session. " * 3

@dataclass
class Store:
    pool: object
    def lines(self, who):
        {rows}

@dataclass
class Deps:
    who: str
    notes: Store

agent = Agent("openai:gpt-4.1", deps_type=Deps)

@agent.system_prompt
def notes(ctx: RunContext[Deps]) -> str:
    return "Known:\\n" + "\\n".join(f"- {{line}}" for line in ctx.deps.notes.lines(ctx.deps.who))

@agent.system_prompt
def rules() -> str:
    return RULES
"""
CURSOR = """cursor = self.pool.cursor()
        cursor.execute("SELECT plan FROM app.users WHERE id = %s", (1,))
        cursor.execute({query!r}, (who,))
        return [row[0] for row in cursor.fetchall()]"""


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ('return self.pool.fetch("SELECT body FROM note WHERE member_id = $1", who)', True),
        ('return self.pool.execute("SELECT body FROM note WHERE user_id = ?", (who,)).fetchall()', True),
        ('return self.pool.scalars(text("SELECT content FROM note WHERE customer_id = :id"), who)', True),
        ("return self.pool.fetch(f\"SELECT body FROM note WHERE customer_id = '{who}'\")", True),
        (CURSOR.format(query="SELECT fact FROM facts WHERE customer_id = %(id)s"), True),
        ('return self.pool.fetch("SELECT body FROM rules WHERE kind = $1 ORDER BY id", who)', False),
        ('return self.pool.fetch("SELECT content FROM chat_messages WHERE user_id = $1", who)', False),
        (CURSOR.format(query="SELECT line FROM rules WHERE kind = %(id)s"), False),
    ],
)
def test_a_store_of_an_agent_looks_up_one_user(program: Run, rows: str, found: bool) -> None:
    (finding,) = program(STORE.format(rows=rows)).findings or [None]
    assert (finding is not None) is found
    if finding is not None:
        assert finding.code == "PL104"
        # In the function itself, not at its decorator.
        assert finding.primary.span.start > STORE.format(rows=rows).index('return "Known')
