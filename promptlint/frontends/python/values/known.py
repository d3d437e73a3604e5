"""Calculations with values that are wholly known: methods of constant text, formats, comparisons, indexes."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from promptlint.frontends.python.values.pieces import Lit, Seg
from promptlint.frontends.python.values.values import (
    Const,
    DictV,
    FuncV,
    Item,
    ListV,
    Obj,
    Str,
    Unknown,
    Value,
)

LONGEST = 1_000_000  # characters of a text that is computed
_MAX_ITEMS = 400
_WIDTH = re.compile(r"\d+")
_MAX_WIDTH = 1000
_MAX_DEPTH = 16
_JSON = ("indent", "ensure_ascii", "sort_keys")  # what of ``json.dumps`` shows in its text

_TO_TEXT: dict[str, Callable[..., str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "title": str.title,
    "capitalize": str.capitalize,
    "casefold": str.casefold,
    "swapcase": str.swapcase,
    "removeprefix": str.removeprefix,
    "removesuffix": str.removesuffix,
    "ljust": str.ljust,
    "rjust": str.rjust,
    "center": str.center,
    "zfill": str.zfill,
    "expandtabs": str.expandtabs,
    "replace": str.replace,
}
_TO_CONSTANT: dict[str, Callable[..., object]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "isdigit": str.isdigit,
    "isalpha": str.isalpha,
    "isspace": str.isspace,
    "islower": str.islower,
    "isupper": str.isupper,
    "find": str.find,
    "rfind": str.rfind,
    "count": str.count,
}
_TO_LIST: dict[str, Callable[..., list[str]]] = {"split": str.split, "rsplit": str.rsplit}


def constant(value: Value) -> tuple[object] | None:
    """Return a value's constant in a tuple, so that None is told from not known."""
    if isinstance(value, Const):
        return (value.value,)
    plain = value.plain() if isinstance(value, Str) else None
    return None if plain is None else (plain,)


def data(value: Value, depth: int = 0) -> tuple[object] | None:
    """Return what Python holds of a value that is wholly known, collections included, in a tuple.

    An empty collection tells nothing: it may be filled where that is not seen.
    """
    if not isinstance(value, ListV | DictV):
        return constant(value)
    items = value.items if isinstance(value, ListV) else list(value.entries.values())
    if not items or len(items) > _MAX_ITEMS or value.order is not None or depth > _MAX_DEPTH:
        return None
    inner = [None if i.guards or i.spread else data(i.value, depth + 1) for i in items]
    plain = [one[0] for one in inner if one is not None]
    if len(plain) < len(inner):
        return None
    if isinstance(value, DictV):
        return None if value.rest else (dict(zip(value.entries, plain, strict=True)),)
    return {"list": (plain,), "tuple": (tuple(plain),)}.get(value.kind)


def as_json(value: Value, options: Mapping[str, Value]) -> str | None:
    """Return what ``json.dumps`` makes of a value that is wholly known."""
    held = data(value) if isinstance(value, ListV | DictV) else None
    given = {name: constant(option) for name, option in options.items() if name in _JSON}
    try:
        return None if held is None else json.dumps(held[0], **{n: g[0] for n, g in given.items() if g})  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def text_method(value: Str, name: str, args: Sequence[Value]) -> Value | None:
    """Return the result of a method of known text with known arguments; None where something is not known."""
    do = _TO_TEXT.get(name) or _TO_CONSTANT.get(name) or _TO_LIST.get(name)
    plain = value.plain() if do is not None else None
    given = [constant(a) for a in args]
    if do is None or plain is None or len(plain) > LONGEST or any(g is None for g in given):
        return None
    arguments = [g[0] for g in given if g is not None]
    if any(isinstance(a, int) and a > _MAX_WIDTH for a in arguments):
        return None
    try:
        result = do(plain, *arguments)
    except (TypeError, ValueError):
        return None
    if isinstance(result, str):
        return value if result == plain else text(value, result)
    if isinstance(result, list):
        return ListV([Item(text(value, one)) for one in result]) if len(result) <= _MAX_ITEMS else None
    return Const(result)


def text(value: Str, result: str) -> Str:
    """Return a text computed from a known one, placed where that stands."""
    if not result:
        return Str(())
    first = value.parts[0] if value.parts else None
    if isinstance(first, Lit):
        return Str((replace(first, text=result, whole=True),))
    return Str((Seg(replace(first.segment, text=result)),)) if isinstance(first, Seg) else value


def sliced(value: Str, part: slice) -> Str | None:
    """Return a slice of known text; a plain range keeps its place."""
    plain = value.plain()
    if plain is None:
        return _trimmed(value, part)
    first, last, step = part.indices(len(plain))
    one = value.parts[0] if len(value.parts) == 1 else None
    if isinstance(one, Lit) and step == 1 and first < last:
        return Str((one.cut(first, last),))
    return text(value, plain[part])


def _trimmed(value: Str, part: slice) -> Str | None:
    """Return a text without some known characters at its ends, ``text[:-2]``; None where others are cut off."""
    first, last, parts = part.start or 0, part.stop or 0, list(value.parts)
    if part.step not in (None, 1) or first < 0 or last > 0 or part.stop == 0:
        return None
    for at, cut in ((0, first), (-1, -last)):
        end = parts[at]
        if not cut:
            continue
        if not isinstance(end, Lit) or len(end.text) < cut:
            return None
        parts[at] = end.cut(0, len(end.text) - cut) if at else end.cut(cut, len(end.text))
    return Str(tuple(parts))


def formatted(value: Value, spec: str) -> str | None:
    """Return ``format(value, spec)`` of a known value; None where that fails or grows too long."""
    known = constant(value)
    if known is None or any(int(n) > _MAX_WIDTH for n in _WIDTH.findall(spec)):
        return None
    try:
        return format(known[0], spec)
    except (TypeError, ValueError, OverflowError):
        return None


def converted(value: Value, conversion: str) -> str | None:
    """Return a known value as ``!r``, ``!s`` or ``!a`` shows it."""
    known = constant(value)
    if known is None:
        return None
    return {"r": repr, "a": ascii}.get(conversion, str)(known[0])


def compared(op: ast.cmpop, left: Value, right: Value) -> bool | None:
    """Return ``left == right``, ``!=``, ``is None`` or ``is not None`` of known values."""
    if isinstance(op, ast.Is | ast.IsNot):
        nothing = isinstance(right, Const) and right.value is None
        if not nothing or not isinstance(left, Const | Str | ListV | DictV | Obj | FuncV):
            return None
        return (isinstance(left, Const) and left.value is None) is isinstance(op, ast.Is)
    one, other = constant(left), constant(right)
    if one is None or other is None:
        return None
    if isinstance(op, ast.Eq):
        return bool(one[0] == other[0])
    return bool(one[0] != other[0]) if isinstance(op, ast.NotEq) else None


def sort(items: list[Item]) -> list[Item]:
    """Return known texts or numbers sorted; anything else as it is, since only the order is not known."""
    keys = [constant(i.value) for i in items]
    if any(k is None for k in keys) or any(i.guards or i.spread for i in items):
        return items
    try:
        order = sorted(range(len(items)), key=lambda at: keys[at][0])  # type: ignore[index,return-value,arg-type]
    except TypeError:
        return items
    return [items[at] for at in order]


def remove(owner: ListV, index: object) -> Value | None:
    """Take the element at a known index out of a known list, and return it."""
    if isinstance(index, int) and owner.known() and -len(owner.items) <= index < len(owner.items):
        return owner.items.pop(index).value
    return None


def is_certain(items: list[Item], index: int) -> bool:
    """Tell whether an index means one element: none between it and its end of the list comes and goes."""
    if not -len(items) <= index < len(items) or items[index].spread:
        return False
    beyond = items[:index] if index >= 0 else items[index:][1:]
    return not any(item.spread or item.guards for item in beyond)


def arithmetic(op: ast.operator, left: Const, right: Const) -> Value:
    """Return the result of a small calculation."""
    a, b = left.value, right.value
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and abs(a) < 1e12 and abs(b) < 1e12:
        try:
            if isinstance(op, ast.Add):
                return Const(a + b)
            if isinstance(op, ast.Sub):
                return Const(a - b)
            if isinstance(op, ast.Mult):
                return Const(a * b)
            if isinstance(op, ast.FloorDiv):
                return Const(a // b)
            if isinstance(op, ast.Div):
                return Const(a / b)
        except ArithmeticError:
            pass
    return Unknown(None, multiline=False)
