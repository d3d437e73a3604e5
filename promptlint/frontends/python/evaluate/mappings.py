"""Mappings: merged, copied, and written as classes: an SDK's typed dictionaries, and what is made of objects.

``MessageParam(role="user", content=q)`` is ``{"role": "user", "content": q}``, and so is what ``asdict(m)``
or ``m.model_dump()`` makes of a message of the program's own. ``replace(m, content=q)`` and
``m.model_copy(update={"content": q})`` are the same message with another text.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, TypeGuard

from promptlint.frontends.python.evaluate import text
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.values.values import ABSENT, Choice, DictV, Item, Obj, Value, choice

if TYPE_CHECKING:
    from promptlint.frontends.python.values.arguments import Arguments

_TYPED = re.compile(r"[A-Z]\w*Param$")  # anthropic.types.TextBlockParam, openai.types.chat.…MessageParam
_SHOWN = ("model_dump", "dict", "_asdict")
_COPIED = ("model_copy", "_replace")
METHODS = frozenset((*_SHOWN, *_COPIED))


def is_typed(path: str, given: Arguments) -> bool:
    """Tell whether a call makes a typed dictionary, as the SDKs of OpenAI and Anthropic name theirs."""
    return bool(given.keywords) and not given.args and _TYPED.search(path) is not None


def of_object(m: Machine, value: Obj, node: ast.Call, frame: Frame) -> DictV | None:
    """Return the fields of an object as a mapping; None where none are known."""
    if not value.attrs:
        return None
    out = DictV(len(m.guards), value.place or frame.module.place(node))
    out.entries.update((name, Item(field)) for name, field in value.attrs.items())
    return out


def method(m: Machine, value: Obj, name: str, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return what a method gives that libraries put into the classes of data; None for others."""
    if name in _SHOWN:
        return of_object(m, value, node, frame)
    if name not in _COPIED:
        return None
    update = given.get("update")
    return _with(value, text.keys_of(update) if isinstance(update, DictV) else given.keywords, node, frame)


def changed(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return what ``dataclasses.replace`` makes of an object."""
    value = given.args[0] if given.args else None
    return _with(value, given.keywords, node, frame) if isinstance(value, Obj) else None


def _with(value: Obj, fields: dict[str, Value], node: ast.Call, frame: Frame) -> Obj:
    out = Obj(value.cls, value.kind, value.name, frame.module.place(node))
    out.attrs = {**value.attrs, **fields}
    out.kept = None
    return out


def asdict(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return what ``dataclasses.asdict`` makes of an object."""
    value = given.args[0] if given.args else None
    return of_object(m, value, node, frame) if isinstance(value, Obj) else None


def update(out: DictV, value: Value) -> None:
    """Merge another mapping in."""
    if isinstance(value, DictV):
        out.entries.update(value.entries)
        out.rest.extend(value.rest)
        out.order = out.order or value.order
    elif are_chosen(value):
        update(out, either(value))
    else:
        out.rest.append(value)


def are_chosen(value: Value) -> TypeGuard[Choice]:
    """Tell whether a condition chooses between mappings; a loop over some tries one after the other."""
    return (
        isinstance(value, Choice)
        and value.guard.kind == "if"
        and all(isinstance(v, DictV) for v in value.values)
    )


def either(value: Choice) -> DictV:
    """Return a mapping that has under each key what some of several have there, and nothing where one has not."""
    maps = [one for one in value.values if isinstance(one, DictV)]
    out = DictV()
    for key in dict.fromkeys(key for one in maps for key in one.entries):
        out.entries[key] = Item(choice(value.guard, [one.get(key) or ABSENT for one in maps]))
    out.rest = [rest for one in maps for rest in one.rest]
    return out


def copy_dict(value: DictV, depth: int) -> DictV:
    """Return a shallow copy."""
    out = DictV(depth, value.place)
    out.entries = dict(value.entries)
    out.order = value.order
    out.rest = list(value.rest)
    return out
