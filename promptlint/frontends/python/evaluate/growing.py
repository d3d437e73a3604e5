"""Collections of an object that its constructor leaves empty and its other methods fill.

Of an object that was not made here, nothing tells which methods ran before. What ``__init__`` left empty has
grown by then::

    def __init__(self): self.skills = []
    def scan(self):     self.skills.extend(load(p) for p in self.root.rglob("*.md"))
    def prompt(self):   return "\\n".join(self.skills)

In ``prompt`` there are skills, in the order in which ``scan`` put them there: the file system's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from promptlint.frontends.python.evaluate import hints
from promptlint.frontends.python.evaluate.machine import Machine
from promptlint.frontends.python.syntax.nodes import GROWING, blocks, remembered, walk
from promptlint.frontends.python.values.forms import holds_turns
from promptlint.frontends.python.values.modules import Read
from promptlint.frontends.python.values.naming import CONSTRUCTORS
from promptlint.frontends.python.values.values import (
    Choice,
    ClassV,
    Const,
    DictV,
    FuncV,
    Item,
    ListV,
    Obj,
    Str,
    Unknown,
    Value,
)
from promptlint.layout import Cause, Kind

MAX_STEPS = 400  # of one method that fills
MAX_METHODS = 2  # that are run for one attribute
_LIST = re.compile(r"(?:typing\.)?(?:list|List|deque|Deque)\b")
_MAPPING = re.compile(r"(?:typing\.)?(?:dict|Dict|defaultdict|DefaultDict|OrderedDict|Counter)\b")


def fill(cls: ClassV, obj: Obj, declared: Iterable[tuple[str, ast.AnnAssign]] = ()) -> None:
    """Put something unknown into the collections of an instance that other methods fill.

    ``declared`` are the fields of a data class: one that is a collection is empty in a new instance. An attribute that
    is None, an empty text or a switch until a method sets it is taken out: what it holds is to be asked of that method.
    """
    for attr, statement in declared:
        written = ast.unparse(statement.annotation) if attr in fillers(cls) else ""
        if _LIST.match(written):
            obj.attrs[attr] = ListV([])
        elif _MAPPING.match(written):
            obj.attrs[attr] = DictV()
    for attr, value in list(obj.attrs.items()):
        if attr not in fillers(cls):
            continue
        if _is_unset(value) or (
            is_number(value) and attr in measured(cls)
        ):  # ``self.summary = ""``: set by then
            del obj.attrs[attr]
        if not isinstance(value, (ListV, DictV)):
            continue
        if _is_empty(value):
            _put(obj, attr, value)
        elif isinstance(value, ListV) and holds_turns(value):  # there have been turns since
            some = Unknown(None, name=f"{attr}[]", path=f"{attr}[]")
            value.items.append(Item(some, spread=True))


def _put(obj: Obj, attr: str, value: ListV | DictV) -> None:
    some = hints.held_by(obj, attr, Unknown(None, name=f"{attr}[]", path=f"{attr}[]"))
    if isinstance(value, ListV):
        value.items.append(Item(some, spread=True))
        value.name = value.name or attr
    elif value.rest and isinstance(value.rest[0], ListV):  # of ``defaultdict(list)``
        value.rest[0].items.append(Item(some, spread=True))
    elif (set_ := _set_in(obj, attr)) is not None:
        value.rest.append(set_)
    else:
        value.rest.append(some)
    obj.grown.add(attr)


def _set_in(obj: Obj, attr: str) -> Value | None:
    """Return the set that a method keeps under a key of a mapping: ``self.names.setdefault(key, set()).add(name)``."""
    filling = fillers(obj.cls).get(attr, ()) if obj.cls is not None else ()
    found = ((func.module, node) for func in filling for node in _sets(func.node).get(attr, ()))
    return next((hints.a_set(attr, module.place(node)) for module, node in found), None)


@remembered
def _sets(method: ast.AST) -> dict[str, list[ast.AST]]:
    """Return where a method puts sets under keys of its object's mappings, by the attributes."""
    found: dict[str, list[ast.AST]] = {}
    for call in walk(method):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "setdefault"
            and isinstance(call.func.value, ast.Attribute)
            and isinstance(made := call.args[-1] if call.args else None, ast.Call)
            and isinstance(made.func, ast.Name)
            and made.func.id == "set"
        ):
            found.setdefault(call.func.value.attr, []).append(call)
    return found


def fill_later(obj: Obj, attr: str, func: FuncV | None) -> None:
    """Put something unknown into a collection that is read while it is empty, of an object that a process has one of.

    Somebody has called its methods by then; one that fills (``func``) reads it in order to do so.
    """
    value, cls = obj.attrs.get(attr), obj.cls
    if (
        cls is None
        or not isinstance(value, (ListV, DictV))
        or not _is_empty(value)
        or value.order is not None
    ):
        return
    filling = fillers(cls).get(attr, ())
    if filling and (
        func is None or (func.name not in CONSTRUCTORS and all(func.node is not f.node for f in filling))
    ):
        _put(obj, attr, value)


def _is_unset(value: Value) -> bool:
    if isinstance(value, Const):
        return value.value is None or isinstance(value.value, bool)
    return isinstance(value, Str) and value.parts == ()


def is_number(value: Value | None) -> bool:
    """Tell whether a value is a known number, and no switch."""
    return (
        isinstance(value, Const)
        and isinstance(value.value, int | float)
        and not isinstance(value.value, bool)
    )


def measured(cls: ClassV) -> frozenset[str]:
    """Return the attributes that methods set to what they find out themselves.

    ``self.used = reply.usage.total_tokens``: not what a caller or the options say, as ``self.limit = limit`` is.
    """
    if cls.measured is None:
        found = {(func.node, attr) for attr, filling in fillers(cls).items() for func in filling}
        cls.measured = frozenset(attr for node, attr in found if attr in _measured(node))
    return cls.measured


def own_name(method: ast.AST) -> str:
    """Return what a method calls its object."""
    args = getattr(method, "args", None)
    first = next(iter((*args.posonlyargs, *args.args)), None) if isinstance(args, ast.arguments) else None
    return first.arg if first is not None else ""


@remembered
def _measured(method: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """Return the attributes of its object that a method sets to more than constants and what it is given as it is."""
    me = own_name(method)
    return frozenset(
        target.attr
        for node in blocks(method)
        if isinstance(node, ast.Assign)
        and any(isinstance(n, ast.Attribute | ast.Subscript | ast.Call) for n in walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == me
    )


def _is_empty(value: ListV | DictV) -> bool:
    if isinstance(value, ListV):
        return not value.items
    return not value.entries and all(isinstance(one, ListV) and not one.items for one in value.rest)


def order(m: Machine, obj: Obj, attr: str) -> Cause | None:
    """Return why the elements that other methods put into a collection have no fixed order."""
    cls = obj.cls
    if cls is None:
        return None
    key = (cls.node, attr)
    if key not in m.grown:
        m.grown[key] = None, frozenset()  # while it is found out
        reads: set[Read] = set()
        with m.project.reading(reads):
            found = next(_orders(m, cls, attr), None)
        m.grown[key] = found, frozenset(reads)
    cause, read = m.grown[key]
    m.project.reads |= read
    return cause


def _orders(m: Machine, cls: ClassV, attr: str) -> Iterator[Cause]:
    from promptlint.frontends.python.evaluate.functions import enter
    from promptlint.frontends.python.evaluate.objects import symbolic

    methods = fillers(cls)[attr]
    through = list(_through(cls, {method.name for method in methods}))
    for method in [*methods[:MAX_METHODS], *through[:MAX_METHODS]]:
        obj = symbolic(m, cls)
        enter(m, method, obj, record=False, steps=MAX_STEPS, whole=method in through)
        cause = _order(obj.attrs.get(attr))
        if cause is not None:
            yield cause


def _through(cls: ClassV, names: set[str]) -> Iterator[FuncV]:
    """Yield the methods that call one of some others in a loop: ``for path in folder.glob("*"): self.register(path)``."""
    for one in cls.mro():
        for func in one.namespace.values():
            if (
                isinstance(func, FuncV)
                and func.name not in names
                and not names.isdisjoint(_looped(func.node))
            ):
                yield func


@remembered
def _looped(method: ast.AST) -> frozenset[str]:
    """Return the methods of its object that a method calls in loops."""
    loops = (n for n in blocks(method) if isinstance(n, (ast.For, ast.AsyncFor)))
    calls = (n.func for loop in loops for n in walk(loop) if isinstance(n, ast.Call))
    return frozenset(
        called.attr
        for called in calls
        if isinstance(called, ast.Attribute)
        and isinstance(called.value, ast.Name)
        and called.value.id == "self"
    )


def _order(value: Value | None) -> Cause | None:
    if isinstance(value, Choice):
        return next(filter(None, map(_order, value.values)), None)
    if isinstance(value, (ListV, DictV)):
        return value.order if value.order is not None and value.order.kind is Kind.UNORDERED else None
    cause = value.cause if isinstance(value, Unknown) else None
    return cause if cause is not None and cause.kind is Kind.UNORDERED else None


def fillers(cls: ClassV) -> dict[str, list[FuncV]]:
    """Return, for each attribute, the methods that fill or set it, those of bases included."""
    if cls.fillers is None:
        cls.fillers = {}
        for one in cls.mro():
            for func in one.namespace.values():
                if (
                    isinstance(func, FuncV)
                    and not isinstance(func.node, ast.Lambda)
                    and func.name not in CONSTRUCTORS
                ):
                    for attr in sorted(_filled(func.node)):
                        cls.fillers.setdefault(attr, []).append(func)
    return cls.fillers


@remembered
def _filled(method: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """Return the attributes of its object that a method fills or sets."""
    args = method.args.args
    me = args[0].arg if args else ""
    out: set[str] = set()
    for node in walk(method):
        if node.__class__ is ast.Name:
            continue
        target: ast.AST | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GROWING:
            target = node.func.value
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            target = node.value if isinstance(node, ast.Subscript) else node
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == me:
            out.add(target.attr)
    return frozenset(out)
