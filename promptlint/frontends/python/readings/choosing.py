"""Tools and settings that a function chooses for each request of a conversation, told by the form.

Libraries ask such functions before every call of the model::

    def select(request, handler):
        if len(request.state["messages"]) > 10:
            request = request.override(tools=FEW)          or model=LARGE
        return handler(request)

    def prepare(ctx, tools):
        return [] if ctx.run_step > 3 else tools

    Agent(tools=TOOLS, prepare_tools=prepare)              or Tool(refund, prepare=…), function_tool(is_enabled=…)

A choice by who asks is the same for a whole conversation; one by what has happened in it is not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from promptlint.frontends.python.readings.shapes import last_name, names_of
from promptlint.frontends.python.readings.turnlists import Function, Seen
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.naming import called_name

_ASKED_FOR = ("prepare", "prepare_tools", "is_enabled")  # how a library is told of what it asks for tools
_DECORATED = ".toolset"
WRITTEN = re.compile(
    rf"\b(?:{'|'.join(_ASKED_FOR)})\s*=|\{_DECORATED}\b|\.override\(|request\.(?:tools|model|config)\b"
)
"""What a file with such a function has written somewhere."""

_HAPPENED = re.compile(
    r"(\b|_)(state|messages?|history|turns?|steps?|rounds?|stage|phase|iterations?|usage)(\b|_)|ctx\.prompt\b"
)
_REQUEST = re.compile(r"request(\.config)?$", re.IGNORECASE)
_SEEN_AS = {"tools": "tools-changed", "model": "parameter-flips", "tool_choice": "parameter-flips"}


def choosing(tree: ast.Module, functions: list[Function]) -> Seen:
    """Yield where tools, model or choice of tools of a request follow from what has happened in its conversation."""
    asked = frozenset(_told_of(tree))
    for function in functions:
        nodes = walk(function)
        tools = function.name in asked or _is_toolset(function)
        given = [n for n in nodes if isinstance(n, ast.Return)] if tools else []
        settings = [(node, *one) for node in nodes for one in _set_of_request(node)]
        if not (given or settings):
            continue
        made = [n for n in nodes if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)]
        aware = frozenset(
            last_name(n.targets[0]) or "" for n in made if _HAPPENED.search(ast.unparse(n.value))
        )
        under = frozenset(
            id(inner)
            for node in nodes
            if isinstance(node, ast.If) and _asks(node.test, aware)
            for inner in walk(*node.body, *node.orelse)
        )
        chosen = {last_name(n.targets[0]) for n in made if id(n) in under or _decides(n.value, aware)}
        for back in given:
            if id(back) in under or _decides(back.value, aware):
                yield "tools-changed", back
        for node, name, value in settings:
            if id(node) in under or last_name(value) in chosen or _decides(value, aware):
                yield _SEEN_AS[name], value


def _told_of(tree: ast.Module) -> Iterator[str]:
    """Yield the functions that a library is given to ask for tools."""
    for node in walk(tree):
        if isinstance(node, ast.keyword) and node.arg in _ASKED_FOR:
            yield last_name(node.value) or ""


def _is_toolset(function: Function) -> bool:
    return any(ast.unparse(one).partition("(")[0].endswith(_DECORATED) for one in function.decorator_list)


def _asks(test: ast.expr, aware: frozenset[str]) -> bool:
    """Tell whether a condition asks what has happened, itself or by a name."""
    return _HAPPENED.search(ast.unparse(test)) is not None or not aware.isdisjoint(names_of(test))


def _decides(value: ast.expr | None, aware: frozenset[str]) -> bool:
    """Tell whether a value is one or another by what has happened."""
    tests: list[ast.expr] = []
    for node in walk(value) if value is not None else ():
        if isinstance(node, ast.IfExp):
            tests.append(node.test)
        elif isinstance(node, ast.comprehension):
            tests += node.ifs
        elif isinstance(node, ast.Compare) and node is value:
            tests.append(node)
    return any(_asks(test, aware) for test in tests)


def _set_of_request(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield what is set of a request, and to what: ``request.override(tools=…)``, ``request.tools = …``."""
    if isinstance(node, ast.Call) and called_name(node) == "override":
        yield from ((k.arg, k.value) for k in node.keywords if k.arg in _SEEN_AS)
    elif (
        isinstance(node, ast.Assign)
        and isinstance(target := node.targets[0], ast.Attribute)
        and target.attr in _SEEN_AS
        and _REQUEST.search(ast.unparse(target.value))
    ):
        yield target.attr, node.value
