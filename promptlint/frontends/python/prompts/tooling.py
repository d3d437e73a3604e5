"""The tools of a request: what they say that they are for, whether they have an order, whether they stay the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import access, members
from promptlint.frontends.python.evaluate.growing import fillers
from promptlint.frontends.python.prompts.settings import flip, switch
from promptlint.frontends.python.readings.anew import alike_in_each_round
from promptlint.frontends.python.readings.shapes import last_name
from promptlint.frontends.python.syntax.nodes import (
    GROWING,
    SHRINKING,
    Definition,
    blocks,
    parameters,
    remembered,
    walk,
)
from promptlint.frontends.python.values.naming import is_tool_maker, makes_tools
from promptlint.frontends.python.values.values import (
    Choice,
    ClassV,
    Const,
    Ext,
    FuncV,
    ListV,
    Obj,
    Str,
    Unknown,
    Value,
)
from promptlint.layout import Cause, Confidence, Guard, Kind, Observation, Scope, Step
from promptlint.source import Place
from promptlint.words import shortened

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame, Machine

_CHOICES = ("enum", "json_schema_extra", "examples")  # arguments of what describes a tool's argument
# A set of what is looked up by name, in a signature: a list of tools that is a set holds something else.
_NAMES = re.compile(r"\b(frozen)?set\[(str\b|type\[)", re.IGNORECASE)


def told(m: Machine, value: Value, node: ast.Call, frame: Frame) -> Value:
    """Return tools with what functions and objects among them say that they are for in their place, where it changes."""
    if not isinstance(value, ListV):
        return value
    said = [_description(m, item.value, node, frame) for item in value.items]
    if not any(said):
        return value
    items = [replace(item, value=one or item.value) for item, one in zip(value.items, said, strict=True)]
    return ListV(items, order=value.order)


def _description(m: Machine, tool: Value, node: ast.Call, frame: Frame) -> Str | None:
    said = tool.says if isinstance(tool, FuncV) else None
    if isinstance(tool, Unknown) and tool.given:  # an object of a library, by its constructor
        said = tool.given.get("description")
    elif isinstance(tool, Obj) and makes_tools(tool.cls):
        said = access.attribute(m, tool, "description", node, frame)
    return said if isinstance(said, Str) and said.cause is not None else None


def makes_tool(decorator: ast.expr) -> bool:
    """Tell whether a decorator makes a tool of a function, by its name: ``@agent.tool``, ``@function_tool()``."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return is_tool_maker(last_name(target) or "")


@remembered
def defines_tools(function: ast.AST) -> bool:
    """Tell whether a function makes tools of functions that it defines."""
    inner = (n for n in blocks(function) if isinstance(n, Definition) and n is not function)
    return any(makes_tool(one) for n in inner for one in n.decorator_list)


def choices(m: Machine, func: FuncV, frame: Frame) -> Iterator[Observation]:
    """Tell of the values that a tool's arguments may have, by its signature, where these have no fixed order.

    ::

        def order(item: Annotated[str, Field(json_schema_extra={"enum": list(names)})], size: Literal[*sizes]): ...
    """
    for arg in parameters(func.node):
        for node in walk(arg.annotation) if arg.annotation is not None else ():
            if isinstance(node, ast.Call):
                written = [k.value for k in node.keywords if k.arg in _CHOICES]
            elif isinstance(node, ast.Subscript) and last_name(node.value) == "Literal":
                written = [node.slice]
            else:
                continue
            for one in written:
                cause = m.evaluate(one, frame).cause
                if cause is not None and cause.kind in (Kind.UNORDERED, Kind.RANDOM):
                    yield Observation("tools-unordered", frame.module.place(one), cause.what, cause=cause)


def are_types(value: ListV) -> bool:
    """Tell whether a collection holds classes: which kinds of tools there may be, to be asked for one of them."""
    return bool(value.items) and all(
        isinstance(one.value, ClassV)
        or (isinstance(one.value, Ext) and one.value.path.rpartition(".")[2][:1].isupper())
        for one in value.items
    )


def gives_names(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Tell whether a function says that it gives a set of names: what may be used, to be looked up in."""
    returns = getattr(function, "returns", None)
    return returns is not None and _NAMES.search(ast.unparse(returns)) is not None


def unordered(value: Value, place: Place) -> Observation | None:
    """Tell that a list of tools has no fixed order; what stands behind it may not be known at all."""
    order = members.order_of(value)
    if order is None or order.kind not in (Kind.UNORDERED, Kind.RANDOM):
        return None
    return Observation("tools-unordered", place, order.what, cause=order)


def changes(
    m: Machine,
    value: Value,
    at: ast.AST,
    call: ast.Call,
    frame: Frame,
    switched: frozenset[str],
    sent: Value | None,
) -> list[Observation]:
    """Find tool lists that grow or shrink while a conversation goes on."""
    place = frame.module.place(at)
    if isinstance(value, Choice):
        sometimes = any(isinstance(v, Const) and v.value is None for v in value.values)
        guard = (flip(value) if sometimes or m.loops else None) or switch(value, switched)
        if guard is not None:
            by = guard.expression
            cause = Cause(Kind.TOOLS_ORDER, Scope.REQUEST, by, Confidence.HIGH, guard.place)
            return [Observation("tools-changed", place, shortened(by), cause=cause)]
    if isinstance(value, ListV):
        for item in value.items:
            if any(
                g.kind in ("for", "while") and any(g.place == a.place for a in m.guards) for g in item.guards
            ):
                return [Observation("tools-changed", place, value.name or "tools")]
    if frame.func is None:
        return []
    kept = isinstance(sent, ListV) and bool(sent.owner)
    inside = walk(frame.func.node) if kept else []
    guard = next(_switched(value, frame.func.cls), None) if kept and frame.func.cls is not None else None
    if guard is not None:
        cause = Cause(Kind.TOOLS_ORDER, Scope.REQUEST, guard.expression, Confidence.MEDIUM, guard.place)
        return [Observation("tools-changed", place, "tools", cause=cause, confidence=Confidence.MEDIUM)]
    if isinstance(at, ast.Attribute) and (added := _growth(inside, ast.Attribute, at.attr)) is not None:
        return [Observation("tools-changed", frame.module.place(added), at.attr)]
    if not m.loops:
        return []
    if isinstance(at, ast.Name):
        grown = _grows_beside(frame.func.node, at.id, call)
        if grown is None:
            return []
        there = Step(place, "sent in the same loop")
        return [Observation("tools-changed", frame.module.place(grown), at.id, related=(there,))]
    if not isinstance(at, ast.Attribute):
        return []
    owner = m.evaluate(at.value, frame)
    if not isinstance(owner, Obj) or owner.cls is None:
        return []
    called = {
        n.func.attr
        for n in walk(frame.func.node)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
    }
    for cls in owner.cls.mro():
        for method in cls.namespace.values():
            if not isinstance(method, FuncV) or method.name not in called or method.name.startswith("__"):
                continue
            found = _change(method, at.attr)
            if found is not None:
                cause = Cause(
                    Kind.TOOLS_ORDER,
                    Scope.REQUEST,
                    f"{method.name}()",
                    Confidence.HIGH,
                    method.module.place(found),
                )
                return [Observation("tools-changed", place, at.attr, cause=cause)]
    return []


def _switched(value: Value, cls: ClassV) -> Iterator[Guard]:
    """Yield the conditions on tools that ask for a switch of the object that keeps the conversation, and sets it itself."""
    if isinstance(value, Choice):
        guards = [value.guard]
    else:
        guards = (
            [g for item in value.items for g in item.guards if g.kind == "if"]
            if isinstance(value, ListV)
            else []
        )
    for guard in guards:
        asked = {attr for attr in fillers(cls) if re.search(rf"\bself\.{attr}\b(?!\.)", guard.expression)}
        if any(_sets_switch(one.node, attr) for attr in asked for one in fillers(cls)[attr]):
            yield guard


def _sets_switch(method: ast.AST, attr: str) -> bool:
    """Tell whether a method sets an attribute to a constant, or to what it is not: ``self.editing = True``."""
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Attribute)
        and node.targets[0].attr == attr
        and (
            (isinstance(node.value, ast.Constant) and node.value.value not in (None, ""))
            or (isinstance(node.value, ast.UnaryOp) and isinstance(node.value.op, ast.Not))
        )
        for node in walk(method)
    )


def _grows_beside(function: ast.AST, name: str, call: ast.Call) -> ast.AST | None:
    """Return where a list is changed in a loop that also sends it."""
    for loop in walk(function):
        if isinstance(loop, ast.For | ast.AsyncFor | ast.While):
            inside = walk(loop)
            if any(n is call for n in inside) and (grown := _growth(inside, ast.Name, name)) is not None:
                return None if alike_in_each_round(loop, name, grown) else grown
    return None


def _growth(nodes: list[ast.AST], kind: type[ast.expr], name: str) -> ast.Call | None:
    """Return the first call that adds to a list, or takes from it: a plain name, or an attribute of anything."""
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in GROWING | SHRINKING
            and isinstance(node.func.value, kind)
            and last_name(node.func.value) == name
        ):
            return node
    return None


def _change(method: FuncV, attr: str) -> ast.AST | None:
    """Return where a method changes ``self.<attr>``."""
    inside = walk(method.node)
    if (grown := _growth(inside, ast.Attribute, attr)) is not None:
        return grown
    for child in inside:
        if isinstance(child, ast.Assign | ast.AugAssign):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            if any(isinstance(t, ast.Attribute) and t.attr == attr for t in targets):
                return child
    return None
