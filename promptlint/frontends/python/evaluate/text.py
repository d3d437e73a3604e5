"""Values as text: what becomes part of one, where it enters it, and what fills its fields."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeGuard

from promptlint.frontends import fields
from promptlint.frontends.mapped import MappedText
from promptlint.frontends.python.evaluate.machine import fixed, hole, step
from promptlint.frontends.python.values.known import data
from promptlint.frontends.python.values.pieces import Alt, Hole, Lit, Loop, Part, Seg, text_of
from promptlint.frontends.python.values.values import (
    HELD,
    Choice,
    Const,
    DictV,
    Ext,
    Item,
    ListV,
    Obj,
    Str,
    Template,
    Value,
)
from promptlint.layout import Cause, Guard, Kind, Scope, Segment
from promptlint.source import Place, Span

# A constant that is nothing but a field to be replaced: it stands where it enters a text.
_MARKER = re.compile(r"\{\{?\s?\w+\s?\}\}?|<<\w+>>|\[\[\w+\]\]|\$\{?\w+\}?|__[A-Z_]+__")
_LABEL = re.compile(r"[^\W\d_]{3}")
_FIELD = 80  # characters of the longest field of a template
SHORT = 24  # a text with fewer known characters is a value on its way, not a prompt


def parts_of(value: Value, place: Place, expression: str) -> tuple[Part, ...]:
    """Return a value as it appears in a text at ``place``."""
    if isinstance(value, Str):
        marker = value.plain() if len(value.parts) == 1 else None
        if marker is not None and _MARKER.fullmatch(marker):
            return (Lit(marker, fixed(place, marker), whole=True),)
        if value.has_text(SHORT) and _longest(value.parts) >= SHORT:
            return value.parts
        of_template = value.has_text(1)
        return tuple(_enter(p, place, of_template) for p in value.parts)
    if isinstance(value, Const):
        try:
            text = str(value.value)
        except ValueError:  # a number of over 4,300 digits
            return (Hole(place, expression, multiline=False),)
        return (Lit(text, fixed(place, text), whole=True),) if text else ()
    if isinstance(value, Choice):
        return (Alt(value.guard, tuple(parts_of(v, place, expression) for v in value.values)),)
    if isinstance(value, Template):
        return value.parts or (Hole(place, expression),)
    if isinstance(value, Ext):
        return (Hole(place, expression, value.path),)
    if isinstance(value, Obj) and "content" in value.attrs and value.kind == "message":
        return parts_of(value.attrs["content"], place, expression)
    if isinstance(value, Obj) and isinstance(held := value.attrs.get(HELD), Str):
        return parts_of(held, place, expression)
    if isinstance(value, Obj) and value.kind == "path":
        folder = value.attrs.get("folder")
        name = value.name if folder is None else f"/{value.name}"
        lead = () if folder is None else parts_of(folder, place, expression)
        return (*lead, Lit(name, fixed(place, name), whole=True))
    if isinstance(value, ListV | DictV) and (whole := data(value)) is not None:
        text = str(whole[0])
        return (Lit(text, fixed(place, text), whole=True),)
    return (hole(place, value, expression),)


def _longest(parts: tuple[Part, ...]) -> int:
    """Return how many characters are known of the longest text that pieces stand for."""
    known = 0
    for part in parts:
        if isinstance(part, Alt):
            known += max(map(_longest, part.branches), default=0)
        else:
            known += _longest(part.parts) if isinstance(part, Loop) else len(text_of(part))
    return known


def _enter(part: Part, place: Place, of_template: bool) -> Part:
    """Move a hole of a short text to the place where the text enters a longer one.

    A hole within that place stays: in ``"for " + ", ".join(names)`` the join is the better place. So does a
    field of a template, if there is any known text around it.
    """
    if isinstance(part, Hole):
        cause = part.cause
        if _within(part.place, place):
            return part
        if cause is None:  # what a helper formats for a template of another file stands in that file
            stays = (of_template and part.field) or place.path == part.place.path
            return part if stays else replace(part, place=place)
        if cause.place is None:
            cause = replace(cause, place=part.place)
        elif part.place != cause.place:
            cause = step(cause, part.place, "formatted here") or cause
        return replace(part, place=place, cause=cause)
    if isinstance(part, Alt):
        return Alt(part.guard, tuple(tuple(_enter(p, place, of_template) for p in b) for b in part.branches))
    if isinstance(part, Loop):
        return Loop(part.guard, tuple(_enter(p, place, of_template) for p in part.parts))
    return part


def _within(place: Place, other: Place) -> bool:
    return (
        place.path == other.path and other.span.start <= place.span.start and place.span.end <= other.span.end
    )


def known_text(value: Value) -> tuple[Part, ...] | None:
    """Return the text of a template; one that may also come out of a cache or be replaced is the known one."""
    if isinstance(value, Str):
        return value.parts
    if not isinstance(value, Choice):
        return None
    known = [option.parts for option in value.values if isinstance(option, Str)]
    if len(known) > 1:
        return (Alt(value.guard, tuple(known)),)
    return known[0] if known else None


def wrap_guards(parts: tuple[Part, ...], guards: Sequence[Guard]) -> tuple[Part, ...]:
    """Put text under conditions, the outermost first."""
    for guard in reversed(guards):
        if guard.kind in ("for", "while"):
            parts = (Loop(guard, parts),)
        else:
            empty: tuple[Part, ...] = ()
            branches = (empty,) * guard.branch + (parts,) + (() if guard.branch else (empty,))
            parts = (Alt(guard, branches),)
    return parts


def joined(
    separator: tuple[Part, ...],
    items: Sequence[Item],
    order: Cause | None,
    place: Place,
    loops: Collection[Place] = (),
) -> Str:
    """Return ``separator.join(items)``; items that are only sometimes there keep their conditions.

    ``order`` makes one hole of what has none: what the elements are is known, in which order is not. It stands where
    one of ``loops``, those of the function that joins, has filled the list: that line is to be mended.
    """
    given = set(map(id, items))
    if order is not None:
        whole = Hole(place, "join", cause=order, multiline=any("\n" in text_of(p) for p in separator))
        items = stretches(items, whole, loops)
    out: list[Part] = []
    lines = any("\n" in text_of(part) for part in separator)
    # Before the first element that is surely there, a separator comes and goes with the element before it.
    sure = next((i for i, item in enumerate(items) if not (item.guards or item.spread)), 0)
    for index, item in enumerate(items):
        stays = id(item) not in given or (lines and _is_labelled(item.value))  # a stretch, or a line
        if isinstance(item.value, Str) and stays:
            piece = item.value.parts
        else:
            piece = _element(item.value, _gap(items, index, place) or item.place or place)
        if index < sure:
            piece = piece + separator
        elif index > sure:
            piece = separator + piece
        if item.spread:
            piece = (Loop(Guard("for", "", place), piece),)
        out.extend(wrap_guards(piece, item.guards) if item.guards else piece)
    return Str(tuple(out))


def _is_labelled(value: Value) -> TypeGuard[Str]:
    """Tell whether a line says in words what the value in it is: ``f"Branch: {branch}"``."""
    return isinstance(value, Str) and any(_LABEL.search(text_of(part)) for part in value.parts)


def _gap(items: Sequence[Item], index: int, place: Place) -> Place | None:
    """Return the field that a value fills, where a template of another file was taken apart and is joined again.

    ``"".join(…)`` of ``Question: ``, the question, and `` Answer in French.``: it stands between these two.
    """
    if not 0 < index < len(items) - 1 or isinstance(items[index].value, Str):
        return None
    before, behind = items[index - 1].value, items[index + 1].value
    if not (isinstance(before, Str) and isinstance(behind, Str) and before.parts and behind.parts):
        return None
    head, tail = before.parts[-1], behind.parts[0]
    if not (isinstance(head, Lit) and isinstance(tail, Lit)):
        return None
    one, other = head.place(), tail.place()
    size = other.span.start - one.span.end
    if one.path != other.path or one.path == place.path or not 0 < size < _FIELD:
        return None
    return Place(one.path, Span(one.span.end, other.span.start))


def _element(value: Value, place: Place) -> tuple[Part, ...]:
    """Return an element of a list that is joined; words around a value were put there, not where a library joins them."""
    if not (isinstance(value, Str) and value.has_text(1)):
        return parts_of(value, place, "")
    if any(isinstance(p, Hole) and p.place.path != place.path for p in value.parts):
        return value.parts
    return parts_of(value, place, "")


def stretches(items: Sequence[Item], whole: Hole, loops: Collection[Place] = ()) -> list[Item]:
    """Return a list's elements with those of a loop without order as one; all are one if no loop tells which.

    That one stands at its loop where it is one of ``loops``.

    ``["Skills:", *(each file of a folder), "Answer in French."]`` begins and ends the same each time.
    """
    out: list[Item] = []
    told = False
    last: Cause | None = None
    for item in items:
        cause, loop = _disorder(item)
        if cause is None:
            out.append(item)
        elif cause != last:
            before = itertools.takewhile(lambda guard: guard.cause is None, item.guards)
            at = loop if loop is not None and loop in loops else whole.place
            out.append(Item(Str((replace(whole, cause=cause, place=at),)), tuple(before)))
        told = told or (cause is not None and whole.cause is not None and cause.place == whole.cause.place)
        last = cause
    return out if told else [Item(Str((whole,)))]


def _disorder(item: Item) -> tuple[Cause | None, Place | None]:
    """Return why an element stands in no fixed place, if a loop or collection that it came with has no order; and the loop."""
    for guard in item.guards:
        if guard.cause is not None and guard.cause.kind is Kind.UNORDERED:
            return guard.cause, guard.place
    of_all = item.value.cause if item.spread else None
    return (of_all if of_all is not None and of_all.kind is Kind.UNORDERED else None), None


def mapped(part: Lit) -> MappedText:
    """Return a piece of known text with its way back to the file."""
    if not part.whole:
        return part.source.mapped.slice(part.at, part.at + len(part.text))
    place = part.place()
    return MappedText(place.path, part.text, ((0, place.span.start),), place.span.end)


def _piece(segment: Segment) -> Part:
    """Return known text between fields as text, so that it can be cut and replaced further on."""
    if segment.text is None or segment.guards:
        return Seg(segment)
    return Lit(segment.text, fixed(segment.place, segment.text), whole=True)


def with_fields(parts: tuple[Part, ...], style: str) -> tuple[Part, ...]:
    """Split known text at its placeholders; other pieces stay as they are."""
    out: list[Part] = []
    for part in parts:
        if isinstance(part, Lit):
            out.extend(map(_piece, fields.segments(mapped(part), style)))
        elif isinstance(part, Alt):
            out.append(Alt(part.guard, tuple(with_fields(b, style) for b in part.branches)))
        elif isinstance(part, Loop):
            out.append(Loop(part.guard, with_fields(part.parts, style)))
        else:
            out.append(part)
    return tuple(out)


def fill(
    parts: tuple[Part, ...], values: dict[str, Value], rest: Value | None, partial: bool
) -> tuple[Part, ...]:
    """Put values into the holes that carry their names.

    ``rest`` stands for further values of unknown names (``**kwargs``). A hole without a value stays.
    ``partial`` keeps text between the fields as it is, for a second round.
    """
    out: list[Part] = []
    for part in parts:
        if isinstance(part, Alt):
            out.append(Alt(part.guard, tuple(fill(b, values, rest, partial) for b in part.branches)))
        elif isinstance(part, Loop):
            out.append(Loop(part.guard, fill(part.parts, values, rest, partial)))
        elif isinstance(part, Seg) and part.segment.text is None:
            out.extend(_filled(part, values, rest))
        else:
            out.append(part)
    return tuple(out)


def _filled(part: Seg, values: dict[str, Value], rest: Value | None) -> tuple[Part, ...]:
    segment = part.segment
    name = segment.origin.name
    root = re.split(r"[.\[(]", name, maxsplit=1)[0]
    value = values.get(name, values.get(root))
    if value is None:
        if rest is not None and rest.cause is not None and segment.cause is None:
            return (Seg(replace(segment, cause=rest.cause, scope=rest.cause.scope)),)
        return (part,)
    whole = name == root and segment.origin.expression.strip(" {}$()") in (
        name,
        "",
        f"-{name}-",
        f"%({name})s",
        f"%({name}",
    )
    if not segment.guards and whole:
        # Text keeps its pieces; what is unknown stands at the field.
        if isinstance(value, Str) and value.has_text(SHORT):
            return tuple(_or_else(p, segment.place, name) for p in value.parts)
        shown = "" if name.isdigit() else name  # `{}` has no name of its own: the value's is shown
        return tuple(_at_field(p, segment.place, name) for p in parts_of(value, segment.place, shown))
    asked = _asked(value, name.removeprefix(root))
    value = asked if asked is not None else value
    cause = value.cause
    if _is_constant(value):
        return (
            Seg(replace(segment, scope=Scope.RELEASE, cause=None, origin=replace(segment.origin, name=""))),
        )
    if cause is None:
        return (part,)
    return (Seg(replace(segment, cause=cause, scope=cause.scope)),)


def _asked(value: Value, path: str) -> Value | None:
    """Return what a field asks of a value: ``.state`` of ``device.state``, ``[].name`` of what a loop runs over.

    Of several elements that is one which changes, or any of them where all are constants.
    """
    if isinstance(value, ListV) and path.startswith("[]") and value.order is None:
        ones = [_asked(item.value, path[2:]) for item in value.items]
        known = [one for one in ones if one is not None]
        changing = next((one for one in known if one.cause is not None), None)
        constant = 0 < len(known) == len(ones) and all(map(_is_constant, known))
        return changing or (known[0] if constant else None)
    for key in filter(None, path.split(".")):
        found = value.attrs.get(key) if isinstance(value, Obj) else None
        found = value.get(key) if isinstance(value, DictV) else found
        if found is None:
            return None
        value = found
    return value


def _is_constant(value: Value) -> bool:
    return isinstance(value, Const) or (isinstance(value, Str) and value.plain() is not None)


def _or_else(part: Part, place: Place, field: str) -> Part:
    """Return a piece with the values that are given bare (``history or "There is none yet."``) at the field."""
    if not isinstance(part, Alt):
        return part
    return Alt(
        part.guard,
        tuple(
            b if Str(b).has_text(SHORT) else tuple(_at_field(p, place, field) for p in b)
            for b in part.branches
        ),
    )


def _at_field(part: Part, place: Place, field: str) -> Part:
    if isinstance(part, Hole):
        cause = part.cause
        if cause is not None and part.place != place and part.place != cause.place:
            cause = step(cause, part.place, "given here")
        return replace(part, place=place, cause=cause, field=field, written="")
    if isinstance(part, Alt):
        return Alt(part.guard, tuple(tuple(_at_field(p, place, field) for p in b) for b in part.branches))
    if isinstance(part, Loop):
        return Loop(part.guard, tuple(_at_field(p, place, field) for p in part.parts))
    return part


def keys_of(mapping: DictV) -> dict[str, Value]:
    """Return the entries of a mapping that have constant text keys."""
    return {k: i.value for k, i in mapping.entries.items() if isinstance(k, str)}
