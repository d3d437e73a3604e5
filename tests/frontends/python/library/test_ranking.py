"""Fixed texts that are sorted by what is asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.frontends.python.build import Program

Run = Callable[..., Program]

PROGRAM = """
from openai import OpenAI
from rank_bm25 import BM25Okapi
TABLES = {{
    "orders": "orders(id, member, placed, paid, total): one row for each order of vegetables",
    "boxes": "boxes(id, order_id, size, week): a box belongs to an order and a week",
    "farms": "farms(id, name, distance_km): farms that deliver to the depots",
}}
NAMES = list(TABLES)
INDEX = BM25Okapi([text.split() for text in TABLES.values()])
RULES = "Write SQL for the board of a vegetable box scheme. Return one statement and nothing else, in capitals."
def chosen(question, weights):
    scores = INDEX.get_scores(question.split())
    return {chosen}
def ask(question, weights):
    text = "\\n".join(chosen(question, weights))
    return OpenAI().chat.completions.create(model="m", messages=[
        {{"role": "system", "content": f"{{text}}\\n{{RULES}}"}}, {{"role": "user", "content": question}}])
"""


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ("[TABLES[NAMES[i]] for i in sorted(range(len(NAMES)), key=lambda i: -scores[i])[:2]]", True),
        ("sorted(TABLES.values(), key=lambda text: overlap(question, text))[:2]", True),
        ("[TABLES[n] for n in sorted(TABLES, key=lambda n: (-rank(n, question), n))]", True),
        # By the texts alone, or by what is the same for all requests, the order is fixed.
        ("sorted(TABLES.values(), key=lambda text: len(text))", False),
        ("sorted(TABLES.values(), key=len)", False),
        ("[TABLES[n] for n in sorted(TABLES, key=lambda n: weights[n])]", False),
    ],
)
def test_what_is_sorted_by_the_question(program: Run, chosen: str, told: bool) -> None:
    codes = set(program(PROGRAM.format(chosen=chosen)).codes)
    assert bool(codes & {"PL107", "PL108", "PL109"}) is told
