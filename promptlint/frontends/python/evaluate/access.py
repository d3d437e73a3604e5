"""Names, attributes, subscripts, and the elements of collections."""

from __future__ import annotations

import ast
import builtins
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace

from promptlint.frontends.python.evaluate import (
    describing,
    hints,
    linking,
    mappings,
    objects,
    protocols,
    sharing,
)
from promptlint.frontends.python.evaluate.conditions import is_switch
from promptlint.frontends.python.evaluate.machine import Frame, Machine, passed, unknown_like
from promptlint.frontends.python.library import files, standard, usage
from promptlint.frontends.python.values import known
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.forms import is_history
from promptlint.frontends.python.values.naming import HISTORY, is_generic
from promptlint.frontends.python.values.pieces import map_causes, worst
from promptlint.frontends.python.values.values import (
    KEPT,
    MAX_CHOICE,
    STORED,
    Bound,
    Choice,
    ClassV,
    Const,
    Declared,
    DictV,
    Ext,
    FuncV,
    Item,
    ListV,
    ModuleV,
    Obj,
    Str,
    Super,
    Template,
    Unknown,
    Value,
    choice,
)
from promptlint.layout import Cause, Guard, Kind, Scope
from promptlint.source import Place

_CHOSEN = (Str, Template, DictV, FuncV, ClassV)  # of which one is taken by a key
_BUILTINS = frozenset(dir(builtins))
_DATE_PARTS = {
    "date": Scope.DAY,
    "day": Scope.DAY,
    "month": Scope.DAY,
    "weekday": Scope.DAY,
    "isoweekday": Scope.DAY,
}
# What a table or array says of its form: not what was drawn into it.
_MEASURES = frozenset({"shape", "size", "ndim", "empty", "dtype", "dtypes", "columns"})


def visible(frame: Frame) -> Mapping[str, Value]:
    """Return the names that a lambda or class written here sees."""
    return frame.names if frame.outer is None else {**frame.outer, **frame.names}


def enclosing(frame: Frame) -> Mapping[str, Value]:
    """Return the names that a function defined here closes over, those that are bound later too."""
    return frame.names if frame.outer is None else ChainMap(frame.names, dict(frame.outer))


def name(m: Machine, identifier: str, node: ast.expr, frame: Frame) -> Value:
    """Look a name up: local, enclosing, module, builtin."""
    own = frame.names.get(identifier) if identifier not in frame.exports else None
    if own is None and frame.outer is not None:
        own = frame.outer.get(identifier)
    if own is not None and not isinstance(own, linking.Deferred):
        return own
    found = linking.name_of(m, frame.module, identifier)
    if found is not None:
        return kept(found) if frame.func is not None and identifier in frame.module.filled else found
    if identifier == "__file__":
        return files.here(frame)
    if identifier in _BUILTINS:
        return Ext(f"builtins.{identifier}")
    return Unknown(frame.module.place(node), name=identifier, path=identifier)


def kept(value: Value) -> Value:
    """Return a list that outlives the call that asks for it, marked as one that may hold earlier turns."""
    if isinstance(value, ListV) and not value.owner:
        value.owner = KEPT
    return value


def attribute(m: Machine, value: Value, attr: str, node: ast.expr, frame: Frame) -> Value:
    """Return ``value.attr``."""
    if attr in describing.TOLD and (told := describing.attribute(m, value, attr)) is not None:
        return told
    if isinstance(value, Obj):
        of_object = objects.attribute(m, value, attr, node, frame)
        given_by_library = attr in mappings.METHODS and isinstance(of_object, Unknown)
        return Bound(Ext(f"method.{attr}"), value) if given_by_library else of_object
    if isinstance(value, Super):
        return objects.super_attribute(m, value, attr, node, frame)
    if isinstance(value, ModuleV):
        found = linking.name_of(m, value.module, attr)
        if found is not None and is_switch(found, attr):
            return Unknown(frame.module.place(node), name=attr, path=attr)
        if found is not None:
            return found
        path = m.project.resolve(attr, value.module.path, 1)
        module = m.project.load(path) if path else None
        if module is not None:
            return ModuleV(module)
        return Unknown(frame.module.place(node), name=attr, path=attr)
    if isinstance(value, ClassV):
        found = objects.of_class(m, value, attr)
        if isinstance(found, FuncV) and "classmethod" in found.decorators:
            return Bound(found, value)
        if found is not None:
            return found
        if attr == "__subclasses__":
            return Bound(Ext(f"method.{attr}"), value)
        return Unknown(frame.module.place(node), name=attr, path=f"{value.name}.{attr}")
    if isinstance(value, Ext):
        return external(m, Ext(f"{value.path}.{attr}"), node, frame)
    if isinstance(value, Choice):
        return choice(value.guard, (attribute(m, v, attr, node, frame) for v in value.values))
    if isinstance(value, Unknown):
        # ``Agent(instructions=…).instructions`` is a method.
        if value.given and attr in value.given and m.sink(f"{value.path}.{attr}") is None:
            return value.given[attr]
        cause = value.cause
        if cause is not None and cause.kind is Kind.CLOCK:
            if attr == "year":
                cause = None
            elif attr in _DATE_PARTS:
                cause = replace(cause, scope=_wider(cause.scope, _DATE_PARTS[attr]))
        elif cause is not None and cause.kind is Kind.RANDOM and attr in _MEASURES:
            cause = None
        path = f"{value.path}.{attr}" if value.path else f"{value.name or '?'}.{attr}"
        named = f"{value.name}.{attr}" if value.name else attr
        cause = kept_by_session(cause, attr)
        cause = cause or usage.reported(named, frame.module.place(node))
        one = Unknown(
            frame.module.place(node),
            name=named,
            path=path,
            cause=cause,
            loop=value.loop,
            templates=value.templates,
        )
        return hints.attribute(m, value, attr, one, node, frame) if isinstance(value, Declared) else one
    if isinstance(value, (Str, ListV, DictV, Template, FuncV, Bound, Const)):
        if attr == "value" and isinstance(value, Str | Const):
            return value  # of an enumeration's member
        return Bound(Ext(f"method.{attr}"), value)
    return Unknown(frame.module.place(node), name=attr, path=attr)


def kept_by_session(cause: Cause | None, name: str) -> Cause | None:
    """Return why something that a user's session keeps under a name changes: turns grow, as their name tells."""
    session = cause is not None and cause.kind in (Kind.PER_USER, Kind.IDENTIFIER)
    return None if session and HISTORY.search(name) else cause


def external(m: Machine, value: Ext, node: ast.AST, frame: Frame) -> Value:
    """Return an outside name; some are volatile without being called (``sys.argv``, ``os.environ``)."""
    found = m.catalog.value(value.path)
    if found is None:
        return value
    return Unknown(
        frame.module.place(node),
        name=value.path,
        path=value.path,
        cause=Cause(
            found.kind,
            found.scope,
            value.path,
            found.confidence,
            frame.module.place(node),
            variant=found.variant,
        ),
    )


def _wider(scope: Scope, other: Scope) -> Scope:
    return scope if scope.rank < other.rank else other


def subscript(m: Machine, value: Value, node: ast.Subscript, frame: Frame) -> Value:
    """Return ``value[key]``; cuts of a history are told to the recorder."""
    place = frame.module.place(node)
    if isinstance(value, Choice):
        return choice(value.guard, [subscript(m, v, node, frame) for v in value.values])
    if isinstance(node.slice, ast.Slice):
        if isinstance(value, ListV):
            return m.recorder.mark_cut(m, value, _sliced(m, value, node.slice, frame), node, frame)
        if isinstance(value, Str):
            bounds = _bounds(m, node.slice, frame)
            if bounds is not None and (cut := known.sliced(value, bounds)) is not None:
                return cut
            if value.plain() is not None and value.literal_length() < 200:
                return value
            return Unknown(place, name="", cause=value.cause, text=frame.module.text(node))
        if isinstance(value, Unknown):
            return m.recorder.mark_cut(
                m, value, unknown_like(value, cause=value.cause, place=place), node, frame
            )
        return Unknown(place, cause=value.cause)
    key = m.evaluate(node.slice, frame)
    constant = plain(key)
    if isinstance(value, Obj):
        found = protocols.special(m, value, ("__getitem__",), [key], node, frame)
        if found is not None:
            return found
        value = protocols.held(value) or value
    if isinstance(value, Str) and isinstance(constant, int):
        at = slice(constant, constant + 1 or None)
        return known.sliced(value, at) or Unknown(place, cause=value.cause, multiline=False)
    if isinstance(value, DictV):
        if constant is not None and (found := value.get(constant)) is not None:
            return found
        if constant is None and value.entries and not value.rest:
            return _any_of(m, [i.value for i in value.entries.values()], node, key, frame)
        if constant is None and len(value.rest) == 1 and isinstance(value.rest[0], STORED):
            return kept(value.rest[0])
        return Unknown(
            place, name=str(constant or ""), path=f"?.{constant}", cause=worst(*(r.cause for r in value.rest))
        )
    if isinstance(value, ListV):
        if isinstance(constant, int) and value.known() and -len(value.items) <= constant < len(value.items):
            return value.items[constant].value
        if len(value.items) == 1:
            one = value.items[0].value
            if value.items[0].spread and isinstance(one, Unknown) and isinstance(constant, int):
                one = unknown_like(one, cause=one.cause)
                one.path = f"{value.name}[{constant}]"
            elif isinstance(one, Unknown) and key.cause is not None:  # which one it is changes
                one = unknown_like(one, cause=worst(one.cause, key.cause))
            return one
        if isinstance(constant, int) and value.items and not value.items[-1 if constant < 0 else 0].spread:
            return value.items[-1 if constant < 0 else 0].value
        return Unknown(place, name=value.name, cause=worst(value.cause, key.cause))
    if isinstance(value, Unknown):
        put = sharing.read(m, node.value, constant, frame) if value.cause is None else None
        if put is not None:
            return put
        label = str(constant) if constant is not None else (key.name if isinstance(key, Unknown) else "")
        base = value.name
        named = (
            f"{base}.{label}"
            if base and label and isinstance(constant, str)
            else label
            if isinstance(constant, str)
            else base
        )
        index = f"[{constant}]" if isinstance(constant, int) else "[]"
        one = Unknown(
            place,
            name=named,
            path=f"{value.path}{index}",
            cause=kept_by_session(worst(value.cause, key.cause), label) or usage.reported(named, place),
            loop=value.loop,
        )
        return hints.entry(value, one) if isinstance(value, Declared) else one
    if isinstance(value, Ext) and value.path == "os.environ":
        return standard.environ(m, Arguments([key]), node, frame)
    if isinstance(value, Ext) and is_generic(value.path):
        return value
    if isinstance(value, Ext):
        listed = m.catalog.value(value.path)
        cause = None
        if listed is not None:
            cause = Cause(
                listed.kind, listed.scope, value.path, listed.confidence, place, variant=listed.variant
            )
        return Unknown(place, name=str(constant or value.path), path=f"{value.path}[]", cause=cause)
    if isinstance(value, ClassV):
        return value
    if isinstance(value, Obj) and value.kind == "match" and str(constant) in value.attrs:
        return value.attrs[str(constant)]
    if isinstance(value, Obj) and isinstance(constant, str):  # of a class that describes a mapping
        named = f"{value.name}.{constant}" if value.name else constant
        held = value.attrs.get(constant) or sharing.read(m, node.value, constant, frame)
        return held or Unknown(place, name=named, path=named)
    return Unknown(place, cause=value.cause)


def _any_of(m: Machine, values: list[Value], node: ast.expr, key: Value, frame: Frame) -> Value:
    """Return the value under a key that is not known: any of a few texts, or of the program's objects."""
    if _are_alike(values) or (1 <= len(values) <= 8 and all(isinstance(v, _CHOSEN) for v in values)):
        guard = Guard(
            "if",
            frame.module.text(node),
            frame.module.place(node),
            cause=key.cause,
            name=getattr(key, "name", ""),
        )
        return choice(guard, values)
    return Unknown(
        frame.module.place(node),
        name=getattr(key, "name", ""),
        cause=worst(*(v.cause for v in values), key.cause),
    )


def _are_alike(values: list[Value]) -> bool:
    """Tell whether a mapping holds a few objects of the program, or more of one class, of which a few stand for all."""
    classes = {id(v.cls) for v in values if isinstance(v, Obj) and v.cls is not None}
    whole = bool(classes) and all(isinstance(v, Obj) and v.cls is not None for v in values)
    return whole and (len(classes) == 1 or len(values) <= MAX_CHOICE)


def _bounds(m: Machine, part: ast.Slice, frame: Frame) -> slice | None:
    """Return a slice with known bounds; None where one is not known."""
    out: list[int | None] = []
    for node in (part.lower, part.upper, part.step):
        bound = plain(m.evaluate(node, frame)) if node is not None else None
        if node is not None and not isinstance(bound, int):
            return None
        out.append(bound if isinstance(bound, int) else None)
    return None if out[2] == 0 else slice(*out)


def _sliced(m: Machine, value: ListV, part: ast.Slice, frame: Frame) -> ListV:
    bounds = _bounds(m, part, frame)
    items = value.items
    # A conversation has grown by the time it is cut again.
    if bounds is not None and value.known() and not is_history(value):
        items = items[bounds]
    out = ListV(list(items), value.kind, value.order, value.depth)
    out.name, out.owner = value.name, value.owner
    return out


def plain(value: Value) -> object:
    """Return a constant key or number, or None."""
    if isinstance(value, Str):
        return value.plain()
    if isinstance(value, Const):
        return value.value
    return None


def formatted(m: Machine, value: Value, spec: str) -> Value:
    """Return ``format(value, spec)``: a date format decides how often a clock's text changes."""
    if (
        isinstance(value, Unknown)
        and value.cause is not None
        and value.cause.kind is Kind.CLOCK
        and "%" in spec
    ):
        cause = clock(m, value.cause, spec)
        if cause is None:  # what is left of the time does not change with the days, whatever its name says
            return Unknown(value.place, text=value.text, multiline=False)
        return unknown_like(value, cause=cause, multiline=False)
    return value


def clock(m: Machine, cause: Cause, form: str) -> Cause | None:
    """Return a clock's cause as seen through a ``strftime`` format."""
    scope = m.catalog.clock_scope(form)
    if scope is Scope.RELEASE:
        return None
    return replace(cause, scope=_wider(cause.scope, scope))


def frozen(value: Value, scope: Scope, place: Place, note: str) -> Value:
    """Return a value that was computed once and kept: its clock does not tick within ``scope``."""

    def slow(cause: Cause) -> Cause:
        if cause.scope.rank <= scope.rank or cause.kind in (Kind.REQUEST_INPUT, Kind.RETRIEVED):
            return cause
        if cause.scope is Scope.MACHINE:  # however often it is asked
            return cause
        # A time taken once for a conversation is its snapshot: the turns that follow still match.
        snapshot = scope is Scope.SESSION and cause.kind is Kind.CLOCK
        return replace(cause, scope=scope, variant="snapshot" if snapshot else cause.variant)

    if isinstance(value, Str) and value.cause is not None:
        return passed(Str(map_causes(value.parts, slow)), place, note)
    if isinstance(value, Unknown) and value.given:
        given = {name: frozen(one, scope, place, note) for name, one in value.given.items()}
        value = unknown_like(value, cause=value.cause, given=given)
    if isinstance(value, Unknown) and value.cause is not None:
        return passed(unknown_like(value, cause=slow(value.cause)), place, note)
    if isinstance(value, Template) and value.parts:
        return replace(value, parts=map_causes(value.parts, slow))
    if isinstance(value, ListV):
        if value.order is not None:
            value.order = slow(value.order)
        for item in value.items:
            item.value = frozen(item.value, scope, place, note)
    if isinstance(value, DictV):
        for key, item in value.entries.items():
            value.entries[key] = Item(frozen(item.value, scope, place, note), item.guards)
    if isinstance(value, Obj) and value.kept is None:
        value.kept = scope
        for attr, part in list(value.attrs.items()):
            value.attrs[attr] = frozen(part, scope, place, note)
    return value
