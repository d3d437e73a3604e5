"""What an agent's own tools change while it runs, printed in instructions that are asked for before each request.

::

    @agent.instructions
    def board(ctx: RunContext[Board]): return ctx.deps.render()      another text after each call of the tool

    @agent.tool
    def move(ctx: RunContext[Board], n: int): ctx.deps.move(n)

All messages of the run stand behind the instructions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptlint.frontends.python.evaluate import hints, linking
from promptlint.frontends.python.evaluate.growing import fillers
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.evaluate.stateful import only_once
from promptlint.frontends.python.syntax.nodes import GROWING, attributes, parameters, remembered, walk
from promptlint.frontends.python.values.modules import Module
from promptlint.frontends.python.values.naming import path_of
from promptlint.frontends.python.values.values import ClassV, FuncV, Obj
from promptlint.layout import Confidence, Observation, Step
from promptlint.source import Place

MAX_FILES = 8  # that may hold tools with the same context

Function = ast.FunctionDef | ast.AsyncFunctionDef


def moved_by_tools(m: Machine, func: FuncV) -> Observation | None:
    """Tell where instructions print something of their context that the tools of its agent change."""
    if isinstance(func.node, ast.Lambda):
        return None
    for arg in parameters(func.node):
        context = hints.wrapped(m, func, arg)
        if context is None or arg.annotation is None:
            continue
        kept, inner = next(iter(context.attrs.items()))
        cls = inner.cls if isinstance(inner, Obj) else None
        if cls is None:
            continue
        changes: dict[str, Place] = {}
        for module, tool in _tools(m, func.module, ast.unparse(arg.annotation), cls):
            for attr, place in _changed(tool, kept, cls, module):
                changes.setdefault(attr, place)
        for node, attr in _uses(func.node, arg.arg, kept) if changes else ():
            read = _read(cls, attr)
            moved = next((place for one, place in changes.items() if one in read), None)
            if moved is not None:
                return Observation(
                    "history-rewritten",
                    func.module.place(node),
                    func.module.text(node),
                    confidence=Confidence.MEDIUM,
                    related=(Step(moved, "changed by a tool"),),
                )
    return None


def _tools(m: Machine, home: Module, context: str, cls: ClassV) -> Iterator[tuple[Module, Function]]:
    """Yield the tools of the module, and of others, that are given the same context."""
    paths = [home.path]
    for path in sorted(m.project.files - {home.path}):
        source = m.project.context.load(path)
        if source is not None and context in source.text:
            paths.append(path)
    for path in paths[:MAX_FILES]:
        module = m.project.load(path)
        if module is None or module.tree is None:
            continue
        linking.run_module(m, module)
        listed = _listed(module.tree)
        for node in walk(module.tree):
            if not isinstance(node, Function):
                continue
            given = (arg.annotation for arg in parameters(node))
            # Another program's class may have the same name.
            same = any(
                isinstance(one, ast.Subscript)
                and ast.unparse(one) == context
                and hints.annotated(m, one.slice, module) is cls
                for one in given
            )
            if same and (
                node.name in listed or any(_makes_tool(m, one, module) for one in node.decorator_list)
            ):
                m.project.reads.add((path, None))
                yield module, node


@remembered
def _listed(tree: ast.Module) -> frozenset[str]:
    """Return the functions that are handed over as tools: ``Agent(tools=[add, move])``."""
    given = (n.value for n in walk(tree) if isinstance(n, ast.keyword) and n.arg == "tools")
    return frozenset(n.id for value in given for n in walk(value) if isinstance(n, ast.Name))


def _makes_tool(m: Machine, decorator: ast.expr, module: Module) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    sink = m.sink(path_of(m.evaluate(target, Frame(module, module.names, frozen=True))))
    return sink is not None and sink.returns == "tool"


def _uses(function: Function, arg: str, kept: str) -> Iterator[tuple[ast.Attribute, str]]:
    """Yield what a function takes of its context otherwise than to ask whether there is something."""
    asked = {
        id(n)
        for one in walk(function)
        if isinstance(one, ast.If | ast.IfExp | ast.While)
        for n in walk(one.test)
    }
    for node in walk(function):
        match node:
            case ast.Attribute(ast.Attribute(ast.Name(name), held), attr) if (name, held) == (arg, kept):
                if id(node) not in asked:
                    yield node, attr
            case _:
                pass


def _read(cls: ClassV, attr: str) -> frozenset[str]:
    """Return the attributes that a field, method or property of a class shows."""
    found = cls.find(attr)
    if not isinstance(found, FuncV):
        return frozenset((attr,))
    inner = attributes(found.node)
    called = (cls.find(name) for name in sorted(inner))
    return inner.union(*(attributes(one.node) for one in called if isinstance(one, FuncV)))


def _changed(tool: Function, kept: str, cls: ClassV, module: Module) -> Iterator[tuple[str, Place]]:
    """Yield the attributes of the object in its context that a tool sets, fills, or has a method change."""
    args = {arg.arg for arg in parameters(tool)}
    for node in walk(tool):
        match node:
            case ast.Attribute(ast.Attribute(ast.Name(name), held), attr) if name in args and held == kept:
                method = cls.find(attr)
                if isinstance(method, FuncV):
                    names = attributes(method.node) | {attr}
                    for filled, by in fillers(cls).items():
                        if any(one.name in names and not only_once(one.node, filled) for one in by):
                            yield filled, module.place(node)
                elif isinstance(node.ctx, ast.Store):
                    yield attr, module.place(node)
            case ast.Call(ast.Attribute(ast.Attribute(ast.Attribute(ast.Name(name), held), attr), how)):
                if name in args and held == kept and how in GROWING:
                    yield attr, module.place(node)
            case ast.Subscript(ast.Attribute(ast.Attribute(ast.Name(name), held), attr), ctx=ast.Store()):
                if name in args and held == kept:
                    yield attr, module.place(node)
            case _:
                pass
