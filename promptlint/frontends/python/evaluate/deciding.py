"""Comparisons that are surely true or false.

::

    [s for s in SECTIONS if s.tier is tier]     # of Section("clock", Tier.MOMENT), asked for Tier.FIXED: no

What a caller, a setting or a default says may be set otherwise; what an element was made with, and a member of an
enumeration, is what it is.
"""

from __future__ import annotations

import ast

from promptlint.frontends.python.evaluate import objects
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.values import known
from promptlint.frontends.python.values.naming import CONSTRUCTORS
from promptlint.frontends.python.values.values import ClassV, Const, Obj, Value

_ENUMERATIONS = ("Enum", "IntEnum", "StrEnum")


def compared(m: Machine, node: ast.Compare, left: Value, right: Value, frame: Frame) -> bool | None:
    """Return what a comparison gives, if nobody outside of the function can make it give something else."""
    op = node.ops[0]
    sides = (node.left, node.comparators[0])
    if m.loops or not all(is_local(side, frame) or _is_fixed(m, side, frame) for side in sides):
        return None
    one, other = known.constant(left), known.constant(right)
    if isinstance(op, ast.Is | ast.IsNot) and one and other and None not in (*one, *other):
        # Members of an enumeration: nothing else that is a constant is compared like this.
        alike = type(one[0]) is type(other[0]) and one[0] == other[0]
        return alike is isinstance(op, ast.Is)
    return known.compared(op, left, right)


def is_local(node: ast.expr, frame: Frame) -> bool:
    """Tell whether only this function decides an expression: what others can set may differ at each call."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id in frame.names)


def _is_fixed(m: Machine, node: ast.expr, frame: Frame) -> bool:
    """Tell whether an attribute is a member of an enumeration, or what a local object was made with."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    owner = m.evaluate(node.value, frame)
    if isinstance(owner, ClassV):
        return is_enumeration(owner)
    return isinstance(owner, Obj) and node.value.id in frame.names and _is_given(owner, node.attr)


def _is_given(obj: Obj, attr: str) -> bool:
    """Tell whether an object of data was made with an attribute that is no switch, and that no method sets anew."""
    cls, own = obj.cls, obj.attrs.get(attr)
    if cls is None or obj.place is None or own is None or own is cls.find(attr) or not objects.is_data(cls):
        return False
    if isinstance(own, Const) and (own.value is None or isinstance(own.value, bool)):
        return False
    return all(func.name in CONSTRUCTORS for func, _ in objects.writes(cls).get(attr, ()))


def is_enumeration(cls: ClassV) -> bool:
    """Tell whether a class is an enumeration."""
    return any(name.rpartition(".")[2] in _ENUMERATIONS for one in cls.mro() for name in one.external)


def number(cls: ClassV) -> None:
    """Give the members of an enumeration that ``auto()`` makes a value of their own."""
    if is_enumeration(cls):
        for at, (name, value) in enumerate(list(cls.namespace.items()), 1):
            if getattr(value, "path", "").startswith("enum.auto"):
                cls.namespace[name] = Const(at)
