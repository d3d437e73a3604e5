"""Mappings and lists as the JSON that a program makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from promptlint.frontends.python.evaluate import text
from promptlint.frontends.python.evaluate.machine import fixed
from promptlint.frontends.python.values.pieces import Hole, Lit, Part, Seg, flat
from promptlint.frontends.python.values.values import DictV, ListV, Str, Value
from promptlint.source import Place


def serialised(value: Value, place: Place, skip: Sequence[str] = (), depth: int = 0) -> tuple[Part, ...]:
    """Return a mapping or list roughly as JSON: its keys and texts in order."""
    if depth > 8:
        return (Hole(place, "…"),)
    out: list[Part] = []
    if isinstance(value, DictV):
        for key, item in value.entries.items():
            if key in skip:
                continue
            label = f'"{key}": ' if item.place is None else f"\n{key}: "
            at = item.place or value.place or place
            if item.place is not None and isinstance(item.value, Str):
                inner = text.parts_of(item.value, at, "")
            else:
                inner = serialised(item.value, at, skip, depth + 1)
            where = _first_place(inner) or at
            lead = Lit(label, fixed(replace_end(where), label), whole=True)
            out.extend(text.wrap_guards((lead, *inner), item.guards) if item.guards else (lead, *inner))
        for rest in value.rest:
            out.append(Hole(value.place or place, "…", getattr(rest, "name", ""), rest.cause))
        return tuple(out)
    if isinstance(value, ListV):
        if value.order is not None:
            return (Hole(place, value.name or value.order.what, value.name, value.order),)
        for item in value.items:
            out.extend(serialised(item.value, place, skip, depth + 1))
        return tuple(out)
    return value.parts if isinstance(value, Str) else text.parts_of(value, place, getattr(value, "name", ""))


def replace_end(place: Place) -> Place:
    """Return the empty place at the start of a place."""
    return Place(place.path, replace(place.span, end=place.span.start))


def _first_place(parts: Sequence[Part]) -> Place | None:
    for part in flat(parts):
        if isinstance(part, Lit):
            return part.place()
        if isinstance(part, Hole):
            return part.place
        if isinstance(part, Seg):
            return part.segment.place
    return None
