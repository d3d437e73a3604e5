"""Turns that are emptied from the oldest on, until the rest fits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]

HEAD = """
CEILING = 240_000
FLOOR = CEILING // 2
SLACK = CEILING - 1000
STUB = "(removed)"
def size(messages):
    return sum(len(m["content"]) for m in messages if m["role"] == "tool")
"""
FALLING = """
def fitting(messages):
    total = size(messages)
    for message in messages:
        if total <= CEILING:
            break
        if message["role"] != "tool":
            continue
        total -= len(message["content"])
        message["content"] = STUB
    return messages
"""
SPARED = """
def fitting(history, spare):
    for i, turn in enumerate(history):
        if spare >= 0 or turn.role == "user":
            continue
        spare -= -len(turn.text)
        turn.content = turn.content[:80]
"""
# Down to half of the ceiling, and only from the ceiling on.
RARELY = FALLING.replace(
    "for message", "if total <= CEILING:\n        return messages\n    for message"
).replace("total <= CEILING:\n            break", "total <= FLOOR:\n            break")
# Each by its own length: it stays as it is.
EACH = """
def fitting(messages):
    for message in messages:
        if len(message["content"]) > CEILING:
            message["content"] = STUB
"""
OF_FILES = FALLING.replace("messages", "files").replace('message["role"]', 'message["kind"]')


@pytest.mark.parametrize(
    ("function", "emptied"),
    [
        (FALLING, 'message["content"]'),
        (SPARED, "turn.content"),
        (RARELY.replace("FLOOR:", "SLACK:"), 'message["content"]'),
        (RARELY.replace("FLOOR:", "CEILING:"), 'message["content"]'),
        (RARELY.replace("total", "tokens"), ""),
        (RARELY, ""),
        (EACH, ""),
        (OF_FILES, ""),
    ],
)
def test_turns_are_emptied_until_the_rest_fits(program: Run, function: str, emptied: str) -> None:
    found = program(HEAD + function)
    seen = [found.source(one.place) for one in found.observations if one.what == "history-rewritten"]
    assert seen == [emptied] * bool(emptied)
