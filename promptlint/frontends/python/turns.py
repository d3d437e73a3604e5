"""What is written to a turn: does it follow from the turn alone, or from where the turn stands?

Providers want their own shapes, so programs change every message on its way out. A change that looks only at
the message gives the same bytes in every request; one that looks at positions, counters or other messages
gives other bytes as the conversation grows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptlint.frontends.python.nodes import children, walk

_POSITIONS = frozenset({"enumerate", "range"})


def follows_from_turn(node: ast.AST, func: ast.AST) -> bool:
    """Tell whether an assignment in a loop over turns depends on nothing but the turn, by the names it uses.

    Parameters, ``self`` and what the file defines count as fixed; the list, what the function computed from
    it outside of the loop, the loop's position and counters do not. False outside of a loop.
    """
    found = _path(func, node)
    loops = [n for n in found if isinstance(n, (ast.For, ast.AsyncFor))]
    return bool(loops) and all(_follows(node, func, found, loop) for loop in loops)


def _follows(node: ast.AST, func: ast.AST, found: list[ast.AST], loop: ast.For | ast.AsyncFor) -> bool:
    """Tell whether an assignment depends on nothing that one of the loops around it brings in."""
    if any(_by_place(n) for n in walk(loop.iter)):
        return False  # which turns are changed depends on where they stand
    foreign = _outside(func, loop) | _positions(loop) | _names(loop.iter)
    _spread(loop, foreign)
    deciding: list[ast.expr] = [
        n.test for n in found[found.index(loop) :] if isinstance(n, (ast.If, ast.While))
    ]
    if isinstance(node, ast.Subscript):
        assigned = next(
            (n.value for n in reversed(found) if isinstance(n, (ast.Assign, ast.AnnAssign))), None
        )
        deciding += [assigned] if assigned is not None else []
    return not any(_names(expression) & foreign for expression in deciding)


def is_built_here(node: ast.AST, name: str, func: ast.AST) -> bool:
    """Tell whether the loop around ``node`` is the one that appends to a list: it merges turns, in order."""
    return any(
        _appends(child, name)
        for loop in _path(func, node)
        if isinstance(loop, (ast.For, ast.AsyncFor))
        for child in walk(loop)
    )


def _appends(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == name
    )


def _path(root: ast.AST, node: ast.AST) -> list[ast.AST]:
    """Return the nodes from ``root`` to ``node``, both included; nothing if it is not inside."""
    if root is node:
        return [root]
    for child in children(root):
        if found := _path(child, node):
            return [root, *found]
    return []


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name) and n.id not in ("self", "cls")}


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that the statements below a node assign."""
    for child in walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id


def _by_place(node: ast.AST) -> bool:
    """Tell whether a part of a loop's iterable picks turns by where they stand, or counts from the end."""
    if isinstance(node, ast.Slice):
        # ``messages[1:]`` is the same turns in every request, and those that were added.
        return (
            node.upper is not None or node.step is not None or not isinstance(node.lower, ast.Constant | None)
        )
    return isinstance(node, ast.Name) and node.id == "reversed"


def _outside(func: ast.AST, loop: ast.For | ast.AsyncFor) -> set[str]:
    """Return the names that a function computes from the list outside of the loop, and those that count in it."""
    inside = {id(n) for n in walk(loop)}
    counters = {
        n.target.id for n in walk(loop) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }
    found = _names(loop.iter)
    known = 0
    while known != len(found):
        known = len(found)
        for node in walk(func):
            if isinstance(node, ast.Assign) and id(node) not in inside and _names(node.value) & found:
                found |= {name for target in node.targets for name in _bound(target)}
    return found | (counters - _set_anew(loop))


def _set_anew(loop: ast.For | ast.AsyncFor) -> set[str]:
    """Return the names that every round of a loop sets anew before it counts with them."""
    return {
        name for statement in loop.body if isinstance(statement, ast.Assign) for name in _bound(statement)
    }


def _positions(loop: ast.For | ast.AsyncFor) -> set[str]:
    """Return the loop's variables that count, not those that hold a turn."""
    call = loop.iter
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _POSITIONS):
        return set()
    target = loop.target
    if call.func.id == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    return set(_bound(target))


def _spread(loop: ast.For | ast.AsyncFor, foreign: set[str]) -> None:
    """Add the names that the loop's body computes from foreign ones."""
    changed = True
    while changed:
        changed = False
        for child in walk(loop):
            if child is not loop and isinstance(child, (ast.Assign, ast.AugAssign, ast.NamedExpr, ast.For)):
                source = child.iter if isinstance(child, ast.For) else child.value
                targets = child.targets if isinstance(child, ast.Assign) else [child.target]
                new = {
                    t.id for whole in targets for t in walk(whole)
                    if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)
                } - foreign  # fmt: skip
                if new and _names(source) & foreign:
                    foreign |= new
                    changed = True
