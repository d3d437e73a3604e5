"""Names of modules: a body runs once, and an import is followed when its name is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeGuard

from promptlint.frontends.python.evaluate.machine import MAX_STEPS, Frame, Machine
from promptlint.frontends.python.library import usage
from promptlint.frontends.python.values.modules import Module, Read
from promptlint.frontends.python.values.values import ClassV, Const, Ext, ModuleV, Str, Unknown, Value
from promptlint.layout import Cause, Confidence, Kind, Scope

_NOTHING: frozenset[Read] = frozenset()


def run_module(m: Machine, module: Module) -> None:
    """Run a module's body once; a cycle sees what is there so far."""
    if module.state != "new" or module.tree is None:
        return
    module.state = "running"
    frame = Frame(module, module.names, frozen=True, home=module.names)
    try:
        with (
            _under_way(m),
            m.afresh([], MAX_STEPS),
            m.recorder.into(module.layouts),
            m.project.reading(module.reads),
        ):
            m.execute(module.tree.body, frame)
    except RecursionError:
        module.reads.add((module.path, None))
    finally:
        module.state = "done"


@contextmanager
def _under_way(m: Machine) -> Iterator[None]:
    """Run a body, or follow an import; what others hand to the modules that are asked meanwhile is seen to at the end."""
    m.linking += 1
    try:
        yield
    finally:
        m.linking -= 1
    while m.unfinished and not (m.linking or m.lasting):
        m.complete(m.unfinished.pop())


class Deferred(Value):
    """An import that is followed only when its name is used."""

    __slots__ = ("attr", "dotted", "level", "module")

    def __init__(self, module: Module, dotted: str, attr: str, level: int) -> None:
        self.module = module
        self.dotted = dotted
        self.attr = attr
        self.level = level


def name_of(m: Machine, module: Module, name: str) -> Value | None:
    """Return a module-level name, imports followed; what can be changed is the file's own."""
    value = shared(m, module, name)
    if module.state == "running" or m.lasting:
        return value
    return m.recorder.assigned.get((module, name)) or m.copied(value)


def assign_outside(m: Machine, owner: Module | ClassV, name: str, value: Value) -> None:
    """Set a name of a module or class: by its own body for all, by a function for the file at hand."""
    module, names = (owner, owner.names) if isinstance(owner, Module) else (owner.module, owner.namespace)
    if module.state == "running" or m.lasting:
        names[name] = value
    else:
        m.recorder.assigned[owner, name] = value


def shared(m: Machine, module: Module, name: str, asked: set[str] | None = None) -> Value | None:
    """Return a module-level name as it is for all; modules that were ``asked`` are not asked by a star again."""
    run_module(m, module)
    if not module.registered:
        m.complete(module)
    m.project.reads.add(module.key(name))
    value = module.names.get(name)
    if isinstance(value, Deferred):
        module.names[name] = Unknown(None, name=name, path=name)
        reads: set[Read] = set()
        with _under_way(m), m.project.reading(reads):
            value = module.names[name] = follow(m, value)
        module.origins[name] = frozenset(reads)
    m.project.reads |= module.origins.get(name, _NOTHING)
    if isinstance(value, Const | Str) and name in module.rebound:
        value = _now(module, name, value)
    if value is None and module.stars:
        asked = set() if asked is None else asked
        asked.add(module.path)
        for star in module.stars:
            path = m.project.resolve(star.lstrip("."), module.path, len(star) - len(star.lstrip(".")))
            other = m.project.load(path) if path and path not in asked else None
            if other is not None and (found := shared(m, other, name, asked)) is not None:
                return found
    return value


def _now(module: Module, name: str, begun: Const | Str) -> Value:
    """Return what a module's name holds by the time a function asks for it, that others set: a switch, a number, a text.

    ::

        turns = 0
        def ask(text):
            global turns
            turns += 1
    """
    number = isinstance(begun, Const) and isinstance(begun.value, int | float)
    if not number and not (isinstance(begun, Str) and begun.parts == ()):
        return begun
    counting = next((node for node in module.rebound[name] if is_counting(node)), None)
    cause = None
    if counting is not None and number:
        cause = Cause(Kind.COUNTER, Scope.REQUEST, name, Confidence.HIGH, module.place(counting))
    elif number:
        told = (usage.kept_from(node, module) for node in module.rebound[name])
        cause = next(filter(None, told), None)
    return Unknown(None, name=name, path=name, cause=cause, multiline=not number)


def follow(m: Machine, value: Deferred) -> Value:
    """Resolve an import to a project module, a name in one, or something outside."""
    dotted, attr = value.dotted, value.attr
    path = m.project.resolve(dotted, value.module.path, value.level)
    module = m.project.load(path) if path else None
    if module is not None:
        if not attr:
            return ModuleV(module)
        if module is not value.module and (found := shared(m, module, attr)) is not None:
            return found
        inner = m.project.resolve(f"{dotted}.{attr}" if dotted else attr, value.module.path, value.level)
        submodule = m.project.load(inner) if inner else None
        if submodule is not None:
            return ModuleV(submodule)
        return Unknown(None, name=attr, path=attr)
    if attr:
        inner = m.project.resolve(f"{dotted}.{attr}" if dotted else attr, value.module.path, value.level)
        submodule = m.project.load(inner) if inner else None
        if submodule is not None:
            return ModuleV(submodule)
    return Ext(f"{dotted}.{attr}" if attr and dotted else attr or dotted)


def is_counting(node: ast.AST) -> TypeGuard[ast.AugAssign]:
    """Tell whether a statement adds to a number, or takes from it."""
    return isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub)
