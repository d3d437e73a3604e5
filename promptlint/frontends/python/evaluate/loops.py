"""Loops: run element by element where the elements are known, else once for an element that stands for all."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import replace

from promptlint.frontends.python.evaluate import members, protocols, rounds
from promptlint.frontends.python.evaluate.conditions import guard_of, name_in
from promptlint.frontends.python.evaluate.machine import Frame, Machine, join, repeat_parts, unknown_like
from promptlint.frontends.python.evaluate.scrambling import scramble
from promptlint.frontends.python.library import collecting
from promptlint.frontends.python.syntax.nodes import GROWING, children, remembered, walk
from promptlint.frontends.python.values.forms import is_history
from promptlint.frontends.python.values.naming import HISTORY, RETRIES, SENT_AS, is_over_turns, talks
from promptlint.frontends.python.values.pieces import Hole
from promptlint.frontends.python.values.values import Const, DictV, Item, ListV, Str, Unknown, Value, moment
from promptlint.layout import DATA, Cause, Confidence, Guard, Kind, Scope

MAX_UNROLLED = 12  # statements of a body that is run for each element
MAX_AGAIN = 2  # loops within one another that are run for a second round


def run_for(m: Machine, node: ast.For | ast.AsyncFor, frame: Frame) -> bool:
    """Run a ``for`` loop."""
    iterable = protocols.iterated(m, m.evaluate(node.iter, frame), node.iter, frame)
    if walks_in_order := _walks_in_order(node):
        iterable = collecting.in_order(iterable)
    steps = _asks_in_steps(node)
    known = None if steps else rounds.unrolled(m, iterable, node.iter, frame, fills=_fills(node))
    if known is not None and len(node.body) <= MAX_UNROLLED and not _edits(node):
        return _unrolled(m, node, known, frame)
    order = members.order_of(iterable)
    guard = Guard(
        "for",
        frame.module.text(node.iter),
        frame.module.place(node.iter),
        scope=order.scope if order else Scope.UNKNOWN,
        cause=order,
        name="messages" if is_history(iterable) else "" if walks_in_order else name_in(node.iter),
    )
    loop = next(m.fresh)
    written = f"{frame.module.text(node.target)} in {guard.expression}"
    if is_over_turns(written) or (_counts(node.iter) and not RETRIES.search(written)):
        m.turns.add(loop)
    element = members.element(m, iterable, node.iter, frame)
    if _counts(node.iter):
        element = _counted(node, element, loop, frame)

    def start() -> None:
        _assign(m, node.target, element, frame)
        if order is not None:
            scramble(m, node, frame)

    _body(m, guard, loop, node.body, frame, start, order)
    m.execute(node.orelse, frame)
    return False


def run_while(m: Machine, node: ast.While, frame: Frame) -> bool:
    """Run a ``while`` loop."""
    test = m.evaluate(node.test, frame)
    guard = guard_of(m, node.test, test, frame, kind="while")
    loop = next(m.fresh)
    if not RETRIES.search(guard.expression):
        m.turns.add(loop)
    _body(m, guard, loop, node.body, frame, lambda: None, None)
    return False


def _unrolled(m: Machine, node: ast.For | ast.AsyncFor, known: list[Item], frame: Frame) -> bool:
    """Run a body for each of a few elements, up to a ``break`` or ``return`` that is surely reached."""
    depth = len(m.guards)
    for item in known:
        before = dict(frame.names) if item.guards else {}
        m.guards.extend(item.guards)
        _assign(m, node.target, item.value, frame)
        frame.left = None
        ended = m.execute(node.body, frame)
        left = frame.left
        del m.guards[depth:]
        for guard in reversed(item.guards):
            _only_where(guard, before, frame)
        if ended and left is not None and left[1] == depth and not isinstance(left[0], ast.Continue):
            return not isinstance(left[0], ast.Break)
    m.execute(node.orelse, frame)
    return False


def _only_where(guard: Guard, before: dict[str, Value], frame: Frame) -> None:
    """Join what a round that is there under a condition, or many times, has left with what was there before."""
    for name, value in list(frame.names.items()):
        old = before.get(name)
        if old is None or old is value:
            continue
        if guard.kind in ("for", "while") and isinstance(old, Str) and isinstance(value, Str):
            frame.names[name] = Str(repeat_parts(guard, old.parts, value.parts))
        else:
            ways = [old] * guard.branch + [value] + ([] if guard.branch else [old])
            frame.names[name] = join(guard, old, [*ways])


@remembered
def _asks_in_steps(node: ast.For | ast.AsyncFor) -> bool:
    """Tell whether a loop counts the requests that it sends: ``for step in range(8)``, of which any may be the last."""
    counted = isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", "") == "range"
    return counted and any(isinstance(n, ast.Call) and _sends_turns(n) for n in walk(*node.body))


def _sends_turns(call: ast.Call) -> bool:
    return any(keyword.arg in SENT_AS for keyword in call.keywords) or talks(call)


@remembered
def _fills(node: ast.For | ast.AsyncFor) -> bool:
    """Tell whether a loop puts its elements into a text: ``text = text.replace("{" + key + "}", value)``."""
    return any(isinstance(n, ast.Attribute) and n.attr == "replace" for s in node.body for n in walk(s))


def _edits(node: ast.For | ast.AsyncFor) -> bool:
    """Tell whether a loop changes the elements it runs over: then one element stands for all."""
    name = getattr(node.target, "id", "")
    return any(
        isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Store)
        and isinstance(n.value, ast.Name)
        and n.value.id == name
        for s in node.body
        for n in walk(s)
    )


def _assign(m: Machine, target: ast.expr, value: Value, frame: Frame) -> None:
    from promptlint.frontends.python.evaluate.statements import assign

    assign(m, target, value, frame)


def _counts(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("range", "enumerate", "count")
    )


def _counted(node: ast.For | ast.AsyncFor, element: Value, loop: int, frame: Frame) -> Value:
    """Return the loop variable of ``range`` or ``enumerate``: a counter of this loop."""
    target = node.target
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    name = getattr(first, "id", "")
    counter = Unknown(frame.module.place(first), name=name, path=name, loop=loop, multiline=False)
    if isinstance(target, ast.Tuple):
        inner = element
        if isinstance(element, ListV) and len(element.items) == 2:
            inner = element.items[1].value
        return ListV([Item(counter), Item(inner)])
    return counter


def _body(
    m: Machine,
    guard: Guard,
    loop: int,
    body: list[ast.stmt],
    frame: Frame,
    start: Callable[[], None],
    order: Cause | None,
) -> None:
    """Run a loop's body once and join what it did with the state before it."""
    before = dict(frame.names)
    m.loops.append(loop)
    depth = len(m.guards)
    if order is not None:
        m.orders.append((moment(), order))
    try:
        with m.under(guard):
            forgotten = _forget(frame, body, loop)
            start()
            empty = _empty(frame)
            ended = m.execute(body, frame)
            another = not ended and len(m.loops) <= MAX_AGAIN
            grown = _grown(frame, empty) if another else ()
            again = [name for name in grown if _used_before_it_grows(body, name)]
            moved = [n for n in forgotten if another and n not in again and _moves(frame.names.get(n))]
            for name in again:
                what = Cause(Kind.REQUEST_INPUT, Scope.REQUEST, name, Confidence.MEDIUM)
                frame.names[name] = _of_last_round(frame.names[name], what)
            if again or any(
                _used_before_it_grows(body, name) for name in moved
            ):  # the next round, with what this one has left
                m.execute(body, frame)
    finally:
        m.loops.pop()
        del m.guards[depth:]
        if order is not None:
            m.orders.pop()
    for name, value in list(frame.names.items()):
        old = before.get(name)
        if old is None or old is value:
            continue
        if isinstance(old, Str) and isinstance(value, Str):
            frame.names[name] = Str(repeat_parts(guard, old.parts, value.parts))
        elif not (isinstance(value, Unknown) and value.loop):
            frame.names[name] = join(guard, old, [value, old])


def added_up(m: Machine, node: ast.AugAssign, left: Value, right: Value, frame: Frame) -> Unknown:
    """Return a number that something was added to: a counter of its loop; of each turn, more with every request."""
    place, target = frame.module.place(node), node.target
    name = getattr(target, "id", getattr(target, "attr", ""))
    cause = left.cause
    if cause is None and any(g.kind == "for" and HISTORY.search(g.name) for g in m.guards[-1:]):
        cause = Cause(Kind.COUNTER, Scope.REQUEST, name, Confidence.MEDIUM, place)
    loop = m.loops[-1] if m.loops and isinstance(right, Const) else 0
    return Unknown(place, name=name, path=name, cause=cause, loop=loop, multiline=False)


def _empty(frame: Frame) -> frozenset[str]:
    """Return the names of texts and collections with nothing in them; a conversation goes on by rules of its own."""
    return frozenset(
        name for name, value in frame.names.items() if _is_empty(value) and not HISTORY.search(name)
    )


def _is_empty(value: Value) -> bool:
    if isinstance(value, ListV):
        return not value.items
    if isinstance(value, DictV):
        return not (value.entries or value.rest)
    return isinstance(value, Str) and not value.parts


def _grown(frame: Frame, names: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in names if name in frame.names and not _is_empty(frame.names[name]))


def _of_last_round(value: Value, cause: Cause) -> Value:
    """Return what a loop has added, with the reason why there is more of it in each round."""
    if isinstance(value, Unknown) and value.cause is None:
        return unknown_like(value, cause=cause)
    if isinstance(value, Str):
        told = (
            replace(p, cause=cause) if isinstance(p, Hole) and p.cause is None else p for p in value.parts
        )
        return Str(tuple(told))
    if isinstance(value, ListV):
        for item in value.items:
            item.value = _of_last_round(item.value, cause)
    elif isinstance(value, DictV):
        for item in value.entries.values():
            item.value = _of_last_round(item.value, cause)
        value.rest = [_of_last_round(one, cause) for one in value.rest]
    return value


def _used_before_it_grows(body: list[ast.stmt], name: str) -> bool:
    """Tell whether a loop makes something of a name in front of what it adds to it; how much there is does not count."""
    inside = walk(*body)
    measured = [n.test for n in inside if isinstance(n, ast.If | ast.While | ast.IfExp)]
    measured += [n for n in inside if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "len"]
    receivers = [n.value for n in inside if isinstance(n, ast.Attribute) and n.attr in GROWING]
    receivers += [n.value for n in inside if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)]
    apart = {id(n) for n in (*walk(*measured), *receivers)}
    own = [n for n in inside if isinstance(n, ast.Name) and n.id == name]
    used = [n.lineno for n in own if isinstance(n.ctx, ast.Load) and id(n) not in apart]
    grows = [n.lineno for n in own if isinstance(n.ctx, ast.Store)]
    grows += [n.lineno for n in receivers if isinstance(n, ast.Name) and n.id == name]
    return bool(used and grows) and min(used) < min(grows)


def _moves(value: Value | None) -> bool:
    """Tell whether a loop leaves something else in a name each time: ``used = reply.usage.total_tokens``."""
    cause = value.cause if value is not None else None
    return cause is not None and cause.kind not in DATA and cause.scope is Scope.REQUEST


def _forget(frame: Frame, body: list[ast.stmt], loop: int) -> list[str]:
    """Take numbers, flags and texts that are empty at first for unknown: they differ from one turn to the next.

    What is counted up is a counter of the loop, wherever in the body that is done. Return the names of the others.
    """
    forgotten: list[str] = []
    for node in _statements(body):
        target = (
            node.target
            if isinstance(node, ast.AugAssign)
            else node.targets[0]
            if isinstance(node, ast.Assign)
            else None
        )
        old = frame.names.get(target.id) if isinstance(target, ast.Name) else None
        if not isinstance(target, ast.Name):
            continue
        if (
            isinstance(old, Str)
            and not old.parts
            and isinstance(node, ast.Assign)
            and _replaces(node, target.id)
        ):
            frame.names[target.id] = Unknown(frame.module.place(target), name=target.id, path=target.id)
            forgotten.append(target.id)
        elif isinstance(old, Const) or (
            isinstance(old, Unknown) and not old.loop and _steps(node, target.id)
        ):
            counts = isinstance(node, ast.AugAssign) or _counts_up(node, target.id)
            frame.names[target.id] = Unknown(
                frame.module.place(target),
                name=target.id,
                path=target.id,
                loop=loop if counts else 0,
                multiline=False,
            )
            if not counts:
                forgotten.append(target.id)
    return forgotten


def _replaces(node: ast.Assign, name: str) -> bool:
    """Tell whether a statement sets a name to something that the name itself is no part of, and no constant."""
    return not isinstance(node.value, ast.Constant) and all(
        not isinstance(n, ast.Name) or n.id != name for n in walk(node.value)
    )


def _counts_up(node: ast.AST, name: str) -> bool:
    """Tell whether a statement is ``n = n + 1``."""
    value = getattr(node, "value", None)
    return isinstance(value, ast.BinOp) and any(
        isinstance(side, ast.Name) and side.id == name for side in (value.left, value.right)
    )


def _steps(node: ast.AST, name: str) -> bool:
    """Tell whether a statement is ``left -= 1``, of a number that nothing else is known of."""
    value = node.value if isinstance(node, ast.AugAssign) else None
    if value is None and _counts_up(node, name):
        value = node.value.right  # type: ignore[attr-defined]
    return isinstance(value, ast.Constant) and isinstance(value.value, int)


def _statements(body: Iterable[ast.stmt]) -> Iterable[ast.AST]:
    """Walk statements, nested functions and classes left out."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            continue
        yield node
        todo.extend(children(node))


def _walks_in_order(node: ast.For | ast.AsyncFor) -> bool:
    """Tell whether a loop over ``os.walk`` sorts both the directories, in place, and the files."""
    target = node.target
    if not isinstance(target, ast.Tuple) or len(target.elts) != 3 or not isinstance(node.iter, ast.Call):
        return False
    if not ast.unparse(node.iter.func).endswith("walk"):
        return False
    body = "\n".join(map(ast.unparse, node.body))
    _, dirs, names = map(ast.unparse, target.elts)
    in_place = (f"{dirs}.sort(", f"{dirs}[:] = sorted(")
    return any(way in body for way in in_place) and any(
        way in body for way in (f"sorted({names}", f"{names}.sort(")
    )
