"""Calls: who is called, with what, and what comes back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from promptlint.frontends.python.evaluate import (
    access,
    concurrent,
    functions,
    mappings,
    members,
    methods,
    objects,
    protocols,
    text,
)
from promptlint.frontends.python.evaluate.machine import Frame, Machine, passed
from promptlint.frontends.python.library import engines, library, unknown
from promptlint.frontends.python.syntax.nodes import blocks, remembered
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.forms import CONTENT
from promptlint.frontends.python.values.pieces import Hole, Part, worst
from promptlint.frontends.python.values.values import (
    ABSENT,
    STORED,
    Bound,
    Choice,
    ClassV,
    Const,
    DictV,
    Ext,
    FuncV,
    Item,
    ListV,
    Obj,
    Str,
    Super,
    Unknown,
    Value,
    choice,
    moment,
)
from promptlint.layout import Scope
from promptlint.source import Place

# What declares a field and its default: ``field(…)``, ``attr.ib(…)``, ``Field(…)``, ``Option(…)``.
_DECLARES = re.compile(r"(?:^|[._])(?:field|attrib|ib|column)$|(?:^|\.)[A-Z]\w*$")


def call(m: Machine, node: ast.Call, frame: Frame) -> Value:
    """Evaluate a call."""
    if isinstance(node.func, ast.Name) and node.func.id == "super" and frame.receiver is not None:
        return Super(frame.receiver, frame.cls)
    callee = m.evaluate(node.func, frame)
    side_by_side = concurrent.order(m, node, frame)
    if side_by_side is not None:
        m.orders.append((moment(), side_by_side))
    given = arguments(m, node, frame, own=isinstance(callee, ClassV | FuncV))
    if side_by_side is not None:
        m.orders.pop()
    value = apply(m, callee, given, node, frame)
    m.recorder.call(m, callee, given, value, node, frame)
    return value


def arguments(m: Machine, node: ast.Call, frame: Frame, *, own: bool = False) -> Arguments:
    """Evaluate the arguments of a call; what the program's own functions are given by ``*row`` fills all that is left."""
    out = Arguments()
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            value = m.evaluate(arg.value, frame)
            known = members.elements(value)
            if known is not None:
                out.args.extend(known)
            elif own and out.rest is None and not isinstance(value, ListV):
                out.rest = Unknown(frame.module.place(arg.value), cause=value.cause)
            else:
                out.args.append(members.element(m, value, arg.value, frame))
            continue
        out.nodes[len(out.args)] = arg
        out.args.append(m.evaluate(arg, frame))
    for keyword in node.keywords:
        value = m.evaluate(keyword.value, frame)
        if keyword.arg is not None:
            out.keywords[keyword.arg] = value
            out.nodes[keyword.arg] = keyword.value
        elif isinstance(value, DictV):
            _merge(out, value, keyword.value, frame)
        elif mappings.are_chosen(value):
            _merge(out, mappings.either(value), keyword.value, frame)
        else:
            out.rest = value
    return out


def _merge(out: Arguments, value: DictV, node: ast.expr, frame: Frame) -> None:
    """Add the arguments that ``**value`` gives."""
    for key, item in value.entries.items():
        if isinstance(key, str) and key not in out.keywords:
            out.keywords[key] = _sometimes(item)
    if value.rest:
        out.rest = Unknown(frame.module.place(node), cause=worst(*(r.cause for r in value.rest)))


def _sometimes(item: Item) -> Value:
    """Return a setting that was put into ``**options`` under a condition as one that may be missing."""
    value = item.value
    if not isinstance(value, Const | DictV | Unknown):
        return value  # a text, or messages: what may be missing is told in them
    for guard in reversed(item.guards):
        if guard.kind == "if":
            value = choice(guard, (ABSENT, value) if guard.branch else (value, ABSENT))
    return value


def apply(m: Machine, callee: Value, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return the result of calling a value."""
    if isinstance(callee, Bound):
        if isinstance(callee.func, Ext) and callee.receiver is not None:
            return methods.method(
                m, callee.receiver, callee.func.path.removeprefix("method."), given, node, frame
            )
        args = [*callee.args, *given.args]
        keywords = {**callee.keywords, **given.keywords}
        if isinstance(callee.func, FuncV):
            if callee.receiver is not None:
                args = [callee.receiver, *args]
            return functions.invoke(m, callee.func, args, keywords, node, frame, given.rest)
        return apply(m, callee.func, Arguments(args, keywords, given.rest, given.nodes), node, frame)
    if isinstance(callee, FuncV):
        return functions.invoke(m, callee, given.args, given.keywords, node, frame, given.rest)
    if isinstance(callee, ClassV):
        return instantiate(m, callee, given, node, frame)
    if isinstance(callee, Ext):
        return library.call(m, callee.path, given, node, frame)
    if isinstance(callee, Obj) and callee.cls is not None and isinstance(callee.cls.find("__call__"), FuncV):
        method = access.attribute(m, callee, "__call__", node.func, frame)
        return apply(m, method, given, node, frame)
    if isinstance(callee, Choice):
        return choice(callee.guard, [apply(m, v, given, node, frame) for v in callee.values])
    if isinstance(callee, Unknown):
        return unknown.call(m, callee, given, node, frame)
    return Unknown(frame.module.place(node), cause=given.cause)


def instantiate(m: Machine, cls: ClassV, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return an instance; a constructor of the project is run, a data class takes its fields."""
    place = frame.module.place(node)
    obj = Obj(cls, name=cls.name, place=place)
    obj.kept = _lifetime(m, node, frame)
    init = cls.find("__init__")
    if (said := _said(cls, init, given)) is not None:
        obj.kind, obj.attrs = "message", said
        role = access.plain(said["role"])
        obj.name = engines.role_of(role) if isinstance(role, str) else ""
        if frame.func is not None and "prompt" in frame.func.name:
            m.recorder.message(m, obj, node, frame)  # elsewhere it may be a turn that is appended once
    if isinstance(init, FuncV):

        def construct(obj: Obj) -> None:
            functions.invoke(m, init, [obj, *given.args], given.keywords, node, frame, given.rest)

        obj.pending = construct  # most objects never become part of a prompt: it waits for a question
        return obj
    protocols.holds(m, obj, given, node, frame)
    if objects.is_data(cls) or given.keywords or objects.fields(cls):
        names = objects.fields(cls)
        for name, value in zip(names, given.args, strict=False):
            obj.attrs[name] = value
        obj.attrs.update({k: passed(v, place, f"passed as {k}") for k, v in given.keywords.items()})
        for name in names:
            if name not in obj.attrs:
                default = _default(m, cls, name, obj)
                rest = given.rest
                # A mapping of options may set it; what was looked up fills the fields that have no default.
                if rest is not None and (
                    _is_setting(default) or (default is None and rest.cause is not None)
                ):
                    default = Unknown(place, name=name, path=name, cause=rest.cause, multiline=False)
                if default is not None:
                    obj.attrs[name] = default
        for post in _finishing(cls):
            functions.invoke(m, post, [obj], {}, node, frame)
    return obj


def _finishing(cls: ClassV) -> Iterator[FuncV]:
    """Yield what runs on a new instance of a data class when its fields are set."""
    for name in ("__post_init__", "model_post_init"):
        if isinstance(post := cls.find(name), FuncV):
            yield post
    for one in cls.mro():
        for validator in one.namespace.values():
            if (
                isinstance(validator, FuncV)
                and "model_validator" in validator.decorators
                and "classmethod" not in validator.decorators
            ):
                yield validator


_TURN = re.compile(
    r"(Message|Msg|Turn|Utterance|Content)$"
)  # a class with a role whose text may be called otherwise
_SPEAKER = re.compile(r"(System|Developer|User|Human|Assistant|AI|Tool)(?:Chat|Prompt)?Message")


def _said(cls: ClassV, init: Value | None, given: Arguments) -> dict[str, Value] | None:
    """Return role and content of a message, where a class of the project is one by its fields or name."""
    if isinstance(init, FuncV):
        names = [arg.arg for arg in init.node.args.args[1:]]
    else:
        names = list(objects.fields(cls))
    speaker = _SPEAKER.fullmatch(cls.name)
    text = next((name for name in CONTENT if name in names), "")
    if not text or not (speaker or "role" in names) or (text != "content" and not _TURN.search(cls.name)):
        return None
    values = {**dict(zip(names, given.args, strict=False)), **given.keywords}
    if text in values:
        values["content"] = values[text]
    if speaker:
        values.setdefault("role", Const(speaker.group(1).lower()))
    if isinstance(init, FuncV) and isinstance(values.get("content"), ListV):
        return None  # what a constructor makes of a list of blocks is its own
    return values if "content" in values and "role" in values else None


def _lifetime(m: Machine, node: ast.Call, frame: Frame) -> Scope | None:
    """Tell how long an object made here lives: as long as the process, a conversation, or one request.

    One that is made in front of a loop of the same function serves all that the loop sends.
    """
    if frame.frozen and frame.func is None:
        return Scope.PROCESS
    if m.loops or frame.func is None or isinstance(frame.func.node, ast.Lambda):
        return None
    return Scope.SESSION if _last_loop(frame.func.node) > node.lineno else None


@remembered
def _last_loop(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the line at which the last loop of a function begins; 0 for none."""
    loops = (n.lineno for n in blocks(node) if isinstance(n, (ast.While, ast.For, ast.AsyncFor)))
    return max(loops, default=0)


def _is_setting(value: Value | None) -> bool:
    """Tell whether a default is a switch, a number or a short text."""
    short = isinstance(value, Str) and not value.has_text(objects.KEPT_DEFAULT)
    return short or isinstance(value, Const)


def _default(m: Machine, cls: ClassV, name: str, obj: Obj) -> Value | None:
    """Return a field's default; a factory runs once for each object.

    What is declared, ``Field("gpt-4o", …)``, is not what another call gives: ``os.environ.get("REGION", "eu")``.
    """
    one, statement = objects.fields(cls)[name]
    value = statement.value
    if value is None:
        return None
    if isinstance(value, ast.Call) and _declares(value):
        inner = Frame(one.module, dict(one.namespace), None, one, frozen=True)
        for keyword in value.keywords:
            if keyword.arg in ("default_factory", "factory"):
                made = apply(m, m.evaluate(keyword.value, inner), Arguments(), value, inner)
                at = one.module.place(value)
                return access.frozen(made, obj.kept, at, f"default of {name}") if obj.kept else made
            if keyword.arg == "default":
                return m.evaluate(keyword.value, inner)
        if value.args and objects.is_data(cls):
            return m.evaluate(value.args[0], inner)
        if any(k.arg for k in value.keywords):
            return None
    return m.copied(one.namespace.get(name))


@remembered
def _declares(node: ast.Call) -> bool:
    return _DECLARES.search(ast.unparse(node.func)) is not None


def percent(m: Machine, left: Str, right: Value, place: Place) -> Value:
    """Return ``text % values``."""
    parts = text.with_fields(left.parts, "percent")
    if isinstance(right, DictV):
        return Str(text.fill(parts, text.keys_of(right), None, False))
    values = members.elements(right) if isinstance(right, ListV) and right.kind == "tuple" else [right]
    if values is None:
        values = []
    out: list[Part] = []
    index = 0
    for part in parts:
        if hasattr(part, "segment") and part.segment.text is None:
            if index < len(values):
                out.extend(text.parts_of(values[index], part.segment.place, ""))
            else:
                out.append(Hole(part.segment.place, part.segment.origin.expression))
            index += 1
        else:
            out.append(part)
    return Str(tuple(out))


def entries(value: DictV, place: Place) -> ListV:
    """Return ``mapping.items()`` as pairs."""
    pairs = [
        Item(ListV([Item(_key(k, place)), Item(i.value)], "tuple"), i.guards)
        for k, i in value.entries.items()
    ]
    for rest in value.rest:
        kept = rest if isinstance(rest, STORED) else Unknown(place, cause=rest.cause)
        pair = ListV([Item(Unknown(place, name="key")), Item(kept)], "tuple")
        pairs.append(Item(pair, spread=True))
    return ListV(pairs, order=value.order)


def _key(key: object, place: Place) -> Value:
    from promptlint.frontends.python.evaluate.machine import fixed
    from promptlint.frontends.python.values.pieces import Lit

    if isinstance(key, str):
        return Str((Lit(key, fixed(place, key), whole=True),))
    return Const(key)
