"""Attributes, subscripts and calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from jinja2 import nodes

from promptlint.frontends.jinja import fold
from promptlint.frontends.jinja.filters import reshaped
from promptlint.frontends.jinja.fold import NotFoldedError
from promptlint.frontends.jinja.formats import formatted
from promptlint.frontends.jinja.scope import Scope, keywords, written
from promptlint.frontends.jinja.values import (
    MISSING,
    Fields,
    Items,
    Known,
    Loop,
    Macro,
    Symbol,
    Text,
    Value,
    composite,
    lift,
    names_of,
    plain,
)
from promptlint.layout import OriginKind

#: Methods that read or reshape the value they are called on; any other method is a callee of its own.
#: Functions that hand on what they are given, in some shape.
_PASSING = frozenset(
    ("zip", "enumerate", "sorted", "reversed", "list", "len", "str", "int", "min", "max", "sum")
)
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


def member(base: Value, attribute: str, node: nodes.Expr, scope: Scope) -> Value:
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


def attribute(node: nodes.Getattr, scope: Scope) -> Value:
    """Return the value of ``x.name``."""
    return member(scope.evaluate(node.node), f".{node.attr}", node, scope)


def item(node: nodes.Getitem, scope: Scope) -> Value:
    """Return the value of ``x[key]`` or ``x[first:last]``."""
    base = scope.evaluate(node.node)
    if isinstance(node.arg, nodes.Slice):
        ends = (node.arg.start, node.arg.stop, node.arg.step)
        bounds = tuple(Known(None) if end is None else scope.evaluate(end) for end in ends)
        first_last = [written(end, scope) if end is not None else "" for end in ends[:2]]
        text = ":".join(first_last) + (f":{written(ends[2], scope)}" if ends[2] is not None else "")

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
    key = scope.evaluate(node.arg)
    if isinstance(key, Known):
        attribute = f".{key.value}" if isinstance(key.value, str) else f"[{key.value}]"
        constant = key.value
        return lift(base, lambda value: _indexed(value, constant, attribute, node, scope))
    extra = names_of(key)
    if not names_of(base):
        return composite((key, base), written(node, scope))
    item = member(base, "[]", node, scope)
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
    return member(value, attribute, node, scope)


def called(node: nodes.Call, scope: Scope) -> Value:
    """Return the value of a call."""
    args = [scope.evaluate(arg) for arg in node.args]
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
        base = scope.evaluate(node.node.node)
        method = node.node.attr
        if isinstance(base, Fields) and not base.cell and isinstance(base.values.get(method), Macro):
            callee: Value = base.values[method]
        elif method == "format" and isinstance(base, Known) and isinstance(base.value, str):
            named = {str(pair.key): (options[str(pair.key)], pair.value) for pair in node.kwargs}
            pairs = list(zip(args, node.args, strict=True))
            text = formatted(base.value, "{", node.node.node, pairs, named, scope)
            return text if text is not None else _method(base, method, everything, expression)
        elif method in _READERS:
            return lift(base, lambda value: _method(value, method, everything, expression))
        else:
            callee = member(base, f".{method}", node.node, scope)
    else:
        callee = scope.evaluate(node.node)
    if isinstance(callee, Macro):
        return scope.invoke(callee, args, options, caller)
    name = node.node.name if isinstance(node.node, nodes.Name) else ""
    if name == "dict" and not args:
        return Fields(dict(options))
    if name == "range" and isinstance(callee, Symbol) and callee.path == "range":
        return _range(args, expression)
    if name in _PASSING and args:
        result = composite(everything, expression)
        return replace(result, filters=(*result.filters, name)) if isinstance(result, Symbol) else result
    if isinstance(callee, Loop) and args:  # a recursive loop
        return composite((args[0],), expression, "recursive loop")
    path = callee.path if isinstance(callee, Symbol) else name or expression
    if isinstance(callee, Symbol) and callee.kind is not OriginKind.VARIABLE:
        return replace(callee, expression=expression, exact=False)
    names = tuple(dict.fromkeys((path, *names_of(*everything))))
    chain = callee.chain if isinstance(callee, Symbol) else ()
    return Symbol(OriginKind.CALL, path, expression, names, exact=False, chain=chain)


def _range(args: list[Value], expression: str) -> Value:
    bounds = [arg.value for arg in args if isinstance(arg, Known) and isinstance(arg.value, int)]
    if len(bounds) == len(args) and 0 < len(bounds) < 3 and len(range(*bounds)) <= fold.MAX_ITEMS:
        return Known(list(range(*bounds)))
    return Symbol(OriginKind.CALL, "range", expression, names_of(*args), exact=False)


def _method(value: Value, method: str, args: tuple[Value, ...], expression: str) -> Value:
    value = plain(value)
    if isinstance(value, Known) and all(isinstance(arg, Known) for arg in args):
        try:
            given = tuple(arg.value for arg in args if isinstance(arg, Known))
            return Known(fold.call_method(value.value, method, given))
        except NotFoldedError:
            pass
    if isinstance(value, Text) and method in ("strip", "lstrip", "rstrip") and not args:
        return reshaped(value, "trim") if method == "strip" else value
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
