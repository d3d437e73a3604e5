"""Expressions of a template to values, without rendering."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jinja2 import nodes

from promptlint.frontends.jinja import fold
from promptlint.frontends.jinja.access import attribute, called, item
from promptlint.frontends.jinja.filters import filtered_expression, with_default
from promptlint.frontends.jinja.fold import NotFoldedError
from promptlint.frontends.jinja.formats import formatted
from promptlint.frontends.jinja.scope import Scope, pieces, written
from promptlint.frontends.jinja.values import (
    MISSING,
    Choice,
    Fields,
    Items,
    Known,
    Macro,
    Piece,
    Symbol,
    Text,
    Value,
    choice,
    composite,
    is_small,
    names_of,
)
from promptlint.layout import Guard, OriginKind


def evaluate(node: nodes.Node, scope: Scope) -> Value:
    """Return the value of an expression. Constructs that are not followed give a composite symbol."""
    scope.spend()
    handler = _HANDLERS.get(type(node))
    if handler is not None:
        return handler(node, scope)
    values = tuple(
        scope.evaluate(child) for child in node.iter_child_nodes() if isinstance(child, nodes.Expr)
    )
    return composite(values, written(node, scope))


def _const(node: nodes.Const, scope: Scope) -> Value:
    return Known(node.value)


def _data(node: nodes.TemplateData, scope: Scope) -> Value:
    return Known(node.data)


def _name(node: nodes.Name, scope: Scope) -> Value:
    return scope.lookup(node.name)


def _joined_operands(node: nodes.Concat | nodes.Add, operands: list[nodes.Expr], scope: Scope) -> Value:
    values = [scope.evaluate(operand) for operand in operands]
    if all(isinstance(value, Known) for value in values):
        constants = [value.value for value in values if isinstance(value, Known)]
        try:
            if isinstance(node, nodes.Concat):
                return Known("".join(map(fold.to_text, constants))[: fold.MAX_TEXT])
            return Known(fold.arithmetic("Add", constants[0], constants[1]))
        except NotFoldedError:
            return composite(tuple(values), written(node, scope))
    textual = isinstance(node, nodes.Concat) or any(
        isinstance(value, Text) or (isinstance(value, Known) and isinstance(value.value, str))
        for value in values
    )
    if not textual:
        textual = any(isinstance(value, Choice) for value in values)
    if not textual:
        return composite(tuple(values), written(node, scope))
    found: list[Piece] = []
    for operand, value in zip(operands, values, strict=True):
        found += pieces(value, operand, scope)
    scope.spend(len(found))
    return Text(tuple(found))


def _concat(node: nodes.Concat, scope: Scope) -> Value:
    return _joined_operands(node, node.nodes, scope)


def _add(node: nodes.Add, scope: Scope) -> Value:
    # a + b + c leans to the left; read it as one list, so that long chains stay flat
    operands: list[nodes.Expr] = []
    left: nodes.Expr = node
    while isinstance(left, nodes.Add):
        operands.append(left.right)
        left = left.left
    operands.append(left)
    operands.reverse()
    if len(operands) == 2:
        return _joined_operands(node, operands, scope)
    values = [scope.evaluate(operand) for operand in operands]
    if all(isinstance(value, Known) for value in values):
        total = values[0]
        for value in values[1:]:
            assert isinstance(total, Known)
            assert isinstance(value, Known)
            try:
                total = Known(fold.arithmetic("Add", total.value, value.value))
            except NotFoldedError:
                return composite(tuple(values), written(node, scope))
        return total
    return _joined_operands(node, operands, scope)


def _modulo(node: nodes.Mod, scope: Scope) -> Value:
    left = scope.evaluate(node.left)
    if isinstance(left, Known) and isinstance(left.value, str):
        given = node.right.items if isinstance(node.right, nodes.Tuple) else [node.right]
        values = [(scope.evaluate(value), value) for value in given]
        text = formatted(left.value, "%", node.left, values, {}, scope)
        if text is not None:
            return text
    return _binary(node, scope)


def _binary(node: nodes.BinExpr, scope: Scope) -> Value:
    left, right = scope.evaluate(node.left), scope.evaluate(node.right)
    if isinstance(left, Known) and isinstance(right, Known):
        try:
            return Known(fold.arithmetic(type(node).__name__, left.value, right.value))
        except (NotFoldedError, OverflowError):
            pass
    return composite((left, right), written(node, scope))


def _logic(node: nodes.And | nodes.Or, scope: Scope) -> Value:
    left = scope.evaluate(node.left)
    if isinstance(left, Known):
        takes_right = bool(left.value) == isinstance(node, nodes.And)
        return scope.evaluate(node.right) if takes_right else left
    right = scope.evaluate(node.right)
    if isinstance(node, nodes.Or) and isinstance(left, Symbol) and isinstance(right, Known):
        return with_default(left, right, written(node, scope))
    return composite((left, right), written(node, scope))


def _sign(node: nodes.Neg | nodes.Pos, scope: Scope) -> Value:
    value = scope.evaluate(node.node)
    if isinstance(value, Known) and isinstance(value.value, int | float):
        return Known(-value.value if isinstance(node, nodes.Neg) else +value.value)
    return composite((value,), written(node, scope))


def _not(node: nodes.Not, scope: Scope) -> Value:
    value = scope.evaluate(node.node)
    if isinstance(value, Known):
        return Known(not value.value)
    return composite((value,), written(node, scope))


def _compare(node: nodes.Compare, scope: Scope) -> Value:
    values = [scope.evaluate(node.expr), *(scope.evaluate(operand.expr) for operand in node.ops)]
    if len(values) == 2 and all(isinstance(value, Known) for value in values):
        left, right = (value.value for value in values if isinstance(value, Known))
        try:
            return Known(fold.compare(node.ops[0].op, left, right))
        except NotFoldedError:
            pass
    return composite(tuple(values), written(node, scope))


def _test(node: nodes.Test, scope: Scope) -> Value:
    value = scope.evaluate(node.node)
    if isinstance(value, Known) and not node.args:
        known = {"defined": value is not MISSING, "undefined": value is MISSING, "none": value.value is None}
        if node.name in known:
            return Known(known[node.name])
    if isinstance(value, Macro | Fields | Text) and node.name in ("defined", "undefined"):
        return Known(node.name == "defined")
    args = tuple(scope.evaluate(arg) for arg in node.args)
    return composite((value, *args), written(node, scope))


def _condition(node: nodes.CondExpr, scope: Scope) -> Value:
    test = scope.evaluate(node.test)
    if isinstance(test, Known):
        chosen = node.expr1 if test.value else node.expr2
        return scope.evaluate(chosen) if chosen is not None else MISSING
    first = scope.evaluate(node.expr1)
    second = scope.evaluate(node.expr2) if node.expr2 is not None else MISSING
    place = scope.source.place(*scope.parsed.span(node.test))
    names = names_of(test)
    guards = [
        Guard("if", written(node.test, scope), place, branch, name=names[0] if names else "")
        for branch in (0, 1)
    ]
    return choice([((guards[0],), first), ((guards[1],), second)], written(node, scope))


def _list(node: nodes.List | nodes.Tuple, scope: Scope) -> Value:
    values = tuple(scope.evaluate(item) for item in node.items)
    found: Value = Items(values)
    if all(isinstance(value, Known) for value in values):
        constants = [value.value for value in values if isinstance(value, Known)]
        found = Known(tuple(constants) if isinstance(node, nodes.Tuple) else constants)
    return found if is_small(found) else _opaque(node, scope)


def _dict(node: nodes.Dict, scope: Scope) -> Value:
    values: dict[str, Value] = {}
    for pair in node.items:
        key = scope.evaluate(pair.key)
        if not isinstance(key, Known) or not isinstance(key.value, str):
            return composite(tuple(scope.evaluate(item.value) for item in node.items), written(node, scope))
        values[key.value] = scope.evaluate(pair.value)
    found: Value = Fields(values)
    if all(isinstance(value, Known) for value in values.values()):
        found = Known({key: value.value for key, value in values.items() if isinstance(value, Known)})
    return found if is_small(found) else _opaque(node, scope)


def _opaque(node: nodes.Expr, scope: Scope) -> Symbol:
    return Symbol(OriginKind.OPAQUE, "", written(node, scope)[:200], exact=False, why="too large to follow")


_HANDLERS: Mapping[type[nodes.Node], Callable[..., Value]] = {
    nodes.Const: _const,
    nodes.TemplateData: _data,
    nodes.Name: _name,
    nodes.Getattr: attribute,
    nodes.Getitem: item,
    nodes.Filter: filtered_expression,
    nodes.Call: called,
    nodes.Concat: _concat,
    nodes.Add: _add,
    nodes.Sub: _binary,
    nodes.Mul: _binary,
    nodes.Div: _binary,
    nodes.FloorDiv: _binary,
    nodes.Mod: _modulo,
    nodes.And: _logic,
    nodes.Or: _logic,
    nodes.Not: _not,
    nodes.Neg: _sign,
    nodes.Pos: _sign,
    nodes.Compare: _compare,
    nodes.Test: _test,
    nodes.CondExpr: _condition,
    nodes.List: _list,
    nodes.Tuple: _list,
    nodes.Dict: _dict,
}
