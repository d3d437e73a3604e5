"""Where a slice of turns begins, if that is reckoned from how many there are.

::

    start = max(0, len(turns) - keep)             one turn further on with each that is added
    start = len(turns) - len(turns) % 20          the same for twenty turns, and then twenty further on
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.frontends.python.syntax.nodes import remembered, walk

_OF_NUMBERS = frozenset(("max", "min", "int", "abs", "round"))
_FAR = 6  # names that are looked up one after the other


@dataclass(frozen=True, slots=True)
class Beginning:
    """How many elements stay up to the end, where that is written; ``in_steps`` if it moves by many at once."""

    kept: ast.expr | None
    in_steps: bool


def beginning(bound: ast.expr | None, turns: ast.expr, function: ast.AST | None) -> Beginning | None:
    """Return where a slice of ``turns`` begins that has ``bound`` for its start; None where nothing is counted.

    The last element alone is no window.
    """
    if bound is None:
        return None
    reach = list(_reach(bound, function))
    whole = f"len({ast.unparse(turns)})"
    measured = any(ast.unparse(one) == whole for one in reach if isinstance(one, ast.Call))
    steps = measured and any(map(_is_step, reach))
    kept = next((k for one in reach if (k := _kept(one, whole, function)) is not None), None)
    if steps:
        return Beginning(kept, True)
    return None if kept is None or getattr(kept, "value", None) == 1 else Beginning(kept, False)


def _kept(node: ast.AST, whole: str, function: ast.AST | None) -> ast.expr | None:
    """Return n of ``-n`` and of ``len(turns) - n``."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node.operand
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and _is_length(node.left, whole, function)
    ):
        return node.right
    return None


def _is_length(node: ast.expr, whole: str, function: ast.AST | None) -> bool:
    if isinstance(node, ast.Name) and function is not None:
        values = set_in(function).get(node.id, [])
        return bool(values) and all(ast.unparse(value) == whole for value in values)
    return ast.unparse(node) == whole


def _is_step(node: ast.AST) -> bool:
    """Tell whether a number is rounded to a multiple: ``n % 20``, ``n // 20 * 20``."""
    if not isinstance(node, ast.BinOp):
        return False
    parts = (node.left, node.right)
    times = isinstance(node.op, ast.Mult) and any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv) for part in parts
    )
    return times or isinstance(node.op, ast.Mod)


def _reach(bound: ast.expr, function: ast.AST | None) -> Iterator[ast.AST]:
    """Yield the parts of a sum, and of what the names in it are set to; what other functions make is not looked into."""
    waiting: list[ast.AST] = [bound]
    seen: set[str] = set()
    for node in waiting:  # grows meanwhile
        yield node
        if isinstance(node, ast.Name) and node.id not in seen and function is not None and len(seen) < _FAR:
            seen.add(node.id)
            waiting.extend(set_in(function).get(node.id, []))
        elif isinstance(node, ast.BinOp):
            waiting += (node.left, node.right)
        elif isinstance(node, ast.UnaryOp):
            waiting.append(node.operand)
        elif isinstance(node, ast.IfExp):
            waiting += (node.body, node.orelse)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OF_NUMBERS:
            waiting += node.args


@remembered
def set_in(function: ast.AST) -> dict[str, list[ast.expr]]:
    """Return what a function sets each of its names to; ``start -= start % 20`` as the difference that it is."""
    found: dict[str, list[ast.expr]] = defaultdict(list)
    for node in walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    found[target.id].append(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found[node.target.id].append(node.value)
    return found
