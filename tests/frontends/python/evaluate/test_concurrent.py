"""Coroutines that run side by side and fill one list."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]


@pytest.mark.parametrize(
    ("fills", "starts", "found"),
    [
        (
            "text = await get(page)\n        out.append(text)",
            "for page in PAGES: group.create_task(load(page))",
            True,
        ),
        ("out.append(await get(page))", "await asyncio.gather(*(load(page) for page in PAGES))", True),
        ("out.append(await get(page))", "await asyncio.gather(load('a'), load('b'))", True),
        (
            "out.append(await get(page))",
            "await asyncio.wait([asyncio.create_task(load(p)) for p in PAGES])",
            True,
        ),
        # One after the other; one alone; nothing to wait for; sorted; what gather gives is in order.
        ("out.append(await get(page))", "for page in PAGES: await load(page)", False),
        ("out.append(await get(page))", "await asyncio.gather(load('a'))", False),
        (
            "out.append(page)\n        await get(page)",
            "await asyncio.gather(*(load(p) for p in PAGES))",
            False,
        ),
        (
            "out.append(await get(page))",
            "await asyncio.gather(*(load(p) for p in PAGES))\n    out.sort()",
            False,
        ),
        ("return await get(page)", "out = await asyncio.gather(*(load(page) for page in PAGES))", False),
    ],
)
def test_what_they_fill_comes_as_they_end(program: Run, fills: str, starts: str, found: bool) -> None:
    source = f"""
import asyncio
from openai import AsyncOpenAI
PAGES = ('greeting', 'refunds', 'privacy')
async def pages(group):
    out = []
    async def load(page):
        {fills}
    {starts}
    return out
async def ask(group, question):
    text = ' '.join(await pages(group))
    await AsyncOpenAI().chat.completions.create(model='m', messages=[
        {{'role': 'system', 'content': text + {LONG!r}}}, {{'role': 'user', 'content': question}}])
"""
    assert ("PL204" in program(source).codes) == found
