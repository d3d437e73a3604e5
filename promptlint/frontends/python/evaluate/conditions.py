"""Conditions: what decides them, and whether they are known."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.syntax.nodes import remembered, walk
from promptlint.frontends.python.values.pieces import Lit
from promptlint.frontends.python.values.values import Const, DictV, FuncV, ListV, Obj, Str, Unknown, Value
from promptlint.layout import DATA, Guard, Kind, Scope

_MADE = (ast.Call, ast.ListComp, ast.SetComp, ast.DictComp)
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
    """Return the guard that a condition makes. Whether a set has elements does not depend on their order."""
    cause = value.cause if value.cause is None or value.cause.kind is not Kind.UNORDERED else None
    return Guard(
        kind,
        frame.module.text(test),
        frame.module.place(test),
        branch,
        cause.scope if cause else Scope.UNKNOWN,
        cause,
        name_in(test),
        reads=tuple(_traced(test, frame)) if cause is None else (),
        known_as=tuple(_renamed(test, frame)) if frame.func is not None else (),
    )


def _traced(test: ast.expr, frame: Frame) -> Iterator[str]:
    """Yield the traced data that a condition reads: what a hole of the same value is called."""
    known = frame.names
    for name in _names_in(test):
        value = known.get(name)
        if isinstance(value, Unknown) and value.cause is not None and value.cause.kind in DATA:
            yield value.name


def _renamed(test: ast.expr, frame: Frame) -> Iterator[tuple[str, str]]:
    """Yield the names in a condition whose values are called otherwise where they come from.

    What only a condition asks for was not run (`slicing`): then the names that it is made of tell.
    """
    made = _made_of(frame.func.node) if frame.func is not None else {}
    for name in _names_in(test):
        value = frame.names.get(name)
        if isinstance(value, Unknown) and value.name:
            if value.name != name:
                yield name, value.name
            continue
        for one in made.get(name, ()):
            source = frame.names.get(one)
            if isinstance(source, Unknown) and source.name:
                yield name, source.name


@remembered
def _made_of(function: ast.AST) -> dict[str, tuple[str, ...]]:
    """Return the names in a function that are set once, to what is made of others: ``words = set(text.split())``."""
    found: dict[str, list[ast.expr]] = {}
    for node in walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return {
        name: _names_in(values[0])
        for name, values in found.items()
        if len(values) == 1 and isinstance(values[0], _MADE)
    }


@remembered
def _names_in(test: ast.expr) -> tuple[str, ...]:
    """Return the names in a condition."""
    return tuple(n.id for n in walk(test) if isinstance(n, ast.Name))


def name_in(node: ast.expr, but: Collection[str] = ()) -> str:
    """Return the first dotted name of a condition, what decides it; none that begins with one of those ``but`` given."""
    names = _dotted_in(node)
    return next((name for name in names if name.partition(".")[0] not in but), "") if but else (*names, "")[0]


@remembered
def _dotted_in(node: ast.expr) -> tuple[str, ...]:
    names = (dotted_name(n) for n in walk(node) if isinstance(n, ast.Attribute | ast.Name))
    return tuple(name for name in names if name and name not in _PLAIN_CALLS)


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


def is_switch(value: Value, name: str) -> bool:
    """Tell whether a name of a module is there for others to set: ``config.verbose``, but not ``limits.STRICT``."""
    return (
        isinstance(value, Const)
        and (value.value is None or isinstance(value.value, bool))
        and not name.isupper()
    )
