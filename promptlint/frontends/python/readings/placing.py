"""What is put in front of the last turn of the user, and turns that are put in another order, told by their form.

A conversation is taken apart at the user's last turn, and something is put there that the next request will not
have at the same place::

    result.extend(before_last_user)
    result.append(project_files)                  moves behind each new turn
    result.append(last_user_message)

    sorted(turns, key=relevance, reverse=True)    by what is asked now

    request = list(self.turns)                    a note that is not kept stands in front of what is asked now
    request.append({"role": "system", "content": note})
    request.append({"role": "user", "content": question})
"""

from __future__ import annotations

import ast
import re

from promptlint.frontends.python.readings.shapes import given_by_name, last_name, parts_of
from promptlint.frontends.python.readings.turnlists import Body, Seen, is_turns
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.naming import called_name

_BY_WORTH = re.compile(r"scor|relevan|similar|importan|priorit|salien|distance", re.IGNORECASE)
_LAST_USER = re.compile(r"(last|latest|newest)_(user|human)|^(user|human)_(message|msg|turn)$", re.IGNORECASE)
_MESSAGE = re.compile(r"(System|Human|User)Message$")


def placing(body: Body) -> Seen:
    """Yield what a function puts in front of the user's last turn."""
    for loop, inside in body.loops:
        if isinstance(loop, ast.For | ast.AsyncFor):
            yield from _beside_last(inside)
    yield from _noted_in_copies(body)
    ordered = [node for node in body.of(ast.Call) if _is_sorted(node, body)]
    if ordered and any(getattr(n, "value", getattr(n, "attr", "")) == "role" for n in walk(body.function)):
        yield from (("history-rewritten", node) for node in ordered)  # mails have no roles
    waiting: dict[str, list[ast.Call]] = {}
    front: dict[str, str | None] = {}  # the list of which all but the last turn was put in
    for node in body.of(ast.Call):
        if not (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend")
            and len(node.args) == 1
        ):
            continue
        added = node.args[0]
        turns = node.func.attr == "extend" and (is_turns(added) or _part(added, upper=True) is not None)
        if not (turns or waiting):
            continue
        owner, name = ast.unparse(node.func.value), last_name(added) or ""
        if turns and owner not in waiting:
            waiting[owner] = []
            front[owner] = _part(added, upper=True)
        elif owner in waiting:
            last = front[owner] is not None and _part(added, upper=False) == front[owner]
            if last or (node.func.attr == "append" and _LAST_USER.search(name)):
                for call in waiting.pop(owner):
                    yield "history-inserted", call
            else:
                waiting[owner].append(node)


def _noted_in_copies(body: Body) -> Seen:
    """Yield what is added to a copy of the turns as a message of its own, in front of the newest turn."""
    copies = {
        node.targets[0].id
        for node in body.of(ast.Assign)
        if isinstance(node.targets[0], ast.Name)
        and not isinstance(node.value, ast.Name | ast.Attribute)
        and any(_copies(part, body) for part in parts_of(node.value))
    }
    notes: dict[str, list[ast.Call]] = {}
    kept: frozenset[str] | None = None  # until it is asked for
    for call in body.of(ast.Call):  # in the order of the text
        if not (isinstance(call.func, ast.Attribute) and len(call.args) == 1):
            continue
        owner, added = call.func.value, call.args[0]
        if not isinstance(owner, ast.Name):
            continue
        if call.func.attr == "extend" and body.keeps(added):
            copies.add(owner.id)
        elif call.func.attr == "append" and owner.id in copies:
            if _role_of(added) in ("system", "developer"):
                notes.setdefault(owner.id, []).append(call)
            elif _role_of(added) == "user" or _LAST_USER.search(last_name(added) or ""):
                kept = _kept(body) if kept is None else kept
                told = () if owner.id in kept else notes.pop(owner.id, ())
                yield from (("history-inserted", note) for note in told)


def _copies(node: ast.expr, body: Body) -> bool:
    """Tell whether an expression is a copy of turns that are kept: ``list(self.turns)``, ``turns.copy()``, ``turns[:]``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "copy":
        node = node.func.value
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        node = node.value
    return body.keeps(node)


def _role_of(node: ast.expr) -> str:
    """Return the role of a message that is written out, "" for anything else."""
    given = given_by_name(node).get("role")
    if (
        isinstance(node, ast.Call)
        and given is None
        and (made := _MESSAGE.match(called_name(node))) is not None
    ):
        return "user" if made.group(1) in ("Human", "User") else made.group(1).lower()
    role = getattr(given, "value", None)
    return role if isinstance(role, str) else ""


def _kept(body: Body) -> frozenset[str]:
    """Return the lists that become the turns that are kept: ``self.turns = request``."""
    return frozenset(
        node.value.id
        for node in body.of(ast.Assign)
        if isinstance(node.value, ast.Name) and isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    )


def _is_sorted(call: ast.Call, body: Body) -> bool:
    """Tell whether a call puts turns into an order by what they are worth; one by their time is always the same."""
    if called_name(call) == "sorted" and call.args:
        turns = call.args[0]
    elif isinstance(call.func, ast.Attribute) and call.func.attr == "sort":
        turns = call.func.value
    else:
        return False
    key = next((k.value for k in call.keywords if k.arg == "key"), None)
    return key is not None and body.holds_turns(turns) and _BY_WORTH.search(ast.unparse(key)) is not None


def _part(node: ast.expr, *, upper: bool) -> str | None:
    """Return the list that an expression is all but the last of (``turns[:-1]``), or the last (``turns[-1]``)."""
    if not (isinstance(node, ast.Subscript) and is_turns(node.value)):
        return None
    at = node.slice
    if isinstance(at, ast.Slice):
        bound, other = (at.upper, at.lower) if upper else (at.lower, at.upper)
        at = bound if bound is not None and other is None else at
    elif upper:
        return None
    return ast.unparse(node.value) if ast.unparse(at) == "-1" else None


def _beside_last(inside: list[ast.AST]) -> Seen:
    """Yield a turn that a loop over a conversation adds only where it has come to the user's last one."""
    for test in inside:
        if not (
            isinstance(test, ast.If)
            and isinstance(test.test, ast.Compare)
            and isinstance(test.test.ops[0], ast.Eq)
            and _LAST_USER.search(last_name(test.test.comparators[0]) or "")
        ):
            continue
        for node in walk(*test.body):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "append"
                and node.args
                and isinstance(node.args[0], ast.Call | ast.Dict)
                and re.search("message", ast.unparse(node), re.IGNORECASE)
            ):
                yield "history-inserted", node
