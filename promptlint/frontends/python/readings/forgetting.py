"""Functions that take from a conversation what was already sent, told by their form, as in `trimming`.

In each of these the next request repeats other bytes than the last one had, from the place that changed::

    for m in messages[:-3]:                      the text of all but the last turns is changed,
        m["content"] = "[omitted]"               or of some, by what a count has got to

    summary = summarize(messages[:-keep])        all but the last turns become a summary

    self.memory.clear()                          a memory is emptied, and filled with a summary
    self.memory.add(summary)

    self.memory.delete(size - 2)                 a turn in front of the last one is taken out

    m = messages[index]                          a turn that the caller picks is changed
    m.content = shortened
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from promptlint.frontends.python.readings import turns
from promptlint.frontends.python.readings.emptying import falling, goes_far_down, limits
from promptlint.frontends.python.readings.shapes import exceeds, last_name, names_of
from promptlint.frontends.python.readings.turnlists import (
    SUMMARY,
    Body,
    Function,
    Seen,
    is_list,
    is_summary_name,
    is_turns,
)
from promptlint.frontends.python.syntax.nodes import remembered, walk
from promptlint.frontends.python.values.naming import HISTORY

_TEXT = frozenset({"content", "text", "message"})
_MEMORY = re.compile(r"(^|_)(memory|history|messages|conversation|chat_history)$", re.IGNORECASE)
_ADDING = frozenset({"add", "append", "extend", "add_message", "add_messages", "insert"})
_TAKING = frozenset({"delete", "pop", "remove", "delete_message"})

_SAME_ELEMENTS = frozenset({"enumerate", "list", "reversed", "tuple"})

_Loop = ast.For | ast.AsyncFor


def forgetting(body: Body) -> Seen:
    """Yield what a function does to turns that were sent."""
    function, lists = body.function, body.lists
    old: set[str] = set()  # names of what stands in front of the last turns
    emptied: dict[str, ast.Call] = {}  # memories by their text, until something is put into them
    picked: set[str] = set()
    given = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    parts = _parts(body)
    for loop, inside in body.loops:
        if isinstance(loop, _Loop):
            yield from _changed(body, loop, inside)
            yield from _older_parts(loop, inside, parts)
    for node in body.steps:  # in the order of the text
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name):
            if _but_last(node.value, lists, more_than_one=True):
                old.add(target.id)
            elif _picks(node.value, given):
                picked.add(target.id)
        elif isinstance(node, ast.Assign) and _edits(node.targets[0], picked):
            yield "history-rewritten", node.targets[0]
        elif isinstance(node, ast.Call):
            called = last_name(node.func) or ""
            if is_summary_name(called) and any(
                last_name(a) in old or _but_last(a, lists, more_than_one=True) for a in node.args
            ):
                yield "history-cut", node
            elif isinstance(node.func, ast.Attribute) and _MEMORY.search(last_name(node.func.value) or ""):
                owner = ast.unparse(node.func.value)
                if called == "clear" and not node.args and id(node) not in _given_up(function):
                    emptied[owner] = node
                elif called in _ADDING and owner in emptied and _summarises(function):
                    emptying = emptied.pop(owner)
                    if not _puts_back(node, body):
                        yield "history-cut", emptying
                elif called in _TAKING and len(node.args) == 1 and _in_front_of_last(node.args[0]):
                    yield "history-cut", node


@remembered
def _given_up(function: ast.AST) -> frozenset[int]:
    """Return the calls in whose block an error is raised, whatever else: nobody goes on from there."""
    blocks = (b for n in walk(function) for b in (getattr(n, "body", None), getattr(n, "orelse", None)))
    return frozenset(
        id(one.value)
        for block in blocks
        if isinstance(block, list) and block and _raises(block[-1])
        for one in block
        if isinstance(one, ast.Expr)
    )


def _raises(last: ast.stmt) -> bool:
    if isinstance(last, ast.If) and last.orelse:
        return _raises(last.body[-1]) and _raises(last.orelse[-1])
    return isinstance(last, ast.Raise)


def _puts_back(call: ast.Call, body: Body) -> bool:
    """Tell whether turns are added as they are: all of a list, or each that a loop over one runs over."""
    given = call.args[-1] if call.args else None
    if given is None or is_turns(given):
        return given is not None
    return any(
        call in inside and is_turns(loop.iter) and last_name(given) in names_of(loop.target)
        for loop, inside in body.loops
        if isinstance(loop, _Loop)
    )


def _changed(body: Body, loop: _Loop, inside: list[ast.AST]) -> Seen:
    """Yield the texts of turns that a loop changes by where the turns stand, or by a limit."""
    source = loop.iter
    while isinstance(source, ast.Call) and source.args and last_name(source.func) in _SAME_ELEMENTS:
        source = source.args[0]
    front = _but_last(source, body.lists)
    if not front and not is_list(source, body.lists):
        return
    whole = set(_turns_of(loop))
    index = _place(loop)
    for node in inside:
        if isinstance(node, _Loop) and _root(node.iter) in whole:
            whole |= set(_turns_of(node))
    if not any(_edits(target, whole, index) for node in inside for target in _targets(node)):
        return
    measures = falling(inside)
    if body.is_about_marks(loop) or goes_far_down(body, inside, measures):
        return
    for node, around in _limited(loop.body, front, measures):
        for target in _targets(node):
            stays = not around.falling and turns.stays(target, body.function)
            if _edits(target, whole, index) and not stays:
                yield "history-rewritten", target


def _parts(body: Body) -> frozenset[str]:
    """Return the names of parts, or places, of turns that were picked out of all of them: ``images``, ``indices``."""
    return frozenset(
        node.targets[0].id
        for node in body.of(ast.Assign)
        if isinstance(node.targets[0], ast.Name)
        and (
            _over_turns(node.value.generators[0].iter, body)
            if isinstance(node.value, ast.ListComp)
            else isinstance(node.value, ast.Call) and any(map(is_turns, node.value.args))
        )
    )


def _over_turns(source: ast.expr, body: Body) -> bool:
    return any(
        is_list(n, body.lists) or is_turns(n)
        for n in (source, *(source.args if isinstance(source, ast.Call) else ()))
    )


def _older_parts(loop: _Loop, inside: list[ast.AST], parts: frozenset[str]) -> Seen:
    """Yield what a loop over all but the newest of some parts of turns sets in them."""
    if not (parts and _but_last(loop.iter, parts)):
        return
    mine = set(names_of(loop.target))
    for node in inside:
        if isinstance(node, _Loop) and not mine.isdisjoint(names_of(node.iter)):
            mine |= names_of(node.target)
    for node in inside:
        for target in _targets(node):
            if isinstance(target, ast.Subscript) and not mine.isdisjoint(names_of(target)):
                yield "history-rewritten", target
                return


def _turns_of(loop: _Loop) -> Iterator[str]:
    """Yield the names that hold the turns of a loop: of a pair, the second."""
    target = loop.target
    while isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[-1]
    if isinstance(target, ast.Name):
        yield target.id


def _targets(node: ast.AST) -> list[ast.expr]:
    """Return what an assignment sets, or what is deleted."""
    if isinstance(node, ast.Assign | ast.Delete):
        return node.targets
    return [node.target] if isinstance(node, ast.AugAssign) else []


@dataclass(frozen=True, slots=True)
class _Limits:
    """Whether a limit is among the conditions in front of a statement, and whether it falls with each turn."""

    limited: bool
    falling: bool = False

    def and_those_of(self, statement: ast.stmt, measures: frozenset[str]) -> _Limits:
        """Return the limits in front of what stands in a statement."""
        test = walk(statement.test) if isinstance(statement, ast.If) else []
        falls = self.falling or any(limits(test, measures))
        return _Limits(self.limited or falls or any(map(exceeds, test)), falls)


_Statement = tuple[ast.stmt, _Limits]


def _limited(
    body: list[ast.stmt], front: bool, measures: frozenset[str]
) -> Iterator[tuple[ast.Assign | ast.AugAssign, _Limits]]:
    """Yield the assignments in statements that have a limit among the conditions in front of them."""
    waiting = _with_limits(body, _Limits(front), measures)[::-1]
    while waiting:
        statement, around = waiting.pop()
        if isinstance(statement, ast.Assign | ast.AugAssign):
            if around.limited:
                yield statement, around
        elif isinstance(statement, ast.If):
            waiting += _with_limits(statement.orelse, around, measures)[::-1]
            waiting += _with_limits(statement.body, around, measures)[::-1]
        elif isinstance(statement, ast.For | ast.AsyncFor | ast.While | ast.With | ast.Try):
            waiting += _with_limits(statement.body, around, measures)[::-1]


def _with_limits(body: list[ast.stmt], around: _Limits, measures: frozenset[str]) -> list[_Statement]:
    """Return the statements of a block, each with the limits in front of what stands in it."""
    out: list[_Statement] = []
    for statement in body:
        inside = around.and_those_of(statement, measures)
        out.append((statement, inside))
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Continue | ast.Break):
            around = inside
    return out


def _place(loop: _Loop) -> str | None:
    """Return the name that counts the turns of a loop: ``i`` of ``for i, m in enumerate(messages)``."""
    return last_name(loop.target.elts[0]) if isinstance(loop.target, ast.Tuple) else None


def _edits(target: ast.expr, whole: set[str], index: str | None = None) -> bool:
    """Tell whether an assignment sets the text of one of the turns: ``m["content"]``, ``m.content``, ``m[i]["content"]``."""
    if isinstance(target, ast.Attribute):
        key: object = target.attr
    elif isinstance(target, ast.Subscript):
        key = getattr(target.slice, "value", None)
    else:
        return False
    if key not in _TEXT:
        return False
    turn = target.value
    if isinstance(turn, ast.Subscript):
        return index is not None and last_name(turn.slice) == index and is_turns(turn.value)
    return last_name(turn) in whole


def _root(node: ast.expr) -> str | None:
    """Return the name at the start of a chain of attributes and elements."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _but_last(node: ast.expr, lists: frozenset[str], *, more_than_one: bool = False) -> bool:
    """Tell whether an expression is a conversation without its last turns: ``messages[:-n]``, ``messages[1:-n]``.

    What stands in front of the very last turn is also what a question is understood by: ``more_than_one`` leaves
    ``messages[:-1]`` out.
    """
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
        return False
    upper = node.slice.upper
    if isinstance(upper, ast.Call) and last_name(upper.func) == "max" and upper.args:
        upper = upper.args[0]  # ``max(len(images) - keep, 0)``
    if more_than_one and upper is not None and ast.unparse(upper) == "-1":
        return False
    negative = isinstance(upper, ast.UnaryOp) and isinstance(upper.op, ast.USub)
    from_length = (
        isinstance(upper, ast.BinOp)
        and isinstance(upper.op, ast.Sub)
        and isinstance(upper.left, ast.Call)
        and last_name(upper.left.func) == "len"
    )
    return (negative or from_length) and (is_list(node.value, lists) or is_turns(node.value))


@lru_cache(maxsize=1)  # asked for every call that fills a memory
def _summarises(function: Function) -> bool:
    return any(SUMMARY.search(n.id) for n in walk(*function.body) if isinstance(n, ast.Name))


def _in_front_of_last(index: ast.expr) -> bool:
    """Tell whether an index counts from the end and passes the last turn: ``size - 2``, ``-2``."""
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        by = index.operand
    elif isinstance(index, ast.BinOp) and isinstance(index.op, ast.Sub):
        by = index.right
    else:
        return False
    return isinstance(by, ast.Constant) and isinstance(by.value, int) and by.value > 1


def _picks(node: ast.expr, given: set[str]) -> bool:
    """Tell whether an expression is a turn of a kept conversation, at an index that the caller gives."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Name)
        and node.slice.id in given
        and isinstance(node.value, ast.Attribute)
        and HISTORY.search(node.value.attr) is not None
    )
