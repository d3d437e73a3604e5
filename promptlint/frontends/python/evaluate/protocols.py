"""What Python asks of an object by itself: its elements, its text, an entry, what a ``with`` block is given.

::

    for part in document: …         __iter__
    f"{section}", str(section)      __format__, __str__, __repr__
    prompts["system"]               __getitem__
    prompt += "…", prompt + "…"     __iadd__, __add__
    with builder.section("x"): …    __enter__, __exit__
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from promptlint.frontends.python.evaluate import functions, mappings, members, objects, text
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.evaluate.twins import settle
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.values import (
    HELD,
    Bound,
    DictV,
    Ext,
    FuncV,
    Item,
    ListV,
    Obj,
    Str,
    Value,
)

_HOLDING: dict[str, Callable[[], Value]] = {
    **dict.fromkeys(("list", "UserList"), lambda: ListV([])),
    **dict.fromkeys(("dict", "UserDict", "OrderedDict"), DictV),
    **dict.fromkeys(("str", "UserString"), lambda: Str(())),
    "Formatter": lambda: Obj(kind="formatter", name="string.Formatter()"),
}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Mod: "mod",
    ast.Div: "truediv",
    ast.BitOr: "or",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}


def special(
    m: Machine, value: Value, names: Iterable[str], args: list[Value], node: ast.expr, frame: Frame
) -> Value | None:
    """Return what the first of some methods that an object's class has gives; None where it has none of them."""
    if not isinstance(value, Obj) or value.cls is None:
        return None
    for name in names:
        if isinstance(method := value.cls.find(name), FuncV):
            return functions.invoke(m, method, [value, *args], {}, node, frame)
    return None


def held(obj: Obj) -> Value | None:
    """Return what an object holds whose class is a list, mapping, text or formatter: ``class Prompt(list)``."""
    found = obj.attrs.get(HELD)
    if found is None and obj.cls is not None:
        bases = (base.rpartition(".")[2] for one in obj.cls.mro() for base in one.external)
        make = next((_HOLDING[base] for base in bases if base in _HOLDING), None)
        if make is not None:
            settle(obj)
            found = obj.attrs.setdefault(HELD, make())
    return found


def of_held(inner: Value, attr: str) -> Bound:
    """Return a method of what an object holds; its constructor fills it."""
    if attr == "__init__":
        attr = "extend" if isinstance(inner, ListV) else "update"
    return Bound(Ext(f"method.{attr}"), inner)


def holds(m: Machine, obj: Obj, given: Arguments, node: ast.expr, frame: Frame) -> None:
    """Put what a constructor is given into an object whose class is a list, mapping or text."""
    inner = held(obj)
    if isinstance(inner, ListV) and given.args:
        inner.items.extend(members.items(m, given.args[0], node, frame))
    elif isinstance(inner, DictV):
        for value in given.args:
            mappings.update(inner, value)
        inner.entries.update((key, Item(value)) for key, value in given.keywords.items())
    elif isinstance(inner, Str) and given.args:
        place = frame.module.place(node)
        obj.attrs[HELD] = Str(text.parts_of(given.args[0], place, frame.module.text(node)))


def iterated(m: Machine, value: Value, node: ast.expr, frame: Frame) -> Value:
    """Return what iterating a value goes through: of an object what its class says."""
    found = special(m, value, functions.ITERATING, [], node, frame)
    if found is not None:
        return found
    if isinstance(value, Obj) and value.cls is not None and _is_tuple(value):
        fields = (value.attrs.get(name) for name in objects.fields(value.cls))
        return ListV([Item(field) for field in fields if field is not None], "tuple")
    return (held(value) or value) if isinstance(value, Obj) else value


def _is_tuple(value: Obj) -> bool:
    classes = value.cls.mro() if value.cls is not None else ()
    return any(base.rpartition(".")[2] == "NamedTuple" for one in classes for base in one.external)


def shown(m: Machine, value: Value, node: ast.expr | None, frame: Frame) -> Value | None:
    """Return the text that an object's class says it is shown as."""
    if node is None:
        return None
    found = special(m, value, ("__format__",), [Str(())], node, frame)
    found = special(m, value, ("__str__", "__repr__"), [], node, frame) if found is None else found
    return held(value) if found is None and isinstance(value, Obj) else found


def operated(
    m: Machine, node: ast.BinOp | ast.AugAssign, left: Value, right: Value, frame: Frame
) -> Value | None:
    """Return what an operator does to objects whose class says what it does; None for all others."""
    name = _OPERATORS.get(type(node.op))
    if name is None:
        return None
    at = node.value if isinstance(node, ast.AugAssign) else node.right
    own = (f"__i{name}__", f"__{name}__") if isinstance(node, ast.AugAssign) else (f"__{name}__",)
    found = special(m, left, own, [right], at, frame)
    return special(m, right, (f"__r{name}__",), [left], at, frame) if found is None else found
