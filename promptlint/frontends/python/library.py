"""What calls outside the project give back: builtins, the standard library, catalogued sources."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python import access, engines, files, functions, text
from promptlint.frontends.python.machine import Frame, Machine, unknown_like
from promptlint.frontends.python.values import (
    NONE,
    Bound,
    Choice,
    Const,
    DictV,
    Ext,
    FuncV,
    Hole,
    Item,
    ListV,
    Obj,
    Str,
    Unknown,
    Value,
    worst,
)
from promptlint.layout import Cause, Confidence, Kind, Observation, Scope

if TYPE_CHECKING:
    from promptlint.frontends.python.calls import Arguments

Handler = Callable[[Machine, "Arguments", ast.Call, Frame], Value]

# A method that reads a clock's value at one resolution.
_CLOCK_METHODS = {"date": Scope.DAY, "weekday": Scope.DAY, "isoweekday": Scope.DAY, "isocalendar": Scope.DAY, "toordinal": Scope.DAY}
_FORMATTERS = {"strftime", "format", "to_string", "isoformat", "strptime"}
# The result says little about the value: how long it is, of which type, whether it is there.
_LOSSY = frozenset(
    f"builtins.{n}" for n in ("len", "isinstance", "bool", "hasattr", "callable", "type", "issubclass", "any", "all", "print", "setattr", "delattr", "vars")
)


def call(m: Machine, path: str, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return the result of calling something outside the project by its dotted name."""
    place = frame.module.place(node)
    handler = _HANDLERS.get(path) or engines.HANDLERS.get(path) or files.HANDLERS.get(path)
    if handler is not None:
        result = handler(m, given, node, frame)
        if result is not None:
            return result
    if path in _LOSSY:
        return NONE if path == "builtins.print" else Unknown(place, name="", multiline=False)
    if path.startswith("builtins.") and path.count(".") == 1 and path.rsplit(".", 1)[-1][0].isupper():
        return Unknown(place, name=path)
    cause = volatile(m, path, given, node, frame)
    if cause is not None:
        if cause.kind is Kind.RANDOM and _seeded(given):
            cause = None
        if cause is not None and cause.kind is Kind.UNORDERED and cause.variant == "set":
            return ListV([], "set", cause, len(m.guards))
        return Unknown(place, name=path, path=f"{path}()", cause=cause, text=frame.module.text(node), multiline=False)
    made = engines.made(m, path, given, node, frame)
    if made is not None:
        return made
    short = path.rsplit(".", 1)[-1]
    name = short
    if answers(m, path):
        return Unknown(place, name="response", path=f"{path}()")
    if short in ("get", "getenv", "getattr") and given.args and isinstance(label := access.plain(given.args[-1 if short == "getattr" else 0]), str):
        name = label
    derived = given.cause
    if derived is not None and (derived.kind is Kind.UNORDERED or short[:1].isupper()):
        # A constructor keeps its arguments to itself; an outside function may well sort.
        derived = derived if short in ("dumps", "list", "deepcopy", "copy", "dump", "safe_dump") else None
    return Unknown(place, name=name, path=f"{path}()", cause=derived, text=frame.module.text(node))


def volatile(m: Machine, path: str, given: Arguments, node: ast.Call, frame: Frame) -> Cause | None:
    """Return why a call gives something else each time, by the catalogue."""
    found = m.volatile(path)
    if found is None:
        return None
    place = frame.module.place(node)
    scope = found.scope
    if found.kind is Kind.CLOCK:
        for value in [*given.args, *given.keywords.values()]:
            form = access.plain(value)
            if isinstance(form, str) and "%" in form:
                scope = access._wider(scope, m.catalog.clock_scope(form))
        # A conversion of a time that was given reads no clock.
        short = path.rsplit(".", 1)[-1]
        if short in ("strftime", "ctime", "asctime", "localtime", "gmtime", "fromtimestamp", "utcfromtimestamp") and len(given.args) >= (2 if short == "strftime" else 1):
            return given.args[-1].cause if short == "strftime" else given.args[0].cause
        if scope is Scope.RELEASE:
            return None
    return Cause(found.kind, scope, frame.module.text(node, 50), found.confidence, place, variant=found.variant)


def _seeded(given: Arguments) -> bool:
    return any(k in given.keywords for k in ("seed", "random_state"))


def unknown_call(m: Machine, callee: Unknown, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return the result of calling something unknown, usually a method of an unknown object."""
    place = frame.module.place(node)
    path = callee.path
    short = path.rsplit(".", 1)[-1]
    owner = callee.cause  # the receiver's cause came along with the attribute
    if owner is not None and owner.kind is Kind.CLOCK:
        return _clock_method(m, callee, short, given, node, frame)
    if short in ("keys", "values", "items", "copy", "strip", "lower", "upper", "title", "lstrip", "rstrip") and "." in path:
        base = callee.name.rsplit(".", 1)[0] if "." in callee.name else callee.name
        return Unknown(place, name=base, path=path, cause=owner, loop=callee.loop)
    found = volatile(m, path, given, node, frame)
    if found is not None and not (found.kind is Kind.RANDOM and owner is None and _seeded_receiver(path)):
        return Unknown(place, name=path, path=f"{path}()", cause=found, text=frame.module.text(node), multiline=False)
    made = engines.made(m, path, given, node, frame)
    if made is not None:
        return made
    if short in ("get", "pop", "setdefault", "getlist") and given.args:
        label = access.plain(given.args[0])
        base = callee.name.rsplit(".", 1)[0] if "." in callee.name else ""
        named = label if isinstance(label, str) else getattr(given.args[0], "name", "")
        return Unknown(place, name=f"{base}.{named}" if base and named else named, path=f"{path}()", cause=owner)
    if short == "join":
        items = given.args[0] if given.args else None
        if items is not None and items.cause is not None:
            return Str((Hole(place, frame.module.text(node), cause=items.cause),))
    if answers(m, path):
        return Unknown(place, name="response", path=f"{path}()")
    if short in ("append", "insert", "extend", "pop", "clear", "remove"):
        m.recorder.mutated(m, callee, short, given, node, frame)
        return Unknown(place, name="", path=f"{path}()")
    derived = worst(owner, given.cause if short not in ("get", "find", "query", "execute", "filter") else None)
    if derived is not None and derived.kind is Kind.UNORDERED:
        derived = owner
    return Unknown(place, name=callee.name or short, path=f"{path}()", cause=derived, text=frame.module.text(node), loop=callee.loop)


def answers(m: Machine, path: str) -> bool:
    """Tell whether a call's result is a model's answer: new text, whatever the arguments were."""
    sink = m.sink(path)
    return sink is not None and sink.returns == "response"


def _seeded_receiver(path: str) -> bool:
    return path.split(".")[0].strip("_").lower() in ("rng", "rand", "generator")


def _clock_method(m: Machine, callee: Unknown, short: str, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    cause = callee.cause
    place = frame.module.place(node)
    if cause is not None and short in _CLOCK_METHODS:
        cause = replace(cause, scope=access._wider(cause.scope, _CLOCK_METHODS[short]))
    elif cause is not None and short in _FORMATTERS and given.args and isinstance(form := access.plain(given.args[0]), str):
        cause = access.clock(m, cause, form)
    return Unknown(place, name=callee.name.rsplit(".", 1)[0], path=f"{callee.path}()", cause=cause, multiline=False)


# ---------------------------------------------------------------------- builtins


def _str(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args:
        return Str(())
    value = given.args[0]
    if isinstance(value, Obj) and value.cls is not None and isinstance(method := value.cls.find("__str__"), FuncV):
        return functions.invoke(m, method, [value], {}, node, frame)
    return Str(text.parts_of(value, frame.module.place(node.args[0]), frame.module.text(node.args[0])))


def _number(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if given.args and isinstance(given.args[0], Const):
        return given.args[0]
    value = given.args[0] if given.args else NONE
    if isinstance(value, Unknown):
        return unknown_like(value, cause=value.cause, multiline=False)
    return Unknown(frame.module.place(node), cause=value.cause, multiline=False)


def _list(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args:
        return ListV([], depth=len(m.guards))
    value = given.args[0]
    if isinstance(value, ListV):
        out = ListV(list(value.items), "list", value.order, len(m.guards))
        out.name, out.owner = value.name, value.owner
        return out
    if isinstance(value, DictV):
        return ListV(access.items(m, value, node.args[0], frame), depth=len(m.guards))
    return value


def _set(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args:
        return ListV([], "set", access.unordered(m, [], node, frame).order, len(m.guards))
    return access.unordered(m, access.items(m, given.args[0], node.args[0], frame) if node.args else [], node, frame)


def _dict(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    out = DictV(len(m.guards), frame.module.place(node))
    for value in given.args:
        access.update(out, value)
    for key, value in given.keywords.items():
        out.entries[key] = Item(value)
    if given.rest is not None:
        out.rest.append(given.rest)
    m.recorder.mapping(m, out, node, frame)
    return out


def _sorted(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    value = given.args[0] if given.args else NONE
    if isinstance(value, ListV):
        out = ListV(list(value.items), "list", None, len(m.guards))
        out.name = value.name
        return out
    if isinstance(value, Unknown):
        cause = value.cause if value.cause is None or value.cause.kind is not Kind.UNORDERED else None
        return unknown_like(value, cause=cause)
    return value


def _same(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    return given.args[0] if given.args else None


def _second(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    return given.args[1] if len(given.args) > 1 else None


def _last(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    return given.args[-1] if given.args else None


def _first_of(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args or not node.args:
        return None
    if isinstance(given.args[0], Unknown) and given.args[0].path == "itertools.cycle()":
        place = frame.module.place(node)
        cause = Cause(Kind.ROUTING, Scope.REQUEST, "itertools.cycle", Confidence.HIGH, place)
        return Unknown(place, name="next", path="next()", cause=cause)
    return access.element(m, given.args[0], node.args[0], frame)


def _map(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    from promptlint.frontends.python import calls

    if len(given.args) < 2 or len(node.args) < 2:
        return None
    known = access.elements(given.args[1])
    func = given.args[0]
    if known is not None and len(known) <= 16:
        return ListV([Item(calls.apply(m, func, calls.Arguments([v]), node, frame)) for v in known], depth=len(m.guards))
    one = access.element(m, given.args[1], node.args[1], frame)
    out = ListV([Item(calls.apply(m, func, calls.Arguments([one]), node, frame), spread=True)], depth=len(m.guards))
    out.order = access.order_of(given.args[1])
    return out


def _enumerate(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args or not node.args:
        return None
    known = access.elements(given.args[0])
    if known is not None and len(known) <= 16:
        first = given.args[1] if len(given.args) > 1 else given.keywords.get("start", Const(0))
        start = first.value if isinstance(first, Const) and isinstance(first.value, int) else 0
        return ListV([Item(ListV([Item(Const(start + i)), Item(v)], "tuple")) for i, v in enumerate(known)])
    one = access.element(m, given.args[0], node.args[0], frame)
    pair = ListV([Item(Unknown(frame.module.place(node), name="index", multiline=False)), Item(one)], "tuple")
    return ListV([Item(pair, spread=True)], order=access.order_of(given.args[0]))


def _zip(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if len(node.args) != len(given.args) or not given.args:
        return None
    known = [access.elements(a) for a in given.args]
    if all(k is not None and len(k) <= 16 for k in known):
        rows = zip(*(k for k in known if k is not None), strict=False)
        return ListV([Item(ListV([Item(v) for v in row], "tuple")) for row in rows])
    row = ListV([Item(access.element(m, a, n, frame)) for a, n in zip(given.args, node.args, strict=True)], "tuple")
    return ListV([Item(row, spread=True)])


def _range(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    numbers = [access.plain(a) for a in given.args]
    if numbers and all(isinstance(n, int) for n in numbers):
        values = range(*numbers)  # type: ignore[arg-type]
        if len(values) <= 8:
            return ListV([Item(Const(n)) for n in values])
    return Unknown(frame.module.place(node), name="range", multiline=False)


def _format(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args:
        return None
    spec = access.plain(given.args[1]) if len(given.args) > 1 else ""
    value = access.formatted(m, given.args[0], spec if isinstance(spec, str) else "")
    return Str(text.parts_of(value, frame.module.place(node), frame.module.text(node)))


def _getattr(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    name = access.plain(given.args[1]) if len(given.args) > 1 else None
    if isinstance(name, str) and name.isidentifier():
        return access.attribute(m, given.args[0], name, node, frame)
    return None


# ---------------------------------------------------------------------- standard library


def _partial(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args:
        return None
    func = given.args[0]
    if isinstance(func, Bound):
        return Bound(func.func, func.receiver, (*func.args, *given.args[1:]), {**func.keywords, **given.keywords})
    return Bound(func, None, tuple(given.args[1:]), dict(given.keywords))


def _dedent(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    value = given.args[0] if given.args else None
    if not isinstance(value, Str):
        return None
    holes = [p for p in value.parts if isinstance(p, Hole) and p.multiline]
    indented = value.literal_length() > 40 and any("\n " in text.text_of(p) for p in text.flat(value.parts))
    if holes and indented:
        place = frame.module.place(node)
        m.recorder.observe(
            Observation(
                "dedent-after-interpolation",
                place,
                holes[0].expression,
                data={"length": str(value.literal_length())},
            ),
            value,
        )
    return text.dedented(value)


def _chain(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    out: list[Item] = []
    for value, arg in zip(given.args, node.args, strict=False):
        out.extend(access.items(m, value, arg, frame))
    return ListV(out, depth=len(m.guards))


def _shuffle(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    value = given.args[0] if given.args else None
    cause = volatile(m, "random.shuffle", given, node, frame)
    if isinstance(value, ListV):
        value.order = cause
    elif isinstance(value, Unknown) and node.args and isinstance(node.args[0], ast.Name):
        frame.names[node.args[0].id] = unknown_like(value, cause=cause)
    return NONE


def _gather(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    # The results stand in the order of the arguments, whichever finishes first.
    return ListV([Item(a) for a in given.args], depth=len(m.guards))


def _dumps(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Serialise: what is known of the value shows as pieces; its order is the value's own."""
    value = given.args[0] if given.args else None
    if value is None:
        return None
    cause = value.cause
    sort = given.get("sort_keys")
    if cause is not None and cause.kind is Kind.UNORDERED and isinstance(value, DictV) and isinstance(sort, Const) and sort.value:
        cause = None
    name = value.name if isinstance(value, (Unknown, ListV)) else ""
    if isinstance(value, (DictV, ListV)) and value.cause is not None and value.cause.kind is not Kind.UNORDERED:
        from promptlint.frontends.python.emit import serialised

        return Str(serialised(value, frame.module.place(node)))
    return Unknown(frame.module.place(node), name=name, path="dumps()", cause=cause, text=frame.module.text(node))


def _copy(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    return functions.fresh(given.args[0]) if given.args else None


def _environ(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    label = access.plain(given.args[0]) if given.args else None
    default = given.args[1] if len(given.args) > 1 else None
    if isinstance(default, Str) and default.literal_length() > 40:
        return default
    name = label if isinstance(label, str) else "environ"
    found = m.volatile(f"os.environ[{name}]")
    place = frame.module.place(node)
    cause = Cause(found.kind, found.scope, f"environment variable {name}", found.confidence, place) if found else None
    return Unknown(place, name="", path="os.environ", cause=cause, text=name)


def _context_var(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    label = access.plain(given.args[0]) if given.args else None
    default = given.get("default")
    obj = Obj(kind="contextvar", name=label if isinstance(label, str) else "")
    if isinstance(default, Str) and default.literal_length() > 40:
        obj.attrs["value"] = default
    return Unknown(frame.module.place(node), name=label if isinstance(label, str) else "", path=str(label or ""))


_HANDLERS: dict[str, Handler] = {
    "builtins.str": _str,
    "builtins.repr": _str,
    "builtins.ascii": _str,
    "builtins.int": _number,
    "builtins.float": _number,
    "builtins.round": _number,
    "builtins.abs": _number,
    "builtins.list": _list,
    "builtins.tuple": _list,
    "builtins.iter": _list,
    "builtins.set": _set,
    "builtins.frozenset": _set,
    "builtins.dict": _dict,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": lambda m, g, n, f: DictV(len(m.guards)),
    "collections.deque": _list,
    "builtins.sorted": _sorted,
    "builtins.min": _number,
    "builtins.max": _number,
    "builtins.reversed": _same,
    "builtins.next": _first_of,
    "builtins.map": _map,
    "builtins.filter": _second,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.range": _range,
    "builtins.format": _format,
    "builtins.getattr": _getattr,
    "functools.partial": _partial,
    "functools.reduce": lambda m, g, n, f: None,
    "textwrap.dedent": _dedent,
    "inspect.cleandoc": _dedent,
    "textwrap.indent": _same,
    "textwrap.fill": _same,
    "html.escape": _same,
    "itertools.chain": _chain,
    "random.shuffle": _shuffle,
    "asyncio.gather": _gather,
    "asyncio.run": _same,
    "asyncio.wait_for": _same,
    "asyncio.create_task": _same,
    "asyncio.shield": _same,
    "asyncio.to_thread": lambda m, g, n, f: None,
    "json.dumps": _dumps,
    "orjson.dumps": _dumps,
    "yaml.dump": lambda m, g, n, f: _sorted(m, g, n, f) if g.args and isinstance(g.args[0], Unknown) else None,
    "yaml.safe_dump": lambda m, g, n, f: _sorted(m, g, n, f) if g.args and isinstance(g.args[0], Unknown) else None,
    "copy.copy": _copy,
    "copy.deepcopy": _copy,
    "typing.cast": _second,
    "os.environ.get": _environ,
    "os.getenv": _environ,
    "contextvars.ContextVar": _context_var,
    "types.MappingProxyType": _same,
    "builtins.staticmethod": _same,
}

__all__ = ["Choice", "Ext", "call", "unknown_call", "volatile"]
