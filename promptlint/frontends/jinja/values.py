"""What a template expression can be worth while nothing is rendered.

A small domain: constants, symbols (a value known only at run time), text made of pieces, lists and
mappings of those, and choices between them that a condition makes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from jinja2 import nodes

from promptlint.frontends.jinja import fold
from promptlint.frontends.jinja.parse import Parsed
from promptlint.layout import Guard, OriginKind, Step
from promptlint.source import Place

if TYPE_CHECKING:
    from promptlint.frontends.jinja.bindings import Variables

MAX_CHOICES = 16
_DAY = re.compile(
    r"\d\d?\s+[A-Z][a-z]{2,8}\s+(?:19|20)\d\d|[A-Z][a-z]{2,8}\s+\d\d?,\s+(?:19|20)\d\d|(?:19|20)\d\d-\d\d-\d\d"
)
MAX_NAMES = 24


@dataclass(frozen=True)
class Source:
    """Where a template's text is: its shown path, and the place in a file of a range of its text."""

    path: str
    place: Callable[[int, int], Place]


@dataclass(frozen=True, slots=True)
class Known:
    """A constant of the template: a string, number, bool, None, or a list or dict of them (never changed)."""

    value: object


@dataclass(frozen=True, slots=True)
class Symbol:
    """A value known at run time only.

    ``path`` is the variable or callee with everything the template did to reach it:
    ``user.name``, ``messages[].content``, ``datetime.now``. ``exact`` says that the text printed is
    the text of that variable; ``filters`` lists what is done to it, methods as ``.strip``.
    """

    kind: OriginKind
    path: str
    expression: str = ""
    names: tuple[str, ...] = ()  # every variable and callee in it, the deciding one first
    filters: tuple[str, ...] = ()
    exact: bool = True
    default: str | None = None  # printed where the variable is missing
    chain: tuple[Step, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of output: literal text, or a symbol. ``guards`` count from where the text was built."""

    place: Place
    text: str | None
    symbol: Symbol | None = None
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """Text made of pieces that keep their own places: concatenations, captured blocks, macro results."""

    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values; each holds under its guards."""

    options: tuple[tuple[tuple[Guard, ...], Value], ...]


@dataclass(frozen=True, slots=True)
class Items:
    """A list written in the template."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping written in the template, the keyword arguments of a module, or a namespace.

    ``cell`` names a namespace, whose fields are looked up where they are assigned.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    cell: str = ""


@dataclass(frozen=True, slots=True)
class Loop:
    """The ``loop`` variable; ``position`` is (index, length) where the loop is unrolled."""

    path: str
    position: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Macro:
    """A macro, a ``caller()`` body, ``super()`` or a block: calling it walks ``body``.

    ``scope`` is the layer of variables in which it was defined; None means that of the caller.
    """

    name: str
    parsed: Parsed
    source: Source
    body: list[nodes.Node]
    args: tuple[str, ...] = ()
    defaults: tuple[nodes.Expr, ...] = ()
    scope: Variables | None = None


Value: TypeAlias = Known | Symbol | Text | Choice | Items | Fields | Loop | Macro

MISSING = Known("")
"""What an undefined value prints."""


def symbols(value: Value) -> Iterator[Symbol]:
    """Yield the symbols in a value, in order."""
    match value:
        case Symbol():
            yield value
        case Text():
            for piece in value.pieces:
                if piece.symbol is not None:
                    yield piece.symbol
        case Choice():
            for _, option in value.options:
                yield from symbols(option)
        case Items():
            for item in value.values:
                yield from symbols(item)
        case Fields():
            for item in value.values.values():
                yield from symbols(item)
        case Loop():
            yield Symbol(OriginKind.VARIABLE, value.path, names=(value.path,))
        case Known() | Macro():
            pass


def is_small(value: Value) -> bool:
    """Tell whether a list or mapping holds few values, counting shared parts as often as they occur."""
    waiting, seen = [value], 0
    while waiting:
        item = waiting.pop()
        seen += 1
        match item:
            case Items():
                waiting.extend(item.values)
            case Fields():
                waiting.extend(item.values.values())
            case Choice():
                waiting.extend(option for _, option in item.options)
            case Text():
                seen += len(item.pieces)
            case Known():
                if not fold.is_small(item.value):
                    return False
            case Symbol() | Loop() | Macro():
                pass
        if seen + len(waiting) > fold.MAX_ITEMS:
            return False
    return True


def plain(value: Value) -> Value:
    """Return captured text that is the same in every rendering as a constant, others unchanged."""
    if isinstance(value, Text) and all(piece.text is not None and not piece.guards for piece in value.pieces):
        return Known("".join(piece.text or "" for piece in value.pieces))
    return value


def names_of(*values: Value) -> tuple[str, ...]:
    """Return up to `MAX_NAMES` names in values, each once; those of conditions alone come last."""
    found: dict[str, None] = {}
    for value in values:
        for symbol in symbols(value):
            found.update(dict.fromkeys(symbol.names or (symbol.path,)))
            if len(found) >= MAX_NAMES:
                return tuple(found)[:MAX_NAMES]
    for value in values:
        if isinstance(value, Choice):
            for guards, _ in value.options:
                found.update({guard.name: None for guard in guards if guard.name})
    return tuple(found)[:MAX_NAMES]


def composite(values: tuple[Value, ...], expression: str, why: str = "") -> Value:
    """Return a value computed from others: it changes with the first of them that can change."""
    names = names_of(*values)
    first = next((symbol for value in values for symbol in symbols(value)), None)
    if first is None:
        path = names[0] if names else ""
        kind = OriginKind.VARIABLE if path else OriginKind.OPAQUE
        return Symbol(kind, path, expression, names, exact=False, why=why or "computed in the template")
    return replace(first, expression=expression, names=names, exact=False, default=None)


def lift(value: Value, change: Callable[[Value], Value]) -> Value:
    """Apply a function to a value, or to each option of a choice."""
    if isinstance(value, Choice):
        return Choice(tuple((guards, lift(option, change)) for guards, option in value.options))
    return change(value)


def choice(options: list[tuple[tuple[Guard, ...], Value]], expression: str = "") -> Value:
    """Return a choice between values, flat, or a composite where there are too many."""
    flat: list[tuple[tuple[Guard, ...], Value]] = []
    for guards, value in options:
        if isinstance(value, Choice):
            flat.extend((guards + inner, option) for inner, option in value.options)
        else:
            flat.append((guards, value))
    if len(flat) > MAX_CHOICES:
        return composite(tuple(value for _, value in flat), expression)
    return _with_own_date(flat) or Choice(tuple(flat))


def is_date(text: str | None) -> bool:
    """Tell whether a text that a template has in it for want of another one is a day: it stays the same."""
    return text is not None and _DAY.search(text) is not None


def _with_own_date(options: list[tuple[tuple[Guard, ...], Value]]) -> Symbol | None:
    """Return a variable with the day that a template has written in it where the caller gives none.

    ``{% if not date_string is defined %}{% set date_string = "26 Jul 2024" %}{% endif %}``
    """
    given = next((value for _, value in options if isinstance(value, Symbol)), None)
    own = next((value.value for _, value in options if isinstance(value, Known)), None)
    if len(options) != 2 or given is None or not isinstance(own, str) or not is_date(own):
        return None
    asked = all(guard.name == given.path for guards, _ in options for guard in guards)
    return replace(given, default=own) if asked else None
