"""Builtins and the standard library, as far as they make collections, order them, or run through them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from promptlint.frontends.python.evaluate import (
    access,
    functions,
    mappings,
    members,
    protocols,
    rounds,
)
from promptlint.frontends.python.evaluate.machine import Frame, Machine, unknown_like
from promptlint.frontends.python.library import ranking
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values import known
from promptlint.frontends.python.values.arguments import Arguments
from promptlint.frontends.python.values.values import (
    NONE,
    Choice,
    Const,
    DictV,
    Ext,
    FuncV,
    Item,
    ListV,
    Unknown,
    Value,
    choice,
)
from promptlint.layout import Cause, Confidence, Guard, Kind, Scope

Handler = Callable[[Machine, Arguments, ast.Call, Frame], Value | None]

_ENDLESS = {"itertools.cycle()": Kind.ROUTING, "itertools.count()": Kind.COUNTER}
MAX_SORTED = 16  # elements whose keys are worth finding out


def listed(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return ``list(…)``: a new list of the same elements."""
    if not given.args:
        return ListV([], depth=len(m.guards))
    value = protocols.iterated(m, given.args[0], node, frame)
    if isinstance(value, ListV):
        out = ListV(list(value.items), "list", value.order, len(m.guards))
        out.name, out.owner = value.name, value.owner
        return out
    if isinstance(value, DictV):
        return ListV(members.items(m, value, node.args[0], frame), depth=len(m.guards))
    return value


def _deque(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return a queue; one with a limit loses its first element with each further one."""
    limit = given.get("maxlen", 1)
    if limit is None or (isinstance(limit, Const) and limit.value is None):
        return listed(m, given, node, frame)
    place, what = frame.module.place(node), frame.module.text(node)
    cause = Cause(Kind.HISTORY_REWRITE, Scope.REQUEST, what, Confidence.HIGH, place, variant="cut")
    return ListV([Item(Unknown(place, name="messages", cause=cause), spread=True)], depth=len(m.guards))


def _set(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args:
        return ListV([], "set", members.unordered(m, [], node, frame).order, len(m.guards))
    value = given.args[0]
    if isinstance(value, ListV):  # a set of a set has the same elements
        return members.unordered(m, list(value.items), node, frame)
    return members.unordered(
        m, members.items(m, value, node.args[0], frame) if node.args else [], node, frame
    )


def _dict(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    out = DictV(len(m.guards), frame.module.place(node))
    for value in given.args:
        mappings.update(out, value)
    for key, value in given.keywords.items():
        out.entries[key] = Item(value)
    if given.rest is not None:
        out.rest.append(given.rest)
    m.recorder.mapping(m, out, node, frame)
    return out


def _defaultdict(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return a mapping whose entries are, each, what its factory makes."""
    out = DictV(len(m.guards), frame.module.place(node))
    factory = given.args[0] if given.args else None
    if isinstance(factory, Ext) and factory.path in ("builtins.set", "builtins.list"):
        make = _set if factory.path == "builtins.set" else listed
        out.rest += filter(None, [make(m, Arguments(), node, frame)])
    elif isinstance(factory, FuncV) and isinstance(
        made := functions.invoke(m, factory, [], {}, node, frame), ListV
    ):
        out.rest.append(made)
    return out


def put_in_order(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return ``sorted(…)``."""
    return _in_order(m, given.args[0], given, node, frame) if given.args else NONE


def _in_order(m: Machine, value: Value, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    if isinstance(value, Choice):
        return choice(value.guard, (_in_order(m, v, given, node, frame) for v in value.values))
    if isinstance(value, DictV):
        value = ListV(members.items(m, value, node, frame), "list", None, len(m.guards))
    if isinstance(value, ListV):
        out = ListV(list(value.items), "list", value.order, len(m.guards))
        out.name = value.name
        arrange(m, out, given, node, frame)
        return out
    return reordered(m, value, given, node, frame)


def arrange(m: Machine, value: ListV, given: Arguments, node: ast.Call, frame: Frame) -> None:
    """Sort a list in place, as far as its elements are known, and say what its order depends on from now on."""
    if _leaves_ties(given.keywords.get("key")):
        return
    value.order = scrambled(m, given, node, frame) or ranking.ranked(m, node, frame)
    items = settled(value.items)
    if value.order is None:
        items = by_key(m, items, given, node, frame) if given.keywords else known.sort(items)
    value.items[:] = items


def reordered(m: Machine, value: Value, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return an unknown collection as it is when sorted by a key, which may be another one each time."""
    if _leaves_ties(given.keywords.get("key")):
        return value
    cause = scrambled(m, given, node, frame) or ranking.ranked(m, node, frame)
    if cause is not None and isinstance(value, Unknown) and value.cause is None:
        return unknown_like(value, cause=cause)
    return in_order(value)


def scrambled(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Cause | None:
    """Return why sorting shuffles: ``key=lambda _: random.random()``."""
    key = given.keywords.get("key")
    if not isinstance(key, FuncV) or not any(isinstance(n, ast.Call) for n in walk(key.node)):
        return None
    drawn = functions.invoke(m, key, [Unknown(None)], {}, node, frame).cause
    if drawn is None or drawn.kind not in (Kind.RANDOM, Kind.IDENTIFIER):
        return None
    place, what = frame.module.place(node), frame.module.text(node, 50)
    return Cause(Kind.RANDOM, drawn.scope, what, drawn.confidence, place, variant="shuffle")


def _leaves_ties(key: Value | None) -> bool:
    """Tell whether a key is the length: elements of equal length stay in the order in which they came."""
    if isinstance(key, FuncV) and isinstance(key.node, ast.Lambda):
        body = key.node.body.operand if isinstance(key.node.body, ast.UnaryOp) else key.node.body
        return isinstance(body, ast.Call) and isinstance(body.func, ast.Name) and body.func.id == "len"
    return isinstance(key, Ext) and key.path == "builtins.len"


def by_key(m: Machine, items: list[Item], given: Arguments, node: ast.Call, frame: Frame) -> list[Item]:
    """Return elements in the order of their keys, ``key=lambda section: section.priority``, where all are known."""
    key, reverse = given.keywords.get("key"), access.plain(given.keywords.get("reverse", Const(False)))
    if not isinstance(key, FuncV) or len(items) > MAX_SORTED or any(i.spread for i in items):
        return items
    keys = [access.plain(functions.invoke(m, key, [i.value], {}, node, frame)) for i in items]
    numbers = [k for k in keys if isinstance(k, int | float)]
    if len(numbers) != len(keys):
        return items
    places = sorted(range(len(items)), key=numbers.__getitem__, reverse=reverse is True)
    return [items[place] for place in places]


def settled(items: Sequence[Item]) -> list[Item]:
    """Return the elements of a list as they are when it is sorted, in whichever order a loop put them there."""
    return [
        Item(in_order(i.value) if i.spread else i.value, tuple(map(_of_data, i.guards)), i.spread)
        for i in items
    ]


def _of_data(guard: Guard) -> Guard:
    disorder = guard.cause is not None and guard.cause.kind is Kind.UNORDERED
    return replace(guard, scope=Scope.UNKNOWN, cause=None, name="") if disorder else guard


def in_order(value: Value) -> Value:
    """Return an unknown collection as it is when sorted."""
    if isinstance(value, Choice):
        return choice(value.guard, map(in_order, value.values))
    if isinstance(value, Unknown):
        cause = value.cause if value.cause is None or value.cause.kind is not Kind.UNORDERED else None
        return unknown_like(value, cause=cause)
    return value


def _reversed(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    value = given.args[0] if given.args else None
    if isinstance(value, ListV):
        out = ListV(value.items[::-1], "list", value.order, len(m.guards))
        out.name, out.owner = value.name, value.owner
        return out
    return value


def _first_of(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args or not node.args:
        return None
    if isinstance(given.args[0], Unknown) and given.args[0].path in _ENDLESS:
        place, path = frame.module.place(node), given.args[0].path
        cause = Cause(_ENDLESS[path], Scope.REQUEST, path.removesuffix("()"), Confidence.HIGH, place)
        return Unknown(place, name="next", path="next()", cause=cause)
    return members.element(m, given.args[0], node.args[0], frame)


def _reduced(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    from promptlint.frontends.python.evaluate import calls

    known = members.elements(given.args[1]) if len(given.args) > 1 else None
    values = [*given.args[2:3], *(known or ())]
    if known is None or not values or len(values) > members.MAX_UNROLL:
        return None
    out: Value = values[0]
    for value in values[1:]:
        out = calls.apply(m, given.args[0], Arguments([out, value]), node, frame)
    return out


def mapped(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    """Return what a function gives for each element of a collection."""
    from promptlint.frontends.python.evaluate import calls

    if len(given.args) < 2 or len(node.args) < 2:
        return None
    func = given.args[0]
    known = rounds.unrolled(m, given.args[1], node.args[1], frame, fills=True)
    if known is not None:
        out = ListV([], depth=len(m.guards))
        for item in known:
            with m.under(*item.guards):
                out.items.append(
                    Item(calls.apply(m, func, Arguments([item.value]), node, frame), item.guards)
                )
        return out
    one = members.element(m, given.args[1], node.args[1], frame)
    out = ListV([Item(calls.apply(m, func, Arguments([one]), node, frame), spread=True)], depth=len(m.guards))
    out.order = members.order_of(given.args[1])
    return out


def _enumerate(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if not given.args or not node.args:
        return None
    known = members.elements(given.args[0])
    if known is not None and len(known) <= 16:
        first = given.args[1] if len(given.args) > 1 else given.keywords.get("start", Const(0))
        start = first.value if isinstance(first, Const) and isinstance(first.value, int) else 0
        return ListV([Item(ListV([Item(Const(start + i)), Item(v)], "tuple")) for i, v in enumerate(known)])
    index = Unknown(frame.module.place(node), name="index", multiline=False)
    if (some := rounds.unrolled(m, given.args[0], node.args[0], frame)) is not None:
        return ListV(
            [Item(ListV([Item(index), Item(item.value)], "tuple"), item.guards) for item in some],
            depth=len(m.guards),
        )
    one = members.element(m, given.args[0], node.args[0], frame)
    pair = ListV([Item(index), Item(one)], "tuple")
    return ListV([Item(pair, spread=True)], order=members.order_of(given.args[0]))


def _zip(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    if len(node.args) != len(given.args) or not given.args:
        return None
    known = [members.elements(a) for a in given.args]
    if all(k is not None and len(k) <= 16 for k in known):
        rows = zip(*(k for k in known if k is not None), strict=False)
        return ListV([Item(ListV([Item(v) for v in row], "tuple")) for row in rows])
    row = ListV(
        [Item(members.element(m, a, n, frame)) for a, n in zip(given.args, node.args, strict=True)], "tuple"
    )
    orders = map(members.order_of, given.args)
    return ListV([Item(row, spread=True)], order=next(filter(None, orders), None))


def _range(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    numbers = [access.plain(a) for a in given.args]
    whole = [n for n in numbers if isinstance(n, int)]
    if whole and len(whole) == len(numbers) and 0 not in whole[2:]:
        values = range(*whole[:3])
        if len(values) <= 8:
            return ListV([Item(Const(n)) for n in values])
    return Unknown(frame.module.place(node), name="range", multiline=False)


def _chain(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    out: list[Item] = []
    for value, arg in zip(given.args, node.args, strict=False):
        out.extend(members.items(m, value, arg, frame))
    return ListV(out, depth=len(m.guards))


def _shuffle(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    value = given.args[0] if given.args else None
    from promptlint.frontends.python.library.library import volatile

    cause = volatile(m, "random.shuffle", given, node, frame)
    if isinstance(value, ListV):
        value.order = cause
    elif isinstance(value, Unknown) and node.args and isinstance(node.args[0], ast.Name):
        frame.names[node.args[0].id] = unknown_like(value, cause=cause)
    return NONE


def _waited(path: str) -> Handler:
    """Return what gives the two sets of what is done and what is not, in the order in which it was."""

    def handler(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
        from promptlint.frontends.python.library.library import volatile

        cause, place = volatile(m, path, given, node, frame), frame.module.place(node)
        return ListV([Item(Unknown(place, name=name, cause=cause)) for name in ("done", "pending")], "tuple")

    return handler


def _gather(m: Machine, given: Arguments, node: ast.Call, frame: Frame) -> Value | None:
    # The results stand in the order of the arguments, whichever finishes first.
    return ListV([Item(a) for a in given.args], depth=len(m.guards))


HANDLERS: dict[str, Handler] = {
    "builtins.list": listed,
    "builtins.tuple": listed,
    "builtins.iter": listed,
    "builtins.set": _set,
    "builtins.frozenset": _set,
    "builtins.dict": _dict,
    "langchain_core.runnables.RunnableParallel": _dict,
    "langchain_core.runnables.RunnablePassthrough.assign": _dict,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": _defaultdict,
    "collections.deque": _deque,
    "builtins.sorted": put_in_order,
    "builtins.reversed": _reversed,
    "builtins.next": _first_of,
    "builtins.map": mapped,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.range": _range,
    "functools.reduce": _reduced,
    "itertools.chain": _chain,
    "random.shuffle": _shuffle,
    "asyncio.gather": _gather,
    "asyncio.wait": _waited("asyncio.wait"),
    "concurrent.futures.wait": _waited("concurrent.futures.wait"),
}
