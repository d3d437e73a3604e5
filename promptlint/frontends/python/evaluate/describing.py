"""What a class or function says of itself: a docstring may be a prompt.

::

    class Reviewer(Agent):
        \"\"\"You review changes of …\"\"\"

    inspect.cleandoc(self.__class__.__doc__)
"""

from __future__ import annotations

import ast

from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.values import ClassV, FuncV, Obj, Value

TOLD = frozenset(("__class__", "__doc__"))


def attribute(m: Machine, value: Value, attr: str) -> Value | None:
    """Return ``value.__class__`` or ``value.__doc__``; None where nothing tells, or another attribute is asked for."""
    if attr == "__class__":
        return value.cls if isinstance(value, Obj) else None
    return _documented(m, value) if attr == "__doc__" else None


def docstring(cls: ClassV) -> ast.Constant | None:
    """Return the docstring of a class."""
    return _first(cls.node.body)


def kind(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return ``type(value)``."""
    return attribute(m, given.args[0], "__class__") if given.args else None


def doc(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return ``inspect.getdoc(value)`` of an object: that of a function describes a tool, and is read elsewhere."""
    return _documented(m, given.args[0]) if given.args and isinstance(given.args[0], Obj) else None


def _documented(m: Machine, value: Value) -> Value | None:
    owner = value.cls if isinstance(value, Obj) else value
    if not isinstance(owner, ClassV | FuncV) or isinstance(owner.node, ast.Lambda):
        return None
    found = _first(owner.node.body)
    return m.evaluate(found, Frame(owner.module, {}, frozen=True)) if found is not None else None


def _first(body: list[ast.stmt]) -> ast.Constant | None:
    first = body[0] if body else None
    told = first.value if isinstance(first, ast.Expr) else None
    return told if isinstance(told, ast.Constant) and isinstance(told.value, str) else None
