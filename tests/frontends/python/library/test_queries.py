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
