"""Queries that give the newest elements first, by their text: ``ORDER BY id DESC LIMIT 20``, ``order_by("-id")[:15]``."""

from __future__ import annotations

import ast
import re

_NEWEST = re.compile(r"\bORDER\s+BY\b.*\bDESC\b.*\bLIMIT\b", re.IGNORECASE | re.DOTALL)
_LAST_FIRST = re.compile(r"order_by\(.*(?:desc\(|[\"']-)|sort\(.*(?:-1|desc)", re.DOTALL | re.IGNORECASE)


def is_newest(node: ast.Subscript) -> bool:
    """Tell whether an expression is the first elements of a query that gives the newest first."""
    part = node.slice
    if not isinstance(part, ast.Slice) or part.lower is not None or part.upper is None:
        return False
    return isinstance(node.value, ast.Call) and gives_last_first(node.value)


def gives_last_first(node: ast.expr) -> bool:
    """Tell whether a query, built by methods, gives the newest first."""
    return _LAST_FIRST.search(ast.unparse(node)) is not None


def selects_newest(query: str) -> bool:
    """Tell whether a query in SQL gives only the newest rows."""
    return _NEWEST.search(query) is not None
