"""How much of a list of turns goes at once, reckoned from what a file writes."""

from __future__ import annotations

import ast

import pytest

from promptlint.frontends.python.readings.rarely import is_rare


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
