"""What an expression needs from the walk around it, and what it prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from jinja2 import nodes

from promptlint.frontends.jinja import fold
from promptlint.frontends.jinja.parse import Parsed
from promptlint.frontends.jinja.values import (
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
    composite,
)


class Scope(Protocol):
    """What an expression needs from the walk around it."""

    parsed: Parsed
    source: Source

    @property
    def chat(self) -> bool:
        """Tell whether filters mean what `transformers` makes of them."""
        ...

    def evaluate(self, node: nodes.Node) -> Value:
        """Return the value of an expression."""
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


def written(node: nodes.Node, scope: Scope) -> str:
    """Return an expression as it is written in the template."""
    start, end = scope.parsed.span(node)
    return scope.parsed.text[start:end].strip()


def keywords(pairs: Sequence[nodes.Keyword | nodes.Pair], scope: Scope) -> dict[str, Value]:
    """Return keyword arguments by name."""
    return {str(pair.key): scope.evaluate(pair.value) for pair in pairs}


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
