"""Numbers in a part of an object that the methods of the object count or set to what a model reports.

::

    def ask(self, text):
        system = f"Turn {self.state.turn}. {RULES}"
        …
        self.state.turn += 1
        self.meter.used = reply.usage.total_tokens
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from promptlint.frontends.python.evaluate import growing
from promptlint.frontends.python.evaluate.linking import is_counting
from promptlint.frontends.python.evaluate.machine import Frame
from promptlint.frontends.python.library import usage
from promptlint.frontends.python.syntax.nodes import blocks, remembered
from promptlint.frontends.python.values.naming import CONSTRUCTORS
from promptlint.frontends.python.values.values import Choice, ClassV, Const, FuncV, Obj, Unknown, Value
from promptlint.layout import Cause, Confidence, Kind, Scope


def begin(cls: ClassV, made: Obj) -> None:
    """Put what is counted in place of the numbers that the parts of an instance begin with."""
    for part, attr, cause in _counted_by(cls, steps_only=False):
        held = made.attrs.get(part)
        if isinstance(held, Obj) and held.cls is not None and held.kept is not Scope.PROCESS:
            begun = held.attrs.get(attr) or held.cls.find(attr)
            if growing.is_number(begun) or (held.pending is not None and attr in _begun_by(held.cls)):
                held.attrs[attr] = Unknown(
                    cause.place, name=attr, path=f"{part}.{attr}", cause=cause, multiline=False
                )


def _begun_by(cls: ClassV) -> frozenset[str]:
    """Return the attributes that the constructor of a class sets to numbers, while it has not been run."""
    made = cls.find("__init__")
    return _numbers(made.node) if isinstance(made, FuncV) else frozenset()


@remembered
def _numbers(constructor: ast.AST) -> frozenset[str]:
    return frozenset(
        target.attr
        for node in blocks(constructor)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, int | float)
        and not isinstance(node.value.value, bool)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute)
    )


def counted(node: ast.Attribute, value: Value, frame: Frame) -> Value:
    """Return the value of ``self.state.turn``: a number that changes, where a method of the object counts it."""
    owner = node.value
    if not (isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name)):
        return value
    func = frame.func
    if func is None or func.cls is None or owner.value.id != growing.own_name(func.node):
        return value
    if not any(node.attr in _names(one.node) for one in func.cls.mro()):
        return value
    if not (isinstance(value, Const | Unknown | Choice) and value.cause is None):
        return value
    for part, attr, cause in _counted_by(func.cls, steps_only=not growing.is_number(value)):
        if (part, attr) == (owner.attr, node.attr):
            place = frame.module.place(node)
            return Unknown(place, name=attr, path=f"{part}.{attr}", cause=cause, multiline=False)
    return value


def _counted_by(cls: ClassV, *, steps_only: bool) -> Iterator[tuple[str, str, Cause]]:
    """Yield part and attribute of what the methods of a class count, and why it changes.

    Of what does not begin with a number, steps of one tell that it is one.
    """
    for one in cls.mro():
        for func in one.namespace.values():
            if not isinstance(func, FuncV) or func.name in CONSTRUCTORS:
                continue
            for part, attr, node in _set_in_parts(func.node):
                place = func.module.place(node)
                if (cause := usage.kept_from(node, func.module)) is not None:
                    yield part, attr, cause
                elif is_counting(node) and (not steps_only or _is_step(node)):
                    yield part, attr, Cause(Kind.COUNTER, Scope.REQUEST, attr, Confidence.HIGH, place)


@remembered
def _names(cls: ast.ClassDef) -> frozenset[str]:
    """Return what the methods of a class set in the parts of its objects, by its last name."""
    methods = (node for node in cls.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(attr for method in methods for _, attr, _ in _set_in_parts(method))


@remembered
def _set_in_parts(method: ast.AST) -> list[tuple[str, str, ast.stmt]]:
    """Return what a method sets in the parts of its object: ``state``, ``turn`` of ``self.state.turn += 1``."""
    found: list[tuple[str, str, ast.stmt]] = []
    called: dict[str, str] = {}  # ``state = self.state``
    me = growing.own_name(method)
    for node in blocks(method):
        if not isinstance(node, ast.Assign | ast.AugAssign):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and (part := _part(node.value, me, {})):
            called[target.id] = part
        elif isinstance(target, ast.Attribute) and (part := _part(target.value, me, called)):
            found.append((part, target.attr, node))
    return found


def _part(node: ast.expr, me: str, called: Mapping[str, str]) -> str:
    """Return which part of its object a method names: ``state`` of ``self.state``."""
    if isinstance(node, ast.Name):
        return called.get(node.id, "")
    owner = node.value if isinstance(node, ast.Attribute) else None
    return (
        node.attr
        if isinstance(node, ast.Attribute) and isinstance(owner, ast.Name) and owner.id == me
        else ""
    )


def _is_step(node: ast.AugAssign) -> bool:
    return isinstance(node.value, ast.Constant) and isinstance(node.value.value, int)
