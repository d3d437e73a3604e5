"""Whether a list of turns is cut rarely: much of it at once, and only when it is full.

::

    if len(turns) > 60: turns = turns[-40:]      a third goes, and comes again before the next cut

That is one miss in twenty turns. How many turns there may be, and how many stay, is written as numbers, or one of
them in terms of the other: ``self.ceiling = math.ceil(limit * 1.5)`` with ``turns[-self.limit:]``.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping

from promptlint.frontends.python.syntax.nodes import definitions, remembered, walk
from promptlint.frontends.python.values.naming import called_name

SHARE = 3  # of a full list, one part of so many goes at least
_SOME = 60.0  # stands for a number that is not known, but named
_MOST = 1e12  # elements
_DEEP = 6
_KEPT_FOR = 300  # seconds for which nearly every cache keeps a prefix
_CLOCK = re.compile(r"\b(now|time|monotonic|clock)\b")
_SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_ROUNDS = frozenset({"ceil", "floor", "int", "round"})


def is_large(limit: float, *, kept: float | None = None, gone: float | None = None) -> bool:
    """Tell whether a third of a full list or more goes at once."""
    return SHARE * (limit - kept if kept is not None else gone or 0) >= limit


def is_rare(kept: ast.expr, test: ast.expr, set_to: Mapping[str, ast.expr]) -> bool:
    """Tell whether so few elements are kept of those that a test asks for that the next cut is far away.

    ``set_to`` are the names of a file that are set once, with what they are set to.
    """
    unit = _meant(kept, set_to)
    stays = reckoned(unit, set_to)
    named = "" if stays is not None else ast.unparse(unit)
    return any(
        (limit := reckoned(one.comparators[0], set_to, named)) is not None
        and is_large(limit, kept=_SOME if stays is None else stays)
        for one in walk(test)
        if isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.Gt | ast.GtE)
    )


def is_called_when_full(
    tree: ast.Module, function: ast.FunctionDef | ast.AsyncFunctionDef, kept: ast.expr
) -> bool:
    """Tell whether what cuts a list is called only where far more is in it than is kept."""
    around = _tests_around(tree, function)
    return bool(around) and all(is_rare(kept, test, set_once(tree)) for test in around)


def is_called_after_a_break(tree: ast.Module, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function is called only when longer has gone by than a cache keeps a prefix that nobody asks for."""
    around = _tests_around(tree, function)
    return bool(around) and all(any(_is_break(one, set_once(tree)) for one in walk(test)) for test in around)


def _is_break(test: ast.AST, set_to: Mapping[str, ast.expr]) -> bool:
    """Tell whether a comparison asks for a long time since something: ``now - self.touched > 2 * 3600``."""
    if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Gt | ast.GtE)):
        return False
    since, limit = test.left, _meant(test.comparators[0], set_to)
    if not (
        isinstance(since, ast.BinOp)
        and isinstance(since.op, ast.Sub)
        and _CLOCK.search(ast.unparse(since.left))
    ):
        return False
    if isinstance(limit, ast.Call) and called_name(limit) == "timedelta":
        parts = [(_SECONDS.get(k.arg or "", 0), reckoned(k.value, set_to)) for k in limit.keywords]
        return sum(unit * (number or 0) for unit, number in parts) >= _KEPT_FOR
    seconds = reckoned(limit, set_to)
    return seconds is not None and seconds >= _KEPT_FOR


@remembered
def set_once(tree: ast.Module) -> Mapping[str, ast.expr]:
    """Return the names and attributes that a file sets once, with what they are set to."""
    known: dict[str, ast.expr] = {}
    often: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name | ast.Attribute):
            name = ast.unparse(target)
            often |= {name} & known.keys()
            known[name] = node.value
    for name in often:
        del known[name]
    return known


def _tests_around(tree: ast.Module, function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """Return the conditions under which a file calls a function of its own; none where it also does so without one.

    A class that says when it is full leaves it to others to ask::

        def full(self): return size(self.turns) > LIMIT
        def compact(self, summary): self.turns = [summary, *self.turns[-4:]]
    """
    calls = _calls(tree)[function.name]
    tests = [
        node.test
        for node in (walk(tree) if calls else ())
        if isinstance(node, ast.If)
        and any(
            isinstance(one, ast.Expr)
            and isinstance(one.value, ast.Call)
            and called_name(one.value) == function.name
            for one in node.body
        )
    ]
    said = _said(tree, function)
    if not calls:
        return list(said.values())
    asked = [said.get(called_name(test), test) if isinstance(test, ast.Call) else test for test in tests]
    return asked if len(tests) == calls else []


@remembered
def _calls(tree: ast.Module) -> Counter[str]:
    """Return how often a file calls what, by the names."""
    return Counter(called_name(node) for node in walk(tree) if isinstance(node, ast.Call))


@remembered
def _classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in definitions(tree) if isinstance(node, ast.ClassDef)]


def _said(tree: ast.Module, function: ast.AST) -> dict[str, ast.expr]:
    """Return what the methods beside a function compare that do nothing else, by their names."""
    beside = next((n.body for n in _classes(tree) if function in n.body), [])
    return {
        one.name: one.body[-1].value
        for one in beside
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(one.body[-1], ast.Return)
        and isinstance(one.body[-1].value, ast.Compare)
    }


def _meant(node: ast.expr, set_to: Mapping[str, ast.expr]) -> ast.expr:
    for _ in range(_DEEP):
        if not isinstance(node, ast.Name | ast.Attribute) or (found := set_to.get(ast.unparse(node))) is None:
            break
        node = found
    return node


def reckoned(node: ast.expr, set_to: Mapping[str, ast.expr], unit: str = "", depth: int = 0) -> float | None:
    """Reckon an expression by what names are set to, with a number put for what is called ``unit``."""
    node = _meant(node, set_to)
    if unit and ast.unparse(node) == unit:
        return _SOME
    if isinstance(node, ast.Constant):
        value = node.value
        if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > _MOST:
            return None
        return float(value)
    if depth > _DEEP:
        return None
    if isinstance(node, ast.BinOp) and (reckon := _OPERATORS.get(node.op.__class__)) is not None:
        left, right = (reckoned(side, set_to, unit, depth + 1) for side in (node.left, node.right))
        try:
            found = reckon(left, right) if left is not None and right is not None else None
        except (ZeroDivisionError, OverflowError):
            return None
        return found if found is not None and math.isfinite(found) else None
    if isinstance(node, ast.Call) and called_name(node) in _ROUNDS and len(node.args) == 1:
        return reckoned(node.args[0], set_to, unit, depth + 1)
    return None
