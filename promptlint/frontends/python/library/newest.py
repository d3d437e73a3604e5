"""Queries that give the newest elements first, by their text: ``ORDER BY id DESC LIMIT 20``, ``order_by("-id")[:15]``.

A query may be built step by step: ``query = query.order_by(Turn.id.desc())`` and then ``query.limit(20)``.
"""

from __future__ import annotations

import ast
import re

from promptlint.frontends.python.syntax.nodes import walk

_NEWEST = re.compile(r"\bORDER\s+BY\b.*\bDESC\b.*\bLIMIT\b", re.IGNORECASE | re.DOTALL)
_LAST_FIRST = re.compile(r"order_by\(.*(?:desc\(|[\"']-)|sort\(.*(?:-1|desc)", re.DOTALL | re.IGNORECASE)


def is_newest(node: ast.Subscript, function: ast.AST | None) -> bool:
    """Tell whether an expression is the first elements of a query that gives the newest first."""
    part = node.slice
    if not isinstance(part, ast.Slice) or part.lower is not None or part.upper is None:
        return False
    return isinstance(node.value, ast.Call | ast.Name) and gives_last_first(node.value, function)


def gives_last_first(node: ast.expr, function: ast.AST | None) -> bool:
    """Tell whether a query, built by methods in one or more steps of a function, gives the newest first."""
    if _LAST_FIRST.search(ast.unparse(node)):
        return True
    root = node
    while isinstance(root, ast.Call | ast.Attribute):
        root = root.func if isinstance(root, ast.Call) else root.value
    return isinstance(root, ast.Name) and any(
        isinstance(step, ast.Assign)
        and getattr(step.targets[0], "id", None) == root.id
        and _LAST_FIRST.search(ast.unparse(step.value)) is not None
        for step in (walk(function) if function is not None else ())
    )


def selects_newest(query: str) -> bool:
    """Tell whether a query in SQL gives only the newest rows."""
    return _NEWEST.search(query) is not None
