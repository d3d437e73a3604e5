"""Collections that a loop without fixed order fills, told by what is written in its body.

A loop over a directory does much before it keeps anything, and leaves early where it may::

    for path in folder.iterdir():
        skill = parse(path)        # long
        if skill is None:
            continue
        found.append(skill)        # in the order of the directory, however much of the rest was followed

What the body fills has the loop's order when it begins. A collection that is sorted in the same function is left
to the sorting, which may stand behind the end of a budget.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.syntax.nodes import GROWING, blocks, remembered, walk
from promptlint.frontends.python.values.values import DictV, ListV, Obj, Value
from promptlint.source import Place

_ORDERED = GROWING - {"add"}  # a set has no order anyway
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def scramble(m: Machine, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
    """Note for each collection that a loop's body fills that its elements come in no fixed order."""
    names = _filled(node)
    if not names:
        return
    if frame.func is not None:
        names = names - _sorted(frame.func.node)
    for name in sorted(names):
        value = _value(name, frame)
        if isinstance(value, (ListV, DictV)) and getattr(value, "kind", "") != "set":
            m.scramble(value)


def loops(frame: Frame) -> frozenset[Place]:
    """Return what the loops of a function run over; comprehensions are part of the list that they make."""
    found = blocks(frame.func.node) if frame.func is not None else []
    return frozenset(frame.module.place(n.iter) for n in found if isinstance(n, ast.For | ast.AsyncFor))


def _value(name: str, frame: Frame) -> Value | None:
    if not name.startswith("."):
        return frame.names.get(name)
    return frame.receiver.attrs.get(name[1:]) if isinstance(frame.receiver, Obj) else None


@remembered
def _filled(node: ast.For | ast.AsyncFor) -> frozenset[str]:
    """Return the names that a body fills and does not bind, with a dot for attributes of ``self``."""
    nodes = [one for statement in node.body for one in walk(statement)]
    local = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    inner = any(isinstance(n, _DEFINITIONS) for n in nodes)
    return frozenset() if inner else frozenset(_fills(nodes)) - local


def _fills(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        target: ast.AST | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ORDERED:
            target = node.func.value
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            target = node.value
        if (name := _name(target)) is not None:
            yield name


@remembered
def _sorted(func: ast.AST) -> frozenset[str]:
    """Return the names of what a function sorts."""
    return frozenset(_sorts(func))


def _sorts(func: ast.AST) -> Iterator[str]:
    for node in walk(func):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr == "sort":
            yield from filter(None, [_name(node.func.value)])
        elif isinstance(node.func, ast.Name) and node.func.id in ("sorted", "min", "max") and node.args:
            yield from filter(None, (_name(inner) for inner in walk(node.args[0])))


def _name(node: ast.AST | None) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f".{node.attr}"
    return None
