"""Functions whose names say that they shorten a conversation: what they give back is rearranged.

How the turns to keep are chosen differs from program to program; what is done with them does not. In a function,
class or file that is named after its purpose (``compress``, ``HistoryReducer``, ``sliding_window``) these tell::

    return [*kept[:at], note, *kept[at:]]        something else stands where the turns were
    self.messages[1:n] = [summary]
    self.messages = messages[cut:]               the first turns are gone
    kept = [m for m in messages if id(m) in ids]; return system + kept
    compacted[index] = placeholder               a turn is emptied where it stands
"""

from __future__ import annotations

import ast
import re

from promptlint.frontends.python.readings import turns
from promptlint.frontends.python.readings.rarely import SHARE
from promptlint.frontends.python.readings.shapes import is_message, last_name, parts_of
from promptlint.frontends.python.readings.turnlists import (
    OF_TALK,
    SUMMARY,
    Body,
    Function,
    Seen,
    is_turns,
    is_turns_name,
    says_messages,
)
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.naming import HISTORY

_MEASURED = re.compile(r"_(tokens|count|size|length|len)$")
_PURPOSE = re.compile(
    r"compact|compress|condens|truncat|trim|prun(e|ing)|evict|reduc(e|er|ing|tion)|shrink|summar|window|forget|keep",
    re.IGNORECASE,
)
# Of one value, not of turns: "truncate_message", "summarize_text".
_OF_ONE = re.compile(
    r"(message|text|string|content|output|result|line|document|file|page|id|name)$", re.IGNORECASE
)
_REST = re.compile(r"remain|rest$|recent|kept|keep|tail|latest", re.IGNORECASE)
_TEXT = frozenset({"content", "text", "blocks", "parts"})
_OF_MANY = re.compile(r"summar(y|ies)|compacted|condensed", re.IGNORECASE)


def compacting(body: Body) -> Seen:
    """Yield what a function does to a conversation that it gives back."""
    name = body.function.name
    yield from _summary_in_front(body)
    yield from _in_front_of_kept(body)
    named = _PURPOSE.search(name) and not _OF_ONE.search(name)
    if not named and not _PURPOSE.search(body.owner):
        return
    yield from _taken_in_front(body)
    yield from _emptied(body)
    if _divides(body):
        return
    given = _given_back(body)
    copies = _copies(body)
    for node in body.steps:
        if isinstance(node, ast.Return) and node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for value in values:
                yield from _rearranged(value, node, given, body)
        elif isinstance(node, ast.Assign):
            target = _turn_of_text(node.targets[0])
            if isinstance(target, ast.Subscript):
                if is_turns(target.value) or last_name(target.value) in copies:
                    yield from _set_inside(target, node, body.function)
            elif last_name(target) in given or _kept(target):
                yield from _rearranged(node.value, node, given, body)


def _divides(body: Body) -> bool:
    """Tell whether a function gives back both parts of a conversation: ``return turns[:at], turns[at:]``.

    What is done with the first of them tells whether turns are lost, and stands where the function is called.
    """
    named = {
        node.targets[0].id: part
        for node in body.of(ast.Assign)
        if isinstance(node.targets[0], ast.Name) and (part := _cut_at(node.value)) is not None
    }
    for node in body.of(ast.Return):
        if isinstance(node.value, ast.Tuple):
            found = {named.get(last_name(one) or "") or _cut_at(one) for one in node.value.elts}
            if any(part is not None and (*part[:2], not part[2]) in found for part in found):
                return True
    return False


def _cut_at(node: ast.expr) -> tuple[str, str, bool] | None:
    """Return a list, the index at which it is cut, and whether it is the part in front of it: of ``turns[:at]``."""
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
        return None
    lower, upper = node.slice.lower, node.slice.upper
    bound = lower if upper is None else upper if lower is None else None
    return None if bound is None else (ast.unparse(node.value), ast.unparse(bound), lower is None)


def _turn_of_text(target: ast.expr) -> ast.expr:
    """Return the turn whose text is set: ``kept[i]`` of ``kept[i].content`` and of ``kept[i]["content"]``."""
    key = target.attr if isinstance(target, ast.Attribute) else None
    if isinstance(target, ast.Subscript):
        key = getattr(target.slice, "value", None)
    turn = getattr(target, "value", target)
    return turn if key in _TEXT and isinstance(turn, ast.Subscript) else target


def _summary_in_front(body: Body) -> Seen:
    """Yield where a list gets a turn made of a summary, and then the turns that are not in it."""
    first: dict[str, ast.Call] = {}
    for node in body.of(ast.Call):  # in the order of the text
        if not (isinstance(node.func, ast.Attribute) and node.args):
            continue
        if node.func.attr == "append" and isinstance(node.args[0], ast.Dict | ast.Call):
            made = walk(node.args[0])
            if any(isinstance(n, ast.Name) and _OF_MANY.search(n.id) for n in made):
                first[ast.unparse(node.func.value)] = node
            elif (
                (owner := ast.unparse(node.func.value)) in first
                and any(isinstance(n, ast.Subscript | ast.Attribute) for n in made[1:])
                and _in_loop_over_turns(node, body)
            ):
                yield "history-rewritten", first.pop(owner)
        elif node.func.attr == "extend" and first and is_turns(node.args[0]):
            if (owner := ast.unparse(node.func.value)) in first:
                yield "history-rewritten", first.pop(owner)
        elif (
            node.func.attr == "insert"
            and getattr(node.args[0], "value", None) == 0
            and is_turns(node.func.value)
            and isinstance(node.args[-1], ast.Name)
            and _OF_MANY.search(node.args[-1].id)
        ):
            yield "history-rewritten", node


def _in_front_of_kept(body: Body) -> Seen:
    """Yield where one turn stands for those that a call has parted from the rest.

    ``gone, kept = split(turns, budget)`` and ``[summary_turn(gone), *kept]``.
    """
    parted: set[str] = set()
    converted: set[str] = set()
    for node in body.of(ast.Assign):  # in the order of the text
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and isinstance(value, ast.ListComp):
            one = value.generators[0]
            if body.holds_turns(one.iter) and not one.ifs:
                converted.add(target.id)
        elif (
            isinstance(target, ast.Tuple)
            and isinstance(value, ast.Call)
            and any(body.holds_turns(given) or last_name(given) in converted for given in value.args)
        ):
            parted |= {one.id for one in target.elts if isinstance(one, ast.Name)}
    for made in body.of(ast.List) if parted else ():
        first, rest = (made.elts[0], made.elts[-1]) if made.elts else (made, made)
        if isinstance(rest, ast.Starred) and last_name(rest.value) in parted and _is_summary(first):
            yield "history-rewritten", made


def _in_loop_over_turns(call: ast.Call, body: Body) -> bool:
    return any(
        not isinstance(loop, ast.While) and is_turns(loop.iter) and call in inside
        for loop, inside in body.loops
    )


def _taken_in_front(body: Body) -> Seen:
    """Yield where an object throws the first part of what it keeps away."""
    for node in body.of(ast.Expr):
        if (
            isinstance(call := node.value, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in ("pop", "popleft")
            and isinstance(call.func.value, ast.Attribute)
            and last_name(call.func.value.value) == "self"
            and (is_turns(call.func.value) or OF_TALK.search(body.owner))
            and (call.func.attr == "popleft" or (call.args and getattr(call.args[0], "value", None) == 0))
        ):
            yield "history-cut", call


def _emptied(body: Body) -> Seen:
    """Yield where the text of a turn that is picked by a number becomes a part of itself, in a loop."""
    for loop, inside in body.loops:
        picked = {
            node.targets[0].id
            for node in loop.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Subscript)
            and isinstance(node.value.slice, ast.Name)
            and is_turns(node.value.value)
        }
        for node in inside if picked else ():
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Attribute | ast.Subscript)
                and last_name(node.targets[0].value) in picked
                and any(isinstance(n, ast.Slice) and n.upper is not None for n in walk(node.value))
            ):
                yield "history-rewritten", node


def _given_back(body: Body) -> frozenset[str]:
    """Return the names that a function returns, keeps in its object, or returns as a part of something."""
    out: set[str] = set()
    for node in body.steps:
        value = node.value if isinstance(node, ast.Return) else None
        if isinstance(node, ast.Assign) and _kept(node.targets[0]):
            value = node.value
        if value is not None:
            out |= {name for part in parts_of(value) if (name := last_name(part)) is not None}
            out |= {name for part in _handed_on(value) if (name := last_name(part)) is not None}
    return frozenset(out | _by_way_of(body, out))


def _by_way_of(body: Body, given: set[str]) -> set[str]:
    """Return the names that are given back by way of calls, of a function that says that it returns messages.

    ``kept = mended(system, kept)`` and ``return checked(kept)``.
    """
    if not says_messages(body.function.returns):
        return set()
    calls = [node.value for node in body.of(ast.Return) if isinstance(node.value, ast.Call)]
    names = given | {one.id for call in calls for one in call.args if isinstance(one, ast.Name)}
    for node in reversed(body.of(ast.Assign)):
        if isinstance(node.value, ast.Call) and last_name(node.targets[0]) in names:
            names |= {one.id for one in node.value.args if isinstance(one, ast.Name)}
    return names


def _handed_on(value: ast.expr) -> list[ast.expr]:
    """Return the turns that are given back by way of a call: ``return await repaired(messages)``."""
    if isinstance(value, ast.Await):
        value = value.value
    if not isinstance(value, ast.Call) or (last_name(value.func) or "")[:1].isupper():
        return []  # one who makes an object of them says by its names what each of them is
    return [a for a in (*value.args, *(k.value for k in value.keywords)) if is_turns(a)]


def _copies(body: Body) -> frozenset[str]:
    """Return the names of copies of a conversation: ``kept = list(messages)``."""
    return frozenset(
        node.targets[0].id
        for node in body.of(ast.Assign)
        if isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and last_name(node.value.func) in ("list", "copy", "deepcopy")
        and any(map(is_turns, (*node.value.args, getattr(node.value.func, "value", node))))
    )


def _kept(target: ast.expr) -> bool:
    """Tell whether an assignment sets the conversation of an object: ``self.messages``, ``state.history``."""
    return isinstance(target, ast.Attribute) and HISTORY.search(target.attr) is not None


def _rearranged(value: ast.expr, node: ast.AST, given: frozenset[str], body: Body) -> Seen:
    parts = list(parts_of(value))
    if not parts:
        return
    if (
        (len(parts) > 1 and _is_rest(parts[-1], given) and any(map(_is_summary, parts[:-1])))
        or _replaced(value)
        or _made_of_summaries(value)
    ):
        yield "history-rewritten", node
    elif any(_from_somewhere(part, body) for part in parts) or any(map(_filtered, parts)):
        yield "history-cut", node


def _replaced(value: ast.expr) -> bool:
    """Tell whether turns and what stands for some of them are handed to a call: ``replaced(messages, summary=s)``."""
    if not isinstance(value, ast.Call):
        return False
    given = [*value.args, *(k.value for k in value.keywords)]
    return any(map(is_turns, given)) and any(
        isinstance(part, ast.Name) and _OF_MANY.search(part.id) for part in given
    )


def _made_of_summaries(value: ast.expr) -> bool:
    """Tell whether turns are made of summaries: ``[Message(role=s.role, content=s.text) for s in summaries]``."""
    return (
        isinstance(value, ast.ListComp)
        and is_message(value.elt)
        and _OF_MANY.search(last_name(value.generators[0].iter) or "") is not None
    )


def _is_rest(node: ast.expr, given: frozenset[str]) -> bool:
    name = last_name(node.value if isinstance(node, ast.Subscript) else node)
    return name is not None and (name in given or is_turns(node) or _REST.search(name) is not None)


def _is_summary(node: ast.expr) -> bool:
    """Tell whether a part is one turn that stands for several."""
    if isinstance(node, ast.Call):
        return any(SUMMARY.search(last_name(n) or "") for n in (node.func, *node.args))
    if not isinstance(node, ast.Name) or _MEASURED.search(node.id):
        return False
    return SUMMARY.search(node.id) is not None and not _several(node.id)


def _several(name: str) -> bool:
    """Tell whether a name is one of many things: of ``existing_summaries`` and ``compacted_messages``, not ``note``."""
    return name.endswith("s") and is_turns_name(name)


def _in_a_large_step(bound: ast.expr | None, body: Body) -> bool:
    """Tell whether a part of a list begins at its half or third: so much goes at once that the next cut is far away."""
    if isinstance(bound, ast.Name):
        bound = next((n.value for n in body.of(ast.Assign) if last_name(n.targets[0]) == bound.id), None)
    return (
        isinstance(bound, ast.BinOp)
        and isinstance(bound.op, ast.FloorDiv | ast.Div)
        and isinstance(bound.left, ast.Call)
        and last_name(bound.left.func) == "len"
        and (body.number(bound.right) or SHARE + 1) <= SHARE
    )


def _from_somewhere(node: ast.expr, body: Body) -> bool:
    """Tell whether an expression is a conversation from an index that was worked out, or its last turns."""
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and is_turns(node.value)):
        return False
    lower = node.slice.lower
    if node.slice.upper is not None or lower is None or isinstance(lower, ast.Constant):
        return False
    return not _in_a_large_step(lower, body)


def _filtered(node: ast.expr) -> bool:
    """Tell whether an expression is the turns whose number or identity was chosen."""
    if not isinstance(node, ast.ListComp) or len(node.generators) != 1:
        return False
    one = node.generators[0]
    source = one.iter.args[0] if isinstance(one.iter, ast.Call) and one.iter.args else one.iter
    chosen = any(
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.In | ast.NotIn)
        and isinstance(test.comparators[0], ast.Name)
        for test in one.ifs
    )
    return chosen and is_turns(source) and isinstance(node.elt, ast.Name | ast.Subscript)


def _set_inside(target: ast.Subscript, node: ast.Assign, function: Function) -> Seen:
    """Yield where turns in a list are set: one by its number, or several by a range that ends before the last.

    Where a loop gives each turn the shape that a provider wants, all of them keep it.
    """
    at = target.slice
    if isinstance(at, ast.Slice) and at.upper is not None:
        empty = isinstance(node.value, ast.List) and not node.value.elts
        yield "history-cut" if empty else "history-rewritten", node
    elif isinstance(at, ast.Name):
        of_each = turns.is_of_each(target, ast.unparse(target.value), function)
        if not (of_each and turns.stays(node.targets[0], function)):
            yield "history-rewritten", node
