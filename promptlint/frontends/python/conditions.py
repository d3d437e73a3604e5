"""Conditions: what decides them, and whether they are known."""

from __future__ import annotations

import ast

from promptlint.frontends.python.machine import Frame, Machine
from promptlint.frontends.python.nodes import walk
from promptlint.frontends.python.pieces import Lit
from promptlint.frontends.python.values import Const, DictV, FuncV, ListV, Obj, Str, Value
from promptlint.layout import Guard, Scope

_PLAIN_CALLS = frozenset(
    (
        "len",
        "isinstance",
        "any",
        "all",
        "bool",
        "str",
        "enumerate",
        "reversed",
        "sorted",
        "list",
        "zip",
        "range",
        "set",
        "tuple",
        "iter",
    )
)


def guard_of(
    m: Machine, test: ast.expr, value: Value, frame: Frame, branch: int = 0, kind: str = "if"
) -> Guard:
    """Return the guard that a condition makes."""
    cause = value.cause
    return Guard(
        kind,
        frame.module.text(test),
        frame.module.place(test),
        branch,
        cause.scope if cause else Scope.UNKNOWN,
        cause,
        name_in(test),
    )


def name_in(node: ast.expr) -> str:
    """Return the first dotted name of a condition: what decides it."""
    known: str | None = getattr(node, "_name_in", None)
    if known is None:
        known = node._name_in = _name_in(node)  # type: ignore[attr-defined]
    return known


def _name_in(node: ast.expr) -> str:
    for child in walk(node):
        if isinstance(child, ast.Attribute | ast.Name):
            dotted = dotted_name(child)
            if dotted and dotted not in _PLAIN_CALLS:
                return dotted
    return ""


def dotted_name(node: ast.expr) -> str:
    """Return ``a.b.c`` for such an expression, else an empty text."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        return ".".join([node.id, *reversed(names)])
    return ""


def truth(value: Value) -> bool | None:
    """Tell whether a value is certainly true or false."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Str) and not value.parts:
        return False
    if isinstance(value, Str) and any(isinstance(p, Lit) and p.text for p in value.parts):
        return True
    if isinstance(value, (FuncV, Obj)):
        return True
    if isinstance(value, ListV | DictV):
        items = value.items if isinstance(value, ListV) else value.entries.values()
        return True if any(not (i.guards or i.spread) for i in items) else None
    return None
