"""What annotations tell of values that are not known: of which class of the project they are, or what they hold.

::

    class Agent:
        memory: Memory                            # self.memory.recall() runs Memory.recall
        providers: dict[str, Provider]            # so does each of self.providers.values()
        def __init__(self, labels: set[str]): …   # ", ".join(labels) has no fixed order

An annotation is read when something is asked of the value that only its class can tell: a method or a property.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace

from promptlint.frontends.python.evaluate import linking, objects
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.evaluate.overriding import is_abstract
from promptlint.frontends.python.library.queries import asks_for_one
from promptlint.frontends.python.syntax.nodes import remembered, walk
from promptlint.frontends.python.values.modules import Module
from promptlint.frontends.python.values.naming import SENDS
from promptlint.frontends.python.values.values import (
    ClassV,
    Declared,
    FuncV,
    Item,
    ListV,
    Obj,
    Says,
    Unknown,
    Value,
)
from promptlint.layout import Cause, Confidence, Kind, Scope
from promptlint.source import Place

_PLAIN = frozenset(
    (
        *("str", "int", "float", "bool", "bytes", "object", "Any", "None", "Path", "datetime", "Callable"),
        *("Optional", "Union", "Literal", "Annotated", "Awaitable", "list", "List", "Sequence", "Iterable"),
        *("dict", "Dict", "Mapping", "tuple", "Tuple", "typing", "type", "Type", "t", "T"),
    )
)
_BUILTIN = frozenset(("str", "int", "float", "bool", "bytes", "dict", "list", "set", "tuple", "object"))
_WRAPPING = frozenset(("Optional", "Annotated", "Type", "Awaitable", "Coroutine", "ClassVar", "Final"))
_SETS = frozenset(("set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"))
_LISTS = frozenset(
    ("list", "List", "Sequence", "Iterable", "Collection", "tuple", "Tuple", "deque", "Iterator")
)
_TUPLES = ("tuple", "Tuple")
_MAPPINGS = frozenset(("dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict"))
_VARIABLES = frozenset(("ContextVar",))
_FIXED = frozenset(("int", "bool", "float"))  # they hash alike in every process
# What frameworks hand to the functions of an agent, and where it holds the program's own object.
_CONTEXTS = {
    "RunContext": "deps",
    **dict.fromkeys(
        ("RunContextWrapper", "ToolContext", "AgentHookContext", "Runtime", "ToolRuntime"), "context"
    ),
}
_ALL_OF = ("values", "items")
_OF_MAPPINGS = frozenset((*_ALL_OF, "get", "pop", "setdefault"))

_OWN = re.compile(r"\bself\.(\w+)")
_KEEPS = re.compile(r"stor(?:e|age)|service|manager|client|repo|auth", re.IGNORECASE)
_TEXT = re.compile(r"prompt|template|section|context|instruction", re.IGNORECASE)

# Classes whose objects say of somebody who he is: ``ctx.context.name`` of a context that is a `UserInfo`.
_PERSON = re.compile(
    r"(?:Current|Auth|App|Session)?(?:User|Customer|Patient|Employee|Student|Person)(?:Info|Context|Profile|Data|Details|Record)?"
)
# Most methods compute nothing that changes unseen; what they give is not worth a run.
_VARYING = re.compile(
    r"now\(|today\b|strftime|isoformat|\btime\.\w+\(|(?:date|time|clock|stamp)\w*\(|uuid|random|secrets|shuffle"
    r"|cwd\(|getpass|getlogin|gethostname|platform\.|environ|getenv|listdir|scandir|iterdir|glob\("
    r"|\bset\(|subprocess|NotImplemented"
)

Names = Mapping[str, Value] | None


def noted(
    value: Unknown, annotation: ast.expr | None, module: Module, closure: Names = None
) -> Unknown | ListV:
    """Return a value that keeps what an annotation says of it, if that can tell anything."""
    if annotation is None or value.cause is not None or _is_plain(annotation):
        return value
    return of_type(value, Says(annotation, module, closure))


def of_type(value: Unknown, says: Says) -> Unknown | ListV:
    """Return a value of which a type is known: a set, or something whose class may have to be looked up."""
    held = _held(says.node, _SETS)
    if held is not None and value.place is not None:
        return _set(value, held, value.place)
    return Declared(value, says)


@remembered
def _is_plain(node: ast.expr) -> bool:
    """Tell whether an annotation names nothing but builtins, and no set."""
    return {n.id for n in walk(_unquoted(node)) if isinstance(n, ast.Name)} <= _PLAIN


def _set(value: Unknown, held: ast.expr, place: Place) -> Unknown | ListV:
    """Return a set of something unknown; numbers stand in it the same way each time."""
    if isinstance(held, ast.Name) and held.id in _FIXED:
        return value
    return a_set(value.name, place)


def a_set(name: str, place: Place) -> ListV:
    """Return a set of which nothing is known but its name."""
    cause = Cause(Kind.UNORDERED, Scope.PROCESS, name, Confidence.HIGH, place, variant="set")
    element = f"{name}[]"
    out = ListV([Item(Unknown(place, name=element, path=element), spread=True)], "set", cause)
    out.name = name
    return out


def stored(annotation: ast.expr, name: str, place: Place) -> list[Value]:
    """Return what an empty mapping will hold, where its annotation says that these are sets: ``dict[str, set[str]]``."""
    held = _held(annotation, _MAPPINGS)
    of_sets = held and _held(held, _SETS)
    made = _set(Unknown(place, name=name), of_sets, place) if of_sets else None
    return [made] if isinstance(made, ListV) else []


def attribute(m: Machine, value: Declared, attr: str, named: Unknown, node: ast.expr, frame: Frame) -> Value:
    """Return an attribute of a value whose class is known; ``named`` is all that its name tells."""
    says = value.says
    if attr == "get" and _held(says.node, _VARIABLES) is not None:
        return Declared(named, says)
    if attr in _OF_MAPPINGS and (held := _held(says.node, _MAPPINGS)) is not None:
        if _held(held, _SETS) is None and _class(m, replace(says, node=held)) is None:
            return named
        return Declared(named, says)
    cls = _class(m, says)
    if cls is None:
        return named
    if isinstance(cls.find(attr), FuncV):
        if not any(attr in _computing(one) for one in cls.mro()):
            return named
        return objects.attribute(m, objects.symbolic(m, cls, value.name), attr, node, frame)
    return field(m, cls, attr, named)


def field(m: Machine, cls: ClassV, attr: str, value: Unknown) -> Unknown | ListV:
    """Return a field of which nothing is known with the type that its class declares, and whose it is."""
    if _PERSON.fullmatch(cls.name) and m.catalog.name(value.name) is None:
        value.name = f"user.{attr}"
    declared = objects.fields(cls).get(attr)
    return value if declared is None else noted(value, declared[1].annotation, declared[0].module)


def called(value: Declared, place: Place) -> Value | None:
    """Return what a method of a mapping gives: ``providers.values()``, ``providers.get(name)``."""
    owner, _, method = value.path.rpartition(".")
    if method == "get" and (kept := _held(value.says.node, _VARIABLES)) is not None:
        return of_type(Unknown(place, name=owner, path=owner), replace(value.says, node=kept))
    held = _held(value.says.node, _MAPPINGS)
    if held is None:
        return None
    base = value.name.rpartition(".")[0]
    one = of_type(Unknown(place, name=f"{base}[]", path=f"{owner}[]"), replace(value.says, node=held))
    if method not in _ALL_OF:
        return one
    if method == "items":
        one = ListV([Item(Unknown(place, name="key")), Item(one)], "tuple")
    return ListV([Item(one, spread=True)])


def entry(value: Declared, some: Unknown) -> Unknown | ListV:
    """Return an element, or what stands under a key, as the value that it is annotated to be."""
    held = _held(value.says.node, _LISTS) or _held(value.says.node, _MAPPINGS)
    if held is None or some.cause is not None or _is_plain(held):
        return some
    return of_type(some, replace(value.says, node=held))


def returned(value: Unknown, func: FuncV) -> Unknown | ListV:
    """Return what a function gives with the type that it is annotated to give."""
    return noted(value, getattr(func.node, "returns", None), func.module, func.closure)


def held_by(obj: Obj, attr: str, some: Unknown) -> Value:
    """Return what stands for the elements that methods put into an attribute, by the annotation it is made with."""
    cls = obj.cls
    if cls is None:
        return some
    written = objects.writes(cls).get(attr, ())
    made = ((func.module, node.annotation) for func, node in written if isinstance(node, ast.AnnAssign))
    found = next(made, None)
    if found is None and (declared := objects.fields(cls).get(attr)) is not None:
        found = declared[0].module, declared[1].annotation
    held = (_held(found[1], _LISTS) or _held(found[1], _MAPPINGS)) if found is not None else None
    return noted(some, held, found[0]) if found is not None else some


def _class(m: Machine, says: Says) -> ClassV | None:
    return annotated(m, says.node, says.module, says.closure)


def _computing(cls: ClassV) -> frozenset[str]:
    """Return the methods of a class that give something that changes unseen, remembered on its node.

    Those are the methods that name a source of such, or call one that does, and do not talk to a model themselves; and
    those that look rows up by a key, even in a class that keeps data.
    """
    known: frozenset[str] | None = getattr(cls.node, "_computing", None)
    if known is None:
        told = {
            name: "raise NotImplementedError" if is_abstract(func) else func.module.lines(func.node)
            for name, func in cls.namespace.items()
            if isinstance(func, FuncV) and not isinstance(func.node, ast.Lambda)
        }
        asking = {name for name, written in told.items() if asks_for_one(written)}
        told = {name: written for name, written in told.items() if not _is_elsewhere(cls, name)}
        found = {name for name, written in told.items() if _VARYING.search(written)}
        more = found
        while more:
            more = {n for n, w in told.items() if n not in found and not more.isdisjoint(_OWN.findall(w))}
            found |= more
        known = cls.node._computing = frozenset(found | asking)  # type: ignore[attr-defined]
    return known


def _is_elsewhere(cls: ClassV, method: str) -> bool:
    """Tell whether a method talks to a model, or to what keeps data: neither makes a prompt."""
    return _KEEPS.search(cls.name) is not None or (
        SENDS.search(method) is not None and _TEXT.search(cls.name) is None
    )


def wrapped(m: Machine, func: FuncV, arg: ast.arg) -> Obj | None:
    """Return what a framework wraps around an object of the program: ``ctx: RunContext[Deps]`` has it as ``ctx.deps``."""
    outer = arg.annotation
    if not isinstance(outer, ast.Subscript):
        return None
    kept = _CONTEXTS.get(getattr(outer.value, "id", getattr(outer.value, "attr", "")))
    cls = annotated(m, outer.slice, func.module, func.closure) if kept else None
    if kept is None or cls is None:
        return None
    found = Obj(name=arg.arg)
    found.attrs[kept] = objects.symbolic(m, cls, f"{arg.arg}.{kept}")
    return found


def is_number(annotation: ast.expr) -> bool:
    """Tell whether an annotation names only types whose text is one line."""
    names = {n.id for n in walk(annotation) if isinstance(n, ast.Name)}
    return bool(names & {"int", "float", "bool"}) and names <= {"int", "float", "bool", "Optional", "Union"}


def annotated(m: Machine, node: ast.expr, module: Module, closure: Names = None) -> ClassV | None:
    """Return the project class that an annotation names, ``| None`` and quotes taken off."""
    node = _unquoted(node)
    if isinstance(node, ast.BinOp):
        return annotated(m, node.left, module, closure) or annotated(m, node.right, module, closure)
    if isinstance(node, ast.Subscript):
        return annotated(m, node.slice, module, closure) if _outer(node) in _WRAPPING else None
    if isinstance(node, ast.Tuple) and node.elts:
        return annotated(m, node.elts[0], module, closure)
    if isinstance(node, ast.Name):
        if node.id in _BUILTIN:
            return None
        value = (closure or {}).get(node.id) or linking.name_of(m, module, node.id)
    elif isinstance(node, ast.Attribute):
        value = m.evaluate(node, Frame(module, {}, None, frozen=True))
    else:
        return None
    return value if isinstance(value, ClassV) else None


def _held(node: ast.expr, kinds: frozenset[str]) -> ast.expr | None:
    """Return what a collection of one of some kinds is annotated to hold: of a mapping, its values."""
    node = _unquoted(node)
    if isinstance(node, ast.BinOp):
        return _held(node.left, kinds) or _held(node.right, kinds)
    if not isinstance(node, ast.Subscript):
        return node if isinstance(node, ast.Name) and node.id in kinds & _SETS else None
    outer = _outer(node)
    if outer in _WRAPPING:
        return _held(node.slice, kinds)
    if outer not in kinds:
        return None
    held = node.slice
    if not isinstance(held, ast.Tuple):
        return None if outer in _TUPLES else held
    if outer in _TUPLES:  # of one type: tuple[Section, ...]
        return held.elts[0] if isinstance(held.elts[-1], ast.Constant) else None
    return held.elts[-1]


def _outer(node: ast.Subscript) -> str:
    return node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")


@remembered
def _unquoted(node: ast.expr) -> ast.expr:
    """Return what a quoted annotation says; its parts stand where nobody looks for them."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return node
    try:
        inner = ast.parse(node.value, mode="eval").body
    except (SyntaxError, ValueError):
        return node
    for child in walk(inner):
        if isinstance(child, ast.expr):
            child.lineno, child.end_lineno, child.col_offset, child.end_col_offset = 1, 1, 0, 0
    return inner
