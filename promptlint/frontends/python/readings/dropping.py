"""Turns that a function leaves out by their number, size or kind, told by its form, as in `trimming`.

What is left stands somewhere else in the next request, or is followed by something else::

    return system + others[-n:]                  a window over the last turns

    while removed < excess:                      turns of one kind are taken out of the middle
        if is_image(messages[i]): messages.pop(i)

    trim_messages(messages, max_tokens=limit)    a library does it

    return {"messages": [RemoveMessage(id=ALL), *recent]}    a library is given the turns that are left
    return handler(request.override(messages=recent))
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from promptlint.frontends.python.readings.shapes import added_to, is_negative, last_name, order, parts_of
from promptlint.frontends.python.readings.turnlists import Body, Seen, is_turns
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.naming import SENT_AS, called_name

_OF_TURNS = re.compile(r"memory|histor|messages|conversation|turns", re.IGNORECASE)
_TRIMS = re.compile(r"^(trim|trim_messages|truncate_messages|trim_history)$")
# What libraries call a request, or its turns, in place of those that would be sent, and the state that a node changes.
_IN_PLACE = frozenset({"override", "ModelInputData"})
_FOR_THE_MODEL = "llm_input_messages"
_REMOVES = "RemoveMessage"
# What a function does that gives a window of a conversation for a request, not for somebody to look at.
_FOR_A_REQUEST = re.compile(
    r"filter|reduc|window|trim|truncat|evict|limit|recent|context|prompt|compress|compact|prepare|build|buffer",
    re.IGNORECASE,
)
_MANY = re.compile(r"max|limit|budget|remain|quota|token|keep|to_remove|to_delete", re.IGNORECASE)
_OF_TOOLS = re.compile(
    r"(!=|not in)\s*\(?['\"](tool|function|tool_result|thinking|reasoning)['\"]|not .*tool_calls"
)
_TOO_OLD = re.compile(
    r"(\b|_)(now|cutoff|ttl|expir\w*|max_age|deadline|time)(\b|_)[^=]*[<>]|[<>][^=]*(\b|_)(now|cutoff|ttl|expir\w*|max_age)\b"
)
# Whoever deletes one message, or moves the system's, does not shorten a conversation.
_BY_WHAT_IT_IS = re.compile(r"(\.|_|\b)(id|uid|uuid|key|role)\b")


def dropping(body: Body) -> Seen:
    """Yield where a function leaves turns out."""
    yield from _windows(body)
    yield from _taken_out(body)
    for node in body.of(ast.Call):
        if _trims(node):
            yield "history-cut", node
        for keyword in node.keywords:  # ``memory.to_messages(start_index=-n)``
            from_end = is_negative(keyword.value) and (keyword.arg or "").startswith("start")
            if from_end and _OF_TURNS.search(ast.unparse(node.func)):
                yield "history-cut", keyword.value
    yield from _left_out(body)


def _trims(call: ast.Call) -> bool:
    """Tell whether a call has a library trim turns, those that it is given or those of a chain that it stands in."""
    if not _TRIMS.search(called_name(call)) or (call.args and not is_turns(call.args[0])):
        return False
    by = {keyword.arg for keyword in call.keywords}
    return bool(by & {"max_tokens", "max_length", "token_counter"})


def _left_out(body: Body) -> Seen:
    """Yield where an object drops some of the turns that it keeps: the results of tools, or those that got too old."""
    for node in body.of(ast.Assign):
        made, target = node.value, node.targets[0]
        if (
            isinstance(made, ast.ListComp)
            and not isinstance(target, ast.Name)
            and ast.unparse(made.generators[0].iter) == ast.unparse(target)
            and any(_left_by(target, ast.unparse(test), body) for test in made.generators[0].ifs)
        ):
            yield "history-cut", made


def _left_by(target: ast.expr, test: str, body: Body) -> bool:
    of_tools, too_old = _OF_TOOLS.search(test) is not None, _TOO_OLD.search(test) is not None
    return (of_tools and is_turns(target)) or (too_old and body.keeps(target))


def _windows(body: Body) -> Seen:
    """Yield the windows over the last turns that a function gives back, where its name or a library says what for."""
    named = _FOR_A_REQUEST.search(body.function.name) or _FOR_A_REQUEST.search(body.owner)
    given = [value for node in body.steps for value in _given(node, anyhow=bool(named))]
    arguments = {arg.arg for arg in (*body.function.args.args, *body.function.args.kwonlyargs)}
    parts = [part for value in given for part in parts_of(value)]
    names = {name for part in parts if (name := last_name(part)) is not None}
    names |= {name for whole in _filled_from(body, names) if (name := last_name(whole)) is not None}
    for node in reversed(body.steps) if names else ():  # from where it is given to where it is made
        if isinstance(node, ast.Assign) and last_name(node.targets[0]) in names:
            made = list(parts_of(node.value))
            names |= {name for part in made if (name := last_name(part)) is not None}
            parts += made
    for part in parts:
        if _is_window(part, arguments, body):
            yield "history-cut", part


def _filled_from(body: Body, names: set[str]) -> Iterator[ast.expr]:
    """Yield what loops run over that fill a list with turns: ``for turn in recent: out.append(turn)``."""
    for loop, inside in body.loops:
        filled = {last_name(to) for to, _ in added_to(inside)}
        if not isinstance(loop, ast.While) and not names.isdisjoint(filled & body.lists):
            yield order(loop.iter).whole


def _given(node: ast.Assign | ast.Return | ast.Call, *, anyhow: bool) -> list[ast.expr]:
    """Return the lists that a step of a function gives back for a request: any, or those that a library says to be such."""
    if isinstance(node, ast.Call):
        handed = node.keywords if called_name(node) in _IN_PLACE else ()
        return [keyword.value for keyword in handed if keyword.arg in SENT_AS]
    if not isinstance(node, ast.Return) or node.value is None:
        return []
    value = node.value
    if isinstance(value, ast.Dict):
        entries = {getattr(k, "value", None): one for k, one in zip(value.keys, value.values, strict=True)}
        return [
            one
            for key, one in entries.items()
            if key == _FOR_THE_MODEL
            or (
                key in SENT_AS
                and (
                    anyhow
                    or any(isinstance(p, ast.Call) and called_name(p) == _REMOVES for p in parts_of(one))
                )
            )
        ]
    if not anyhow:
        return []
    return value.elts if isinstance(value, ast.Tuple) else [value]


def _is_window(node: ast.expr, arguments: set[str], body: Body) -> bool:
    """Tell whether an expression is the last turns of a conversation, more than the very last: ``turns[-n:]``.

    Where a caller says how many, the function only looks them up.
    """
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
        return False
    if not (body.holds_turns(node.value) or getattr(node.value, "attr", None) in SENT_AS):
        return False
    part = node.slice
    negative = isinstance(part.lower, ast.UnaryOp) and isinstance(part.lower.op, ast.USub)
    if part.lower is None or not negative or part.upper is not None or part.step is not None:
        return False
    asked = any(isinstance(n, ast.Name) and n.id in arguments - {"self"} for n in walk(part.lower))
    return not asked and ast.unparse(part.lower) != "-1"


def _taken_out(body: Body) -> Seen:
    """Yield where a loop takes turns out of a conversation, of which there are too many, at other places than its end."""
    too_many: bool | None = None  # until the first loop needs it
    for loop, inside in body.loops:
        taken = [
            *(node.value for node in inside if isinstance(node, ast.Expr) and _takes_one(node.value)),
            *(node for node in inside if isinstance(node, ast.Delete) and _is_one(node.targets[0])),
        ]
        if not taken:
            continue
        if too_many is None:
            too_many = _too_many(body)
        few = not isinstance(loop, ast.While) and _leaves_last(loop.iter)
        if (few or too_many or any(map(_used_up, inside))) and not any(map(_by_what_it_is, inside)):
            yield from (("history-cut", node) for node in taken)


def _takes_one(call: ast.expr) -> bool:
    """Tell whether a call takes one turn, not a fixed one, out of a list: ``messages.pop(i)``."""
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("pop", "remove")
        and is_turns(call.func.value)
        and len(call.args) == 1
        and isinstance(call.args[0], ast.Name)
    )


def _is_one(target: ast.expr) -> bool:
    """Tell whether an expression is one turn, not a fixed one: ``messages[i]``."""
    return isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Name) and is_turns(target.value)


def _too_many(body: Body) -> bool:
    """Tell whether a function compares something with a limit."""
    return any(
        isinstance(node.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE) and _MANY.search(ast.unparse(node))
        for node in body.of(ast.Compare)
    )


def _used_up(node: ast.AST) -> bool:
    """Tell whether a condition asks whether what is kept with a turn has run out: ``turns[i].left < 0``."""
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Lt | ast.LtE)
        and getattr(node.comparators[0], "value", None) == 0
        and any(isinstance(n, ast.Subscript) and is_turns(n.value) for n in walk(node.left))
    )


def _by_what_it_is(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and _BY_WHAT_IT_IS.search(ast.unparse(node)) is not None


def _leaves_last(node: ast.expr) -> bool:
    """Tell whether a loop runs over all but the last of something: ``images[:-2]``."""
    upper = (
        node.slice.upper if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) else None
    )
    return isinstance(upper, ast.UnaryOp) and isinstance(upper.op, ast.USub)
