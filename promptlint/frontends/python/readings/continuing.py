"""Does what is sent begin as what was sent before, when more turns have come?

One question for the many ways in which programs show a conversation. What is known of a turn, and of those in
front of it, is the same in every request. What depends on how the conversation ends is not: its length, its
last turns, sums over all of it, counts that run from its end, what was seen last of each kind. Where such a
thing decides which turns are there, or is written into one, the next request has other bytes there::

    for turn in reversed(turns):                 a budget, filled from the end
        used += size(turn)
        if used > limit: break
        kept.insert(0, turn)

    for i, event in enumerate(events):           what is shown of a turn until a later one shows it
        if newest[event.path] != i:
            out.append(note(event))

    for turn in turns[:-4]:                      all but the last turns lose something
        turn.content = turn.content[:200]

At work in the text of a function, not on values: what one function hands to another is not followed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain

from promptlint.frontends.python.readings.ending import Ending, Run, ending, set_in
from promptlint.frontends.python.readings.shapes import (
    added_to,
    exceeds,
    is_message,
    is_negative,
    last_name,
    names_of,
    order,
    parts_of,
    root_name,
)
from promptlint.frontends.python.readings.turnlists import Body, Seen
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.naming import called_name

_TAKES = frozenset({"pop", "remove", "popleft"})
# Parts of a turn that a model reads.
_BEGINS = re.compile(
    r"reset|clear|new|start|init|begin|restart|load|restor|resum|undo|rewind|fork", re.IGNORECASE
)
_MOST = 50  # conditions of a loop that are looked at
_PARTS = re.compile(r"content|text|output|result|image|parts|blocks|thinking|screenshot|observation|type$")

_Why = Iterator[tuple[str, str, ast.expr | ast.AugAssign]]
"""What decides, what becomes of the turns, and where."""


def continuing(body: Body) -> Seen:
    """Yield where turns that were sent become others, by how the conversation ends."""
    if (it := ending(body)) is None:
        return
    limited = set(_limited(it)) if it.runs else set()
    for run in it.runs:
        found = [*_edited(it, run, limited=run.older or id(run.loop) in limited), *_chosen(it, run)]
        # That a turn is another says more than that some are left out; one place stands for all that are decided
        # by the same thing.
        found.sort(key=lambda one: (one[1] == "history-cut", one[2].lineno))
        told: set[str] = set()
        for why, what, node in found:
            if why not in told:
                told.add(why)
                yield what, node
    for made in body.of(ast.ListComp):
        yield from _comprehended(it, made)
    yield from _picked(it)
    yield from _begun_anew(it)
    yield from _newest_first(it)


def _limited(it: Ending) -> Iterator[int]:
    """Yield the loops that are run only where there is too much."""
    for test in it.body.of(ast.If):
        if it.late(test.test) and any(map(exceeds, walk(test.test))):
            yield from (id(inner) for inner in walk(*test.body) if isinstance(inner, ast.For | ast.AsyncFor))


def _edited(it: Ending, run: Run, *, limited: bool) -> _Why:
    """Yield what is set in turns, or taken out of them, by where they stand."""
    places = [("", run.inside)] if limited else []
    places += [
        (why, walk(*node.body))
        for node in run.inside
        if isinstance(node, ast.If) and (why := it.reason(node.test))
    ]
    turns = run.turns - _owners(run.inside)
    for why, inside in places:
        for target in chain.from_iterable(map(_edits, inside)):
            whole = _in_turns(it, target) and not names_of(target).isdisjoint(run.turns)
            if (whole or root_name(target) in turns) and not it.body.is_about_marks(run.loop):
                yield why, "history-rewritten", target


def _in_turns(it: Ending, node: ast.expr) -> bool:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
        if it.is_turns(node):
            return True
    return False


def _chosen(it: Ending, run: Run) -> _Why:
    """Yield the conditions under which a loop adds a turn, or adds it in another shape."""
    added = [
        value
        for to, value in added_to(run.inside)
        if isinstance(to, ast.Name | ast.Yield)
        and not run.turns.isdisjoint(names_of(value))
        and last_name(value) not in run.places
    ]
    used = frozenset[str]().union(*map(names_of, added))
    for value in added:
        if (why := _told(it, value)) and not it.body.is_about_marks(value):
            yield why, "history-rewritten", value
    told: set[int] = set()  # what stands in conditions that were yielded, and says no more than they do
    conditions = 0
    for node in run.inside:
        if isinstance(node, ast.If):
            if conditions > _MOST or not (why := it.reason(node.test)) or it.body.is_about_marks(node):
                continue
            conditions += 1
            what = _decides(it, node, run, added, used)
            if what == "history-cut" and (id(node) in told or _chooses_marks(it, run, node)):
                continue
            if what is not None:
                told |= set(map(id, walk(node)))
                yield why, what, _counts(node, why) or node.test
        elif isinstance(node, ast.Assign) and last_name(node.targets[0]) in used:
            why = _told(it, node.value)
            if why and not it.body.is_about_marks(node):
                yield why, "history-rewritten", node.value


def _chooses_marks(it: Ending, run: Run, test: ast.If) -> bool:
    """Tell whether a condition stands where something was found to be a mark: no turn is left out there."""
    around = (node for node in run.inside if isinstance(node, ast.If) and node is not test)
    return any(test in walk(*node.body) and it.body.is_about_marks(node.test) for node in around)


def _counts(test: ast.If, why: str) -> ast.AugAssign | None:
    """Return where what decides is counted down: ``if excess > 0: excess -= 1; continue``."""
    first = test.body[0]
    if isinstance(first, ast.AugAssign) and isinstance(first.op, ast.Sub) and last_name(first.target) == why:
        return first
    return None


def _decides(it: Ending, test: ast.If, run: Run, added: list[ast.expr], used: frozenset[str]) -> str | None:
    """Return what a condition decides of the turns that are added to a list."""
    here, there = walk(*test.body), walk(*test.orelse)
    inside = [any(value in part for value in added) for part in (here, there)]
    if all(inside) or (any(inside) and all(any(map(_adds_message, part)) for part in (here, there))):
        return "history-rewritten"
    last = test.body[-1]
    later = any(value.lineno > test.lineno for value in added)
    left_out = later and isinstance(last, ast.Continue | ast.Break)
    ends = run.backwards and isinstance(last, ast.Break | ast.Return)
    if any(inside) or left_out or (ends and (added or _gives_rest(it, last))):
        return "history-cut"
    sets = (last_name(n.targets[0]) for n in (*here, *there) if isinstance(n, ast.Assign))
    return "history-rewritten" if later and any(name in used for name in sets) else None


def _gives_rest(it: Ending, last: ast.stmt) -> bool:
    """Tell whether a loop that is left gives the turns behind its place: ``return turns[i:]``."""
    return isinstance(last, ast.Return) and any(
        isinstance(n, ast.Subscript)
        and isinstance(n.slice, ast.Slice)
        and n.slice.lower is not None
        and it.is_turns(n.value)
        for n in walk(last)
    )


def _told(it: Ending, value: ast.expr) -> str | None:
    """Return what a turn is shown by that is not of it: how far it is from the end, which one is the last."""
    parts = (
        n.test if isinstance(n, ast.IfExp) else n.value
        for n in walk(value)
        if isinstance(n, ast.IfExp | ast.FormattedValue)
    )
    return next(filter(None, map(it.reason, parts)), None)


def _comprehended(it: Ending, made: ast.ListComp) -> Seen:
    one = made.generators[0]
    if not it.is_turns(order(one.iter).whole) or it.body.is_about_marks(made):
        return
    turn = last_name(made.elt) in names_of(one.target) or is_message(made.elt)
    if turn and any(map(it.late, one.ifs)):
        yield "history-cut", made
    elif (turn or isinstance(made.elt, ast.IfExp)) and _told(it, made.elt):
        yield "history-rewritten", made


def _picked(it: Ending) -> Seen:
    """Yield what is set in a turn that was picked from all but the last: ``max(turns[:-2], key=size)``."""
    picked = {
        node.targets[0].id
        for node in it.body.of(ast.Assign)
        if isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and called_name(node.value) in ("max", "min")
        and it.late(node.value)
    }
    for node in chain(it.body.of(ast.Assign), it.body.of(ast.Delete)) if picked else ():
        for target in _edits(node):
            if root_name(target) in picked:
                yield "history-rewritten", target


def _begun_anew(it: Ending) -> Seen:
    """Yield where what is left of a conversation that is kept is its first turns, and others follow.

    ``self.turns = [self.turns[0], state()]``. Who begins anew, or goes back, does it for another reason.
    """
    if _BEGINS.search(it.body.function.name) or not it.body.of(ast.Subscript):
        return
    for node in it.body.of(ast.Assign):
        target = node.targets[0]
        if (
            isinstance(target, ast.Attribute)
            and it.is_turns(target)
            and isinstance(node.value, ast.List | ast.BinOp)
        ):
            same = ast.unparse(target)
            parts = list(parts_of(node.value))
            own = [p for p in parts if isinstance(p, ast.Subscript) and ast.unparse(p.value) == same]
            if own and own[0] is parts[0] and len(parts) > 1 and not any(map(_is_rest, own)):
                yield "history-rewritten", node


def _newest_first(it: Ending) -> Seen:
    """Yield the turns of which a text is made that begins with the newest: ``"\\n".join(map(str, reversed(turns)))``."""
    backwards = {
        to.id
        for run in it.runs
        if run.backwards and not any(isinstance(n, ast.Return | ast.Break) for n in run.inside)
        for to, value in added_to(run.inside)
        if isinstance(to, ast.Name)
        and to.id not in set_in(run.inside)
        and not run.turns.isdisjoint(names_of(value))
    }
    turned = {
        name
        for name in backwards
        if re.search(
            rf"reversed\({name}\)|{name}\.(reverse|insert|appendleft)\(|{name}\[::-1\]|\+ {name}\b",
            it.text,
        )
    }
    for call in it.body.of(ast.Call):
        if called_name(call) == "join" and len(call.args) == 1 and isinstance(call.func, ast.Attribute):
            given = call.args[0]
            how = order(given)
            if (how.backwards and it.is_turns(how.whole)) or last_name(given) in backwards - turned:
                yield "history-inserted", call


def _is_rest(part: ast.Subscript) -> bool:
    """Tell whether a part of a list is all that stands behind some place, or in front of one counted from its end.

    Its last turns are one too: that those in front of them are gone is `sliding`'s to tell.
    """
    at = part.slice
    return isinstance(at, ast.Slice) and (at.upper is None or is_negative(at.upper))


def _adds_message(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and any(is_message(value) for _, value in added_to([node]))


def _owners(inside: list[ast.AST]) -> frozenset[str]:
    """Return the names of the lists to which a loop adds."""
    return frozenset(name for owner, _ in added_to(inside) if (name := last_name(owner)) is not None)


def _edits(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the parts of turns that a statement sets, deletes or takes out."""
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        first = node.args[0] if node.args else None
        if node.func.attr in _TAKES and first is not None:
            if _names_part(first):
                yield node.func.value
            elif _of_part(node.func.value):
                yield node
        elif node.func.attr == "update" and isinstance(first, ast.Dict):
            if any(key is not None and _names_part(key) for key in first.keys):
                yield node.func
        elif node.func.attr == "clear" and not isinstance(node.func.value, ast.Attribute):
            yield node.func
    for target in targets:
        if (isinstance(target, ast.Attribute) and _PARTS.search(target.attr)) or (
            isinstance(target, ast.Subscript) and _of_part(target)
        ):
            yield target


def _of_part(node: ast.expr) -> bool:
    """Tell whether an expression is what a turn says, or a part of that: ``turn["content"][2]``, ``content``."""
    while isinstance(node, ast.Subscript):
        if _names_part(node.slice):
            return True
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("content", "parts", "blocks")


def _names_part(key: ast.expr) -> bool:
    return (
        isinstance(key, ast.Constant) and isinstance(key.value, str) and _PARTS.search(key.value) is not None
    )
