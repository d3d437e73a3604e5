"""Numbers that are drawn by a generator with a seed: the same ones only where it is made anew each time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]
HEAD = f"""
import random
import numpy as np
from openai import OpenAI
RULES = {LONG!r}
def send(shots, question):
    OpenAI().chat.completions.create(model='m', messages=[
        {{'role': 'system', 'content': '\\n'.join(shots) + RULES}}, {{'role': 'user', 'content': question}}])
"""


@pytest.mark.parametrize(
    ("source", "drawn"),
    [
        ("RNG = random.Random(3)\ndef ask(pool, q): send(RNG.sample(pool, 4), q)", True),
        ("RNG = np.random.default_rng(3)\ndef ask(pool, q): send(RNG.choice(pool, 4), q)", True),
        ("def ask(pool, q): send(random.Random(3).sample(pool, 4), q)", False),
        ("def ask(pool, q):\n    rng = random.Random(3)\n    send(rng.sample(pool, 4), q)", False),
        ("RNG = random.Random(3)\nSHOTS = RNG.sample(read(), 4)\ndef ask(q): send(SHOTS, q)", False),
    ],
)
def test_a_generator_of_a_module(program: Run, source: str, drawn: bool) -> None:
    assert ("PL203" in program(HEAD + source).codes) == drawn


@pytest.mark.parametrize(("of", "drawn"), [("['kindly', 'briefly']", True), ("rows", False)])
def test_one_of_several(program: Run, of: str, drawn: bool) -> None:
    """One row of data is what the request is about."""
    source = f"RNG = random.Random(3)\ndef ask(rows, q): send(['Answer', RNG.choice({of})], q)"
    assert ("PL103" in program(HEAD + source).codes) == drawn


@pytest.mark.parametrize(
    ("made", "asked", "drawn"),
    [
        ("pass", "send(self.rng.sample(self.pool, 4), q)", True),
        ("pass", "shots = list(self.pool)\n        self.rng.shuffle(shots)\n        send(shots, q)", True),
        ("self.shots = self.rng.sample(pool, 4)", "send(self.shots, q)", False),
        ("self.shots = self.draw()", "send(self.shots, q)", False),
    ],
)
def test_a_generator_of_an_object(program: Run, made: str, asked: str, drawn: bool) -> None:
    source = f"""
class Bench:
    def __init__(self, pool, seed=7):
        self.pool, self.rng = pool, random.Random(seed)
        {made}
    def draw(self): return self.rng.sample(self.pool, 4)
    def ask(self, q):
        {asked}
"""
    assert ("PL203" in program(HEAD + source).codes) == drawn
