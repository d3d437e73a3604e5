"""Filters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from jinja2 import nodes

from promptlint.frontends.jinja import fold
from promptlint.frontends.jinja.fold import NotFoldedError
from promptlint.frontends.jinja.formats import formatted
from promptlint.frontends.jinja.scope import Scope, keywords, pieces, written
from promptlint.frontends.jinja.values import (
    MISSING,
    Items,
    Known,
    Piece,
    Symbol,
    Text,
    Value,
    composite,
    lift,
    names_of,
    plain,
)
from promptlint.layout import OriginKind

#: Filters and methods behind which a string is still the same string.
_SAME = frozenset(("string", "safe"))


#: Filters that change each part of a text by itself; ``indent`` here with its usual four blanks.
_EACH: Mapping[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "indent": lambda text: re.sub(r"\n(?!\n)", "\n    ", text),
}
#: Filters whose result is new each time, whatever they are given: the filter is the source.
_SOURCES = frozenset(("random", "shuffle"))


def filtered_expression(node: nodes.Filter, scope: Scope) -> Value:
    """Return the value of ``x | name``."""
    if node.node is None:  # the body of a {% filter %} block, which the walk supplies
        return MISSING
    base = scope.evaluate(node.node)
    return lift(base, lambda value: filtered(value, node, scope))


def filtered(value: Value, node: nodes.Filter, scope: Scope) -> Value:
    """Return a value behind one filter."""
    value = plain(value)
    args = tuple(scope.evaluate(arg) for arg in node.args)
    options = keywords(node.kwargs, scope)
    expression = written(node, scope)
    if node.name in ("default", "d"):
        return with_default(value, args[0] if args else MISSING, expression)
    everything = (value, *args, *options.values())
    if node.name in _SOURCES:
        return Symbol(
            OriginKind.CALL, node.name, expression, (node.name, *names_of(*everything)), exact=False
        )
    if node.name == "format" and isinstance(value, Known) and isinstance(value.value, str) and node.node:
        pairs = list(zip(args, node.args, strict=True))
        text = None if options else formatted(value.value, "%", node.node, pairs, {}, scope)
        if text is not None:
            return text
    if all(isinstance(item, Known) for item in everything):
        try:
            given = tuple(item.value for item in args if isinstance(item, Known))
            named = {key: item.value for key, item in options.items() if isinstance(item, Known)}
            assert isinstance(value, Known)
            return Known(fold.apply_filter(node.name, value.value, given, named, scope.chat))
        except (NotFoldedError, TypeError, ValueError):
            why = f"filter {node.name}"
            return Symbol(OriginKind.CALL, node.name, expression, (node.name,), exact=False, why=why)
    if isinstance(value, Text) and node.name in (*_SAME, "trim", *_EACH):
        return reshaped(value, node.name)
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


def reshaped(text: Text, how: str) -> Value:
    """Return captured text behind a filter that keeps its order: its fixed parts are changed, holes marked."""
    found = list(text.pieces)
    if how in _EACH:
        return Text(tuple(_changed(piece, how) for piece in found))
    if how == "trim":
        for at, strip in ((0, str.lstrip), (-1, str.rstrip)):
            while found and found[at].text is not None and not found[at].guards:
                cut = strip(found[at].text or "")
                if cut:
                    found[at] = replace(found[at], text=cut)
                    break
                found.pop(at)
    return Text(tuple(found))


def _changed(piece: Piece, how: str) -> Piece:
    if piece.symbol is not None:
        symbol = replace(piece.symbol, filters=(*piece.symbol.filters, how), exact=False, default=None)
        return replace(piece, symbol=symbol)
    return replace(piece, text=_EACH[how](piece.text or ""))


def _joined(items: Items, separator: Value, node: nodes.Expr, scope: Scope) -> Value:
    found: list[Piece] = []
    for index, item in enumerate(items.values):
        if index:
            found += pieces(separator, node, scope)
        found += pieces(item, node, scope)
    return Text(tuple(found))


def with_default(value: Value, other: Value, expression: str) -> Value:
    """Return a value that is another where it is missing: ``x | default(y)``, ``x or y``."""
    if isinstance(value, Symbol):
        if isinstance(other, Known):
            return replace(value, default=fold.to_text(other.value), expression=expression)
        names = tuple(dict.fromkeys((*value.names, *names_of(other))))
        return replace(value, names=names, expression=expression, exact=False)
    return other if value is MISSING else value
