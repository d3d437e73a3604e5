"""Whose method a call names, as far as the text of a function and of its class tells.

::

    def serve(self, request):
        assistant = Assistant()                assigned here
        assistant.reply(request.text)
        self.agent.reply(request.text)         set in the constructor: self.agent = agent, which is an Agent
        HANDLER.handle(request)                an object of the module
"""

from __future__ import annotations

import ast

from promptlint.frontends.python.evaluate import hints, linking, objects
from promptlint.frontends.python.evaluate.machine import Machine
from promptlint.frontends.python.syntax.nodes import blocks, parameters, remembered
from promptlint.frontends.python.values.modules import Module
from promptlint.frontends.python.values.values import ClassV, FuncV, Obj

_OF_DATA = frozenset(  # methods of texts and collections, which are most of all
    (
        *("append", "extend", "add", "update", "get", "pop", "items", "join", "split", "format", "strip"),
        *("replace", "startswith", "endswith", "lower", "debug", "info", "warning", "error", "exception"),
    )
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def method(m: Machine, func: FuncV, cls: ClassV | None, node: ast.expr) -> FuncV | None:
    """Return the method of a class of the project that ``owner.method`` names within a function."""
    if not isinstance(node, ast.Attribute) or node.attr in _OF_DATA:
        return None
    owner = _owner(m, func, cls, node.value)
    found = owner.find(node.attr) if owner is not None else None
    return found if isinstance(found, FuncV) else None


def _owner(m: Machine, func: FuncV, cls: ClassV | None, node: ast.expr) -> ClassV | None:
    """Return the class of what an expression stands for."""
    if isinstance(node, ast.Call):
        return _made(m, func.module, node)
    if isinstance(node, ast.Name):
        return _named(m, func, node.id) if node.id not in ("self", "cls") else None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return _kept(m, cls, node.attr) if cls is not None else None
    return None


def _made(m: Machine, module: Module, node: ast.Call) -> ClassV | None:
    made = linking.name_of(m, module, node.func.id) if isinstance(node.func, ast.Name) else None
    return made if isinstance(made, ClassV) else None


def _named(m: Machine, func: FuncV, name: str) -> ClassV | None:
    if (annotation := _annotations(func.node).get(name)) is not None:
        return hints.annotated(m, annotation, func.module, func.closure)
    if (value := _assigned(func.node).get(name)) is not None:
        return _made(m, func.module, value) if isinstance(value, ast.Call) else None
    known = linking.name_of(m, func.module, name)
    return known.cls if isinstance(known, Obj) else known if isinstance(known, ClassV) else None


def _kept(m: Machine, cls: ClassV, attr: str) -> ClassV | None:
    """Return the class of what a method sets an attribute to: ``self.agent = agent or Agent()``."""
    for maker, statement in objects.writes(cls).get(attr, ()):
        value = getattr(statement, "value", None)
        for one in value.values if isinstance(value, ast.BoolOp) else (value,):
            plain = isinstance(one, ast.Name | ast.Call)
            found = _owner(m, maker, None, one) if plain and isinstance(one, ast.expr) else None
            if found is not None:
                return found
    return None


@remembered
def _annotations(node: _Function) -> dict[str, ast.expr]:
    return {arg.arg: arg.annotation for arg in parameters(node) if arg.annotation is not None}


@remembered
def _assigned(node: _Function) -> dict[str, ast.expr]:
    return {
        target.id: statement.value
        for statement in blocks(node)
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
