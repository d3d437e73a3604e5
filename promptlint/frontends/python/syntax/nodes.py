"""Walking syntax trees, several times quicker than `ast.walk`: it is most of what preparing a file costs.

Which fields of a node hold nodes is looked up by its class; contexts, operators and names are no nodes here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import wraps
from operator import attrgetter
from typing import Any, TypeVar

# Methods of collections: what puts something in, and what takes something out.
GROWING = frozenset(("append", "appendleft", "extend", "insert", "add", "update", "setdefault"))
SHRINKING = frozenset(("pop", "popleft", "remove", "clear"))
_NO_NODES = frozenset(
    ("ctx", "id", "attr", "arg", "name", "op", "ops", "kind", "type_comment", "level", "module", "asname")
) | frozenset(("conversion", "is_async", "simple", "rest", "type_ignores", "names", "str", "kwd_attrs"))

COMPOUND = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith),
    *(ast.Try, ast.TryStar, ast.Match),
)
HOLDING = (*COMPOUND, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPOUND = frozenset(COMPOUND)
Loop = ast.For | ast.AsyncFor | ast.While
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_HOLDERS = frozenset((ast.Module, *HOLDING, ast.ExceptHandler, ast.match_case))
_BLOCKS = (
    "body",
    "handlers",
    "orelse",
    "finalbody",
    "cases",
)  # fields with statements, as they stand in a node
_SCOPES = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda))
_INNER = (ast.stmt, ast.ExceptHandler, ast.match_case)

Node = TypeVar("Node", bound=ast.AST)
Found = TypeVar("Found")

_Getter = Callable[[Any], Any]
_getters: dict[type[ast.AST], tuple[_Getter, ...]] = {
    ast.Constant: (),
    ast.MatchSingleton: (),
    ast.Name: (),
}


def _fields(kind: type[ast.AST]) -> tuple[_Getter, ...]:
    found = _getters[kind] = tuple(attrgetter(name) for name in kind._fields if name not in _NO_NODES)
    return found


def remembered(find: Callable[[Node], Found]) -> Callable[[Node], Found]:
    """Keep what a function finds in a node on the node itself: asked again and again, and gone with its tree."""
    key = f"{find.__module__}.{find.__qualname__}"

    @wraps(find)
    def known(node: Node) -> Found:
        kept = node.__dict__
        if key not in kept:
            kept[key] = find(node)
        found: Found = kept[key]
        return found

    return known


def children(node: ast.AST) -> list[ast.AST]:
    """Return what stands directly in a node, in order."""
    try:
        getters = _getters[node.__class__]
    except KeyError:
        getters = _fields(node.__class__)
    out: list[ast.AST] = []
    for get in getters:
        value: Any = get(node)
        if value.__class__ is list:
            out.extend(_present(value))
        elif value is not None:
            out.append(value)
    return out


def walk(*roots: ast.AST) -> list[ast.AST]:
    """Return nodes and all that stands in them, level by level as `ast.walk` does."""
    out: list[ast.AST] = list(roots)
    for node in out:  # grows meanwhile
        try:
            getters = _getters[node.__class__]
        except KeyError:
            getters = _fields(node.__class__)
        for get in getters:
            value: Any = get(node)
            if value.__class__ is list:
                if value:
                    out.extend(value if None not in value else _present(value))
            elif value is not None:
                out.append(value)
    return out


def within(body: Sequence[ast.stmt]) -> list[ast.AST]:
    """Return what stands in statements in the order of the text, functions and classes inside them left out."""
    out: list[ast.AST] = []
    waiting: list[ast.AST | None] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if node is None or node.__class__ in _SCOPES:
            continue
        out.append(node)
        try:
            getters = _getters[node.__class__]
        except KeyError:
            getters = _fields(node.__class__)
        for get in reversed(getters):
            value: Any = get(node)
            if value.__class__ is list:
                waiting.extend(reversed(value))
            elif value is not None:
                waiting.append(value)
    return out


def blocks(root: ast.AST) -> list[ast.AST]:
    """Return a node and all statements inside it, handlers and cases too, level by level as `walk` does."""
    out: list[ast.AST] = [root]
    for node in out:  # grows meanwhile
        if node.__class__ in _HOLDERS:
            for field in _BLOCKS:
                out.extend(getattr(node, field, ()))
    return out


@remembered
def _loops(root: ast.AST) -> list[tuple[Loop, frozenset[int]]]:
    """Return the loops of a function, with the ids of what stands in their bodies."""
    return [(n, frozenset(map(id, walk(*n.body)))) for n in blocks(root) if isinstance(n, Loop)]


def loops_around(node: ast.AST, root: ast.AST) -> list[Loop]:
    """Return the loops of a function in whose bodies a node stands, the outermost first."""
    return [loop for loop, inside in _loops(root) if id(node) in inside]


def definitions(tree: ast.Module) -> list[Definition]:
    """Return the functions and classes of a module, level by level as `walk` does."""
    return [node for node in blocks(tree) if isinstance(node, Definition)]


def split(tree: ast.Module) -> ast.Module:
    """Make of ``a, b = x, y`` two assignments, where the second does not read what the first one sets."""
    for holder in blocks(tree):
        for field in _BLOCKS if holder.__class__ in _HOLDERS else ():
            body: list[ast.AST] = getattr(holder, field, [])
            if any(isinstance(n, ast.Assign) and isinstance(n.value, ast.Tuple) for n in body):
                body[:] = [one for statement in body for one in _apart(statement)]
    return tree


def _apart(statement: ast.AST) -> list[ast.AST]:
    if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Tuple)):
        return [statement]
    whole, values = statement.targets[0], statement.value.elts
    targets = whole.elts if isinstance(whole, ast.Tuple | ast.List) else []
    if len(statement.targets) > 1 or len(targets) != len(values):
        return [statement]
    if any(isinstance(n, ast.Starred) for n in (*targets, *values)):
        return [statement]
    written = [ast.unparse(target) for target in targets]
    for at, value in enumerate(values[1:], start=1):
        read = ast.unparse(value)
        if any(name in read for name in written[:at]):
            return [statement]
    return [
        ast.copy_location(ast.Assign([target], value), statement)
        for target, value in zip(targets, values, strict=True)
    ]


def own(statement: ast.stmt) -> list[ast.AST]:
    """Return a statement and all that stands in it, but for the statements inside it."""
    if statement.__class__ in _HOLDERS:
        first = [c for c in children(statement) if not isinstance(c, _INNER)]
        return [statement, *walk(*first)]
    return walk(statement)


def _present(values: list[ast.AST | None]) -> list[ast.AST]:
    """Leave out the key of ``**mapping``, and the default of a parameter that has none."""
    return [value for value in values if value is not None]


def statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return statements in order, those inside compound ones too, nested functions and classes left out."""
    out: list[ast.stmt] = []
    _collect(body, out)
    return out


def _collect(body: Sequence[ast.stmt], out: list[ast.stmt]) -> None:
    for statement in body:
        out.append(statement)
        if statement.__class__ in _COMPOUND:
            _collect(inside(statement), out)


def inside(statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements that stand directly in a compound one."""
    out: list[ast.stmt] = []
    for field in ("body", "orelse", "finalbody"):
        out += getattr(statement, field, ())
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        out += part.body
    return out


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    """Return the parameters of a function in order, without ``*rest`` and ``**rest``."""
    given = function.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs]


@remembered
def attributes(function: ast.AST) -> frozenset[str]:
    """Return the names of all attributes in a function."""
    return frozenset(node.attr for node in walk(function) if isinstance(node, ast.Attribute))
