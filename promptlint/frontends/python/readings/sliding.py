"""Lists of turns that lose their first ones whenever a turn is added, told by the form, as in `trimming`.

::

    if len(self.turns) > limit: self.turns = self.turns[2:]       or self.turns.pop(0)
    store[user] = store[user][-30:]
    fit([turns[0]] + turns[2:], limit)                            all but the first and one more, again and again
    islice(reversed(turns), n)
    [RemoveMessage(id=m.id) for m in turns[:-4]]

A third of a list or more at once, and only when it is full, is one miss in many turns (`rarely`).
"""

from __future__ import annotations

import ast
import re

from promptlint.frontends.python.readings.beginnings import beginning
from promptlint.frontends.python.readings.rarely import is_large
from promptlint.frontends.python.readings.shapes import (
    exceeds,
    grows,
    is_message,
    is_negative,
    last_name,
    order,
    parts_of,
)
from promptlint.frontends.python.readings.turnlists import Body, Seen, is_turns, is_turns_name
from promptlint.frontends.python.syntax.nodes import children, walk
from promptlint.frontends.python.values.naming import SENT_AS, called_name

_REQUEST = re.compile(r"request\.\w+$", re.IGNORECASE)
_TOKENS = re.compile(r"token|budget", re.IGNORECASE)


def sliding(body: Body) -> Seen:
    """Yield where a list of turns becomes what is behind its first ones."""
    yield from _own_end(body)
    sliced = bool(body.of(ast.Slice))
    if sliced and body.loops:
        yield from _skipped(body)
    for whole in (*body.of(ast.BinOp), *body.of(ast.List)) if sliced else ():
        yield from _all_but_second(whole, body)
    for node in body.of(ast.Assign):
        yield from _limited(node, body)
    for call in body.of(ast.Call):
        if called_name(call) == "islice" and call.args and _from_the_end(call.args[0], body):
            yield "history-cut", call
    for made in body.of(ast.ListComp) if sliced else ():
        if isinstance(made.elt, ast.Call) and called_name(made.elt) == "RemoveMessage":
            source = made.generators[0].iter
            if (
                isinstance(source, ast.Subscript)
                and isinstance(source.slice, ast.Slice)
                and source.slice.upper
            ):
                yield "history-cut", made


def _limited(node: ast.Assign, body: Body) -> Seen:
    """Yield a queue that forgets its first turn with each further one: ``self.turns = deque(maxlen=20)``."""
    if last_name(node.targets[0]) not in body.kept:
        return
    for call in walk(node.value):
        if isinstance(call, ast.Call) and called_name(call) == "deque":
            limits = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "maxlen")]
            if any(not isinstance(limit, ast.Constant) or limit.value for limit in limits):
                yield "history-cut", call


def _own_end(body: Body) -> Seen:
    """Yield where what is kept loses its first turns, in place or by an assignment."""
    cuts = [
        (node, kept)
        for node in (body.of(ast.Assign) if body.of(ast.Slice) else ())
        if (kept := _end_in(node.value)) is not None
    ]
    done: list[ast.Expr | ast.Assign] = [*body.of(ast.Expr), *body.of(ast.Assign)]
    parts: list[tuple[ast.stmt, ast.expr]] = [(n, n.value) for n in done if isinstance(n.value, ast.Call)]
    parts += [(n, n.targets[0]) for n in body.of(ast.Delete)]
    taken = [
        (statement, part, owner) for statement, part in parts if (owner := _first_taken(part)) is not None
    ]
    if not (cuts or taken):
        return
    conditions: list[ast.While | ast.If] = [
        *(loop for loop in body.of(ast.While) if _is_full(loop.test)),
        *body.of(ast.If),
    ]
    tests = {id(node): test.test for test in conditions for node in test.body}
    added = frozenset(
        ast.unparse(node.func.value)
        for node in body.of(ast.Call)
        if isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and node.args
        and is_message(node.args[0])
    )
    for node, kept in cuts:
        target = node.targets[0]
        again = any(node in inside for _, inside in body.loops)
        grows = ast.unparse(target) in added
        if (grows or _holds_turns(target, body)) and _loses_first(
            kept, target, tests.get(id(node)), again, body, grows=grows
        ):
            yield "history-cut", kept
    for statement, part, owner in taken:
        test = tests.get(id(statement))
        if test is None or not _is_full(test) or _asks_for_first(test):
            continue
        # Where tokens are counted it is no log of something else.
        turns = body.keeps(owner) or (_TOKENS.search(ast.unparse(test)) and body.holds_turns(owner))
        if turns and not (isinstance(part, ast.Subscript) and _in_a_large_step(part, test, body)):
            yield "history-cut", part


def _asks_for_first(test: ast.expr) -> bool:
    return any(isinstance(n, ast.Subscript) and _is_front(n.slice) for n in walk(test))


def _end_in(value: ast.expr) -> ast.Subscript | None:
    """Return the end of a list that is all of a value, or stands behind its first elements: ``turns[:1] + turns[-20:]``."""
    *front, last = (*parts_of(value),) or (value,)
    if not (
        isinstance(last, ast.Subscript) and isinstance(last.slice, ast.Slice) and last.slice.upper is None
    ):
        return None
    whole = ast.unparse(last.value)
    return (
        last if all(isinstance(f, ast.Subscript) and ast.unparse(f.value) == whole for f in front) else None
    )


def _skipped(body: Body) -> Seen:
    """Yield the turns behind those that a loop counts until the rest fits: ``turns[skip:]``.

    A loop that ends where the turns do, or at the first of another kind, counts them for another reason.
    """
    counted: set[str] = set()
    inner: set[int] = set()
    for loop, inside in body.loops:
        growing = grows(inside)
        tests = [n.test for n in inside if isinstance(n, ast.If) and isinstance(n.body[-1], ast.Break)]
        if isinstance(loop, ast.While):
            tests.append(loop.test)
        limits = [n for test in tests if growing for n in walk(test) if exceeds(n)]
        if limits:
            sides = {last_name(side) for n in limits for side in children(n)}
            counted |= growing - sides
            inner |= {id(n) for n in inside}
    for part in body.of(ast.Subscript) if counted else ():
        if (
            isinstance(part.slice, ast.Slice)
            and part.slice.upper is None
            and last_name(part.slice.lower or part) in counted
            and id(part) not in inner
            and body.holds_turns(part.value)
        ):
            yield "history-cut", part


def _holds_turns(target: ast.expr, body: Body) -> bool:
    """Tell whether turns are kept in what an assignment sets, by its name or its key."""
    if isinstance(target, ast.Subscript):
        if isinstance(key := getattr(target.slice, "value", None), str):
            return is_turns_name(key)
        if isinstance(target.slice, ast.Slice):
            target = target.value
    of_request = (
        isinstance(target, ast.Attribute) and target.attr in SENT_AS and _REQUEST.search(ast.unparse(target))
    )
    return bool(of_request) or body.holds_turns(target)


def _loses_first(
    kept: ast.Subscript, target: ast.expr, test: ast.expr | None, again: bool, body: Body, *, grows: bool
) -> bool:
    """Tell whether the turns behind the first ones are kept: because there are too many, or each time.

    A name of a function holds what is sent from now on only if the loop around it comes ``again``, and turns are added
    to it (it ``grows``) where it does not become the end of itself.
    """
    lower = kept.slice.lower if isinstance(kept.slice, ast.Slice) else None
    in_place = isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice)  # turns[:] = …
    whole = target.value if isinstance(target, ast.Subscript) and in_place else target
    same = ast.unparse(kept.value) == ast.unparse(whole)
    begins = beginning(lower, kept.value, body.function)
    last = is_negative(lower) or (in_place and begins is not None and not begins.in_steps)
    if lower is None or ast.unparse(lower) == "-1":
        return False
    if test is None:
        kept_on = same or is_turns(kept.value)
        if isinstance(target, ast.Name):
            kept_on = again and (same or (grows and kept_on))
        return last and kept_on
    return same and _is_full(test) and not _in_a_large_step(kept, test, body)


def _is_full(test: ast.expr | None) -> bool:
    return test is not None and any(map(exceeds, walk(test)))


def _in_a_large_step(part: ast.Subscript, test: ast.expr | None, body: Body) -> bool:
    """Tell whether a third of a full list or more goes: ``if len(turns) > 60: turns = turns[-20:]``, ``del turns[:20]``."""
    limit = body.number(test.comparators[0]) if isinstance(test, ast.Compare) else None
    at = part.slice
    if not isinstance(at, ast.Slice):
        return False
    begins = beginning(at.upper or at.lower, part.value, body.function)
    if begins is not None and begins.in_steps:
        return True
    if limit is None:
        return False
    if begins is not None:
        kept = body.number(begins.kept)
        return kept is not None and is_large(limit, kept=kept)
    gone = body.number(at.upper or at.lower)
    return gone is not None and is_large(limit, gone=gone)


def _first_taken(part: ast.expr) -> ast.expr | None:
    """Return the list of which a call takes, or a statement deletes, the first: ``turns.pop(0)``, ``turns[1:3]``."""
    if isinstance(part, ast.Subscript):
        owner, at = part.value, part.slice
        front = (
            at.upper is not None and not is_negative(at.lower) if isinstance(at, ast.Slice) else _is_front(at)
        )
    elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
        owner, called = part.func.value, part.func.attr
        front = called == "popleft" or (called == "pop" and len(part.args) == 1 and _is_front(part.args[0]))
    else:
        return None
    return owner if front else None


def _is_front(index: ast.expr) -> bool:
    return getattr(index, "value", None) in (0, 1)


def _all_but_second(whole: ast.expr, body: Body) -> Seen:
    """Yield what is behind the first turns in a list that begins with the very first: ``[turns[0]] + turns[2:]``."""
    parts = list(parts_of(whole))
    first, rest = (parts[0], parts[1]) if len(parts) > 1 else (None, None)
    if (
        isinstance(first, ast.Subscript)
        and isinstance(rest, ast.Subscript)
        and getattr(first.slice, "value", None) == 0
        and isinstance(rest.slice, ast.Slice)
        and rest.slice.upper is None
        and (body.number(rest.slice.lower) or 0) > 1
        and body.holds_turns(rest.value)
        and ast.unparse(first.value) == ast.unparse(rest.value)
    ):
        yield "history-cut", rest


def _from_the_end(node: ast.expr, body: Body) -> bool:
    how = order(node)
    return isinstance(node, ast.Call) and how.backwards and body.holds_turns(how.whole)
