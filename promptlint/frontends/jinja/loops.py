"""Loops: what they run over, and what their variables stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jinja2 import nodes

from promptlint.frontends.jinja.bindings import settle_loop
from promptlint.frontends.jinja.values import (
    Items,
    Known,
    Loop,
    Symbol,
    Value,
    composite,
    names_of,
    symbols,
)
from promptlint.layout import OriginKind

if TYPE_CHECKING:
    from promptlint.frontends.jinja.walk import Walker

MAX_UNROLL = 32


def loop(walker: Walker, node: nodes.For) -> None:
    """``for``: the body once, under a guard; over a short constant list once for each item."""
    value = walker.evaluate(node.iter)
    walker.note_cut(value, node)
    known = elements(value)
    if known is not None and node.test is None and len(known) <= MAX_UNROLL and walker.limits.unrolled < 2:
        _unroll(walker, node, known)
        return
    outer, guards = walker.variables, walker.guards
    guard = walker.guard("for", node, node.iter, value, 0)
    carried = walker.parsed.cells_in(node)
    inner = outer.child()
    inner.carry(carried)
    walker.variables, walker.guards = inner, (*guards, guard)
    element = _element(value, target_name(node.target))
    try:
        walker.bind_target(node.target, element)
        walker.variables.set("loop", Loop(guard.name or "loop"))
        if node.test is not None:
            test = walker.evaluate(node.test)
            walker.guards = (*walker.guards, walker.guard("if", node, node.test, test, 0))
        walker.body(node.body)
    finally:
        walker.variables, walker.guards = outer, guards
    settle_loop(outer, inner, carried, guard)
    if node.else_:
        walker.guards = (*guards, replace(guard, branch=1))
        walker.body(node.else_)
        walker.guards = guards


def _unroll(walker: Walker, node: nodes.For, items: tuple[Value, ...]) -> None:
    outer = walker.variables
    walker.limits.unrolled += 1
    try:
        for index, item in enumerate(items):
            walker.variables = outer.child()
            walker.bind_target(node.target, item)
            path = names_of(item)[:1]
            walker.variables.set("loop", Loop(path[0] if path else "loop", (index, len(items))))
            walker.body(node.body)
            outer.absorb(walker.variables)
    finally:
        walker.limits.unrolled -= 1
        walker.variables = outer
    if not items:
        walker.body(node.else_)


def target_name(target: nodes.Node) -> str:
    """Return the target of an assignment or loop as it is written."""
    if isinstance(target, nodes.NSRef):
        return f"{target.name}.{target.attr}"
    if isinstance(target, nodes.Tuple):
        return ", ".join(target_name(item) for item in target.items)
    return target.name if isinstance(target, nodes.Name) else ""


def elements(value: Value) -> tuple[Value, ...] | None:
    """Return the items of a list that the template itself writes."""
    if isinstance(value, Items):
        return value.values
    if isinstance(value, Known) and isinstance(value.value, list | tuple):
        return tuple(Known(item) for item in value.value)
    return None


def _element(value: Value, target: str) -> Value:
    """Return the value of one item of an unknown collection."""
    first = next(symbols(value), None)
    if first is None:
        return composite((value,), target)
    if first.path == "range" and first.kind is OriginKind.CALL:
        return Symbol(OriginKind.VARIABLE, "loop.index", target, ("loop.index", *first.names), exact=False)
    path = first.path + "[]" if first.kind is OriginKind.VARIABLE else first.path
    names = (path, *(name for name in first.names if name != first.path))
    exact = first.kind is OriginKind.VARIABLE and not first.filters
    return replace(first, path=path, names=names, expression=target, exact=exact, default=None, filters=())


def part(value: Value, target: nodes.Expr) -> Value:
    """Return the part of an item that a tuple target takes: ``tools[].name`` for ``name``."""
    if isinstance(value, Symbol) and isinstance(target, nodes.Name):
        path = f"{value.path}.{target.name}" if value.kind is OriginKind.VARIABLE else value.path
        return replace(value, path=path, names=(path, *value.names[1:]), expression=target.name)
    return composite((value,), "")


def unpacked(value: Value, count: int) -> tuple[Value, ...] | None:
    """Return the items of a known list of just that length."""
    items = elements(value)
    return items if items is not None and len(items) == count else None
