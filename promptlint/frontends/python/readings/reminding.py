"""What only the newest turn of a copy is sent with: the next request has it without, and something behind it.

::

    outgoing = [dict(m) for m in messages]
    for m in reversed(outgoing):                  the user's last turn, looked for from the end
        if m["role"] == "user":
            m["content"] += REMINDER
            break

    at = last_question(outgoing)                  … or found by a function, by next(), by max()
    outgoing[at] = {**outgoing[at], "content": …}

A turn that is changed in the conversation itself stays as it was sent; so does one of a copy that is kept instead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from promptlint.frontends.python.readings.shapes import (
    added_to,
    is_negative,
    keyed_name,
    last_name,
    names_of,
    order,
    parts_of,
)
from promptlint.frontends.python.readings.turnlists import Body, Loop, Seen, list_name
from promptlint.frontends.python.readings.wrapping import SAVES
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.naming import called_name

# How deep a copy is: the list alone, its turns, or all that is in them.
_LIST, _TURNS, _WHOLE = 0, 1, 2
_OTHERS = frozenset({"system", "developer", "assistant", "ai", "model"})
_ASKED = frozenset({"user", "human", "tool"})
_ADDS = frozenset({"append", "extend", "insert"})


@dataclass(slots=True)
class _Newest:
    """The names of a function for the newest turn of its kind: for its place, or for the turn in a copy.

    ``inside`` are those of loops, with the statements where they are that.
    """

    places: set[str] = field(default_factory=set)
    turns: dict[str, str] = field(default_factory=dict)  # to the copies that they are of
    inside: list[tuple[frozenset[str], str, frozenset[int]]] = field(default_factory=list)


def reminding(bodies: list[Body], by_name: Mapping[str, Body]) -> Seen:
    """Yield the changes of the newest turn in copies of conversations that are sent, and not kept."""
    kept: frozenset[str] | None = None  # until something is found
    for body in bodies:
        if not (copies := _copies(body)):
            continue
        knowing = replace(body, lists=body.lists | copies.keys())
        newest = _found(knowing, copies, by_name)
        for what, node in _changed(body, copies, newest):
            kept = frozenset(_kept_results(bodies)) if kept is None else kept
            if body.function.name not in kept:
                yield what, node


# ---------------------------------------------------------------------- copies


def _copies(body: Body) -> dict[str, int]:
    """Return the lists of a function that are copies of turns, with how deep they are."""
    if not (body.lists or body.of(ast.Attribute)):
        return {}
    out: dict[str, int] = {}
    empty: set[str] = set()
    for node in body.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Name):
            continue
        if isinstance(node.value, ast.List) and not node.value.elts:
            empty.add(target.id)
        elif (depth := _depth(node.value, body)) is not None:
            out[target.id] = depth
    for loop, inside in body.loops if empty else ():
        if isinstance(loop, ast.While) or not _holds(order(loop.iter).whole, body):
            continue
        for to, value in added_to(inside):
            if (
                isinstance(to, ast.Name)
                and to.id in empty
                and not names_of(loop.target).isdisjoint(names_of(value))
            ):
                out[to.id] = _LIST if last_name(value) in names_of(loop.target) else _TURNS
    stored = set(_stored(body)) if out else set()
    return {name: depth for name, depth in out.items() if name not in stored}


def _depth(node: ast.expr, body: Body) -> int | None:
    """Return how deep a copy of turns an expression is; None for anything else."""
    if isinstance(node, ast.ListComp):
        one = node.generators[0]
        if not _holds(order(one.iter).whole, body) or names_of(one.target).isdisjoint(names_of(node.elt)):
            return None
        if last_name(node.elt) in names_of(one.target):
            return _LIST
        written = ast.unparse(node.elt)
        return _WHOLE if "deepcopy(" in written or "deep=True" in written else _TURNS
    if isinstance(node, ast.Call):
        name = called_name(node)
        of = node.args[0] if node.args else getattr(node.func, "value", None)
        if name in ("deepcopy", "copy", "list") and of is not None and _holds(of, body):
            return _WHOLE if name == "deepcopy" else _LIST
        return None
    if isinstance(node, ast.Subscript):
        at = node.slice
        whole = isinstance(at, ast.Slice) and not (at.lower or at.upper or at.step)
        return _LIST if whole and _holds(node.value, body) else None
    if isinstance(node, ast.List) and any(_holds(part, body) for part in parts_of(node)):
        return _LIST
    return None


def _holds(node: ast.expr, body: Body) -> bool:
    return body.holds_turns(node) or (isinstance(node, ast.Call) and list_name(node) in body.lists)


def _stored(body: Body) -> Iterator[str]:
    """Yield the names that a function puts in the place of a conversation, or hands to who keeps it."""
    for node in body.of(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Attribute | ast.Subscript) and isinstance(node.value, ast.Name):
            yield node.value.id
    for call in body.of(ast.Call):
        if SAVES.search(called_name(call)) and not (
            isinstance(call.func, ast.Attribute) and call.func.attr in _ADDS
        ):
            yield from (one.id for one in call.args if isinstance(one, ast.Name))


def _kept_results(bodies: list[Body]) -> Iterator[str]:
    """Yield the functions whose result takes the place of what they were given: ``self.turns = dressed(self.turns)``."""
    for body in bodies:
        for node in body.of(ast.Assign):
            value = node.value.value if isinstance(node.value, ast.Await) else node.value
            target = node.targets[0]
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
                target = target.value
            if not isinstance(value, ast.Call):
                continue
            same = any(ast.unparse(one) == ast.unparse(target) for one in value.args)
            goes_on = not isinstance(target, ast.Name) or any(node in inside for _, inside in body.loops)
            if same and goes_on:
                yield called_name(value)


# ---------------------------------------------------------------------- the newest


def _found(body: Body, copies: Mapping[str, int], by_name: Mapping[str, Body]) -> _Newest:
    """Find what names the newest turn in a function."""
    out = _Newest()
    for loop, inside in body.loops:
        if isinstance(loop, ast.While) or not _holds(order(loop.iter).whole, body):
            continue
        if _is_of_others(_tests(inside), by_name):
            continue
        how = order(loop.iter)
        names = names_of(loop.target)
        whole = last_name(how.whole) or ""
        if how.backwards:
            for block in _last_rounds(loop):
                nodes = walk(*block)
                if whole in copies:
                    out.inside.append((names, whole, frozenset(map(id, nodes))))
                for name, value in _names_set(nodes):
                    if value in names:
                        out.places.add(name)
                        out.turns[name] = whole
        elif not any(isinstance(node, ast.Break | ast.Return) for node in inside):
            under = walk(*(s for node in inside if isinstance(node, ast.If) for s in node.body))
            for name, value in _names_set(under):
                if value in names:
                    out.places.add(name)
                    out.turns[name] = whole
    filtered: dict[str, ast.expr] = {}  # lists of some of the turns, or of their places
    for node in body.of(ast.Assign):  # in the order of the text
        target = node.targets[0]
        if not isinstance(target, ast.Name):
            continue
        made = node.value
        if isinstance(made, ast.ListComp) and made.generators[0].ifs:
            filtered[target.id] = made
        elif (of := _picks_newest(made, filtered, body, by_name)) is not None:
            out.places.add(target.id)
            out.turns[target.id] = of
        elif isinstance(made, ast.Subscript) and last_name(made.slice) in out.places:
            out.turns[target.id] = last_name(made.value) or ""
    return out


def _names_set(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the names that are set to another name, and that."""
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            target = node.targets[0]
            if isinstance(target, ast.Name):
                yield target.id, node.value.id


def _last_rounds(loop: Loop) -> Iterator[list[ast.stmt]]:
    """Yield the statements of a loop behind which it ends."""
    waiting = [loop.body]
    while waiting:
        block = waiting.pop()
        if isinstance(block[-1], ast.Break | ast.Return):
            yield block
            continue
        for node in block:
            if isinstance(node, ast.If):
                waiting += [part for part in (node.body, node.orelse) if part]


def _picks_newest(
    node: ast.expr, filtered: Mapping[str, ast.expr], body: Body, by_name: Mapping[str, Body]
) -> str | None:
    """Return the list of which an expression is the newest turn of its kind, or its place; None for anything else.

    ``next(i for i in reversed(range(len(turns))) if …)``, ``max(i for i, t in enumerate(turns) if …)``,
    ``[t for t in turns if …][-1]``, ``last_question(turns)``.
    """
    made: ast.expr | None = None
    if isinstance(node, ast.Subscript) and _is_last(node.slice):
        made = filtered.get(last_name(node.value) or "", node.value)
    elif isinstance(node, ast.Call) and node.args and called_name(node) in ("next", "max"):
        made = node.args[0]
    if isinstance(made, ast.GeneratorExp | ast.ListComp):
        one = made.generators[0]
        how = order(one.iter)
        picks = isinstance(node, ast.Call) and called_name(node)
        from_end = how.backwards if picks == "next" else not how.backwards
        by_itself = picks != "max" or last_name(made.elt) is not None
        if from_end and by_itself and one.ifs and _holds(how.whole, body):
            return None if _is_of_others(one.ifs, by_name) else last_name(how.whole) or ""
    elif isinstance(node, ast.Call) and (finder := by_name.get(called_name(node))) is not None:
        given = next((one for one in node.args if _holds(one, body)), None)
        if given is not None and finder.function is not body.function and _finds_newest(finder, by_name):
            return last_name(given) or ""
    return None


def _finds_newest(body: Body, by_name: Mapping[str, Body]) -> bool:
    """Tell whether a function returns the newest turn of a kind, or its place."""
    for loop, inside in body.loops:
        if isinstance(loop, ast.While) or not order(loop.iter).backwards:
            continue
        if not (_is_of_others(_tests(inside), by_name)) and any(
            isinstance(node, ast.Return) and last_name(node.value or node) in names_of(loop.target)
            for node in inside
        ):
            return True
    return any(
        node.value is not None and _picks_newest(node.value, {}, body, {}) is not None
        for node in body.of(ast.Return)
    )


def _tests(inside: list[ast.AST]) -> list[ast.expr]:
    return [node.test for node in inside if isinstance(node, ast.If)]


def _is_of_others(tests: list[ast.expr], by_name: Mapping[str, Body]) -> bool:
    """Tell whether conditions ask for what the user does not say: rules stay the last of their kind, answers go on."""
    said: set[object] = set()
    for node in walk(*tests):
        if isinstance(node, ast.Constant):
            said.add(node.value)
        elif isinstance(node, ast.Call) and (asked := by_name.get(called_name(node))) is not None:
            said |= {one.value for one in asked.of(ast.Constant)}
    return not said.isdisjoint(_OTHERS) and said.isdisjoint(_ASKED)


def _is_last(at: ast.expr) -> bool:
    return is_negative(at) and isinstance(at, ast.UnaryOp) and getattr(at.operand, "value", None) == 1


# ---------------------------------------------------------------------- changes


def _changed(body: Body, copies: Mapping[str, int], newest: _Newest) -> Seen:
    filling: dict[
        str, set[int]
    ] = {}  # what stands in loops that fill a list: there it is put together, turn by turn
    for _, inside in body.loops:
        for to, _ in added_to(inside):
            filling.setdefault(last_name(to) or "", set()).update(map(id, inside))
    grown = {last_name(to) or "" for to, _ in added_to([*body.of(ast.Call)])}
    nodes: list[ast.Assign | ast.AugAssign | ast.Call] = [
        *body.of(ast.Assign),
        *body.of(ast.AugAssign),
        *body.of(ast.Call),
    ]
    for node in nodes:
        at, turn, depth = _change(node)
        of = _copy_of(turn, node, newest, grown - filling.keys()) if turn is not None else None
        if of is None or id(node) in filling.get(of, ()):
            continue
        if copies.get(of, -1) >= depth and not body.is_about_marks(node):
            yield "history-rewritten", at


def _change(node: ast.Assign | ast.AugAssign | ast.Call) -> tuple[ast.expr, ast.expr | None, int]:
    """Return what a statement changes, the turn that it is of, and how deep a copy keeps the first from it."""
    if isinstance(node, ast.Call):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if owner is not None and called_name(node) in _ADDS:
            return node, _turn_of_text(owner), _WHOLE
        says = called_name(node) == "update" and "content" in ast.unparse(node)
        return node, owner if says else None, _TURNS
    at = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
        return at, None, _LIST
    if (turn := _turn_of_text(at)) is not None:
        return at, turn, _TURNS
    return at, at if isinstance(at, ast.Subscript) else None, _LIST


def _turn_of_text(node: ast.expr) -> ast.expr | None:
    """Return the turn of which an expression is the text: ``m`` of ``m["content"]`` and of ``m.content``."""
    if isinstance(node, ast.Attribute):
        return node.value if node.attr in ("content", "text", "parts") else None
    if isinstance(node, ast.Subscript) and keyed_name(node) in ("content", "text", "parts"):
        return node.value
    return None


def _copy_of(turn: ast.expr, at: ast.AST, newest: _Newest, grown: set[str]) -> str | None:
    """Return the list of which a turn is the newest one; of what was just added to a list nothing is known."""
    if isinstance(turn, ast.Name):
        if turn.id in newest.turns:
            return newest.turns[turn.id]
        return next((of for names, of, where in newest.inside if turn.id in names and id(at) in where), None)
    if not (isinstance(turn, ast.Subscript) and isinstance(turn.value, ast.Name)):
        return None
    of, place = turn.value.id, last_name(turn.slice)
    if _is_last(turn.slice):
        return of if isinstance(at, ast.AugAssign) and of not in grown else None
    if place in newest.places or any(place in names and id(at) in where for names, _, where in newest.inside):
        return of
    return None
