"""Functions that a pool, a thread or an event loop calls: they are run with what they are given."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]

HEAD = """
import asyncio, threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from openai import OpenAI

class Agent:
    def __init__(self, rules):
        self.rules = rules
    def answer(self, question, tone="calm"):
        return OpenAI().chat.completions.create(messages=[
            {"role": "system", "content": f"{self.rules} Be {tone}."}, {"role": "user", "content": question}])
"""
SENT = "<system>{datetime.now() ~clock/request} Be kind.<user>{question ~request-input/request}"


@pytest.mark.parametrize(
    "call",
    [
        "ThreadPoolExecutor().submit(agent.answer, question, 'kind')",
        "ThreadPoolExecutor().submit(agent.answer, question, tone='kind')",
        "[pool.submit(agent.answer, one, 'kind') for one in [question]]",
        "pool.submit(partial(agent.answer, tone='kind'), question)",
        "asyncio.to_thread(agent.answer, question, tone='kind')",
        "loop.run_in_executor(None, agent.answer, question, 'kind')",
        "loop.call_soon(agent.answer, question, 'kind')",
        "threading.Thread(target=agent.answer, args=(question, 'kind')).start()",
        "threading.Thread(target=agent.answer, args=(question,), kwargs={'tone': 'kind'}).start()",
        "threading.Timer(3, agent.answer, [question, 'kind'])",
        "scheduler.add_job(agent.answer, 'cron', args=[question, 'kind'])",
        "pool.apply_async(agent.answer, (question, 'kind'))",
        "pool.map(partial(agent.answer, tone='kind'), [question])",
    ],
)
def test_what_is_handed_on_is_run_with_its_arguments(program: Run, call: str) -> None:
    found = program(
        f"{HEAD}\ndef run(question, pool, loop, scheduler):\n    prompt = f'{{datetime.now()}}'\n    agent = Agent(prompt)\n    {call}\n"
    )
    assert SENT in found.texts


@pytest.mark.parametrize(
    "call",
    [
        "pool.submit(question, agent.answer)",  # somebody else's function, which may do anything with it
        "pool.remember(agent.answer, question, 'kind')",
        "threading.Thread(target=question, args=(agent.answer,))",
        "frame.map(question)",
    ],
)
def test_what_is_only_mentioned_is_not(program: Run, call: str) -> None:
    found = program(
        f"{HEAD}\ndef run(question, pool, frame):\n    prompt = f'{{datetime.now()}}'\n    agent = Agent(prompt)\n    {call}\n"
    )
    assert SENT not in found.texts


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        ("await asyncio.to_thread(words, 'day')", "A fine day."),
        ("await loop.run_in_executor(None, words, 'day')", "A fine day."),
        ("''.join(pool.map(words, ['day', 'night']))", "A fine day.A fine night."),
    ],
)
def test_what_is_waited_for_is_what_the_function_gives(
    system: Callable[..., str], made: str, shown: str
) -> None:
    head = "import asyncio\ndef words(what):\n    return f'A fine {what}.'\n"
    assert system(made, head, arguments="question, loop, pool") == shown
