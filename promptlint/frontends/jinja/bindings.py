"""Variables of a template while it is walked: scopes, namespaces, branches and loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from promptlint.frontends.jinja.values import (
    Choice,
    Fields,
    Known,
    Piece,
    Symbol,
    Text,
    Value,
    choice,
    symbols,
)
from promptlint.layout import Guard, OriginKind

_CARRIED = "set in an earlier turn of the loop"


class Variables:
    """Names in scope, as a chain of layers: each holds only what was set in it.

    Namespace attributes (``cells``) follow the chain of callers instead, and outlive their layer.
    """

    def __init__(self, parent: Variables | None = None, caller: Variables | None = None) -> None:
        self.parent = parent
        self.caller = caller if caller is not None else parent
        self.own: dict[str, Value] = {}
        self.cells: dict[tuple[str, str], Value] = {}

    def get(self, name: str) -> Value:
        """Return a variable's value; an unknown one is a symbol of its own name."""
        layer: Variables | None = self
        while layer is not None:
            if name in layer.own:
                return layer.own[name]
            layer = layer.parent
        return Symbol(OriginKind.VARIABLE, name, name, (name,))

    def set(self, name: str, value: Value) -> None:
        """Set a variable in this layer."""
        self.own[name] = value

    def child(self) -> Variables:
        """Return a layer on top: of a loop, a macro, a block, or one branch of a condition."""
        return Variables(self)

    def called_from(self, caller: Variables) -> Variables:
        """Return a layer for a macro defined here and called there."""
        return Variables(self, caller)

    def absorb(self, inner: Variables) -> None:
        """Take over the namespace attributes that a finished layer has set."""
        self.cells.update(inner.cells)

    # -- namespaces -----------------------------------------------------------------------------

    def open_namespace(self, name: str, initial: Mapping[str, Value]) -> None:
        """``{% set name = namespace(…) %}``."""
        self.own[name] = Fields(cell=name)
        self.cells.update({(name, attribute): value for attribute, value in initial.items()})

    def cell(self, namespace: str, attribute: str) -> Value:
        """Return the current value of ``namespace.attribute``."""
        layer: Variables | None = self
        while layer is not None:
            if (namespace, attribute) in layer.cells:
                return layer.cells[(namespace, attribute)]
            layer = layer.caller
        path = f"{namespace}.{attribute}"
        return Symbol(OriginKind.VARIABLE, path, path, (path,))

    def set_cell(self, name: str, attribute: str, value: Value) -> None:
        """``{% set name.attribute = value %}``."""
        target = self.get(name)
        self.cells[(target.cell if isinstance(target, Fields) and target.cell else name, attribute)] = value

    def carry(self, cells: frozenset[tuple[str, str]]) -> None:
        """Before a loop's body: its cells hold what an earlier turn of the loop left there."""
        for namespace, attribute in cells:
            path = f"{namespace}.{attribute}"
            names = (path, *(name for s in symbols(self.cell(namespace, attribute)) for name in s.names))
            self.cells[(namespace, attribute)] = Symbol(
                OriginKind.VARIABLE, path, path, tuple(dict.fromkeys(names)), exact=False, why=_CARRIED
            )


def merge_branches(before: Variables, branches: list[tuple[tuple[Guard, ...], Variables]]) -> None:
    """Behind a condition: where its branches set a variable differently, it is a choice between them."""
    for name in {name: None for _, branch in branches for name in branch.own}:
        before.own[name] = choice([(guards, branch.get(name)) for guards, branch in branches], name)
    for key in {key: None for _, branch in branches for key in branch.cells}:
        cells = [(guards, branch.cell(*key)) for guards, branch in branches]
        before.cells[key] = choice(cells, ".".join(key))


def settle_loop(
    outer: Variables, inner: Variables, carried: frozenset[tuple[str, str]], guard: Guard
) -> None:
    """Behind a loop: a cell holds its first value, then what the loop added or put in its place."""
    for key in carried:
        first = outer.cell(*key)
        after = inner.cell(*key)
        path = ".".join(key)
        if isinstance(after, Symbol) and after.path == path and after.why == _CARRIED:
            continue
        outer.cells[key] = _accumulated(first, after, path, guard) or choice(
            [((replace(guard, branch=1),), first), ((guard,), _without(after, path))], path
        )


def _without(value: Value, path: str) -> Value:
    """Return a choice without the options of a choice that only keep what an earlier turn left."""
    if not isinstance(value, Choice):
        return value
    kept = tuple((g, v) for g, v in value.options if not (isinstance(v, Symbol) and v.path == path))
    return Choice(kept) if kept else value


def _accumulated(first: Value, after: Value, path: str, guard: Guard) -> Value | None:
    """Return ``first`` and what each turn appends, where the loop appends to the cell's own text."""
    if isinstance(after, Choice):
        return None
    if not isinstance(after, Text) or not after.pieces:
        return None
    head, *added = after.pieces
    if head.symbol is None or head.symbol.path != path or head.symbol.why != _CARRIED:
        return None
    start: tuple[Piece, ...]
    if isinstance(first, Text):
        start = first.pieces
    elif isinstance(first, Known):
        start = (Piece(head.place, str(first.value)),) if str(first.value) else ()
    elif isinstance(first, Symbol):
        start = (Piece(head.place, None, first),)
    else:
        return None
    return Text((*start, *(replace(piece, guards=(guard, *piece.guards)) for piece in added)))
