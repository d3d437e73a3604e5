"""The rounds of a loop that is worth running element by element."""

from __future__ import annotations

import ast

from promptlint.frontends.python.evaluate import members
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.values.forms import is_history
from promptlint.frontends.python.values.values import Const, DictV, Ext, Item, ListV, Str, Unknown, Value
from promptlint.layout import Guard


def unrolled(
    m: Machine, value: Value, node: ast.expr, frame: Frame, *, fills: bool = False
) -> list[Item] | None:
    """Return the elements over which a loop is worth running one by one: few, of substance, or such as it ``fills`` a text with.

    One that is there under a condition, or in each round of another loop, has its round under that.
    """
    if isinstance(value, DictV) and not value.rest:
        keys = ListV([Item(Const(key), item.guards) for key, item in value.entries.items()])
        keys.order, value = value.order, keys
    if not isinstance(value, ListV) or value.order is not None or len(value.items) > members.MAX_UNROLL:
        return None
    telling = fills or any(_substance(item.value) for item in value.items)
    if not value.known() and (is_history(value) or not telling):
        return None
    if telling or len(value.items) <= 4 or len(m.stack) <= 1:
        return [_round(item, value, node, frame) for item in value.items]
    return None


def _round(item: Item, value: ListV, node: ast.expr, frame: Frame) -> Item:
    if not item.spread:
        return item
    each = Guard("for", frame.module.text(node), frame.module.place(node), name=value.name)
    return Item(item.value, (*item.guards, each), place=item.place)


def _substance(value: Value) -> bool:
    if isinstance(value, Str):
        return value.literal_length() > 40
    if isinstance(value, ListV) and value.kind == "tuple":
        return any(_substance(item.value) for item in value.items)
    return not isinstance(value, (Const, Unknown, Ext)) and getattr(value, "kind", "") != "path"
