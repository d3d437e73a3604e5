"""What expressions and loops look like, whatever they are about: names, parts of lists, order, limits, messages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.naming import called_name

_LIMIT = re.compile(
    r"token|budget|max|limit|window|remain|available|quota|size|length|\blen\b|count|keep", re.IGNORECASE
)
_SAME_ELEMENTS = frozenset({"list", "tuple", "reversed", "enumerate", "copy", "deepcopy", "cast"})
_GIVES = ("get_", "load_", "read_", "fetch_", "to_")
_ADDS = frozenset({"append", "appendleft", "insert", "extend"})


def derived_from(names: frozenset[str], inside: list[ast.AST]) -> frozenset[str]:
    """Return names, and those of what a loop makes of them."""
    out = set(names)
    steps = [n for n in inside if isinstance(n, ast.Assign | ast.Call | ast.For | ast.AsyncFor)]
    for node in sorted(steps, key=lambda n: n.lineno):
        if isinstance(node, ast.Assign):
            if isinstance(node.targets[0], ast.Name) and not out.isdisjoint(names_of(node.value)):
                out.add(node.targets[0].id)
        elif not isinstance(node, ast.Call):
            if not out.isdisjoint(names_of(node.iter)):
                out |= names_of(node.target)
        elif (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in _ADDS
            and isinstance(node.func.value, ast.Name)
            and any(not out.isdisjoint(names_of(given)) for given in node.args)
        ):
            out.add(node.func.value.id)
    return frozenset(out)


def added_to(inside: list[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the lists and texts to which something is added, or the ``yield`` that gives it, and what it is."""
    for node in inside:
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in _ADDS and node.args:
                yield node.func.value, node.args[-1]
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.value, ast.JoinedStr | ast.List):
                yield node.target, node.value
        elif isinstance(node, ast.Yield) and isinstance(node.value, ast.Name | ast.IfExp):
            yield node, node.value
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):  # ``kept = [turn] + kept``
            first, rest = node.value.left, node.value.right
            same = last_name(rest) == last_name(node.targets[0]) is not None
            if isinstance(first, ast.List) and len(first.elts) == 1 and same:
                yield rest, first.elts[0]


def last_name(node: ast.AST) -> str | None:
    """Return the last word of a name or attribute: ``messages`` for ``self.messages``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def root_name(node: ast.expr) -> str | None:
    """Return the name at the start of a chain of attributes, elements and calls."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def keyed_name(node: ast.AST) -> str | None:
    """Return the last word of a name, of the key that a list is kept under, or of what gives it.

    ``turns`` of ``self.turns``, ``state["turns"]`` and ``state.get("turns", [])``, ``get_turns`` of ``store.get_turns()``.
    """
    key: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        key = node.slice
    elif not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return last_name(node)
    elif node.func.attr == "get":
        key = node.args[0] if node.args else None
    elif node.func.attr.startswith(_GIVES) and not (node.args or node.keywords):
        return node.func.attr
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


@dataclass(frozen=True, slots=True)
class Order:
    """What a loop runs over: a list, from its end or not, by its places or not, and what its part ends in front of."""

    whole: ast.expr
    backwards: bool = False
    places: bool = False
    upper: ast.expr | None = None


def order(node: ast.expr) -> Order:
    """Tell how a loop runs over a list: ``reversed(turns)``, ``turns[::-1]``, ``range(len(turns) - 1, -1, -1)``."""
    backwards = places = False
    upper: ast.expr | None = None
    while True:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            backwards ^= is_negative(node.slice.step)
            upper = upper or node.slice.upper
            node = node.value
        elif isinstance(node, ast.ListComp | ast.GeneratorExp):
            node = node.generators[0].iter
        elif not (isinstance(node, ast.Call) and node.args):
            break
        elif (name := called_name(node)) in _SAME_ELEMENTS:
            backwards ^= name == "reversed"
            node = node.args[-1 if name == "cast" else 0]
        elif name == "range" and (measured := _measured(node.args[:2])) is not None:
            places = True
            if is_negative(node.args[-1]):
                backwards = not backwards
            elif not isinstance(node.args[:2][-1], ast.Call):
                upper = node.args[:2][-1]
            node = measured
        else:
            break
    return Order(node, backwards, places, upper)


def is_negative(node: ast.AST | None) -> bool:
    """Tell whether a number is written with a minus."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _measured(bounds: list[ast.expr]) -> ast.expr | None:
    """Return the list whose length is in what a range goes from and to."""
    for bound in bounds:
        for node in walk(bound):
            if isinstance(node, ast.Call) and called_name(node) == "len" and node.args:
                return node.args[0]
    return None


def exceeds(node: ast.AST) -> bool:
    """Tell whether a comparison is one with a limit, or with nothing left: ``used > budget``, ``left == 0``."""
    if not isinstance(node, ast.Compare):
        return False
    other = node.comparators[0]
    if isinstance(node.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE):
        some = isinstance(node.left, ast.Call) and getattr(other, "value", None) == 0  # ``len(turns) > 0``
        return not some and _LIMIT.search(ast.unparse(node)) is not None
    return isinstance(node.ops[0], ast.Eq) and isinstance(other, ast.Constant) and other.value == 0


def grows(inside: list[ast.AST]) -> frozenset[str]:
    """Return the names that a loop, by what stands in it, counts with."""
    return frozenset(
        n.target.id for n in inside if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    )


def given_by_name(node: ast.AST) -> dict[object, ast.expr]:
    """Return the entries of a mapping, or the keywords of a call, by their names: what a message is made with."""
    if isinstance(node, ast.Dict):
        return {getattr(k, "value", None): v for k, v in zip(node.keys, node.values, strict=True)}
    return {keyword.arg: keyword.value for keyword in node.keywords} if isinstance(node, ast.Call) else {}


def is_message(node: ast.AST) -> bool:
    """Tell whether an expression makes a message: ``{"role": r, …}``, ``Message(role=r, …)``, ``HumanMessage(…)``."""
    if isinstance(node, ast.Dict):
        return any(getattr(key, "value", None) == "role" for key in node.keys)
    return isinstance(node, ast.Call) and (
        any(keyword.arg == "role" for keyword in node.keywords) or called_name(node).endswith("Message")
    )


def names_of(target: ast.AST) -> frozenset[str]:
    """Return the names that a loop gives to its element: ``role`` and ``text`` of ``for role, text in turns``."""
    return frozenset(n.id for n in walk(target) if isinstance(n, ast.Name))


def parts_of(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what a list is put together of: ``a`` and ``b`` of ``[*a, b]`` and of ``a + b``."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            waiting += (node.right, node.left)
        elif isinstance(node, ast.List | ast.Tuple):
            waiting += (e.value if isinstance(e, ast.Starred) else e for e in reversed(node.elts))
        elif isinstance(node, ast.IfExp):
            waiting.append(node.body)
        elif isinstance(node, ast.Call) and last_name(node.func) in ("list", "tuple") and node.args:
            waiting.append(node.args[0])
        else:
            yield node
