"""Constant folding: the few operations on constants whose result is certain and small."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping

from markupsafe import escape

MAX_TEXT = 100_000
MAX_ITEMS = 2_000
Constant = object


class NotFoldedError(Exception):
    """The operation is not one that is folded; the value stays a symbol."""


def is_small(value: Constant) -> bool:
    """Tell whether a constant has few items, counted as often as they would be printed.

    ``[x, x]`` of ``[x, x]`` of … shares its parts, but printing or comparing it does not.
    """
    waiting, seen = [value], 0
    while waiting:
        item = waiting.pop()
        seen += 1
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list | tuple):
            waiting.extend(item)
        if seen + len(waiting) > MAX_ITEMS:
            return False
    return True


def to_text(value: Constant) -> str:
    """Return what Jinja prints for a constant."""
    return str(value)


def _tojson(value: Constant, args: tuple[Constant, ...], options: Mapping[str, Constant], chat: bool) -> str:
    indent = options.get("indent", args[0] if args else None)
    if indent is not None and not (isinstance(indent, int) and 0 <= indent <= 16):
        raise NotFoldedError
    if chat:
        return json.dumps(value, ensure_ascii=False, indent=indent)
    text = json.dumps(value, sort_keys=True, indent=indent)
    for char in "<>&'":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _indent(text: str, args: tuple[Constant, ...], options: Mapping[str, Constant]) -> str:
    width = options.get("width", args[0] if args else 4)
    first = options.get("first", args[1] if len(args) > 1 else False)
    blank = options.get("blank", args[2] if len(args) > 2 else False)
    if isinstance(width, int) and 0 <= width <= 64:
        width = " " * width
    if not isinstance(width, str):
        raise NotFoldedError
    lines = (text + "\n").splitlines()
    head, *rest = lines or [""]
    body = [width + line if line or blank else line for line in rest]
    return (width if first else "") + "\n".join([head, *body])


_PLAIN: Mapping[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "capitalize": str.capitalize,
    "string": str,
    "safe": str,
}


def apply_filter(
    name: str,
    value: Constant,
    args: tuple[Constant, ...],
    options: Mapping[str, Constant],
    chat: bool,
) -> Constant:
    """Return a filter's result on constants.

    Raises:
        NotFoldedError: the filter is unknown, its arguments are unusual, or the text grows too long.
    """
    text = to_text(value)
    if name in _PLAIN and not args and not options:
        return _PLAIN[name](text)
    if name == "trim" and not options and all(isinstance(arg, str) for arg in args) and len(args) < 2:
        return text.strip(*map(str, args))
    if name == "tojson":
        return _tojson(value, args, options, chat)
    if name in ("e", "escape"):
        return str(escape(text))
    if name == "indent":
        return _bounded(_indent(text, args, options))
    if name in ("length", "count") and isinstance(value, str | list | tuple | dict):
        return len(value)
    if name == "join" and isinstance(value, list | tuple) and not options and len(args) < 2:
        return _bounded(to_text(args[0] if args else "").join(map(to_text, value)))
    if name in ("first", "last") and isinstance(value, list | tuple) and value:
        return value[0 if name == "first" else -1]
    if name == "list" and isinstance(value, list | tuple):
        return list(value)
    if name == "replace" and len(args) == 2 and not options and to_text(args[0]):
        old, new = map(to_text, args)
        if text.count(old) * len(new) > MAX_TEXT:
            raise NotFoldedError
        return text.replace(old, new)
    if name == "int" and isinstance(value, int | float) and not args:
        return int(value)
    raise NotFoldedError


_METHODS = frozenset(
    (
        *("strip", "lstrip", "rstrip", "upper", "lower", "title", "capitalize"),
        *("startswith", "endswith", "split", "rsplit", "splitlines"),
    )
)


def call_method(value: Constant, name: str, args: tuple[Constant, ...]) -> Constant:
    """Return the result of a string method on constants.

    Raises:
        NotFoldedError: the method is not one that is folded.
    """
    if not isinstance(value, str) or name not in _METHODS or not all(isinstance(a, str) for a in args):
        raise NotFoldedError
    try:
        result: Constant = getattr(value, name)(*args)
    except (TypeError, ValueError):
        raise NotFoldedError from None
    return result


def cut(value: Constant, bounds: tuple[Constant, Constant, Constant]) -> Constant:
    """Return a slice of a constant string or list.

    Raises:
        NotFoldedError: the bounds are not whole numbers, or the value has no slices.
    """
    numbers = [bound for bound in bounds if isinstance(bound, int) or bound is None]
    if len(numbers) < 3 or numbers[2] == 0 or not isinstance(value, str | list | tuple):
        raise NotFoldedError
    return value[slice(*numbers)]


_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
}


def arithmetic(kind: str, left: Constant, right: Constant) -> Constant:
    """Return a sum, product, … of two numbers, or of two strings or lists for ``Add``.

    Raises:
        NotFoldedError: other operands, a division by zero, or a large result.
    """
    if kind == "Add" and isinstance(left, str) and isinstance(right, str):
        return _bounded(left + right)
    if kind == "Add" and isinstance(left, list) and isinstance(right, list):
        if len(left) + len(right) > MAX_ITEMS:
            raise NotFoldedError
        return left + right
    if not isinstance(left, int | float) or not isinstance(right, int | float) or kind not in _ARITHMETIC:
        raise NotFoldedError
    if abs(left) > 1e9 or abs(right) > 1e9:
        raise NotFoldedError
    try:
        return _ARITHMETIC[kind](left, right)
    except ZeroDivisionError:
        raise NotFoldedError from None


_COMPARE: Mapping[str, Callable[[Constant, Constant], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,  # type: ignore[dict-item]  # TypeError on mixed operands is caught
    "lteq": operator.le,  # type: ignore[dict-item]
    "gt": operator.gt,  # type: ignore[dict-item]
    "gteq": operator.ge,  # type: ignore[dict-item]
    "in": lambda left, right: operator.contains(right, left),  # type: ignore[arg-type]
    "notin": lambda left, right: not operator.contains(right, left),  # type: ignore[arg-type]
}


def compare(op: str, left: Constant, right: Constant) -> bool:
    """Compare two constants.

    Raises:
        NotFoldedError: they cannot be compared.
    """
    try:
        return bool(_COMPARE[op](left, right))
    except (TypeError, KeyError):
        raise NotFoldedError from None


def _bounded(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise NotFoldedError
    return text
