"""What collections hold: their elements, whether those have an order, and what is put under a key."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from promptlint.frontends.python.evaluate import access, hints, protocols
from promptlint.frontends.python.evaluate.machine import Frame, Machine, unknown_like
from promptlint.frontends.python.syntax.nodes import Loop, loops_around, remembered, walk
from promptlint.frontends.python.values.forms import has_turns, is_history, with_earlier
from promptlint.frontends.python.values.pieces import worst
from promptlint.frontends.python.values.values import (
    MAX_CHOICE,
    NONE,
    Choice,
    Const,
    Declared,
    DictV,
    Item,
    ListV,
    Obj,
    Str,
    Unknown,
    Value,
    choice,
)
from promptlint.layout import Cause, Confidence, Guard, Kind, Scope

MAX_UNROLL = 16  # elements that are looked at one by one
MAX_ITEMS = 2000  # taken from one list into another; a program can double a list again and again


def items(m: Machine, value: Value, node: ast.expr, frame: Frame) -> list[Item]:
    """Return what ``*value`` contributes to a list."""
    value = protocols.iterated(m, value, node, frame)
    if isinstance(value, ListV):
        if value.order is not None:
            return [Item(Unknown(frame.module.place(node), name=value.name, cause=value.order), spread=True)]
        return [*with_earlier(value)[:MAX_ITEMS], *_more_turns(m, value, node, frame)]
    if isinstance(value, DictV):
        if value.order is not None:
            return [Item(Unknown(frame.module.place(node), cause=value.order), spread=True)]
        return [Item(Str(()) if k is None else Const(k)) for k in value.entries]
    if isinstance(value, Choice):
        return _items_of_either(m, value, node, frame)
    return [
        Item(unknown_like(value, cause=value.cause) if isinstance(value, Unknown) else value, spread=True)
    ]


def _more_turns(m: Machine, value: ListV, node: ast.expr, frame: Frame) -> list[Item]:
    """Return what stands for the turns that a loop has added to a conversation when the next request is made of it.

    ``while True: ask([reminder, *messages]); messages.append(answer)``
    """
    if not (m.loops and isinstance(node, ast.Name) and has_turns(value)) or m.within_loop(value):
        return []
    loops = loops_around(node, frame.func.node) if frame.func is not None else []
    if not any(node.id in _grown_by(loop) for loop in loops):
        return []
    return [Item(Unknown(frame.module.place(node), name="messages[]", path="messages[]"), spread=True)]


@remembered
def _grown_by(loop: Loop) -> frozenset[str]:
    """Return the lists to which a loop adds something, and which it does not make."""
    inside = walk(*loop.body)
    owners = (n.value for n in inside if isinstance(n, ast.Attribute) and n.attr in ("append", "extend"))
    made = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return frozenset(owner.id for owner in owners if isinstance(owner, ast.Name)) - made


def _items_of_either(m: Machine, value: Choice, node: ast.expr, frame: Frame) -> list[Item]:
    """Return the elements of lists that stand for one another, each under its condition: ``[] if not tools else lines``."""
    if not any(isinstance(option, ListV) for option in value.values):
        return [Item(value, spread=True)]
    out = []
    for branch, option in enumerate(value.values):
        if access.plain(option) is None and isinstance(option, Const):
            continue
        guard = replace(value.guard, branch=branch)
        out += [replace(item, guards=(guard, *item.guards)) for item in items(m, option, node, frame)]
    return out[:MAX_ITEMS]


def elements(value: Value) -> list[Value] | None:
    """Return the elements of a collection that is wholly known."""
    if isinstance(value, ListV) and value.known() and value.order is None:
        return [i.value for i in value.items]
    return None


def apart(value: Value) -> list[Value] | None:
    """Return what names get to which a tuple is assigned; of one of several tuples, one of their elements each."""
    if not isinstance(value, Choice):
        return elements(value)
    ways = [elements(one) for one in value.values if one is not NONE]
    known = [way for way in ways if way is not None]
    if len(known) < max(len(ways), 1) or len(set(map(len, known))) > 1:
        return None
    return [choice(value.guard, column) for column in zip(*known, strict=True)]


def element(m: Machine, value: Value, node: ast.expr, frame: Frame) -> Value:
    """Return a value that stands for any element."""
    value = protocols.iterated(m, value, node, frame)
    place = frame.module.place(node)
    if isinstance(value, ListV):
        if len(value.items) == 1:
            return value.items[0].value
        if is_history(value):
            return Unknown(place, name="messages[]", path="messages[]")  # each has its own text, told there
        distinct = {id(i.value): i.value for i in value.items[:20]}
        if 1 <= len(distinct) <= MAX_CHOICE and all(map(_is_asked, distinct.values())):
            # What is asked of an element is one of their entries, not all that is in them.
            return choice(Guard("for", frame.module.text(node), place), distinct.values())
        if distinct and all(isinstance(v, Str) and v.plain() is not None for v in distinct.values()):
            return choice(Guard("for", frame.module.text(node), place), distinct.values())
        return Unknown(place, name=value.name, cause=worst(*(i.value.cause for i in value.items[:20])))
    if isinstance(value, Unknown):
        base = value.name or value.path
        cause = value.cause
        if cause is not None and (
            cause.kind is Kind.UNORDERED or (is_history(value) and cause.kind is not Kind.HISTORY_REWRITE)
        ):
            cause = None  # the order is the loop's; which of several turns changes is told where it is made
        one = Unknown(
            place, name=f"{base}[]" if base else "", path=f"{value.path}[]", cause=cause, loop=value.loop
        )
        return hints.entry(value, one) if isinstance(value, Declared) and not is_history(value) else one
    if isinstance(value, Choice):
        for option in value.values:
            if isinstance(option, ListV) and option.items:
                return element(m, option, node, frame)
    return Unknown(place, cause=None)


def _is_asked(value: Value) -> bool:
    """Tell whether of an element only something in it becomes text: an entry of a mapping, what a future gives."""
    return isinstance(value, DictV) or (isinstance(value, Obj) and value.kind == "future")


def order_of(value: Value) -> Cause | None:
    """Return why iterating a value gives no fixed order, if it does not."""
    if isinstance(value, ListV) and value.order is None:
        # Of a list made of others, ``[*first, *listing]``, a part may have none.
        parts = (item.value for item in value.items if item.spread and isinstance(item.value, Unknown))
        return next((o for part in parts if (o := order_of(part)) is not None), None)
    if isinstance(value, ListV | DictV):
        return value.order
    cause = value.cause
    return cause if cause is not None and cause.kind is Kind.UNORDERED else None


def unordered(m: Machine, found: Sequence[Item], node: ast.AST, frame: Frame, what: str = "") -> ListV:
    """Return a set: its elements, and the fact that their order follows the hash seed of the process."""
    place = frame.module.place(node)
    cause = Cause(
        Kind.UNORDERED,
        Scope.PROCESS,
        what or frame.module.text(node, 40),
        Confidence.HIGH,
        place,
        variant="set",
    )
    alike = bool(found) and all(isinstance(i.value, Const) for i in found)  # numbers, in every process
    return ListV(list(found), "set", None if alike else cause, len(m.guards))


def some_of(found: Sequence[Item]) -> list[Item]:
    """Return elements of which nobody knows which are left, and how many: ``names - blocked``."""
    return [replace(item, spread=True) for item in found]


def store(m: Machine, out: DictV, key: Value, value: Value, node: ast.AST, frame: Frame) -> None:
    """Put an entry into a mapping."""
    constant = access.plain(key)
    m.scramble(out)
    guards = m.since(out.depth)
    if constant is None or not isinstance(constant, (str, int, bool, float)):
        out.rest.append(value)
        return
    old = out.entries.get(constant)
    if old is not None and guards and old.value is not value:
        both = (old.value, value) if guards[-1].branch else (value, old.value)
        value = choice(guards[-1], both)
        guards = tuple(new for new, before in zip(guards, old.guards, strict=False) if new == before)
    heading = isinstance(constant, str) and is_heading(constant)
    out.entries[constant] = Item(value, guards, place=frame.module.place(node) if heading else None)


def is_heading(key: str) -> bool:
    """Tell whether a key of a mapping reads like the heading of a section: ``Task description``."""
    return key[:1].isupper() and not key.isupper()
