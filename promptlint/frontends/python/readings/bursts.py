"""Requests that are all sent at the same moment: none of them can read what another has yet to write.

::

    await asyncio.gather(*(ask(row) for row in rows))

An entry can be read once the first answer has begun. Who sends one request in front of the others, lets only a few
through at a time (``async with semaphore``) or goes from one batch to the next writes it once, or a few times.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from promptlint.frontends.python.syntax.nodes import loops_around, walk
from promptlint.frontends.python.values.modules import Module
from promptlint.frontends.python.values.naming import called_name
from promptlint.frontends.python.values.values import FuncV
from promptlint.layout import Layout, LayoutKind, Observation, Section
from promptlint.source import Place

_AS_IT_IS = frozenset({"create_task", "ensure_future", "wait_for", "shield"})  # hand on what they are given
_DEEP = 4  # functions that call one another
_FEW = 3

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def with_bursts(module: Module, layouts: list[Layout]) -> list[Layout]:
    """Return the layouts, those whose shared part is marked carrying where many of them are sent at once."""
    text = module.source.text
    if module.tree is None or not ("gather" in text or "create_task" in text):
        return layouts
    if not any(map(_shares, layouts)):
        return layouts
    found = list(_bursts(module, module.tree))
    return [_with(layout, found) if _shares(layout) else layout for layout in layouts]


def _shares(layout: Layout) -> bool:
    """Tell whether requests share a marked prefix: tools or system text."""
    return (
        layout.kind is LayoutKind.REQUEST
        and not layout.repeated
        and any(s.breakpoint is not None and s.section is not Section.MESSAGES for s in layout.segments)
    )


def _with(layout: Layout, found: list[tuple[Place, Place, str]]) -> Layout:
    at = layout.place
    for where, start, written in found:
        if where.holds(at):
            seen = Observation("written-at-once", start, written)
            return replace(layout, observations=(*layout.observations, seen))
    return layout


def _bursts(module: Module, tree: ast.Module) -> Iterator[tuple[Place, Place, str]]:
    """Yield the functions that send a request, where many calls of them begin at once, and how that is written."""
    functions: dict[str, tuple[Module, ast.AST]] = {
        name: (value.module, value.node) for name, value in module.names.items() if isinstance(value, FuncV)
    }
    functions |= {node.name: (module, node) for node in walk(tree) if isinstance(node, _Function)}
    for func in [node for node in walk(tree) if isinstance(node, _Function)]:
        for start, one in _started(func):
            called = called_name(one)
            if called not in functions or _is_first_alone(func, start, called):
                continue
            reached = list(_reached(called, functions))
            if not any(_holds_back(node) for _, node in reached):
                for other, node in reached:
                    yield other.place(node), module.place(start), module.text(start)


def _started(func: _Function) -> Iterator[tuple[ast.Call, ast.Call]]:
    """Yield the calls that start many coroutines, each with the call that makes one."""
    named = dict(_gathered(func))
    for node in walk(func):
        if not isinstance(node, ast.Call) or called_name(node) != "gather" or loops_around(node, func):
            continue  # in a loop, one batch comes after the other
        for given in node.args:
            several = given.value if isinstance(given, ast.Starred) else None
            made = named.get(several.id) if isinstance(several, ast.Name) else _made(several)
            one = _coroutine(made[1]) if made is not None and _are_many(made[0]) else None
            if one is not None:
                yield node, one


_Made = tuple[ast.expr, ast.expr]
"""What a loop or comprehension runs over, and what it makes of each."""


def _made(several: ast.AST | None) -> _Made | None:
    if not isinstance(several, ast.ListComp | ast.GeneratorExp):
        return None
    return several.generators[0].iter, several.elt


def _gathered(func: _Function) -> Iterator[tuple[str, _Made]]:
    """Yield the lists of coroutines that a function makes first: ``calls = [ask(row) for row in rows]``."""
    for node in walk(func):
        match node:
            case ast.Assign([ast.Name(name)], value) if (made := _made(value)) is not None:
                yield name, made
            case ast.Call(ast.Attribute(ast.Name(name), "append"), [ast.Call() as one]):
                loops = loops_around(node, func)
                if loops and not isinstance(loops[0], ast.While):
                    yield name, (loops[0].iter, one)
            case _:
                pass


def _are_many(over: ast.expr) -> bool:
    """Tell whether what a loop runs over is more than a few, and not the rest behind the first."""
    if isinstance(over, ast.List | ast.Tuple) and len(over.elts) < _FEW:
        return False
    return not any(isinstance(n, ast.Slice) for n in walk(over))


def _coroutine(node: ast.expr) -> ast.Call | None:
    """Return the call that makes a coroutine: of ``create_task(ask(row))`` that of ``ask``."""
    while isinstance(node, ast.Call) and called_name(node) in _AS_IT_IS and node.args:
        node = node.args[0]
    return node if isinstance(node, ast.Call) else None


def _is_first_alone(func: _Function, start: ast.Call, called: str) -> bool:
    """Tell whether a function waits for one such request in front of the others."""
    begin = start.lineno, start.col_offset
    for node in walk(func):
        if isinstance(node, ast.Await) and (node.lineno, node.col_offset) < begin:
            inside = walk(node)
            if start not in inside and any(
                isinstance(n, ast.Call) and called_name(n) == called for n in inside
            ):
                return True
    return False


def _reached(
    called: str, functions: Mapping[str, tuple[Module, ast.AST]]
) -> Iterator[tuple[Module, ast.AST]]:
    """Yield a function and those that it calls, through others too."""
    known: set[str] = set()
    names = {called}
    for _ in range(_DEEP):
        names = (names - known) & functions.keys()
        known |= names
        yield from (functions[name] for name in sorted(names))
        bodies = [walk(functions[name][1]) for name in names]
        names = {called_name(n) for body in bodies for n in body if isinstance(n, ast.Call)}


def _holds_back(func: ast.AST) -> bool:
    """Tell whether a function lets only some through at a time, or each at a moment of its own."""
    for node in walk(func):
        if isinstance(node, ast.AsyncWith | ast.With):
            if any(not isinstance(item.context_expr, ast.Call) for item in node.items):
                return True
        elif isinstance(node, ast.Call) and called_name(node) in ("acquire", "sleep", "limiter"):
            return True
    return False
