"""What modules, classes and remembered calls hold is there for all files; each file works on copies of its own.

A program's modules keep collections and objects that its functions change::

    _tools = {}
    def register(tool): _tools[tool.name] = tool

What one file's functions put there must not show in another's prompts: it would depend on which was read first.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from promptlint.frontends.python.values.values import Choice, DictV, Item, ListV, Obj, Unknown, Value

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Machine

Twins = dict[int, tuple[Value, Value]]
"""Copies by what they are copies of, which is kept alive with them."""

MAKING_STEPS = 600  # of a constructor that was put off


class Like:
    """What makes an object like another one, whose constructor was put off: that is run once for all of them."""

    __slots__ = ("machine", "made", "model")

    def __init__(self, machine: Machine, model: Obj, made: Twins) -> None:
        self.machine = machine
        self.model = model
        self.made = made

    def __call__(self, obj: Obj) -> None:
        """Give an object the attributes of its model."""
        settle(self.model, self.machine)
        _take(obj, self.model, self.machine, self.made)


def settle(obj: Obj, apart: Machine | None = None) -> None:
    """Run a constructor that was put off; ``apart`` from what is under way, and at no one's cost."""
    if obj.pending is None:
        return
    pending, obj.pending = obj.pending, None
    later = dict(obj.attrs)  # set from outside, behind the constructor
    if apart is None:
        pending(obj)
    else:
        with apart.afresh([obj.cls.node] if obj.cls else [], MAKING_STEPS), apart.recorder.into([]):
            pending(obj)
    obj.attrs.update(later)
    for value in obj.attrs.values():
        if isinstance(value, (ListV, DictV)):
            value.born = min(value.born, obj.born)


def twin(value: Value, m: Machine, made: Twins) -> Value:
    """Return a collection or object that can be changed without changing this one; other values as they are."""
    if isinstance(value, Choice):
        return Choice(value.guard, tuple(twin(one, m, made) for one in value.values), value.within)
    if not (
        isinstance(value, (ListV, DictV, Obj)) or (isinstance(value, Unknown) and value.templates is not None)
    ):
        return value
    known = made.get(id(value))
    if known is not None:
        return known[1]
    out: Value
    if isinstance(value, Unknown):
        out = copy(value)
        out.templates = list(value.templates or ())
        made[id(value)] = value, out
        return out
    if isinstance(value, ListV):
        out = ListV([], value.kind, value.order, value.depth)
        out.name, out.owner, out.born = value.name, value.owner, value.born
        made[id(value)] = value, out
        out.items.extend(Item(twin(i.value, m, made), i.guards, i.spread, i.place) for i in value.items)
    elif isinstance(value, DictV):
        out = DictV(value.depth, value.place)
        out.order, out.born = value.order, value.born
        made[id(value)] = value, out
        out.entries.update(
            (k, Item(twin(i.value, m, made), i.guards, i.spread, i.place)) for k, i in value.entries.items()
        )
        out.rest.extend(twin(rest, m, made) for rest in value.rest)
    else:
        out = Obj(value.cls, value.kind, value.name, value.place)
        out.kept, out.born, out.used = value.kept, value.born, value.used
        _take(out, value, m, made)
        if value.pending is not None:
            out.pending = Like(m, value, made)
    return out


def _take(out: Obj, model: Obj, m: Machine, made: Twins) -> None:
    made[id(model)] = model, out
    out.grown = set(model.grown)
    out.attrs.update((key, twin(value, m, made)) for key, value in model.attrs.items())
