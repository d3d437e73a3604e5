"""Values as text, and the string methods that keep pieces apart."""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from promptlint.frontends import fields
from promptlint.frontends.mapped import MappedText
from promptlint.frontends.python.evaluate import audience
from promptlint.frontends.python.evaluate.machine import Frame, Machine, fixed, hole, step
from promptlint.frontends.python.values.pieces import Alt, Hole, Lit, Loop, Part, Seg, flat, text_of
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
from promptlint.layout import Cause, Guard, Kind, Observation, Segment
from promptlint.source import Place, Span

if TYPE_CHECKING:
    from promptlint.frontends.python.values.arguments import Arguments

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


def joined(separator: tuple[Part, ...], items: Sequence[Item], order: Cause | None, place: Place) -> Str:
    """Return ``separator.join(items)``; items that are only sometimes there keep their conditions.

    ``order`` makes one hole of what has none: what the elements are is known, in which order is not.
    """
    if order is not None:
        whole = Hole(place, "join", cause=order, multiline=any("\n" in text_of(p) for p in separator))
        items = stretches(items, whole)
    out: list[Part] = []
    lines = any("\n" in text_of(part) for part in separator)
    # Before the first element that is surely there, a separator comes and goes with the element before it.
    sure = next((i for i, item in enumerate(items) if not (item.guards or item.spread)), 0)
    for index, item in enumerate(items):
        if lines and _is_labelled(item.value):
            piece = item.value.parts
        else:
            piece = _element(item.value, _gap(items, index, place) or place)
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


def stretches(items: Sequence[Item], whole: Hole) -> list[Item]:
    """Return a list's elements with those of a loop without order as one; all are one if no loop tells which.

    ``["Skills:", *(each file of a folder), "Answer in French."]`` begins and ends the same each time.
    """
    out: list[Item] = []
    told = False
    last: Cause | None = None
    for item in items:
        cause = _disorder(item)
        if cause is None:
            out.append(item)
        elif cause != last:
            before = itertools.takewhile(lambda guard: guard.cause is None, item.guards)
            out.append(Item(Str((replace(whole, cause=cause),)), tuple(before)))
        told = told or (cause is not None and whole.cause is not None and cause.place == whole.cause.place)
        last = cause
    return out if told else [Item(Str((whole,)))]


def _disorder(item: Item) -> Cause | None:
    """Return why an element stands in no fixed place, if a loop or collection that it came with has no order."""
    causes = (guard.cause for guard in item.guards)
    found = next((c for c in causes if c is not None and c.kind is Kind.UNORDERED), None)
    of_all = item.value.cause if item.spread else None
    return found or (of_all if of_all is not None and of_all.kind is Kind.UNORDERED else None)


def stripped(value: Str, method: str, chars: str | None) -> Str:
    """Return ``value.strip()`` and its like; only known text at the ends changes."""
    parts = value.parts
    if method in ("strip", "lstrip"):
        parts = _stripped(parts, 0, chars)
    if method in ("strip", "rstrip"):
        parts = _stripped(parts, -1, chars)
    return Str(parts)


def _stripped(parts: tuple[Part, ...], end: int, chars: str | None) -> tuple[Part, ...]:
    """Strip one end, also in each branch that may stand there; ``end`` is 0 or -1."""
    while parts:
        part = parts[end]
        rest = parts[:-1] if end else parts[1:]
        new: Part
        if isinstance(part, Lit):
            _, new = _edge(part, end, chars)
            kept = bool(new.text)
        elif isinstance(part, Alt):
            branches = tuple(_stripped(branch, end, chars) for branch in part.branches)
            kept = any(branches)
            if kept and not all(branches) and rest and isinstance(near := rest[end], Lit):
                # Where a branch leaves nothing, what comes next is the end that is stripped.
                edge, near = _edge(near, end, chars)
                rest = (*rest[:-1], near) if end else (near, *rest[1:])
                branches = tuple(
                    branch and ((edge, *branch) if end else (*branch, edge)) for branch in branches
                )
            new = Alt(part.guard, branches)
        else:
            return parts
        if kept:
            return (*rest, new) if end else (new, *rest)
        parts = rest
    return parts


def _edge(part: Lit, end: int, chars: str | None) -> tuple[Lit, Lit]:
    """Return what stripping one end takes of a known text, and what it leaves."""
    size = len(part.text)
    if end:
        cut = len(part.text.rstrip(chars))
        return part.cut(cut, size), part.cut(0, cut)
    cut = size - len(part.text.lstrip(chars))
    return part.cut(0, cut), part.cut(cut, size)


def dedented(value: Str) -> Str:
    """Return ``textwrap.dedent(value)``, as if no hole spoiled the margin."""
    margin = None
    line_start = True
    for part in flat(value.parts):
        text = text_of(part)
        for index, line in enumerate(text.split("\n")):
            if (index or line_start) and line.strip():
                indent = len(line) - len(line.lstrip(" \t"))
                margin = indent if margin is None else min(margin, indent)
        line_start = text.endswith("\n") if text else False
    plain = value.plain()
    if plain is not None and len(value.parts) == 1 and isinstance(value.parts[0], Lit):
        first = value.parts[0]
        return Str((replace(first, text=textwrap.dedent(plain), whole=True),))
    if not margin:
        return value
    pattern = re.compile(rf"\n[ \t]{{1,{margin}}}")
    parts = list(_map_text(value.parts, lambda text: pattern.sub("\n", text)))
    opening = parts[0] if parts else None
    if isinstance(opening, Lit):
        text = re.sub(rf"^[ \t]{{1,{margin}}}", "", opening.text)
        parts[0] = opening.cut(len(opening.text) - len(text), len(opening.text))
    return Str(tuple(parts))


def _alone(value: Str, index: int) -> bool:
    """Tell whether a hole has a line to itself: a value put there is a block, not a word."""
    before = text_of(value.parts[index - 1]) if index else "\n"
    behind = text_of(value.parts[index + 1]) if index + 1 < len(value.parts) else "\n"
    return before.rstrip(" \t").endswith("\n") and behind.lstrip(" \t").startswith("\n")


def dedent(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return ``textwrap.dedent(...)``; that the margin depends on a value is told to the recorder."""
    value = given.args[0] if given.args else None
    if not isinstance(value, Str):
        return None
    holes = [p for i, p in enumerate(value.parts) if isinstance(p, Hole) and p.multiline and _alone(value, i)]
    indented = value.literal_length() > 40 and any("\n " in text_of(p) for p in flat(value.parts))
    func = frame.func.node if frame.func is not None else None
    if (
        holes
        and indented
        and not audience.starts_as_code(text_of(value.parts[0]))
        and not (func is not None and audience.becomes_a_refusal(node, func))
    ):
        place = frame.module.place(node)
        m.recorder.observe(
            Observation(
                "dedent-after-interpolation",
                place,
                holes[0].expression,
                data={"length": str(value.literal_length())},
            ),
            value,
        )
    return dedented(value)


def recased(value: Str, change: Callable[[str], str]) -> Str:
    """Return ``value.upper()`` and its like: every known piece changed by itself."""
    return Str(_map_text(value.parts, change))


def _map_text(parts: tuple[Part, ...], change: Callable[[str], str]) -> tuple[Part, ...]:
    out: list[Part] = []
    for part in parts:
        if isinstance(part, Lit):
            text = change(part.text)
            out.append(part if text == part.text else replace(part, text=text, whole=True))
        elif isinstance(part, Alt):
            out.append(Alt(part.guard, tuple(_map_text(b, change) for b in part.branches)))
        elif isinstance(part, Loop):
            out.append(Loop(part.guard, _map_text(part.parts, change)))
        elif isinstance(part, Seg) and part.segment.text is not None:
            out.append(Seg(replace(part.segment, text=change(part.segment.text))))
        else:
            out.append(part)
    return tuple(out)


def split_lines(value: Str) -> ListV | None:
    """Return the lines of a fully known text."""
    if value.plain() is None or len(value.parts) != 1 or not isinstance(value.parts[0], Lit):
        return None
    part, at, items = value.parts[0], 0, []
    for line in part.text.splitlines(keepends=True):
        body = line.rstrip("\n")
        items.append(Item(Str((part.cut(at, at + len(body)),))))
        at += len(line)
    return ListV(items[:400])


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
    cause = value.cause
    if isinstance(value, Const) or (isinstance(value, Str) and value.plain() is not None):
        return (
            Seg(replace(segment, scope=segment.scope, cause=None, origin=replace(segment.origin, name=""))),
        )
    if cause is None:
        return (part,)
    return (Seg(replace(segment, cause=cause, scope=cause.scope)),)


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
