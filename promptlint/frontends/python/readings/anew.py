"""Lists that each round of a loop makes anew: what is added to them is no growth.

::

    while True:
        tools = [SEARCH]
        if may_write:
            tools.append(WRITE)         # the same in each round, as long as nothing in the loop decides it
        create(tools=tools, messages=messages)
"""

from __future__ import annotations

import ast

from promptlint.frontends.python.readings.shapes import names_of
from promptlint.frontends.python.syntax.nodes import walk

_MADE = (ast.List, ast.ListComp)
_COPIES = ("list", "sorted")


def alike_in_each_round(loop: ast.For | ast.AsyncFor | ast.While, name: str, grown: ast.AST) -> bool:
    """Tell whether a list is made in front of where it grows, and nothing that the loop does decides whether it does."""
    end = getattr(grown, "lineno", 0)
    if not any(_makes(statement, name) and statement.lineno < end for statement in loop.body):
        return False
    inside = walk(loop)
    happened = {
        n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id != name
    }
    around = (n for n in inside if isinstance(n, ast.If | ast.For | ast.While) and n is not loop)
    deciding = [n.iter if isinstance(n, ast.For) else n.test for n in around if grown in walk(n)]
    return not any(
        not happened.isdisjoint(names_of(test))
        or any(isinstance(n, ast.Call | ast.Attribute) for n in walk(test))
        for test in deciding
    )


def _makes(statement: ast.stmt, name: str) -> bool:
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    value = statement.value
    copied = isinstance(value, ast.Call) and getattr(value.func, "id", "") in _COPIES
    return (
        any(isinstance(t, ast.Name) and t.id == name for t in targets)
        and (isinstance(value, _MADE) or copied)
        and name not in names_of(value)
    )
