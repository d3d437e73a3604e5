"""Classes and instances: how an attribute gets its value."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import nullcontext

from promptlint.frontends.python.evaluate import access, counting, growing, hints, protocols
from promptlint.frontends.python.evaluate.linking import is_counting
from promptlint.frontends.python.evaluate.machine import Frame, Machine, passed, unknown_like
from promptlint.frontends.python.evaluate.twins import Twins, settle, twin
from promptlint.frontends.python.library import files
from promptlint.frontends.python.syntax.nodes import blocks
from promptlint.frontends.python.syntax.slicing import making
from promptlint.frontends.python.values.naming import CONSTRUCTORS, HISTORY
from promptlint.frontends.python.values.values import (
    NONE,
    Bound,
    Choice,
    ClassV,
    Const,
    DictV,
    Ext,
    FuncV,
    ListV,
    Obj,
    Str,
    Super,
    Template,
    Unknown,
    Value,
    moment,
)
from promptlint.layout import Cause, Confidence, Kind, Scope
from promptlint.source import Place

MAX_WRITING = 300  # steps of what makes one attribute
MAX_ASKED = 6  # attributes that are made of one another, each in a method of its own
MAX_INIT_STEPS = 500
_MODELLED = ("future", "path", "jinja-env", "buffer", "dialog", "formatter", "pattern", "match")
KEPT_DEFAULT = 40  # a parameter's default text of this length is a prompt, not a setting
_SUBSTANCE = (Str, Template, ListV, DictV, ClassV, Ext, Bound)
_CACHED = ("cache", "lru_cache", "cached", "alru_cache")


def define_class(m: Machine, node: ast.ClassDef, frame: Frame) -> ClassV:
    """Return a class with its namespace filled."""
    cls = ClassV(node, frame.module)
    for base in node.bases:
        value = m.evaluate(base.value if isinstance(base, ast.Subscript) else base, frame)
        if isinstance(value, ClassV):
            cls.bases.append(value)
        elif isinstance(value, Ext) or (isinstance(value, Unknown) and value.path):
            cls.external.append(value.path)
    inner = Frame(
        frame.module,
        cls.namespace,
        cls=cls,
        outer=access.visible(frame) if frame.func else None,
        depth=len(m.guards),
        frozen=True,
        home=cls.namespace,
    )
    m.execute(node.body, inner)
    for value in cls.namespace.values():
        if isinstance(value, FuncV) and value.cls is None:
            value.cls = cls
    return cls


def is_data(cls: ClassV) -> bool:
    """Tell whether fields become arguments: dataclass, attrs, pydantic, NamedTuple, TypedDict."""
    if cls.data is None:
        cls.data = _is_data(cls)
    return cls.data


def _is_data(cls: ClassV) -> bool:
    for one in cls.mro():
        if any(
            b.rsplit(".", 1)[-1]
            in ("BaseModel", "BaseSettings", "NamedTuple", "TypedDict", "Struct", "Signature")
            for b in one.external
        ):
            return True
        for decorator in one.node.decorator_list:
            text = ast.unparse(decorator)
            if "dataclass" in text or text.startswith(("attr.", "attrs.", "define", "frozen", "mutable")):
                return True
    return False


def fields(cls: ClassV) -> dict[str, tuple[ClassV, ast.AnnAssign]]:
    """Return the annotated fields of a data class in order, bases first, each with where it is declared last."""
    if cls.declared is None:
        cls.declared = {}
        for one in reversed(list(cls.mro())):
            for statement in one.node.body:
                if (
                    isinstance(statement, ast.AnnAssign)
                    and isinstance(statement.target, ast.Name)
                    and "ClassVar" not in ast.unparse(statement.annotation)
                ):
                    name = statement.target.id
                    if statement.value is not None or name not in cls.declared:
                        cls.declared[name] = one, statement
    return cls.declared


def symbolic(m: Machine, cls: ClassV, name: str = "self") -> Obj:
    """Return an instance of which only the class is known; a fresh copy each time."""
    if cls.node not in m.instances:
        made, reads = Obj(cls, name=name), {one.module.owner(one.node) for one in cls.mro()}
        m.instances[cls.node] = made, frozenset(reads)
        init = cls.find("__init__")
        if isinstance(init, FuncV) and not is_data(cls):
            from promptlint.frontends.python.evaluate.functions import enter

            with m.project.reading(reads), m.recorder.into([]):
                enter(m, init, made, record=False, steps=MAX_INIT_STEPS)
            for part in made.attrs.values():
                if isinstance(part, Obj):
                    part.used = True
        declared = fields(cls) if is_data(cls) else {}
        counting.begin(cls, made)
        growing.fill(cls, made, ((name, statement) for name, (_, statement) in declared.items()))
        m.instances[cls.node] = made, frozenset(reads)
    known, read = m.instances[cls.node]
    m.project.reads |= read
    out = Obj(cls, name=name)
    out.grown = set(known.grown)
    copies: Twins = {}
    for key, value in known.attrs.items():
        if isinstance(value, Obj) and value.kind == "dialog":
            from promptlint.frontends.python.library import dialogs

            out.attrs[key] = dialogs.copied(value)
        elif (
            name != "self"
            and isinstance(value, Unknown)
            and value.cause is None
            and value.path.isidentifier()
        ):
            out.attrs[key] = _of_argument(value, f"{name}.{key}", key)
        else:
            out.attrs[key] = copy = twin(value, m, copies)
            if isinstance(copy, (ListV, DictV)):
                copy.depth, copy.born = 0, moment()
    return out


def _of_argument(value: Unknown, path: str, key: str) -> Unknown:
    """Return what a constructor was given and keeps, as part of an argument whose class alone is known."""
    name = path if value.name == key else value.name
    return Unknown(value.place, name=name, path=path, multiline=value.multiline)


def attribute(m: Machine, obj: Obj, attr: str, node: ast.expr, frame: Frame) -> Value:
    """Return an attribute of an instance: own, of the class, computed by a property, or unknown."""
    place = frame.module.place(node)
    cls = obj.cls
    # That of an object of a module must not be paid for by who asks first, nor its prompts count as theirs.
    settle(obj, m if obj.kept is Scope.PROCESS else None)
    if cls is None and obj.kind in _MODELLED:
        # What a future holds its method gives.
        known = obj.attrs.get(attr) if obj.kind != "future" else None
        known = known or (files.attribute(m, obj, attr) if obj.kind == "path" else None)
        return known or Bound(Ext(f"method.{attr}"), obj)
    label = attr if obj.name in ("self", "cls", "") else f"{obj.name}.{attr}"
    written = writes(cls).get(attr) if cls is not None else None
    own = obj.attrs.get(attr)
    if (obj.used or obj.kept is Scope.PROCESS) and isinstance(own, (ListV, DictV)) and not m.lasting:
        growing.fill_later(obj, attr, frame.func)
    elif obj.used and isinstance(own, Obj):
        own.used = True
    if attr in obj.grown and isinstance(own, (ListV, DictV)):
        obj.grown.discard(attr)
        own.order = own.order or growing.order(m, obj, attr)
    counted = bool(written) and _counter(written or [], own)
    if own is not None and not counted:
        # Made by a call that was too far from here to be run to its end.
        if written and isinstance(own, Unknown) and own.cause is None and own.path.endswith("()"):
            return _made(m, obj, attr, written, frame) or own
        return Unknown(place, name=label, path=label) if _is_setting(obj, attr, own) else own
    if cls is None:
        return Unknown(place, name=label, path=f"{obj.kind or obj.name}.{attr}")
    if written and counted and (own is None or isinstance(own, Const | Unknown)):
        return Unknown(
            place,
            name=label,
            path=label,
            cause=Cause(Kind.COUNTER, Scope.REQUEST, label, Confidence.HIGH, cls_place(written)),
            multiline=False,
        )
    found = of_class(m, cls, attr)
    if isinstance(found, FuncV):
        if any(
            d in ("property", "cached_property", "computed_field", "hybrid_property")
            or d.endswith(".cached_property")
            for d in found.decorators
        ):
            return property_value(m, obj, found, node, frame)
        if "staticmethod" in found.decorators:
            return found
        if "classmethod" not in found.decorators:
            from promptlint.frontends.python.evaluate.overriding import bound

            return bound(m, obj, found, place) if obj.place is None else Bound(found, obj)
        return Bound(found, cls)
    # A field's plain default says little of an object that was not made here.
    begun = growing.is_number(found) and attr in growing.measured(cls)
    if found is not None and not begun and (_says(found) or not (is_data(cls) or found is NONE)):
        return found
    if written and (made := _made(m, obj, attr, written, frame)) is not None:
        return made
    if (part := _part(m, cls, attr, label)) is not None:
        obj.attrs[attr] = part  # what is put into it is there when it is asked for again
        return part
    if (inner := protocols.held(obj)) is not None:
        return protocols.of_held(inner, attr)
    path = f"{obj.name}.{attr}"
    value = Unknown(place, name=label, path=path)
    return hints.field(m, cls, attr, value)


def _made(
    m: Machine, obj: Obj, attr: str, written: list[tuple[FuncV, ast.AST]], frame: Frame
) -> Value | None:
    """Return what a method makes an attribute of; None where it tells nothing, or that is being asked already."""
    if m.asked >= MAX_ASKED or attr in obj.busy:
        return None
    if (known := obj.unmade.get(attr) or m.unmade.get((obj, attr))) is not None:
        m.project.reads |= known
        return None
    reads = {func.module.owner(func.node) for func, _ in written}
    obj.busy.add(attr)
    m.asked += 1
    try:
        with m.project.reading(reads):
            value = _written(m, obj, _telling(written), frame)
    finally:
        m.project.reads |= reads
        obj.busy.discard(attr)
        m.asked -= 1
    if obj.busy or m.asked:  # found while another attribute was asked for, which it may lack
        if value is None:
            m.unmade[obj, attr] = frozenset(reads)
        return value
    m.unmade.clear()
    if value is None and obj.kept is not Scope.PROCESS:
        obj.unmade[attr] = frozenset(reads)
    elif value is not None and not isinstance(value, (ListV, DictV)):  # these grow
        obj.attrs[attr] = value
    return value


def _is_setting(obj: Obj, attr: str, value: Value) -> bool:
    """Tell whether a value is the default of a switch in an object that a process has one of: there to be set otherwise."""
    return (
        obj.kept is Scope.PROCESS
        and isinstance(value, Const)
        and isinstance(value.value, bool)
        and obj.cls is not None
        and is_data(obj.cls)
        and obj.cls.find(attr) is value
    )


def _part(m: Machine, cls: ClassV, attr: str, label: str) -> Obj | None:
    """Return what a field of a data class holds, as its annotation names it, if that keeps a conversation."""
    declared = fields(cls).get(attr) if is_data(cls) else None
    if declared is None:
        return None
    one, statement = declared
    found = hints.annotated(m, statement.annotation, one.module)
    if found is None or not any(HISTORY.search(name) for name in growing.fillers(found)):
        return None
    return symbolic(m, found, label)


def _says(default: Value) -> bool:
    """Tell whether a field's default is more than a mark of what is to be given."""
    if isinstance(default, ListV):
        return bool(default.items)
    if isinstance(default, DictV):
        return bool(default.entries or default.rest)
    return default.parts != () if isinstance(default, Str) else isinstance(default, _SUBSTANCE)


def of_class(m: Machine, cls: ClassV, attr: str) -> Value | None:
    """Return an attribute of a class through its bases; what can be changed is the file's own."""
    found = cls.find(attr)
    if cls.module.state == "running" or m.lasting:
        return found
    return m.recorder.assigned.get((cls, attr)) or m.copied(found)


def super_attribute(m: Machine, value: Super, attr: str, node: ast.expr, frame: Frame) -> Value:
    """Return a method of the next class behind ``value.after``."""
    receiver = value.receiver
    cls = receiver.cls if isinstance(receiver, Obj) else receiver if isinstance(receiver, ClassV) else None
    found = cls.find(attr, after=value.after) if cls is not None else None
    if isinstance(found, FuncV):
        if "property" in found.decorators and isinstance(receiver, Obj):
            return property_value(m, receiver, found, node, frame)
        return Bound(found, receiver)
    if found is None and isinstance(receiver, Obj) and (inner := protocols.held(receiver)) is not None:
        return protocols.of_held(inner, attr)
    if found is None and isinstance(receiver, Obj) and attr == "__init__":
        return Bound(Ext("method.__init__"), receiver)
    return found or Unknown(frame.module.place(node), name=attr, path=f"super().{attr}")


def begun(obj: Obj, given: Mapping[str, Value], place: Place) -> None:
    """Keep what the constructor of a class of a library is given by name: it is an attribute of that name."""
    for name, value in given.items():
        if obj.cls is None or not isinstance(obj.cls.find(name), FuncV):
            obj.attrs.setdefault(name, passed(value, place, f"passed as {name}"))


def property_value(m: Machine, obj: Obj, func: FuncV, node: ast.expr, frame: Frame) -> Value:
    """Return what a property computes."""
    from promptlint.frontends.python.evaluate.functions import invoke

    value = invoke(m, func, [obj], {}, node, frame)
    if any("cached" in d for d in func.decorators):
        kept = obj.kept or Scope.REQUEST
        value = access.frozen(value, kept, frame.module.place(node), f"kept by {func.name}")
        return _unnamed(value, func.name) if obj.kept is not None else value
    return value


def _unnamed(value: Value, name: str) -> Value:
    """Return what a property has computed once without its name, ``text`` or ``context``: others of it change."""
    if isinstance(value, Choice):
        return Choice(value.guard, tuple(_unnamed(one, name) for one in value.values))
    called = isinstance(value, Unknown) and (value.name in ("", name) or value.path.endswith("()"))
    if isinstance(value, Unknown) and value.cause is None and called:
        nameless = unknown_like(value, name="")
        nameless.path = ""
        return nameless
    return value


def writes(cls: ClassV) -> dict[str, list[tuple[FuncV, ast.AST]]]:
    """Return, for each attribute, the assignments to it in the methods of a class, bases included."""
    if cls.writes is None:
        out: dict[str, list[tuple[FuncV, ast.AST]]] = {}
        cls.writes = out
        for func in cls.namespace.values():
            if not isinstance(func, FuncV) or isinstance(func.node, ast.Lambda) or not func.node.args.args:
                continue
            me = func.node.args.args[0].arg
            for child in blocks(func.node):
                targets: list[ast.expr] = []
                if isinstance(child, ast.Assign):
                    targets = child.targets
                elif isinstance(child, (ast.AugAssign, ast.AnnAssign)):
                    targets = [child.target]
                for target in targets:
                    if (
                        isinstance(target, ast.Attribute)
                        and isinstance(target.value, ast.Name)
                        and target.value.id == me
                    ):
                        out.setdefault(target.attr, []).append((func, child))
        for base in cls.bases:
            for name, found in writes(base).items():
                out.setdefault(name, []).extend(found)
    return cls.writes


def _counter(written: list[tuple[FuncV, ast.AST]], begun: Value | None) -> bool:
    """Tell whether an attribute is counted up outside the constructor, or a number that it ``begun`` with moves there."""
    number = (
        isinstance(begun, Const)
        and isinstance(begun.value, int | float)
        and not isinstance(begun.value, bool)
    )
    return any(
        is_counting(node) and (number or _is_step(node)) and func.name not in CONSTRUCTORS
        for func, node in written
    )


def _is_step(node: ast.AugAssign) -> bool:
    return (
        isinstance(node.op, ast.Add)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, int)
    )


def cls_place(written: list[tuple[FuncV, ast.AST]]) -> Place | None:
    """Return where an attribute is counted up."""
    for func, node in written:
        if isinstance(node, ast.AugAssign):
            return func.module.place(node)
    return None


def _telling(written: list[tuple[FuncV, ast.AST]]) -> tuple[FuncV, ast.AST]:
    """Return the first assignment of more than a constant, which marks what is to be set later."""
    return next(
        (w for w in written if not isinstance(getattr(w[1], "value", None), ast.Constant)), written[0]
    )


def _written(m: Machine, obj: Obj, write: tuple[FuncV, ast.AST], frame: Frame) -> Value | None:
    """Return what a method assigns to an attribute, as far as the expression alone tells."""
    func, node = write
    value = getattr(node, "value", None)
    if not isinstance(value, ast.expr) or isinstance(value, ast.Constant) or isinstance(node, ast.AugAssign):
        return None
    names: dict[str, Value] = {}
    args = func.node.args
    for index, arg in enumerate([*args.posonlyargs, *args.args]):
        names[arg.arg] = obj if index == 0 else Unknown(func.module.place(arg), name=arg.arg, path=arg.arg)
    steps = making(func.node, node) if not isinstance(func.node, ast.Lambda) else []
    if not steps and isinstance(value, ast.Name) and value.id in names and names[value.id] is not obj:
        return None  # an argument, of which nothing is known
    # What an object keeps is there whoever asks for it, and however far from the object that is.
    spare, budget = m.spare, MAX_WRITING >> m.asked - 1
    with m.afresh([func.node], budget) if spare > 0 else nullcontext():
        m.spare, begun = spare, m.steps
        inner = Frame(func.module, names, func, func.cls, obj, func.closure, depth=len(m.guards))
        silent, m.recorder.silent = m.recorder.silent, True
        m.execute(steps, inner)
        m.recorder.silent = silent
        result = m.evaluate(value, inner)
        spare = m.spare - (m.steps - begun)
    m.spare = spare
    if result.cause is not None:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", value)
        return passed(result, func.module.place(node), f"kept in {func.module.text(target)}")
    return result if isinstance(result, (Obj, Str, ListV, DictV, Template, FuncV, ClassV)) else None


def is_cached(func: FuncV) -> bool:
    """Tell whether a function keeps its result for the life of the process."""
    return any(d.rsplit(".", 1)[-1] in _CACHED for d in func.decorators)
