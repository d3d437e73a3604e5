"""Stores that give only the newest elements: a cut where turns are made of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]
ASK = """
from openai import OpenAI
from sqlalchemy import select
def ask(db, session, redis, channel, chat, text):
    rows = {rows}
    sent = [{{'role': 'system', 'content': 'Be brief'}}]
    for row in rows:
        sent.append({{'role': row.role, 'content': row.content}})
    return OpenAI().chat.completions.create(model='m', messages=[*sent, {{'role': 'user', 'content': text}}])
"""
ALL = "'SELECT role, content FROM turns WHERE chat = ? ORDER BY id"


@pytest.mark.parametrize(
    ("rows", "cut"),
    [
        (f"db.execute({ALL} DESC LIMIT 20', (chat,)).fetchall()", True),
        (
            "session.scalars(select(Turn).where(Turn.chat == chat).order_by(Turn.id.desc()).limit(9)).all()",
            True,
        ),
        ("reversed(session.query(Turn).order_by(Turn.id.desc()).limit(9).all())", True),
        ("redis.lrange(chat, -20, -1)", True),
        ("channel.history(limit=15)", True),
        ("db.turns.find({'chat': chat}).sort('ts', DESCENDING).limit(9)", True),
        ("chat.recent_messages(9)", True),
        ("chat.get_history(limit=9)", True),
        ("db.execute('SELECT * FROM turns').fetchall()[-20:]", False),  # the list has no name
        # All of them, in the order in which they were said; the first of them.
        (f"db.execute({ALL}', (chat,)).fetchall()", False),
        (f"db.execute({ALL} LIMIT 20', (chat,)).fetchall()", False),
        ("session.query(Turn).order_by(Turn.id).limit(9).all()", False),
        ("redis.lrange(chat, 0, -1)", False),
        ("channel.history()", False),
        ("db.turns.find({'chat': chat}).sort('ts', ASCENDING).limit(9)", False),
        ("chat.get_history()", False),
        ("chat.last_messages(1)", False),
    ],
)
def test_turns_made_of_rows(program: Run, rows: str, cut: bool) -> None:
    assert program(ASK.format(rows=rows)).seen == (["history-cut"] if cut else [])


@pytest.mark.parametrize(
    ("query", "rows", "cut"),
    [
        ("select(Turn).order_by(Turn.id.desc())", "session.scalars(query.limit(9)).all()", True),
        ("Turn.objects.filter(chat=chat).order_by('-id')", "query[:9]", True),
        ("select(Turn).order_by(Turn.id)", "session.scalars(query.limit(9)).all()", False),
        ("Turn.objects.filter(chat=chat).order_by('id')", "query[:9]", False),
    ],
)
def test_a_query_that_is_built_in_steps(program: Run, query: str, rows: str, cut: bool) -> None:
    text = ASK.format(rows=rows).replace("    rows =", f"    query = {query}\n    rows =")
    assert program(text).seen == (["history-cut"] if cut else [])


def test_rows_that_are_cut_in_the_program(program: Run) -> None:
    found = program(ASK.format(rows="db.fetch(chat)").replace("in rows:", "in rows[-20:]:"))
    [seen] = {o.place: o for o in found.observations}.values()
    assert (seen.what, found.source(seen.place)) == ("history-cut", "rows[-20:]")


def test_rows_in_a_text_are_no_turns(program: Run) -> None:
    found = program(
        """
        from openai import OpenAI
        def title(db, lines):
            rows = db.execute('SELECT * FROM turns ORDER BY id DESC LIMIT 4').fetchall()
            text = '\\n'.join(r.content for r in rows) + '\\n'.join(lines[-4:])
            return OpenAI().chat.completions.create(model='m', messages=[{'role': 'user', 'content': text}])
        """
    )
    assert found.seen == []
    assert found.codes == []


def test_a_store_that_throws_the_oldest_away(program: Run) -> None:
    found = program(
        """
        from openai import OpenAI
        def add(redis, chat, text):
            redis.rpush(chat, dumps({'role': 'user', 'content': text}))
            redis.ltrim(chat, -20, -1)
        """
    )
    assert found.seen == ["history-cut"]


@pytest.mark.parametrize(
    ("made", "cut"), [("ConversationBufferWindowMemory(k=5)", True), ("ConversationBufferMemory()", False)]
)
def test_memories_of_libraries(program: Run, made: str, cut: bool) -> None:
    name = made.partition("(")[0]
    found = program(f"from langchain.memory import {name}\nmemory = {made}\n")
    assert found.seen == (["history-cut"] if cut else [])


def test_an_agent_of_a_library_that_sends_the_newest_of_what_it_keeps(program: Run) -> None:
    found = program("from agno.agent import Agent\nAgent(instructions='Be brief', num_history_runs=3)\n")
    [seen] = {o.place: o for o in found.observations}.values()
    assert (seen.what, found.source(seen.place)) == ("history-cut", "num_history_runs=3")
