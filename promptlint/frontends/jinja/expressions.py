"""Expressions of a template to values, without rendering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from jinja2 import nodes

from promptlint.frontends.jinja import fold
from promptlint.frontends.jinja.fold import NotFoldedError
from promptlint.frontends.jinja.parse import Parsed
from promptlint.frontends.jinja.values import (
    MISSING,
    Choice,
    Fields,
    Items,
    Known,
    Loop,
    Macro,
    Piece,
    Source,
    Symbol,
    Text,
    Value,
    choice,
    composite,
    is_small,
    lift,
    names_of,
    plain,
)
from promptlint.layout import Guard, OriginKind

#: Filters and methods behind which a string is still the same string.
_SAME = frozenset(("string", "safe"))
#: Filters whose result is new each time, whatever they are given: the filter is the source.
_SOURCES = frozenset(("random", "shuffle"))
#: Methods that read or reshape the value they are called on; any other method is a callee of its own.
_READERS = frozenset(
    [
        "strip",
        "lstrip",
        "rstrip",
        "upper",
        "lower",
        "title",
        "capitalize",
        "split",
        "splitlines",
        "rsplit",
        "partition",
        "rpartition",
        "replace",
        "startswith",
        "endswith",
        "join",
        "format",
        "get",
        "items",
        "keys",
        "values",
        "isoformat",
        "strftime",
        "date",
        "time",
        "timestamp",
        "encode",
        "decode",
        "count",
        "index",
        "find",
        "zfill",
        "ljust",
        "rjust",
        "center",
        "removeprefix",
        "removesuffix",
        "copy",
    ]
)


class Scope(Protocol):
    """What an expression needs from the walk around it."""

    parsed: Parsed
    source: Source

    @property
    def chat(self) -> bool:
        """Tell whether filters mean what `transformers` makes of them."""
        ...

    def lookup(self, name: str) -> Value:
        """Return the value of a variable; a symbol for one that the template does not set."""
        ...

    def cell(self, namespace: str, attribute: str) -> Value:
        """Return the value of ``namespace.attribute`` where it is now."""
        ...

    def invoke(
        self, macro: Macro, args: list[Value], options: Mapping[str, Value], caller: Macro | None
    ) -> Value:
        """Return the text of a macro call."""
        ...

    def spend(self, cost: int = 1) -> None:
        """Count work; raises when the template is too large."""
        ...


def evaluate(node: nodes.Node, scope: Scope) -> Value:
    """Return the value of an expression. Constructs that are not followed give a composite symbol."""
    scope.spend()
    handler = _HANDLERS.get(type(node))
    if handler is not None:
        return handler(node, scope)
    values = tuple(
        evaluate(child, scope) for child in node.iter_child_nodes() if isinstance(child, nodes.Expr)
    )
    return composite(values, written(node, scope))


def written(node: nodes.Node, scope: Scope) -> str:
    """Return an expression as it is written in the template."""
    start, end = scope.parsed.span(node)
    return scope.parsed.text[start:end].strip()


def keywords(pairs: Sequence[nodes.Keyword | nodes.Pair], scope: Scope) -> dict[str, Value]:
    """Return keyword arguments by name."""
    return {str(pair.key): evaluate(pair.value, scope) for pair in pairs}


def pieces(value: Value, node: nodes.Node, scope: Scope) -> tuple[Piece, ...]:
    """Return what a value prints at an expression."""
    place = scope.source.place(*scope.parsed.span(node))
    match value:
        case Known():
            text = fold.to_text(value.value)
            return (Piece(place, text),) if text else ()
        case Symbol():
            return (Piece(place, None, value),)
        case Text():
            return value.pieces
        case Choice():
            found: list[Piece] = []
            for guards, option in value.options:
                found += [replace(p, guards=guards + p.guards) for p in pieces(option, node, scope)]
            return tuple(found)
        case Items() | Fields():
            return pieces(composite((value,), written(node, scope)), node, scope)
        case Loop() | Macro():
            return ()


def _const(node: nodes.Const, scope: Scope) -> Value:
    return Known(node.value)


def _data(node: nodes.TemplateData, scope: Scope) -> Value:
    return Known(node.data)


def _name(node: nodes.Name, scope: Scope) -> Value:
    return scope.lookup(node.name)


def _member(base: Value, attribute: str, node: nodes.Expr, scope: Scope) -> Value:
    """Return ``base.attribute``; ``attribute`` is ``.name``, ``[]``, ``[0]`` or a slice."""
    key = attribute.removeprefix(".")

    def one(value: Value) -> Value:
        if isinstance(value, Fields):
            if value.cell:
                return scope.cell(value.cell, key)
            return value.values.get(key, MISSING)
        if isinstance(value, Loop):
            return _loop_member(value, key)
        if isinstance(value, Symbol):
            filters = value.filters
            exact = value.exact and value.kind is OriginKind.VARIABLE and not filters
            path = value.path + attribute
            if value.kind is not OriginKind.VARIABLE or value.filters:
                path, filters = value.path, (*filters, attribute)
            names = (path, *(name for name in value.names if name != value.path))
            return replace(
                value,
                path=path,
                names=names,
                filters=filters,
                exact=exact,
                expression=written(node, scope),
                default=None,
            )
        return composite((value,), written(node, scope))

    return lift(base, one)


def _loop_member(loop: Loop, key: str) -> Value:
    if loop.position is not None:
        index, length = loop.position
        known = {
            "index": index + 1,
            "index0": index,
            "revindex": length - index,
            "revindex0": length - index - 1,
            "first": index == 0,
            "last": index == length - 1,
            "length": length,
            "depth": 1,
            "depth0": 0,
        }
        if key in known:
            return Known(known[key])
    path = loop.path + "[]" if key in ("previtem", "nextitem") else f"loop.{key}"
    return Symbol(OriginKind.VARIABLE, path, f"loop.{key}", (path,))


def _getattr(node: nodes.Getattr, scope: Scope) -> Value:
    return _member(evaluate(node.node, scope), f".{node.attr}", node, scope)


def _getitem(node: nodes.Getitem, scope: Scope) -> Value:
    base = evaluate(node.node, scope)
    if isinstance(node.arg, nodes.Slice):
        ends = (node.arg.start, node.arg.stop, node.arg.step)
        bounds = tuple(Known(None) if end is None else evaluate(end, scope) for end in ends)
        text = scope.parsed.text[slice(*scope.parsed.span(node.arg))].strip()

        def cut(value: Value) -> Value:
            value = plain(value)
            if isinstance(value, Symbol):
                return replace(value, filters=(*value.filters, f"[{text}]"), exact=False, default=None)
            first, last, step = (
                bound.value if isinstance(bound, Known) else NotImplemented for bound in bounds
            )
            if isinstance(value, Known):
                try:
                    return Known(fold.cut(value.value, (first, last, step)))
                except NotFoldedError:
                    pass
            return composite((value,), written(node, scope))

        return lift(base, cut)
    key = evaluate(node.arg, scope)
    if isinstance(key, Known):
        attribute = f".{key.value}" if isinstance(key.value, str) else f"[{key.value}]"
        constant = key.value
        return lift(base, lambda value: _indexed(value, constant, attribute, node, scope))
    extra = names_of(key)
    if not names_of(base):
        return composite((key, base), written(node, scope))
    item = _member(base, "[]", node, scope)
    if not isinstance(item, Symbol) or not extra:
        return item
    return replace(item, names=tuple(dict.fromkeys((*item.names, *extra))))


def _indexed(value: Value, key: object, attribute: str, node: nodes.Expr, scope: Scope) -> Value:
    if isinstance(value, Known):
        try:
            return Known(value.value[key])  # type: ignore[index]  # what cannot be indexed is missing
        except (TypeError, LookupError):
            return MISSING
    if isinstance(value, Items) and isinstance(key, int):
        return value.values[key] if -len(value.values) <= key < len(value.values) else MISSING
    return _member(value, attribute, node, scope)


def _filter(node: nodes.Filter, scope: Scope) -> Value:
    if node.node is None:  # the body of a {% filter %} block, which the walk supplies
        return MISSING
    base = evaluate(node.node, scope)
    return lift(base, lambda value: filtered(value, node, scope))


def filtered(value: Value, node: nodes.Filter, scope: Scope) -> Value:
    """Return a value behind one filter."""
    value = plain(value)
    args = tuple(evaluate(arg, scope) for arg in node.args)
    options = keywords(node.kwargs, scope)
    expression = written(node, scope)
    if node.name in ("default", "d"):
        return _default(value, args[0] if args else MISSING, expression)
    everything = (value, *args, *options.values())
    if node.name in _SOURCES:
        return Symbol(
            OriginKind.CALL, node.name, expression, (node.name, *names_of(*everything)), exact=False
        )
    if all(isinstance(item, Known) for item in everything):
        try:
            given = tuple(item.value for item in args if isinstance(item, Known))
            named = {key: item.value for key, item in options.items() if isinstance(item, Known)}
            assert isinstance(value, Known)
            return Known(fold.apply_filter(node.name, value.value, given, named, scope.chat))
        except (NotFoldedError, TypeError, ValueError):
            why = f"filter {node.name}"
            return Symbol(OriginKind.CALL, node.name, expression, (node.name,), exact=False, why=why)
    if isinstance(value, Text) and node.name in (*_SAME, "trim", "indent"):
        return _reshaped(value, node.name)
    if node.name in ("list", "sort", "reverse", "unique") and isinstance(value, Items):
        return value if node.name == "list" else composite((value,), expression)
    if node.name == "join" and isinstance(value, Items) and len(args) < 2 and not options:
        return _joined(value, args[0] if args else MISSING, node, scope)
    result = composite(everything, expression)
    if isinstance(value, Symbol) and isinstance(result, Symbol):
        same = node.name in _SAME
        return replace(
            result,
            filters=(*value.filters, node.name),
            exact=value.exact and same,
            default=value.default if same else None,
        )
    return result


def _reshaped(text: Text, how: str) -> Value:
    """Return captured text behind ``trim`` or ``indent``: fixed ends are cut, holes stay as they are."""
    found = list(text.pieces)
    if how == "trim":
        for at, strip in ((0, str.lstrip), (-1, str.rstrip)):
            while found and found[at].text is not None and not found[at].guards:
                cut = strip(found[at].text or "")
                if cut:
                    found[at] = replace(found[at], text=cut)
                    break
                found.pop(at)
    return Text(tuple(found))


def _joined(items: Items, separator: Value, node: nodes.Expr, scope: Scope) -> Value:
    found: list[Piece] = []
    for index, item in enumerate(items.values):
        if index:
            found += pieces(separator, node, scope)
        found += pieces(item, node, scope)
    return Text(tuple(found))


def _default(value: Value, other: Value, expression: str) -> Value:
    if isinstance(value, Symbol):
        if isinstance(other, Known):
            return replace(value, default=fold.to_text(other.value), expression=expression)
        names = tuple(dict.fromkeys((*value.names, *names_of(other))))
        return replace(value, names=names, expression=expression, exact=False)
    return other if value is MISSING else value


def _call(node: nodes.Call, scope: Scope) -> Value:
    args = [evaluate(arg, scope) for arg in node.args]
    options = keywords(node.kwargs, scope)
    return call(node, args, options, scope)


def call(
    node: nodes.Call,
    args: list[Value],
    options: Mapping[str, Value],
    scope: Scope,
    caller: Macro | None = None,
) -> Value:
    """Return the value of a call whose arguments are evaluated."""
    expression = written(node, scope)
    everything = (*args, *options.values())
    if isinstance(node.node, nodes.Getattr):
        base = evaluate(node.node.node, scope)
        method = node.node.attr
        if isinstance(base, Fields) and not base.cell and isinstance(base.values.get(method), Macro):
            callee: Value = base.values[method]
        elif method in _READERS:
            return lift(base, lambda value: _method(value, method, everything, expression))
        else:
            callee = _member(base, f".{method}", node.node, scope)
    else:
        callee = evaluate(node.node, scope)
    if isinstance(callee, Macro):
        return scope.invoke(callee, args, options, caller)
    name = node.node.name if isinstance(node.node, nodes.Name) else ""
    if name == "dict" and not args:
        return Fields(dict(options))
    if isinstance(callee, Loop) and args:  # a recursive loop
        return composite((args[0],), expression, "recursive loop")
    path = callee.path if isinstance(callee, Symbol) else name or expression
    if isinstance(callee, Symbol) and callee.kind is not OriginKind.VARIABLE:
        return replace(callee, expression=expression, exact=False)
    names = tuple(dict.fromkeys((path, *names_of(*everything))))
    chain = callee.chain if isinstance(callee, Symbol) else ()
    return Symbol(OriginKind.CALL, path, expression, names, exact=False, chain=chain)


def _method(value: Value, method: str, args: tuple[Value, ...], expression: str) -> Value:
    value = plain(value)
    if isinstance(value, Known) and all(isinstance(arg, Known) for arg in args):
        try:
            given = tuple(arg.value for arg in args if isinstance(arg, Known))
            return Known(fold.call_method(value.value, method, given))
        except NotFoldedError:
            pass
    if isinstance(value, Text) and method in ("strip", "lstrip", "rstrip") and not args:
        return _reshaped(value, "trim") if method == "strip" else value
    if method == "items" and isinstance(value, Fields) and not value.cell:
        return Items(tuple(Items((Known(key), item)) for key, item in value.values.items()))
    if isinstance(value, Symbol):
        if method == "get" and args and isinstance(args[0], Known) and value.kind is OriginKind.VARIABLE:
            path = f"{value.path}.{args[0].value}"
            default = None
            if len(args) > 1 and isinstance(args[1], Known):
                default = fold.to_text(args[1].value)
            return replace(
                value, path=path, names=(path, *value.names[1:]), expression=expression, default=default
            )
        if method in ("items", "keys", "values"):
            return replace(value, expression=expression)
        names = tuple(dict.fromkeys((*value.names, *names_of(*args))))
        filters = (*value.filters, f".{method}")
        return replace(value, filters=filters, names=names, exact=False, default=None, expression=expression)
    return composite((value, *args), expression)


def _joined_operands(node: nodes.Concat | nodes.Add, operands: list[nodes.Expr], scope: Scope) -> Value:
    values = [evaluate(operand, scope) for operand in operands]
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
    values = [evaluate(operand, scope) for operand in operands]
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


def _binary(node: nodes.BinExpr, scope: Scope) -> Value:
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    if isinstance(left, Known) and isinstance(right, Known):
        try:
            return Known(fold.arithmetic(type(node).__name__, left.value, right.value))
        except (NotFoldedError, OverflowError):
            pass
    return composite((left, right), written(node, scope))


def _logic(node: nodes.And | nodes.Or, scope: Scope) -> Value:
    left = evaluate(node.left, scope)
    if isinstance(left, Known):
        takes_right = bool(left.value) == isinstance(node, nodes.And)
        return evaluate(node.right, scope) if takes_right else left
    right = evaluate(node.right, scope)
    if isinstance(node, nodes.Or) and isinstance(left, Symbol) and isinstance(right, Known):
        return _default(left, right, written(node, scope))
    return composite((left, right), written(node, scope))


def _sign(node: nodes.Neg | nodes.Pos, scope: Scope) -> Value:
    value = evaluate(node.node, scope)
    if isinstance(value, Known) and isinstance(value.value, int | float):
        return Known(-value.value if isinstance(node, nodes.Neg) else +value.value)
    return composite((value,), written(node, scope))


def _not(node: nodes.Not, scope: Scope) -> Value:
    value = evaluate(node.node, scope)
    if isinstance(value, Known):
        return Known(not value.value)
    return composite((value,), written(node, scope))


def _compare(node: nodes.Compare, scope: Scope) -> Value:
    values = [evaluate(node.expr, scope), *(evaluate(operand.expr, scope) for operand in node.ops)]
    if len(values) == 2 and all(isinstance(value, Known) for value in values):
        left, right = (value.value for value in values if isinstance(value, Known))
        try:
            return Known(fold.compare(node.ops[0].op, left, right))
        except NotFoldedError:
            pass
    return composite(tuple(values), written(node, scope))


def _test(node: nodes.Test, scope: Scope) -> Value:
    value = evaluate(node.node, scope)
    if isinstance(value, Known) and not node.args:
        known = {"defined": value is not MISSING, "undefined": value is MISSING, "none": value.value is None}
        if node.name in known:
            return Known(known[node.name])
    if isinstance(value, Macro | Fields | Text) and node.name in ("defined", "undefined"):
        return Known(node.name == "defined")
    args = tuple(evaluate(arg, scope) for arg in node.args)
    return composite((value, *args), written(node, scope))


def _condition(node: nodes.CondExpr, scope: Scope) -> Value:
    test = evaluate(node.test, scope)
    if isinstance(test, Known):
        chosen = node.expr1 if test.value else node.expr2
        return evaluate(chosen, scope) if chosen is not None else MISSING
    first = evaluate(node.expr1, scope)
    second = evaluate(node.expr2, scope) if node.expr2 is not None else MISSING
    place = scope.source.place(*scope.parsed.span(node.test))
    names = names_of(test)
    guards = [
        Guard("if", written(node.test, scope), place, branch, name=names[0] if names else "")
        for branch in (0, 1)
    ]
    return choice([((guards[0],), first), ((guards[1],), second)], written(node, scope))


def _list(node: nodes.List | nodes.Tuple, scope: Scope) -> Value:
    values = tuple(evaluate(item, scope) for item in node.items)
    found: Value = Items(values)
    if all(isinstance(value, Known) for value in values):
        constants = [value.value for value in values if isinstance(value, Known)]
        found = Known(tuple(constants) if isinstance(node, nodes.Tuple) else constants)
    return found if is_small(found) else _opaque(node, scope)


def _dict(node: nodes.Dict, scope: Scope) -> Value:
    values: dict[str, Value] = {}
    for pair in node.items:
        key = evaluate(pair.key, scope)
        if not isinstance(key, Known) or not isinstance(key.value, str):
            return composite(tuple(evaluate(item.value, scope) for item in node.items), written(node, scope))
        values[key.value] = evaluate(pair.value, scope)
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
    nodes.Getattr: _getattr,
    nodes.Getitem: _getitem,
    nodes.Filter: _filter,
    nodes.Call: _call,
    nodes.Concat: _concat,
    nodes.Add: _add,
    nodes.Sub: _binary,
    nodes.Mul: _binary,
    nodes.Div: _binary,
    nodes.FloorDiv: _binary,
    nodes.Mod: _binary,
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
