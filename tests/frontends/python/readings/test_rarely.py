"""How much of a list of turns goes at once, reckoned from what a file writes."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from promptlint.frontends.python.readings.rarely import is_rare
from tests.frontends.python.build import Program


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("kept", "test", "rare"),
    [
        ("40", "len(turns) > 60", True),
        ("50", "len(turns) > 60", False),
        ("40", f"len(turns) > 1{'0' * 400}", False),  # no list has as many
        ("40", "len(turns) > 1e308 * 100", False),
    ],
)
def test_numbers(kept: str, test: str, rare: bool) -> None:
    assert is_rare(expression(kept), expression(test), {}) is rare


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("now - self.touched > IDLE", False),
        ("time.time() - self.touched >= 600", False),
        ("datetime.now() - self.touched > timedelta(minutes=30)", False),
        # A cache still has it; nobody says how long; the cut comes each time; another number.
        ("now - self.touched > 60", True),
        ("now - self.touched > timedelta(seconds=30)", True),
        ("now - self.touched > self.idle", True),
        ("True", True),
        ("len(self.turns) - self.seen > 600", True),
    ],
)
def test_what_is_cut_after_a_break(talking: Callable[[str], Program], test: str, told: bool) -> None:
    """Nothing of the conversation is in a cache any more."""
    found = talking(f"""
IDLE = 2 * 3600
class Talk:
    def cut(self):
        for turn in self.turns[:-6]:
            for block in turn["content"]:
                if block["type"] == "tool_result":
                    block["content"] = "[removed]"
    def add(self, now, text):
        if {test}:
            self.cut()
        self.turns.append({{"role": "user", "content": text}})
""")
    assert {o.what for o in found.observations} == ({"history-rewritten"} if told else set())
