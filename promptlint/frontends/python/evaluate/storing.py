"""Assignments to attributes and entries: what an object, mapping or list holds from then on."""

from __future__ import annotations

import ast

from promptlint.frontends.python.evaluate import access, linking, members, protocols
from promptlint.frontends.python.evaluate.machine import Frame, Machine, join, passed, unknown_like
from promptlint.frontends.python.evaluate.opening import content_of
from promptlint.frontends.python.values import known
from promptlint.frontends.python.values.naming import CONSTRUCTORS, is_of_a_tool
from promptlint.frontends.python.values.values import (
    ClassV,
    DictV,
    Ext,
    FuncV,
    Item,
    ListV,
    Obj,
    Str,
    Unknown,
    Value,
)
from promptlint.layout import Cause, Kind, Scope


def set_attribute(m: Machine, target: ast.Attribute, value: Value, frame: Frame) -> None:
    """Set ``owner.name``."""
    owner = m.evaluate(target.value, frame)
    place = frame.module.place(target)
    if target.attr == "content":
        m.recorder.opened(m, target.value, value, target, frame)
    if isinstance(owner, Obj):
        makes = frame.func is not None and frame.func.name in CONSTRUCTORS
        if makes and owner.kept is not None:
            # Computed once for the life of the object.
            value = access.frozen(value, owner.kept, place, f"kept in {target.attr} when the object is made")
        elif isinstance(value, (Str, Unknown)) and value.cause is not None:
            value = passed(value, place, f"kept in {target.attr}")
        if isinstance(value, ListV) and not value.owner:
            value.name, value.owner = target.attr, owner.name
        guards = m.since(frame.depth)
        owner.unmade.clear()
        old = owner.attrs.get(target.attr)
        owner.attrs[target.attr] = (
            join(guards[-1], None, [value, old]) if guards and old is not None else value
        )
        m.recorder.attribute(m, owner, target.attr, value, target, frame)
    elif isinstance(owner, FuncV):
        if target.attr == "__doc__":  # which a library reads when it makes a tool of the function
            owner.says = value
    elif isinstance(owner, ClassV):
        linking.assign_outside(m, owner, target.attr, value)
    elif isinstance(owner, Unknown | Ext):  # somebody else's object: ``agent.system_prompt = …``
        if isinstance(owner, Unknown):
            m.recorder.turn_set(m, owner, target, frame)
            if owner.given and target.attr in owner.given and isinstance(target.value, ast.Name):
                changed = {**owner.given, target.attr: value}
                frame.names[target.value.id] = unknown_like(owner, cause=owner.cause, given=changed)
        m.recorder.named(m, target.attr, value, target, frame)


def set_item(m: Machine, target: ast.Subscript, value: Value, frame: Frame) -> None:
    """Set ``owner[key]``."""
    owner = m.evaluate(target.value, frame)
    if isinstance(target.slice, ast.Slice):
        m.recorder.replaced(m, owner, target, value, frame)
        return
    key = m.evaluate(target.slice, frame)
    if isinstance(owner, Obj):
        if protocols.special(m, owner, ("__setitem__",), [key, value], target, frame) is not None:
            return
        owner = protocols.held(owner) or owner
    if access.plain(key) == "content":
        m.recorder.opened(m, target.value, value, target, frame)
    elif access.plain(key) == 0 and (content := content_of(value)) is not None:
        m.recorder.opened(m, target, content, target, frame)
    elif (
        isinstance(value, Str)
        and access.plain(key) == "description"
        and is_of_a_tool(ast.unparse(target.value))
    ):
        m.recorder.described(m, value, target, frame)
    if isinstance(owner, DictV):
        if isinstance(value, Obj) and _outlives(target.value, frame):
            place = frame.module.place(target)
            access.frozen(value, Scope.SESSION, place, f"kept in {frame.module.text(target.value)}")
        members.store(m, owner, key, value, target, frame)
        m.recorder.entry(m, owner, key, value, target, frame)
    elif isinstance(owner, ListV):
        index = access.plain(key)
        m.recorder.replaced(m, owner, target, value, frame)
        if isinstance(index, int) and known.is_certain(owner.items, index):
            owner.items[index] = Item(value, owner.items[index].guards)
    else:
        m.recorder.replaced(m, owner, target, value, frame)
        if isinstance(name := access.plain(key), str):  # ``payload["system_prompt"] = …``
            m.recorder.named(m, name, value, target, frame)
        order = members.order_of(value)
        if isinstance(owner, Unknown) and order is not None and order.kind is Kind.UNORDERED:
            _put_into(m, target, order, frame)


def _outlives(owner: ast.expr, frame: Frame) -> bool:
    """Tell whether a mapping is there for the next call too, for which its entries were made: the module's, an object's."""
    if isinstance(owner, ast.Name):
        return frame.func is not None and owner.id not in frame.names
    of_object = isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name)
    return of_object and owner.value.id in ("self", "cls")  # type: ignore[attr-defined]


def _put_into(m: Machine, target: ast.Subscript, order: Cause, frame: Frame) -> None:
    """Note that something unordered was put, however deep, into an unknown mapping."""
    root: ast.expr = target
    while isinstance(root, ast.Subscript):
        root = root.value
    old = m.evaluate(root, frame) if isinstance(root, ast.Name | ast.Attribute) else None
    if not isinstance(old, Unknown) or old.holds is not None:
        return
    new = unknown_like(old, cause=old.cause)
    new.holds = order
    if isinstance(root, ast.Name) and root.id in frame.names:
        frame.names[root.id] = new
    elif isinstance(root, ast.Attribute):
        owner = m.evaluate(root.value, frame)
        if isinstance(owner, Obj):
            owner.attrs[root.attr] = new
