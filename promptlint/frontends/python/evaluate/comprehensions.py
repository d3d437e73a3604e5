"""Comprehensions: a collection built by running one expression for each element."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from promptlint.frontends.python.evaluate import members, protocols, rounds
from promptlint.frontends.python.evaluate.conditions import guard_of, name_in, truth
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.pieces import worst
from promptlint.frontends.python.values.values import DictV, Item, ListV, Value
from promptlint.layout import DATA, Cause, Guard, Kind, Scope

# What elements say: with the same elements, the same of them are left out.
_SAID = DATA | {Kind.HISTORY, Kind.HISTORY_REWRITE}


def collection(m: Machine, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: Frame) -> Value:
    """Return the list or set that a comprehension or generator gives."""
    depth = len(m.guards)
    out: list[Item] = []
    order = _over(
        m, node.generators, 0, frame, lambda: out.append(Item(m.evaluate(node.elt, frame), m.since(depth)))
    )
    if isinstance(node, ast.SetComp):
        return members.unordered(m, out, node, frame)
    result = ListV(out, order=order, depth=depth)
    m.recorder.comprehension(m, result, node, frame)
    return result


def mapping(m: Machine, node: ast.DictComp, frame: Frame) -> Value:
    """Return the mapping that a comprehension gives."""
    depth = len(m.guards)
    out = DictV(depth, frame.module.place(node))
    out.order = _over(
        m,
        node.generators,
        0,
        frame,
        lambda: members.store(
            m, out, m.evaluate(node.key, frame), m.evaluate(node.value, frame), node.key, frame
        ),
    )
    return out


def _over(
    m: Machine, generators: list[ast.comprehension], index: int, frame: Frame, body: Callable[[], object]
) -> Cause | None:
    """Run a comprehension's body for each element, and return why its order is not fixed."""
    if index == len(generators):
        body()
        return None
    generator = generators[index]
    iterable = protocols.iterated(m, m.evaluate(generator.iter, frame), generator.iter, frame)
    targets = {n.id for n in walk(generator.target) if isinstance(n, ast.Name)}
    saved = {name: frame.names.get(name) for name in targets}
    order = members.order_of(iterable)
    known = rounds.unrolled(m, iterable, generator.iter, frame)
    if known is not None:
        inner = None
        for item in known:
            bind_target(m, generator.target, item.value, frame)
            with m.under(*item.guards):
                inner = worst(inner, _filtered(m, generators, index, frame, body))
    else:
        guard = Guard(
            "for",
            frame.module.text(generator.iter),
            frame.module.place(generator.iter),
            scope=order.scope if order else Scope.UNKNOWN,
            cause=order,
            name=name_in(generator.iter),
        )
        with m.under(guard):
            bind_target(m, generator.target, members.element(m, iterable, generator.iter, frame), frame)
            inner = _filtered(m, generators, index, frame, body)
    for name, old in saved.items():
        if old is None:
            frame.names.pop(name, None)
        else:
            frame.names[name] = old
    return worst(order, inner)


def _filtered(
    m: Machine, generators: list[ast.comprehension], index: int, frame: Frame, body: Callable[[], object]
) -> Cause | None:
    tests = generators[index].ifs
    # Which element it is says nothing of which are left out.
    bound = {n.id for one in generators[: index + 1] for n in walk(one.target) if isinstance(n, ast.Name)}
    pushed = 0
    for test in tests:
        value = m.evaluate(test, frame)
        known = truth(value)
        if known is False:
            for _ in range(pushed):
                m.guards.pop()
            return None
        if known is None:
            guard = replace(guard_of(m, test, value, frame), name=name_in(test, bound))
            if not guard.name and guard.cause is not None and guard.cause.kind in _SAID:
                guard = replace(guard, cause=None, scope=Scope.UNKNOWN)
            m.guards.append(guard)
            pushed += 1
    try:
        return _over(m, generators, index + 1, frame, body)
    finally:
        for _ in range(pushed):
            m.guards.pop()


def bind_target(m: Machine, target: ast.expr, value: Value, frame: Frame) -> None:
    """Assign to a loop or assignment target."""
    from promptlint.frontends.python.evaluate.statements import assign

    assign(m, target, value, frame)
