"""Comparisons with members of an enumeration, and with what an element of a list was made with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import LONG, Program

Run = Callable[..., Program]

PROGRAM = f"""
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, IntEnum, StrEnum, auto
from typing import Callable
from openai import OpenAI
client = OpenAI()
class Tier(KIND):
    FIXED = FIRST
    MOMENT = SECOND
@dataclass
class Source:
    name: str
    tier: TYPE
    text: Callable[[], str]
SOURCES = [
    Source("clock", tier=LATE, text=lambda: datetime.now().isoformat()),
    Source("rules", EARLY, lambda: "{LONG}"),
]
def chosen(tier):
    CHOICE
def ask(question):
    system = "\\n".join([s.text() for s in chosen(ASKED)] + ["{LONG}"])
    messages = [{{"role": "system", "content": system}}, {{"role": "user", "content": question}}]
    return client.chat.completions.create(model="m", messages=messages)
"""
LOOP = """found = []
    for s in SOURCES:
        if s.tier != tier:
            continue
        found.append(s)
    return found"""
CHOICES = [
    "return [s for s in SOURCES if s.tier is tier]",
    "return [s for s in SOURCES if s.tier == tier]",
    "return [s for s in SOURCES if not s.tier is not tier]",
    LOOP,
    "return sorted((s for s in SOURCES if s.tier is tier), key=lambda s: s.name)",
]


def _written(values: dict[str, str], choice: str, asked: str) -> str:
    text = PROGRAM.replace("CHOICE", choice).replace("ASKED", asked)
    for name, value in values.items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("IntEnum", "0", "1"),
        ("Enum", "auto()", "auto()"),
        ("str, Enum", "'fixed'", "'moment'"),
        ("StrEnum", "auto()", "auto()"),
    ],
)
def test_members_of_an_enumeration(program: Run, choice: str, kind: str, first: str, second: str) -> None:
    values = {"KIND": kind, "FIRST": first, "SECOND": second}
    values |= {"TYPE": "Tier", "LATE": "Tier.MOMENT", "EARLY": "Tier.FIXED"}
    assert not program(_written(values, choice, "Tier.FIXED")).codes
    assert program(_written(values, choice, "Tier.MOMENT")).codes == ["PL101"]


@pytest.mark.parametrize("choice", CHOICES[1:4])
def test_what_an_element_was_made_with(program: Run, choice: str) -> None:
    choice = choice.replace(" is not ", " != ").replace(" is ", " == ")
    values = {
        "KIND": "Enum",
        "FIRST": "0",
        "SECOND": "1",
        "TYPE": "str",
        "LATE": "'late'",
        "EARLY": "'early'",
    }
    assert not program(_written(values, choice, "'early'")).codes
    assert program(_written(values, choice, "'late'")).codes == ["PL101"]


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        ("tier: str = 'early'", ""),  # a default is there to be set otherwise
        ("tier: str", "\n    def shift(self):\n        self.tier = 'late'"),
    ],
)
def test_what_may_be_set_otherwise_decides_nothing(program: Run, fields: str, more: str) -> None:
    given = "" if "=" in fields else "'early'"
    found = program(f"""
from dataclasses import dataclass
from datetime import datetime
from openai import OpenAI
client = OpenAI()
@dataclass
class Source:
    {fields}{more}
SOURCES = [Source({given})]
def ask(question):
    clock = "".join(datetime.now().isoformat() for s in SOURCES if s.tier == "late")
    messages = [{{"role": "system", "content": clock + "{LONG}"}}, {{"role": "user", "content": question}}]
    return client.chat.completions.create(model="m", messages=messages)
""")
    assert found.codes == ["PL101"]
