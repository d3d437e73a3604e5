"""What is put in front of the last turn of the user, or taken from the tools of one call, told by its form.

A conversation is taken apart at the user's last turn, and something is put there that the next request will not
have at the same place::

    result.extend(before_last_user)
    result.append(project_files)                  moves behind each new turn
    result.append(last_user_message)

Tools stand in front of everything; a loop that takes them away for its last round pays for all of it again::

    if last_round:
        tools = []
    else:
        tools = all_tools
"""

from __future__ import annotations

import ast
import re

from promptlint.frontends.python.nodes import walk
from promptlint.frontends.python.turnlists import Body, Seen, is_turns, last_name

_LAST_USER = re.compile(r"(last|latest|newest)_(user|human)", re.IGNORECASE)
_TOOLS = re.compile(
    r"(^|_)(tools?|functions)(_?(defs?|definitions?|schemas?|specs?|list|param))?$", re.IGNORECASE
)
_ROUND = re.compile(
    r"last|final|max|limit|cycle|iteration|turn|round|step|attempt|budget|remaining|count|first|force",
    re.IGNORECASE,
)


def placing(body: Body) -> Seen:
    """Yield what a function puts in front of the user's last turn."""
    for loop, inside in body.loops:
        if isinstance(loop, ast.For | ast.AsyncFor):
            yield from _beside_last(inside)
    waiting: dict[str, list[ast.Call]] = {}
    for node in body.of(ast.Call):
        if not (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend")
            and len(node.args) == 1
        ):
            continue
        added = node.args[0]
        turns = node.func.attr == "extend" and is_turns(added)
        if not (turns or waiting):
            continue
        owner, name = ast.unparse(node.func.value), last_name(added) or ""
        if turns and owner not in waiting:
            waiting[owner] = []
        elif owner in waiting:
            if node.func.attr == "append" and _LAST_USER.search(name):
                for call in waiting.pop(owner):
                    yield "history-inserted", call
            else:
                waiting[owner].append(node)


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


def withdrawn(body: Body) -> Seen:
    """Yield where the rounds of a loop are sent without the tools that the others have."""
    for _, inside in body.loops:
        for test in inside:
            if isinstance(test, ast.If):
                yield from _none_in_one(test)


def _none_in_one(test: ast.If) -> Seen:
    none = [node for node in test.body if _sets_tools(node, empty=True)]
    if not (none and _ROUND.search(ast.unparse(test.test))):
        return
    some = {
        last_name(node.targets[0])
        for node in walk(*test.orelse)
        if isinstance(node, ast.Assign) and _sets_tools(node, empty=False)
    }
    for node in none:
        if isinstance(node, ast.Assign) and last_name(node.targets[0]) in some:
            yield "tools-changed", node


def _sets_tools(node: ast.AST, *, empty: bool) -> bool:
    if not (isinstance(node, ast.Assign) and _TOOLS.search(last_name(node.targets[0]) or "")):
        return False
    value = node.value
    nothing = (isinstance(value, ast.List | ast.Tuple) and not value.elts) or (
        isinstance(value, ast.Constant) and value.value is None
    )
    return nothing is empty
