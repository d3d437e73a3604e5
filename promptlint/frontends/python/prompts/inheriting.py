"""Methods that a class inherits and that build another prompt in it.

The base sends what the subclass gives it, overridden, put into an attribute, or handed to its constructor::

    class Agent:
        def __init__(self, instructions): self.instructions = instructions
        def run(self, question): ...   # sends self.instructions
    class Desk(Agent):
        def __init__(self): super().__init__(f"It is {now()}. {RULES}")
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptlint.frontends.python.evaluate.describing import docstring
from promptlint.frontends.python.syntax.nodes import (
    GROWING,
    attributes,
    own,
    parameters,
    remembered,
    statements,
    walk,
)
from promptlint.frontends.python.syntax.slicing import Function, tells_of_prompts
from promptlint.frontends.python.values.values import ClassV, FuncV, Str


def inherited(cls: ClassV) -> Iterator[FuncV]:
    """Yield the methods of the bases that use what the class itself says."""
    bases = list(cls.mro())
    own_names = set(cls.namespace) | _documented(cls)
    known: set[str] = set()
    for number, base in enumerate(bases):
        # What another base says of those below it was seen in its own methods; a mixin has none below it.
        saying = [one for one in bases[:number] if one is cls or base not in one.mro()]
        said = set().union(*map(_said, saying))
        if any(_gives_texts(one.node) for one in saying):
            said |= _taken(base.node)
        for name, value in base.namespace.items() if number else ():
            if not isinstance(value, FuncV) or name in known or name.startswith("__"):
                continue
            if not (attributes(value.node).isdisjoint(own_names) and _uses(value, cls).isdisjoint(said)):
                yield value
        known.update(base.namespace)


def _said(cls: ClassV) -> set[str]:
    """Return the names under which a class has texts, and methods that write prompts."""
    return (
        set(_fills(cls.node))
        | _documented(cls)
        | {
            name
            for name, value in cls.namespace.items()
            if isinstance(value, Str) or (isinstance(value, FuncV) and _writes_prompts(value.node))
        }
    )


def _documented(cls: ClassV) -> frozenset[str]:
    """Return the name under which a class has its docstring, which may be what it sends."""
    return frozenset(("__doc__",)) if docstring(cls) is not None else frozenset()


def _uses(method: FuncV, cls: ClassV) -> set[str]:
    """Return the names of the attributes in a method, and in those methods of the class that it names."""
    found: set[str] = set()
    waiting = [method]
    while waiting:
        new = attributes(waiting.pop().node) - found
        found |= new
        waiting += [value for value in map(cls.find, new) if isinstance(value, FuncV)]
    return found


@remembered
def _fills(node: ast.ClassDef) -> frozenset[str]:
    """Return the attributes of ``self`` that the class's methods put a text or an element into."""
    found: set[str] = set()
    for inner in walk(*node.body):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            if inner.func.attr in GROWING:
                found.add(_of_self(inner.func.value))
        elif isinstance(inner, ast.AugAssign):
            found.add(_of_self(inner.target))
        elif isinstance(inner, ast.Assign) and _makes_text(inner.value):
            found.update(map(_of_self, inner.targets))
    return frozenset(found - {""})


def _of_self(node: ast.expr) -> str:
    at_self = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if at_self else ""  # type: ignore[attr-defined]


@remembered
def _gives_texts(node: ast.ClassDef) -> bool:
    """Tell whether the constructor makes something of its own for that of the base, which is no argument."""
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method.name != "__init__":
            continue
        for call in walk(*method.body):
            if isinstance(call, ast.Call) and _constructs(call.func):
                given = (*call.args, *(keyword.value for keyword in call.keywords))
                return any(map(_makes_text, given))
    return False


def _constructs(node: ast.expr) -> bool:
    """Tell whether an expression is ``super().__init__`` or ``Base.__init__``."""
    return isinstance(node, ast.Attribute) and node.attr == "__init__"


@remembered
def _taken(node: ast.ClassDef) -> frozenset[str]:
    """Return the attributes that a constructor sets to what it was given."""
    found: set[str] = set()
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            names = {a.arg for a in parameters(method)} - {"self"}
            for inner in walk(*method.body):
                if isinstance(inner, ast.Assign) and any(
                    isinstance(n, ast.Name) and n.id in names for n in walk(inner.value)
                ):
                    found.update(map(_of_self, inner.targets))
    return frozenset(found - {""})


@remembered
def _makes_text(node: ast.expr) -> bool:
    """Tell whether an expression writes a text, names a constant, or calls a function."""
    return any(
        _is_text(n)
        or (isinstance(n, ast.Name) and n.id.isupper())
        or (isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id.islower())
        for n in walk(node)
    )


@remembered
def _writes_prompts(node: Function | ast.Lambda) -> bool:
    """Tell whether a function writes a text of its own, and names prompts; what it says of itself is no text."""
    if isinstance(node, ast.Lambda):
        return _makes_text(node.body)
    written = (n for s in statements(node.body) if not _is_docstring(s) for n in own(s))
    return tells_of_prompts(node) and any(map(_is_text, written))


def _is_text(node: ast.AST) -> bool:
    """Tell whether a text has several words or lines: an address or a name has one."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return False
    return "\n" in node.value or len(node.value.split(None, 1)) > 1


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
