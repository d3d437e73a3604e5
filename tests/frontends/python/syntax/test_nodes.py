"""The quick walk gives what `ast.walk` gives, less what is no node to us."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from promptlint.frontends.python.syntax import nodes

_LEFT_OUT = (
    *(ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop),
    *(ast.alias, ast.type_ignore),
)
_TEXT = """
def f(a, *, b, c=1, **rest):
    match a:
        case {"x": 1, **more} | P(1, k=2) if a < b:
            return {**rest, "k": [*a]}
    try:
        yield
    except* OSError as e:
        raise
    async def g(): return await (lambda x: -x)(f"{a!r:>{b}}")
"""


@pytest.mark.parametrize("text", [_TEXT, Path(nodes.__file__).read_text(encoding="utf-8")])
def test_walk_is_that_of_the_library(text: str) -> None:
    tree = ast.parse(text)
    assert nodes.walk(tree) == [n for n in ast.walk(tree) if not isinstance(n, _LEFT_OUT)]


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        (
            "old, self.rest = self.rest[:-9], self.rest[-9:]",
            ["old = self.rest[:-9]", "self.rest = self.rest[-9:]"],
        ),
        ("low, high = 20, 80", ["low = 20", "high = 80"]),
        # The second reads what the first one sets; something is spread; it is one value.
        ("a, b = b, a", ["a, b = (b, a)"]),
        ("a, *b = x, y", ["a, *b = (x, y)"]),
        ("a, b = c", ["a, b = c"]),
        ("a = b = x, y", ["a = b = (x, y)"]),
    ],
)
def test_assignments_that_stand_in_one(written: str, parts: list[str]) -> None:
    tree = nodes.split(ast.parse(f"if x:\n    {written}"))
    (test,) = tree.body
    assert [ast.unparse(n) for n in getattr(test, "body", [])] == parts


def test_statements_are_those_inside_compound_ones() -> None:
    (function,) = ast.parse(_TEXT).body
    assert isinstance(function, ast.FunctionDef)
    found = [type(s).__name__ for s in nodes.statements(function.body)]
    assert found == ["Match", "Return", "TryStar", "Expr", "Raise", "AsyncFunctionDef"]


def test_own_leaves_the_statements_inside_out() -> None:
    (statement,) = ast.parse("if a.b:\n    c\nelse:\n    d").body
    assert [n.id for n in nodes.own(statement) if isinstance(n, ast.Name)] == ["a"]
