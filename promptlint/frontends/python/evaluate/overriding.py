"""Methods that a class only declares, looked up in the classes that override them.

Of an argument nothing is known but its class, and that class leaves the method to others::

    class Source(ABC):
        @abstractmethod
        def text(self): ...
    def ask(source: Source, question): ...   # calls source.text()

What the method gives is what one of its overriding methods gives.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptlint.frontends.python.evaluate import linking, objects
from promptlint.frontends.python.evaluate.machine import Machine
from promptlint.frontends.python.syntax.nodes import blocks, remembered
from promptlint.frontends.python.values.values import Bound, ClassV, FuncV, Obj, Value, choice
from promptlint.layout import Guard
from promptlint.source import Place

MAX_CLASSES = 12  # looked at for one method
MAX_METHODS = 3  # of those, run


def bound(m: Machine, obj: Obj, func: FuncV, place: Place) -> Value:
    """Return the method of an instance; where it is only declared, those that override it."""
    cls = obj.cls
    if cls is None or not is_abstract(func):
        return Bound(func, obj)
    key = (cls.node, func.name)
    if key not in m.overrides:
        found = list(_overriding(m, cls, func.name))
        m.overrides[key] = found, frozenset(one.module.owner(one.node) for one, _ in found)
    known, reads = m.overrides[key]
    m.project.reads |= reads
    if not known:
        return Bound(func, obj)
    if _sets_up(known[0][1]):  # self._register_tools(): what it puts into the object is there
        return Bound(known[0][1], obj)
    guard = Guard("if", f"{obj.name} is a {known[0][0].name}", place, name="")
    return choice(guard, [Bound(method, objects.symbolic(m, one, obj.name)) for one, method in known])


def is_abstract(func: FuncV) -> bool:
    """Tell whether a function says what there is, and does nothing."""
    return not isinstance(func.node, ast.Lambda) and _is_idle(func.node)


@remembered
def _is_idle(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return all(
        isinstance(s, ast.Pass | ast.Raise) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in node.body
    )


def _sets_up(func: FuncV) -> bool:
    """Tell whether a method returns nothing: it is called for what it does to its object."""
    return not any(isinstance(n, ast.Return | ast.Yield) and n.value is not None for n in blocks(func.node))


def _overriding(m: Machine, cls: ClassV, name: str) -> Iterator[tuple[ClassV, FuncV]]:
    """Yield classes below one, nearest first, with their methods of a name."""
    waiting = [cls.name]
    seen: set[tuple[str, str]] = set()
    given: list[FuncV] = []
    while waiting:
        for path, below in m.project.subclasses.get(waiting.pop(0), ()):
            if (path, below) in seen or len(seen) >= MAX_CLASSES:
                continue
            seen.add((path, below))
            module = m.project.load(path)
            one = linking.name_of(m, module, below) if module is not None else None
            if not isinstance(one, ClassV) or cls not in one.mro():
                continue
            method = one.find(name)  # its own, or that of a class beside the one that declares it
            if isinstance(method, FuncV) and method not in given and not is_abstract(method):
                given.append(method)
                yield one, method
                if len(given) == MAX_METHODS:
                    return
            waiting.append(below)
