"""Requests that share a marked prefix and are all sent at the same moment."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

PROGRAM = f"""
import asyncio
import anthropic
client = anthropic.AsyncAnthropic()
limit = asyncio.Semaphore(4)
SYSTEM = [{{"type": "text", "text": "{LONG}", "cache_control": {{"type": "ephemeral"}}}}]
async def send(text):
    return await client.messages.create(
        model="claude-sonnet-4-5", max_tokens=9, system=SYSTEM, messages=[{{"role": "user", "content": text}}])
async def fill(row):
    return await send(row["text"])
async def held(row):
    async with limit:
        return await fill(row)
async def retried(row):
    try:
        return await fill(row)
    except Exception:
        return await fill(row)
class Desk:
    async def one(self, row):
        return await send(row["text"])
    async def all(self, rows):
        return await asyncio.gather(*(self.one(row) for row in rows))
async def enrich(rows, batches):
    BODY
"""


@pytest.mark.parametrize(
    ("body", "at_once"),
    [
        ("return await asyncio.gather(*(fill(row) for row in rows))", True),
        ("return await asyncio.gather(*[retried(row) for row in rows], return_exceptions=True)", True),
        (
            "calls = [asyncio.create_task(send(row)) for row in rows]; return await asyncio.gather(*calls)",
            True,
        ),
        (
            "calls = []\n    for row in rows:\n        calls.append(fill(row))\n    await asyncio.gather(*calls)",
            True,
        ),
        ("return await asyncio.gather(*(held(row) for row in rows))", False),
        ("first = await fill(rows[0]); await asyncio.gather(*(fill(row) for row in rows))", False),
        ("await asyncio.gather(*(fill(row) for row in rows[1:]))", False),
        ("for rows in batches:\n        await asyncio.gather(*(fill(row) for row in rows))", False),
        ("await asyncio.gather(fill(rows[0]), store(rows))", False),
        ("await asyncio.gather(*(store(row) for row in rows))", False),
        ("await asyncio.gather(*(limited(fill(row)) for row in rows))", False),  # nobody knows what that does
        ("for row in rows:\n        await fill(row)", False),
    ],
)
def test_many_requests_at_once(program: Run, body: str, at_once: bool) -> None:
    text = PROGRAM.replace("BODY", body)
    without = text.replace("asyncio.gather(*(self.one(row) for row in rows))", "self.one(rows)")
    assert ("PL613" in program(without).codes) is at_once


def test_a_method_is_sent_at_once(program: Run) -> None:
    (finding,) = (f for f in program(PROGRAM.replace("BODY", "pass")).findings if f.code == "PL613")
    assert "self.one(row)" in finding.message


def test_what_is_not_marked_is_not_written(program: Run) -> None:
    text = PROGRAM.replace("BODY", "return await asyncio.gather(*(fill(row) for row in rows))")
    assert "PL613" not in program(text.replace(', "cache_control": {"type": "ephemeral"}', "")).codes
