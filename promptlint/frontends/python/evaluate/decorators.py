"""Decorators of the project: what they put in a function's place."""

from __future__ import annotations

import ast

from promptlint.frontends.python.evaluate import functions
from promptlint.frontends.python.evaluate.bodies import shape_changes
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.values import FuncV, Obj, Value

_TEXT_METHODS = frozenset(("format", "join", "replace", "strip", "removeprefix"))


def decorate(m: Machine, func: FuncV, frame: Frame) -> None:
    """Run the decorators of a function that was defined: at once if they keep it, else when it is called."""
    written = [] if isinstance(func.node, ast.Lambda) else func.node.decorator_list
    if any(registers(one, frame) for one in written):
        func.wrapper = wrapped(m, func, frame)
    elif written:
        func.wrapping = lambda: wrapped(m, func, frame)
    for one in written:
        func.says = m.recorder.decorated(m, func, one, frame) or func.says


def wrapped(m: Machine, func: FuncV, frame: Frame) -> Value | None:
    """Return the function that is called in place of ``func``; None where its result goes through unchanged.

    Most decorators register, retry, time or log: they are not followed, since a wrapper's ``*args`` and
    conditions would only blur what the function itself says.
    """
    if isinstance(func.node, ast.Lambda):
        return None
    plain = FuncV(func.node, func.module, func.closure, func.cls)
    plain.decorators = func.decorators
    value: Value = plain
    for node in reversed(func.node.decorator_list):
        decorator = m.evaluate(node, frame)
        if not isinstance(decorator, FuncV):
            continue
        made = functions.invoke(m, decorator, [value], {}, node, frame)
        if isinstance(made, FuncV) and made.node is not func.node and _adds_text(made):
            value = made
    return None if value is plain else value


def registers(node: ast.expr, frame: Frame) -> bool:
    """Tell whether a decorator of the same file keeps what it decorates: it has to run where it stands."""
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    known = frame.names.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(known, Obj) and known.cls is not None:
        return True
    return isinstance(known, FuncV) and shape_changes(known)


def _adds_text(func: FuncV) -> bool:
    """Tell whether a wrapper gives back something else than the bare result of the function it wraps."""
    if isinstance(func.node, ast.Lambda):
        return _is_text(func.node.body)
    return any(
        _is_text(node.value) for node in walk(func.node) if isinstance(node, ast.Return) and node.value
    )


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Mod)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _TEXT_METHODS
    )
