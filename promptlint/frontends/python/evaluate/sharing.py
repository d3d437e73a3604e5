"""Mappings that a framework hands to several functions: what one puts under a key, another reads.

::

    recall.py   def before(context):      context.state["talks"] = index.nearest(context.question)
    agent.py    def instruction(context): return context.state.get("talks", "") + RULES

    def search(state: State):  return {"found": store.search(state["question"])}
    def answer(state: State):  model.invoke([SystemMessage(f"{state['found']}\\n{RULES}"), …])

Two functions share a mapping where it is an attribute of what both are given, by the same name, or an argument
that both are given as the same class. A mapping that merely has the same name in two functions is not shared.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from promptlint.frontends.python.evaluate import access, linking, objects
from promptlint.frontends.python.evaluate.machine import Frame, Machine, passed
from promptlint.frontends.python.syntax.nodes import blocks, parameters, remembered, walk
from promptlint.frontends.python.syntax.slicing import making
from promptlint.frontends.python.values.modules import Module, Project
from promptlint.frontends.python.values.values import ClassV, FuncV, Unknown, Value
from promptlint.layout import Scope

MAX_WRITERS = 4  # functions that are looked at for one key
_KEY = r"""["'](\w+)["']"""
_PUT = re.compile(rf"{_KEY}\s*(?:\]\s*=(?!=)|:)")
_APART = frozenset(("examples", "example", "cookbook", "docs", "tests", "test"))  # programs of their own

Writers = dict[str, list[str]]
"""Files that put something under a key, by the key."""

_Write = tuple[str, str, ast.stmt, ast.expr]  # the mapping, the key, the statement, and what is put there


def read(m: Machine, node: ast.expr, key: object, frame: Frame) -> Value | None:
    """Return what other functions put under a key of the mapping written ``node``; None where nothing is known of it.

    Only what changes for a reason that was traced is told: all else is known by its name as well.
    """
    if (
        frame.func is None
        or not isinstance(key, str)
        or not key.isidentifier()
        or m.asked >= objects.MAX_ASKED
    ):
        return None
    mapping = _mapping(node, frame.func.node)
    if not mapping or (mapping, key) in m.keys:
        return None
    if m.writers is None:
        m.writers = _writers(m.project)
    m.asked += 1
    m.keys.add((mapping, key))
    try:
        paths = (path for path in m.writers.get(key, ()) if _belongs(path, frame.module.path))
        values = (
            value
            for path in paths
            if (module := m.project.load(path)) is not None
            for value in _put(m, module, mapping, key, frame.func)
        )
        return next((value for value in values if value.cause is not None), None)
    finally:
        m.asked -= 1
        m.keys.discard((mapping, key))


def _writers(project: Project) -> Writers:
    found: Writers = defaultdict(list)
    for path in sorted(project.files):
        source = project.context.load(path)
        if source is not None:
            for key in dict.fromkeys(_PUT.findall(source.text)):
                found[key].append(path)
    return found


def _belongs(path: str, reader: str) -> bool:
    """Tell whether a file may be part of the reader's program: beside it, below it, or in a package beside its own."""
    here, there = (posixpath.dirname(one).split("/") if "/" in one else [] for one in (reader, path))
    if not (_APART - set(here)).isdisjoint(there):
        return False
    shared = max(len(here) - 1, min(len(here), 1))
    return there[:shared] == here[:shared]


@remembered
def _given(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> dict[str, str]:
    """Return the arguments of a function with the last name of the class that each is annotated with."""
    return {
        arg.arg: ast.unparse(arg.annotation).strip("\"'").rpartition(".")[2]
        if arg.annotation is not None
        else ""
        for arg in parameters(function)
    }


def _mapping(node: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> str:
    """Return what names a mapping in all functions that share it: ``.state``, or the class of an argument."""
    given = _given(function)
    if isinstance(node, ast.Name):
        return given.get(node.id, "") if given.get(node.id, "")[:1].isupper() else ""
    if not isinstance(node, ast.Attribute):
        return ""
    root: ast.expr = node.value
    while isinstance(root, ast.Attribute):
        root = root.value
    return f".{node.attr}" if isinstance(root, ast.Name) and root.id in given and root.id != "self" else ""


def _put(m: Machine, module: Module, mapping: str, key: str, reader: FuncV) -> Iterator[Value]:
    """Yield what the functions of a module put under a key of a mapping."""
    linking.run_module(m, module)
    left = MAX_WRITERS
    for func in _functions(m, module):
        for named, under, statement, value in _writes(func.node) if func.node is not reader.node else ():
            if named == mapping and under == key and left > 0:
                left -= 1
                m.project.reads.add(module.owner(func.node))
                yield _evaluated(m, func, statement, value, key)


def _functions(m: Machine, module: Module) -> Iterator[FuncV]:
    for value in list(module.names.values()):
        if isinstance(value, FuncV) and value.module is module:
            yield value
        elif isinstance(value, ClassV) and value.module is module:
            yield from (one for one in value.namespace.values() if isinstance(one, FuncV))


@remembered
def _writes(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[_Write]:
    """Return what a function puts into mappings that it was given, or gives back to be put there."""
    if isinstance(function, ast.Lambda):
        return []
    found = (
        write
        for node in blocks(function)
        if isinstance(node, ast.Assign | ast.Return | ast.Expr)
        for write in _written(node, function)
    )
    return [write for write in found if write[0]]


def _written(
    node: ast.Assign | ast.Return | ast.Expr, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[_Write]:
    match node:
        case ast.Assign():
            for target in node.targets:
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                    yield _mapping(target.value, function), str(target.slice.value), node, node.value
        case ast.Return(value=ast.expr() as returned):
            classes = (name for name in _given(function).values() if name[:1].isupper())
            if of := next(classes, ""):
                yield from ((of, key, node, value) for key, value in _entries(_updates(returned)))
        case ast.Expr(ast.Call(ast.Attribute(owner, "update"), args, keywords)):
            named = _mapping(owner, function)
            yield from ((named, k.arg, node, k.value) for k in keywords if k.arg is not None)
            given = (n for n in args if isinstance(n, ast.Dict))
            yield from ((named, key, node, value) for key, value in _entries(given))
        case _:
            pass


def _entries(mappings: Iterable[ast.Dict]) -> Iterator[tuple[str, ast.expr]]:
    for mapping in mappings:
        for key, value in zip(mapping.keys, mapping.values, strict=True):
            if isinstance(key, ast.Constant):
                yield str(key.value), value


def _updates(returned: ast.expr) -> Iterator[ast.Dict]:
    """Yield the mappings that a step of a graph gives back: ``{"found": docs}``, ``Command(update={"found": docs})``."""
    if isinstance(returned, ast.Dict):
        yield returned
    elif isinstance(returned, ast.Call):
        yield from (k.value for k in returned.keywords if k.arg == "update" and isinstance(k.value, ast.Dict))


def _evaluated(m: Machine, func: FuncV, statement: ast.stmt, value: ast.expr, key: str) -> Value:
    """Return what a function puts somewhere, as far as the assignments in front of that tell."""
    assert not isinstance(func.node, ast.Lambda)
    names: dict[str, Value] = {
        arg.arg: Unknown(func.module.place(arg), name=arg.arg, path=arg.arg) for arg in parameters(func.node)
    }
    receiver = objects.symbolic(m, func.cls) if func.cls is not None and "self" in names else None
    if receiver is not None:
        names["self"] = receiver
    inner = Frame(func.module, names, func, func.cls, receiver, func.closure, depth=len(m.guards))
    silent, m.recorder.silent = m.recorder.silent, True
    try:
        m.execute(making(func.node, statement), inner)
        result = m.evaluate(value, inner)
    finally:
        m.recorder.silent = silent
    place = func.module.place(statement)
    if _only_once(func.node, statement, key):
        result = access.frozen(result, Scope.SESSION, place, f"kept under {key} once")
    return passed(result, place, f"kept under {key}")


@remembered
def _tests(function: ast.AST) -> list[tuple[str, frozenset[ast.AST]]]:
    return [
        (ast.unparse(n.test), frozenset(walk(*n.body))) for n in blocks(function) if isinstance(n, ast.If)
    ]


def _only_once(function: ast.AST, statement: ast.stmt, key: str) -> bool:
    """Tell whether a function asks for a key in a condition around what sets it: ``if "day" not in state: …``."""
    return any(repr(key) in test and statement in inside for test, inside in _tests(function))
