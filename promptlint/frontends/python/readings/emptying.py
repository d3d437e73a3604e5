"""What measures the turns that a loop empties, and how far down it goes.

::

    for message in messages:
        if total <= CEILING: break
        total -= len(message["content"]) - len(STUB)
        message["content"] = STUB

It stops where it began: at the ceiling. From then on each new turn pushes another old one out. Who begins at the
ceiling and goes on down to half of it changes the turns rarely.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptlint.frontends.python.readings.rarely import is_large
from promptlint.frontends.python.readings.turnlists import Body

_ORDERS = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)


def falling(inside: list[ast.AST]) -> frozenset[str]:
    """Return what becomes less with each turn that a loop empties: ``total -= size(turn)``."""
    return frozenset(
        ast.unparse(node.target)
        for node in inside
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Sub)
    )


def limits(nodes: list[ast.AST], measures: frozenset[str]) -> Iterator[ast.expr]:
    """Yield what a measure is compared with: ``total <= CEILING``."""
    for node in nodes if measures else ():
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], _ORDERS):
            sides = node.left, node.comparators[0]
            for one, other in (sides, sides[::-1]):
                if ast.unparse(one) in measures:
                    yield other


def goes_far_down(body: Body, inside: list[ast.AST], measures: frozenset[str]) -> bool:
    """Tell whether a loop ends far below where its function begins: another limit stands in front of it."""
    within = {id(node) for node in inside}
    around: list[ast.AST] = [test for test in body.of(ast.Compare) if id(test) not in within]
    for begin in limits(around, measures):
        for end in limits(inside, measures):
            most, kept = body.number(begin), body.number(end)
            if ast.unparse(begin) != ast.unparse(end) and (
                most is None or kept is None or is_large(most, kept=kept)
            ):
                return True
    return False
