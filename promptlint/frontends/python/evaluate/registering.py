"""Collections of one module that others fill while they are imported.

::

    registry.py   SECTIONS = {}
                  def section(name): ...             keeps the function it decorates in SECTIONS
    clock.py      @section("clock")
                  def clock(): return f"It is {now()}"
    prompt.py     "\\n".join(make() for make in SECTIONS.values()) + RULES

By the time a prompt is built, every module of the program has run: what their bodies hand to a registry is in it
for all files, where what functions put into a module's collections is each file's own (see `twins`).
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from promptlint.frontends.python.evaluate import calls, linking
from promptlint.frontends.python.evaluate.bodies import shape_changes
from promptlint.frontends.python.evaluate.machine import MAX_STEPS, Frame, Machine
from promptlint.frontends.python.syntax.nodes import Definition
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.modules import Module, Project
from promptlint.frontends.python.values.values import Bound, ClassV, FuncV, Item, ListV, ModuleV, Obj, Value

MAX_ENTRIES = 40  # of one registry: a program that registers more prints only some of them
_HANDED = re.compile(r"^(?:@([A-Za-z_]\w*)|([A-Za-z_]\w*)(?:\.\w+)*\()", re.MULTILINE)
_FROM = re.compile(r"^from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)", re.MULTILINE)
_IMPORT = re.compile(r"^import[ \t]+([.\w]+)(?:[ \t]+as[ \t]+(\w+))?", re.MULTILINE)
_NAME = re.compile(r"(\w+)(?:\s+as\s+(\w+))?")
_APART = frozenset(("examples", "example", "cookbook", "docs", "tests", "test"))  # programs of their own
_SUBCLASSED = "__init_subclass__"

Registrations = dict[str, list[str]]
"""Files whose bodies call something imported, by the last part of the name of the module it is imported from."""


def complete(m: Machine, module: Module) -> None:
    """Run, once, what other modules hand to a module's functions and objects while they are imported."""
    if module.registered:
        return
    if m.linking or m.lasting:  # what is seen of others would depend on who came first
        m.unfinished.append(module)
        return
    module.registered = True
    if m.registrations is None:
        m.registrations = _registrations(m.project)
    left = MAX_ENTRIES
    for path in _registering(m, module):
        other = m.project.load(path)
        if other is not None and left > 0:
            linking.run_module(m, other)
            left -= _hand(m, module, other, left)
    if _SUBCLASSED in module.source.text:
        _tell_bases(m, module, left)


def _registrations(project: Project) -> Registrations:
    found: Registrations = defaultdict(list)
    for path in sorted(project.files):
        source = project.context.load(path)
        if source is None:
            continue
        handed = {one or other for one, other in _HANDED.findall(source.text)}
        tails: set[str] = set()
        for dotted, names in _FROM.findall(source.text) if handed else ():
            imported = _NAME.findall(names)
            if "*" in names or not handed.isdisjoint(alias or name for name, alias in imported):
                tails |= {dotted.rpartition(".")[2] or _package(path), *(name for name, _ in imported)}
        for dotted, alias in _IMPORT.findall(source.text) if handed else ():
            if (alias or dotted.partition(".")[0]) in handed:
                tails.add(dotted.rpartition(".")[2])
        for tail in sorted(tails):
            found[tail].append(path)
    return found


def _package(path: str) -> str:
    return posixpath.basename(posixpath.dirname(path))


def _registering(m: Machine, module: Module) -> Iterator[str]:
    """Yield the files that may hand something to a module: they import its names, or those that its package hands on."""
    stem = posixpath.basename(module.path).removesuffix(".py")
    apart = _APART - set(module.path.split("/"))
    tails = [_package(module.path)] if stem == "__init__" else [stem, _package(module.path)]
    registrations = m.registrations or {}
    for path in dict.fromkeys(path for tail in tails for path in registrations.get(tail, ())):
        if path != module.path and apart.isdisjoint(path.split("/")):
            yield path


def _hand(m: Machine, module: Module, other: Module, most: int) -> int:
    """Run the statements of another module's body that hand something to this one; return how many there were."""
    frame = Frame(other, other.names, frozen=True)
    count = 0
    for statement in other.tree.body if other.tree is not None else ():
        if count == most:
            break
        if isinstance(statement, Definition):
            value = other.names.get(statement.name)
            written = [one for one in reversed(statement.decorator_list) if _keeps(m, module, other, one)]
            if value is not None and written:
                with _lasting(m, module, other):
                    for one in written:
                        _apply(m, m.evaluate(one, frame), value, one, frame)
                count += 1
        elif (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Call)
            and _keeps(m, module, other, statement.value)
        ):
            with _lasting(m, module, other):
                m.evaluate(statement.value, frame)
            count += 1
    return count


def _keeps(m: Machine, module: Module, other: Module, node: ast.expr) -> bool:
    """Tell whether an expression of another module calls something of this one that can keep what it is given."""
    path: list[str] = []
    called = False  # what it begins with is called, and something of the result again
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Attribute):
            path.append(node.attr)
            node = node.value
        else:
            called = called or bool(path)
            node = node.func
    value = linking.shared(m, other, node.id) if isinstance(node, ast.Name) else None
    if isinstance(value, ModuleV) and path:
        value = linking.shared(m, value.module, path.pop())
    if isinstance(value, FuncV):
        return value.module is module and (called or shape_changes(value))
    if isinstance(value, ClassV):
        return value.module is module and bool(path) and not called
    return (
        isinstance(value, Obj)
        and value.cls is not None
        and any(one is value for one in module.names.values())
    )


def _apply(m: Machine, keeper: Value, value: Value, node: ast.expr, frame: Frame) -> None:
    """Call what a decorator gives with what it decorates."""
    call = ast.copy_location(ast.Call(node, [], []), node)
    calls.apply(m, keeper, Arguments([value]), call, frame)


def _tell_bases(m: Machine, module: Module, most: int) -> None:
    """Call ``__init_subclass__`` of a module's classes for each class below them."""
    for cls in [one for one in module.names.values() if isinstance(one, ClassV) and one.module is module]:
        told = cls.namespace.get(_SUBCLASSED)
        if not isinstance(told, FuncV):
            continue
        for one in below(m, cls)[:most]:
            with _lasting(m, module, one.module):
                frame = Frame(one.module, one.module.names, frozen=True)
                _apply(
                    m, Bound(told), one, ast.copy_location(ast.Name(cls.name, ast.Load()), one.node), frame
                )


def below(m: Machine, cls: ClassV) -> list[ClassV]:
    """Return the classes of the project that name a class as their base."""
    out: list[ClassV] = []
    for path, name in m.project.subclasses.get(cls.name, ()):
        module = m.project.load(path)
        one = linking.shared(m, module, name) if module is not None else None
        if isinstance(one, ClassV) and cls in one.bases and one not in out:
            m.project.reads.add(one.module.owner(one.node))
            out.append(one)
    return out


def subclasses(m: Machine, cls: ClassV) -> ListV:
    """Return what ``cls.__subclasses__()`` gives: in the order in which the modules were imported."""
    return ListV([Item(one) for one in below(m, cls)[:MAX_ENTRIES]], depth=len(m.guards))


@contextmanager
def _lasting(m: Machine, module: Module, other: Module) -> Iterator[None]:
    """Change what modules hold for all files, as their bodies do; what prompts that makes is not asked here."""
    module.reads.add((other.path, None))
    m.lasting = True
    try:
        with m.afresh([], MAX_STEPS), m.recorder.into([]), m.project.reading(module.reads):
            yield
    finally:
        m.lasting = False
