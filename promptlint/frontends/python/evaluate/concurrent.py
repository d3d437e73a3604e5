"""Coroutines that run side by side: what they fill comes in the order in which they get that far.

::

    async def load(page):
        text = await fetch(page)
        pages.append(text)                         after a wait

    for page in PAGES: group.create_task(load(page))
    await gather(*(load(page) for page in PAGES))  what it gives is in order, what they fill is not
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.syntax.nodes import GROWING, remembered, walk
from promptlint.frontends.python.syntax.slicing import STARTS
from promptlint.frontends.python.values.naming import called_name
from promptlint.frontends.python.values.values import Bound, FuncV, Value
from promptlint.layout import Cause, Confidence, Kind, Scope

_ONE = frozenset(("create_task", "ensure_future"))  # the others start several


def order(m: Machine, node: ast.Call, frame: Frame) -> Cause | None:
    """Return why what several coroutines fill has no order, where a call starts them; None where it does not."""
    name = called_name(node)
    if name not in STARTS:
        return None
    if not any(_fills_later(m.evaluate(call.func, frame)) for call in _several(name, node, frame)):
        return None
    what = frame.module.text(node)
    return Cause(
        Kind.UNORDERED, Scope.REQUEST, what, Confidence.HIGH, frame.module.place(node), variant="completion"
    )


def _several(name: str, node: ast.Call, frame: Frame) -> Iterator[ast.Call]:
    """Yield the calls of coroutines of which there is more than one."""
    if name in _ONE:
        if frame.func is not None and id(node) in _looped(frame.func.node):
            yield from (given for given in node.args[:1] if isinstance(given, ast.Call))
        return
    for given in node.args:
        made = given.value if isinstance(given, ast.Starred) else given
        if isinstance(made, ast.ListComp | ast.GeneratorExp):
            made = made.elt
        elif len(node.args) == 1:
            continue
        if isinstance(made, ast.Call):
            yield made


@remembered
def _looped(function: ast.AST) -> frozenset[int]:
    """Return the ids of the calls in a function's loops and comprehensions."""
    loops = (ast.For, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.GeneratorExp)
    return frozenset(
        id(one)
        for loop in walk(function)
        if isinstance(loop, loops)
        for one in walk(loop)
        if isinstance(one, ast.Call)
    )


def _fills_later(value: Value) -> bool:
    func = value.func if isinstance(value, Bound) else value
    return isinstance(func, FuncV) and isinstance(func.node, ast.AsyncFunctionDef) and _waits(func.node)


@remembered
def _waits(function: ast.AST) -> bool:
    """Tell whether a coroutine waits for something in front of what it puts into a collection."""
    found = walk(function)
    waits = [n.lineno for n in found if isinstance(n, ast.Await)]
    fills = [
        n.lineno
        for n in found
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in GROWING
    ]
    return bool(waits) and bool(fills) and min(waits) <= max(fills)
