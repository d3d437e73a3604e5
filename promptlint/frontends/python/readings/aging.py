"""Turns that are shown otherwise by how many came after them, told by the form, as in `trimming`.

A position from the front stays what it was. One from the end is another in the next request::

    n = len(events)
    [{"role": e.role, "content": f"({n - i} turns ago) {e.text}"} for i, e in enumerate(events)]

    for i, step in enumerate(steps):
        if i < len(steps) - keep:
            out.append({"role": "user", "content": "[old output removed]"})
        else:
            out.append({"role": "user", "content": step.output})

A cache mark on the last turns changes none of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from promptlint.frontends.python.readings.turnlists import (
    Body,
    Seen,
    is_list,
    is_message,
    is_turns,
    last_name,
)
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.naming import called_name

_MARKS = re.compile(r"cache|ephemeral|breakpoint|checkpoint|\bmark", re.IGNORECASE)
_ADDING = frozenset({"append", "insert", "appendleft"})


def aging(body: Body) -> Seen:
    """Yield where a function shows turns by how far they are from the end."""
    for made in body.of(ast.ListComp):
        one = made.generators[0]
        index = _index(one.target, one.iter)
        if len(made.generators) == 1 and index is not None and _of_turns(made.elt, one, body):
            ages, lengths = frozenset({index}), _lengths(body)
            if any(_counts_back(n, ages, lengths) for n in walk(made.elt)) and not _only_marks(made.elt):
                yield "history-rewritten", made
    for loop, inside in body.loops:
        index = _index(loop.target, loop.iter) if not isinstance(loop, ast.While) else None
        if index is not None:
            yield from _in_loop(inside, index, body)


def _lengths(body: Body) -> frozenset[str]:
    """Return the names that hold how long something is, or what was computed from that: ``cut = len(turns) - 4``."""
    out: set[str] = set()
    for node in body.of(ast.Assign):  # in the order of the text
        if isinstance(node.targets[0], ast.Name) and _has_length(node.value, frozenset(out)):
            out.add(node.targets[0].id)
    return frozenset(out)


def _has_length(node: ast.AST, lengths: frozenset[str]) -> bool:
    return any(
        (isinstance(n, ast.Name) and n.id in lengths) or (isinstance(n, ast.Call) and called_name(n) == "len")
        for n in (node, *_operands(node))
    )


def _operands(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what an arithmetic expression is computed from: of ``max(0, len(a) - n)``, ``len(a)`` and ``n``."""
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call) and called_name(node) in ("max", "min", "int"):
        parts = node.args
    else:
        return
    for part in parts:
        yield part
        yield from _operands(part)


def _index(target: ast.expr, source: ast.expr) -> str | None:
    """Return the name of a loop's position: ``i`` of ``for i, m in enumerate(…)``, and of ``for i in range(len(…))``."""
    if not (isinstance(source, ast.Call) and source.args):
        return None
    name = called_name(source)
    if name == "enumerate" and isinstance(target, ast.Tuple) and len(source.args) == 1:
        return last_name(target.elts[0])
    return last_name(target) if name == "range" and _has_length(source.args[-1], frozenset()) else None


def _counts_back(node: ast.AST, ages: frozenset[str], lengths: frozenset[str]) -> bool:
    """Tell whether an expression is how far a turn is from the end, or compares that: ``n - i``, ``i < n - 3``."""
    if isinstance(node, ast.Compare):
        if not isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.Eq | ast.NotEq):
            return False
        sides = [node.left, node.comparators[0]]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        sides = [node.left, node.right]
    else:
        return False
    return any(last_name(one) in ages and _has_length(other, lengths) for one, other in (sides, sides[::-1]))


def _of_turns(made: ast.expr, source: ast.comprehension, body: Body) -> bool:
    """Tell whether a comprehension makes messages, or some of its turns are taken over as they are."""
    sides = [made.body, made.orelse] if isinstance(made, ast.IfExp) else [made]
    return any(map(is_message, sides)) or (
        len(sides) == 2
        and any(is_turns(n) or is_list(n, body.lists) for n in walk(source.iter))
        and isinstance(source.target, ast.Tuple)
        and any(last_name(side) == last_name(source.target.elts[-1]) for side in sides)
    )


def _only_marks(node: ast.AST) -> bool:
    return _MARKS.search(ast.unparse(node)) is not None


def _in_loop(inside: list[ast.AST], index: str, body: Body) -> Seen:
    """Yield where a loop adds messages, or sets what it adds, by how far their turns are from the end."""
    messages = [call.args[-1] for call in inside if isinstance(call, ast.Call) and _adds_message(call)]
    if not messages:
        return
    lengths = _lengths(body)
    ages = frozenset({index}) | {
        node.targets[0].id
        for node in inside
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and _counts_back(node.value, frozenset({index}), lengths)
    }
    computed = ages - {index}

    def by_age(node: ast.AST) -> bool:
        return any(
            _counts_back(n, ages, lengths) or (isinstance(n, ast.Name) and n.id in computed)
            for n in walk(node)
        )

    for message in messages:
        if by_age(message) and not _only_marks(message):
            yield "history-rewritten", message
    used = {n.id for message in messages for n in walk(message) if isinstance(n, ast.Name)}
    for test in inside:
        if isinstance(test, ast.If) and by_age(test.test) and not _only_marks(test):
            here, there = walk(*test.body), walk(*test.orelse)
            set_here = any(
                isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) and n.targets[0].id in used
                for n in here
            )
            if set_here or (any(map(_adds_message, here)) and any(map(_adds_message, there))):
                yield "history-rewritten", test.test


def _adds_message(node: ast.AST) -> bool:
    """Tell whether a call adds a message to a list that is made for a request: one that is kept gets it once."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _ADDING
        and isinstance(node.func.value, ast.Name)
        and bool(node.args)
        and is_message(node.args[-1])
    )
