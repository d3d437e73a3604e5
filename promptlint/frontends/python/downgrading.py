"""Turns that are shown in full while they are new, and otherwise when they are not, told by the form.

The next request repeats other bytes from the turn on that was the newest::

    if i < len(steps) - 1:                       all but the newest are summarised
        text = step.result.summary
    else:
        text = step.result.message

    [NOTE if is_screenshot(m) and i != newest else m for i, m in enumerate(messages)]
"""

from __future__ import annotations

import ast
import re

from promptlint.frontends.python.nodes import walk
from promptlint.frontends.python.turnlists import (
    SUMMARY,
    Body,
    Seen,
    is_list,
    is_summary_name,
    is_turns,
    last_name,
)

_NEWEST = re.compile(r"last|latest|newest|most_recent", re.IGNORECASE)
_PLACE = re.compile(r"(\b|_)(i|j|idx|index|pos|position|age|depth)\b", re.IGNORECASE)
_FULL = frozenset({"message", "content", "text", "output", "result", "observation", "full", "body"})


def downgrading(body: Body) -> Seen:
    """Yield where a function shows older turns otherwise than the newest."""
    summaries = any(is_summary_name(n.attr) for n in body.of(ast.Attribute))
    seen: set[int] = set()
    for test in body.of(ast.If) if summaries else ():
        if _by_place(test.test):
            for choice in (test, *walk(*test.body, *test.orelse)):
                if isinstance(choice, ast.If) and id(choice) not in seen:
                    seen.add(id(choice))
                    older = _instead(choice.body, choice.orelse) or _instead(choice.orelse, choice.body)
                    if older is not None:
                        yield "history-rewritten", older
    for node in body.of(ast.ListComp):
        if _replaces_some(node, body.lists):
            yield "history-rewritten", node


def _by_place(test: ast.expr) -> bool:
    """Tell whether a condition asks where a turn stands: ``not is_last``, ``i < len(steps) - 1``."""
    text = ast.unparse(test)
    return _NEWEST.search(text) is not None or any(
        isinstance(n, ast.Compare)
        and not isinstance(n.ops[0], ast.In | ast.NotIn | ast.Is | ast.IsNot)
        and _PLACE.search(ast.unparse(n))
        for n in walk(test)
    )


def _instead(one: list[ast.stmt], other: list[ast.stmt]) -> ast.Attribute | None:
    """Return the summary that one branch shows of what the other shows in full: ``step.summary``, ``step.message``."""
    for node in walk(*one):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and SUMMARY.search(node.attr):
            owner = ast.unparse(node.value)
            if _in_full(other, owner) and not _in_full(one, owner):
                return node
    return None


def _in_full(branch: list[ast.stmt], owner: str) -> bool:
    return any(
        isinstance(n, ast.Attribute) and n.attr in _FULL and ast.unparse(n.value) == owner
        for n in walk(*branch)
    )


def _replaces_some(node: ast.ListComp, lists: frozenset[str]) -> bool:
    """Tell whether a list of turns has another text in the place of those that are not the newest of their kind."""
    one = node.generators[0]
    choice = node.elt
    if len(node.generators) != 1 or not isinstance(choice, ast.IfExp):
        return False
    target = one.target.elts[-1] if isinstance(one.target, ast.Tuple) and one.target.elts else one.target
    turn = last_name(target)
    kept = [last_name(side) == turn for side in (choice.body, choice.orelse)]
    other = choice.orelse if kept[0] else choice.body
    stands_for = any(SUMMARY.search(name) for n in walk(other) if (name := last_name(n)) is not None)
    message = isinstance(other, ast.Dict) and any(getattr(key, "value", None) == "role" for key in other.keys)
    return (
        turn is not None
        and sum(kept) == 1
        and stands_for
        and (message or any(is_turns(n) or is_list(n, lists) for n in walk(one.iter)))
    )
