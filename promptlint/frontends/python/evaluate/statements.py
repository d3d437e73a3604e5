"""Statements: what they leave in the names, and whether they end the block."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from promptlint.frontends.python.evaluate import (
    access,
    deciding,
    decorators,
    hints,
    linking,
    loops,
    mappings,
    members,
    objects,
    protocols,
    storing,
    text,
)
from promptlint.frontends.python.evaluate.conditions import guard_of, truth
from promptlint.frontends.python.evaluate.machine import Frame, Machine, join, unknown_like
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values import known
from promptlint.frontends.python.values.values import (
    NONE,
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
from promptlint.layout import Cause, Confidence, Guard, Kind, Scope

_TAKES = (ast.Sub, ast.BitAnd, ast.BitXor)  # what leaves of a set less than there was


def execute(m: Machine, body: list[ast.stmt], frame: Frame) -> bool:
    """Run a block; return True when it surely ends (return, raise, continue, break)."""
    pushed = 0
    ended = False
    skip = frame.skip
    for statement in body:
        if id(statement) in skip:
            continue
        if m.spend():
            ended = True
            break
        handler = _HANDLERS.get(type(statement))
        if handler is None:
            continue
        result = handler(m, statement, frame)
        if isinstance(result, Guard):
            # One branch left the block: the rest stands under the other.
            m.guards.append(result)
            pushed += 1
        elif result:
            ended = True
            break
    for _ in range(pushed):
        m.guards.pop()
    return ended


def _expr(m: Machine, node: ast.Expr, frame: Frame) -> bool:
    if not isinstance(node.value, ast.Constant):
        m.unused = node.value.value if isinstance(node.value, ast.Await) else node.value
        m.evaluate(node.value, frame)
    return False


def _assign(m: Machine, node: ast.Assign, frame: Frame) -> bool:
    value = m.evaluate(node.value, frame)
    for target in node.targets:
        assign(m, target, value, frame)
    return False


def _annassign(m: Machine, node: ast.AnnAssign, frame: Frame) -> bool:
    if node.value is not None:
        value = m.evaluate(node.value, frame)
        if type(value) is Unknown:
            value = hints.noted(value, node.annotation, frame.module, frame.outer)
        elif isinstance(value, DictV) and not (value.entries or value.rest):
            name = getattr(node.target, "attr", getattr(node.target, "id", ""))
            value.rest = hints.stored(node.annotation, name, frame.module.place(node.target))
        assign(m, node.target, value, frame)
    return False


def _augassign(m: Machine, node: ast.AugAssign, frame: Frame) -> bool:
    right = m.evaluate(node.value, frame)
    target = node.target
    left = m.evaluate(target, frame)
    place = frame.module.place(node.value)
    value: Value
    if (made := protocols.operated(m, node, left, right, frame)) is not None:
        value = made
    elif isinstance(node.op, ast.Add) and (isinstance(left, Str) or isinstance(right, Str)):
        more = text.parts_of(right, place, frame.module.text(node.value))
        grown = left if isinstance(left, Str) else Str(text.parts_of(left, place, ""))
        value = grown.plus(more)
    elif isinstance(left, ListV) and isinstance(node.op, (ast.Add, ast.BitOr)):
        guards = m.since(left.depth)
        m.scramble(left)
        room = max(0, members.MAX_ITEMS - len(left.items))
        for item in members.items(m, right, node.value, frame)[:room]:
            left.items.append(Item(item.value, guards + item.guards, item.spread))
        return False
    elif isinstance(left, ListV) and left.kind == "set" and isinstance(node.op, _TAKES):
        left.items[:] = members.some_of(left.items)
        return False
    elif isinstance(left, DictV) and isinstance(node.op, ast.BitOr):
        mappings.update(left, right)
        return False
    elif isinstance(left, Const) and isinstance(right, Const) and _is_shared(target, frame):
        shown = frame.module.text(target)
        cause = Cause(Kind.COUNTER, Scope.REQUEST, shown, Confidence.HIGH, place)
        value = Unknown(place, name=shown, path=shown, cause=cause, multiline=False)
    elif isinstance(left, Const) and isinstance(right, Const) and not m.loops:
        value = known.arithmetic(node.op, left, right)
    else:
        value = loops.added_up(m, node, left, right, frame)
    assign(m, target, value, frame)
    return False


def _is_shared(target: ast.expr, frame: Frame) -> bool:
    """Tell whether a number that a function counts up is the module's: ``STATE["turn"] += 1``, ``Agent.made += 1``."""
    root = target
    while isinstance(root, ast.Subscript | ast.Attribute):
        root = root.value
    local = isinstance(root, ast.Name) and root.id in frame.names
    return frame.func is not None and root is not target and isinstance(root, ast.Name) and not local


def assign(m: Machine, target: ast.expr, value: Value, frame: Frame) -> None:
    """Assign a value to a name, attribute, subscript or pattern of those."""
    if isinstance(target, ast.Name):
        if frame.once:
            value = access.frozen(
                value, Scope.PROCESS, frame.module.place(target), f"kept in {target.id} at import"
            )
        if isinstance(value, Unknown) and (not value.name or _is_nameless_result(m, value)):
            value = unknown_like(value, cause=value.cause, name=target.id)
        elif isinstance(value, ListV) and not value.name:
            value.name = target.id
            if (
                value.order is not None and value.order.what == "set()"
            ):  # which shows nothing of what is in it
                value.order = replace(value.order, what=target.id)
        if target.id in frame.exports:
            linking.assign_outside(m, frame.module, target.id, value)
            if isinstance(value, Obj):
                value.kept = Scope.PROCESS
        else:
            frame.names[target.id] = value
        m.recorder.named(m, target.id, value, target, frame)
    elif isinstance(target, ast.Attribute):
        storing.set_attribute(m, target, value, frame)
    elif isinstance(target, ast.Subscript):
        storing.set_item(m, target, value, frame)
    elif isinstance(target, (ast.Tuple, ast.List)):
        value = protocols.iterated(m, value, target, frame)
        found = members.apart(value)
        spread = _spread(found, target.elts) if found is not None else None
        for index, element in enumerate(target.elts):
            inner: Value
            if spread is not None:
                inner = spread[index]
            else:
                inner = members.element(m, value, element, frame)
                if isinstance(inner, Unknown) and isinstance(element, ast.Name):
                    inner = unknown_like(inner, cause=inner.cause, name=element.id)
            assign(m, element.value if isinstance(element, ast.Starred) else element, inner, frame)


def _is_nameless_result(m: Machine, value: Unknown) -> bool:
    """Tell whether a value has but the name of the call that gave it, and that says nothing: ``person = json.load(f)``."""
    called = value.path.removesuffix("()")
    of_call = called != value.path and called.endswith(
        value.name
    )  # and not of what it was asked for: d.get("notes")
    return of_call and value.cause is None and not m.tells(value.name)


def _spread(values: list[Value], targets: list[ast.expr]) -> list[Value] | None:
    """Return one value for each target, a starred one getting a list; None where the numbers differ."""
    star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    if star is None:
        return values if len(values) == len(targets) else None
    behind = len(targets) - star - 1
    if len(values) < star + behind:
        return None
    stop = len(values) - behind
    return [*values[:star], ListV([Item(v) for v in values[star:stop]]), *values[stop:]]


def _merge(
    m: Machine, guard: Guard, before: dict[str, Value], paths: list[dict[str, Value] | None]
) -> dict[str, Value]:
    """Join the names of several paths; None marks a path that left the block."""
    alive = [p for p in paths if p is not None]
    if not alive:
        return paths[0] or before
    if len(alive) == 1:
        return alive[0]
    first, *others = alive
    out: dict[str, Value] = {}
    for name, value in first.items():
        for other in others:
            if other.get(name) is not value:
                out[name] = join(guard, before.get(name), [p.get(name) for p in alive])
                break
        else:
            out[name] = value
    for other in others:
        for name in other:
            if name not in out:
                out[name] = join(guard, before.get(name), [p.get(name) for p in alive])
    return out


def _if(m: Machine, node: ast.If, frame: Frame) -> bool | Guard:
    test = m.evaluate(node.test, frame)
    certain = truth(test)
    if certain is not None and not frame.frozen:
        return execute(m, node.body if certain else node.orelse, frame)
    if _type_checking(node.test):
        execute(m, node.body, frame)
        return False
    guard = guard_of(m, node.test, test, frame)
    before = dict(frame.names)
    with m.under(guard):
        ended = execute(m, node.body, frame)
    first, second, ended_else = frame.names, before, False
    other = Guard(guard.kind, guard.expression, guard.place, 1, guard.scope, guard.cause, guard.name)
    if node.orelse:
        frame.names = dict(before)
        with m.under(other):
            ended_else = execute(m, node.orelse, frame)
        second = frame.names
    merged = _merge(m, guard, before, [None if ended else first, None if ended_else else second])
    _keep(frame, merged)
    if ended and ended_else:
        return True
    # Where one side raises there is no request: what follows is in all that there are.
    if ended:
        return False if isinstance(node.body[-1], ast.Raise) else other
    return guard if ended_else and not isinstance(node.orelse[-1], ast.Raise) else False


def _keep(frame: Frame, names: dict[str, Value]) -> None:
    """Take joined names over; the dictionary of a module or class is shared and keeps its identity."""
    if frame.home is None:
        frame.names = names
    else:
        if names is not frame.home:
            kept = dict(names)
            frame.home.clear()
            frame.home.update(kept)
        frame.names = frame.home


def _type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _with(m: Machine, node: ast.With | ast.AsyncWith, frame: Frame) -> bool | Guard:
    opened = []
    for item in node.items:
        manager = m.evaluate(item.context_expr, frame)
        given = protocols.special(m, manager, ("__enter__",), [], item.context_expr, frame)
        if item.optional_vars is not None:
            assign(m, item.optional_vars, manager if given is None else given, frame)
        opened.append((manager, item.context_expr))
    ended = execute(m, node.body, frame)
    for manager, written in reversed(opened):
        protocols.special(m, manager, ("__exit__",), [NONE, NONE, NONE], written, frame)
    return ended


def _try(m: Machine, node: ast.Try, frame: Frame) -> bool:
    before = dict(frame.names)
    ended = execute(m, node.body, frame)
    if not ended:
        ended = execute(m, node.orelse, frame)
    after = frame.names
    for handler in node.handlers:
        # What a handler assigns matters only where the body assigned nothing.
        if frame.frozen:
            frame.names = dict(before)
            execute(m, handler.body, frame)
            for name, value in frame.names.items():
                after.setdefault(name, value)
        else:
            guard = Guard("try", "except", frame.module.place(handler), 1)
            frame.names = dict(before)
            with m.under(guard):
                left = execute(m, handler.body, frame)
            if not left:
                for name, value in frame.names.items():
                    if name not in after or (ended and after[name] is before.get(name)):
                        after[name] = value
                ended = False
    _keep(frame, after)
    execute(m, node.finalbody, frame)
    return ended


def _match(m: Machine, node: ast.Match, frame: Frame) -> bool:
    subject = m.evaluate(node.subject, frame)
    before = dict(frame.names)
    paths: list[dict[str, Value] | None] = []
    guard = guard_of(m, node.subject, subject, frame, kind="match")
    for index, case in enumerate(node.cases):
        frame.names = dict(before)
        for child in walk(case.pattern):
            captured = (
                getattr(child, "name", None) if isinstance(child, (ast.MatchAs, ast.MatchStar)) else None
            )
            if captured:
                frame.names[captured] = Unknown(
                    frame.module.place(child), name=captured, path=captured, cause=subject.cause
                )
        branch = Guard(guard.kind, guard.expression, guard.place, index, guard.scope, guard.cause, guard.name)
        with m.under(branch):
            ended = execute(m, case.body, frame)
        paths.append(None if ended else frame.names)
    _keep(frame, _merge(m, guard, before, [*paths, before]))
    return False


def _return(m: Machine, node: ast.Return, frame: Frame) -> bool:
    value = m.evaluate(node.value, frame) if node.value is not None else NONE
    frame.returns.append((m.since(frame.depth), value))
    m.recorder.returned(m, value, node, frame)
    return _leave(m, node, frame)


def _leave(m: Machine, node: ast.stmt, frame: Frame) -> bool:
    frame.left = node, len(m.guards)
    return True


def _function(m: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> bool:
    closure = access.enclosing(frame) if frame.func is not None else None
    func = FuncV(node, frame.module, closure, frame.cls)
    func.decorators = tuple(decorator_name(d) for d in node.decorator_list)
    decorators.decorate(m, func, frame)
    sets = next((d for d in func.decorators if d in (f"{node.name}.setter", f"{node.name}.deleter")), None)
    frame.names[sets or node.name] = func  # a property that can be set keeps its name
    return False


def decorator_name(node: ast.expr) -> str:
    """Return a decorator's dotted name without its arguments."""
    if isinstance(node, ast.Call):
        node = node.func
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError):
        return ""


def _class(m: Machine, node: ast.ClassDef, frame: Frame) -> bool:
    frame.names[node.name] = cls = objects.define_class(m, node, frame)
    deciding.number(cls)
    m.recorder.class_defined(m, cls, frame)
    return False


def _import(m: Machine, node: ast.Import, frame: Frame) -> bool:
    for alias in node.names:
        if alias.asname:
            frame.names[alias.asname] = _bound(m, linking.Deferred(frame.module, alias.name, "", 0), frame)
        else:
            root = alias.name.split(".")[0]
            frame.names[root] = _bound(m, linking.Deferred(frame.module, root, "", 0), frame)
    return False


def _import_from(m: Machine, node: ast.ImportFrom, frame: Frame) -> bool:
    for alias in node.names:
        if alias.name == "*":
            frame.module.stars.append("." * node.level + (node.module or ""))
        else:
            deferred = linking.Deferred(frame.module, node.module or "", alias.name, node.level)
            frame.names[alias.asname or alias.name] = _bound(m, deferred, frame)
    return False


def _bound(m: Machine, deferred: linking.Deferred, frame: Frame) -> Value:
    """Keep module-level imports for later; inside a function the import is used anyway."""
    return deferred if frame.frozen and frame.cls is None else linking.follow(m, deferred)


def _global(m: Machine, node: ast.Global, frame: Frame) -> bool:
    frame.exports.update(node.names)
    return False


def _delete(m: Machine, node: ast.Delete, frame: Frame) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.names.pop(target.id, None)
        elif isinstance(target, ast.Subscript):
            owner = m.evaluate(target.value, frame)
            m.recorder.deleted(m, owner, target, frame)
            if isinstance(owner, DictV) and not isinstance(target.slice, ast.Slice):
                owner.entries.pop(access.plain(m.evaluate(target.slice, frame)), None)
            elif isinstance(owner, ListV):
                index = access.plain(m.evaluate(target.slice, frame))
                if not m.since(owner.depth) and not m.loops:
                    known.remove(owner, index)
    return False


_HANDLERS: dict[type[ast.stmt], Callable[..., bool | Guard]] = {
    ast.Expr: _expr,
    ast.Assign: _assign,
    ast.AnnAssign: _annassign,
    ast.AugAssign: _augassign,
    ast.If: _if,
    ast.For: loops.run_for,
    ast.AsyncFor: loops.run_for,
    ast.While: loops.run_while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
    ast.Return: _return,
    ast.Raise: _leave,
    ast.Continue: _leave,
    ast.Break: _leave,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Global: _global,
    ast.Delete: _delete,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = _try
