"""One turn that is copied, sent with more than it says, and kept as it was.

::

    question = copy.deepcopy(query.user_message)
    for part in question.content:
        if part.type == "text":
            part.text = WITH_CONTEXT.format(context=found, question=part.text)
    request = [*query.messages, question]

The next request has the turn without, and everything behind it anew.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from promptlint.frontends.python.readings.shapes import last_name, names_of, root_name
from promptlint.frontends.python.readings.turnlists import Body, Seen
from promptlint.frontends.python.syntax.nodes import walk
from promptlint.frontends.python.values.naming import called_name

_QUESTION = re.compile(
    r"(^|_)(user|human|last|latest|newest|current|incoming)_?(message|msg|turn)$", re.IGNORECASE
)
_COPIES = frozenset({"deepcopy", "copy", "model_copy", "dict"})
_ADDS = frozenset({"append", "insert", "extend"})
_SAYS = frozenset({"content", "text", "parts"})


def dressing(body: Body) -> Seen:
    """Yield what is added to the copy of a question that is handed on: of each statement of the function the first."""
    copies = {
        node.targets[0].id
        for node in body.of(ast.Assign)
        if isinstance(node.targets[0], ast.Name) and _is_copy(node.value)
    }
    copies &= _handed_on(body) if copies else copies
    for statement in body.function.body if copies else ():
        inside = walk(statement)
        for copied in sorted(copies & {node.id for node in inside if isinstance(node, ast.Name)}):
            change = next(_changes(copied, inside), None)
            if change is not None:
                yield "history-rewritten", change


def _is_copy(node: ast.expr) -> bool:
    """Tell whether an expression copies what is called like one turn of the user."""
    if isinstance(node, ast.Call) and called_name(node) in _COPIES:
        of = node.args[0] if node.args else getattr(node.func, "value", None)
    else:
        of = node.values[0] if isinstance(node, ast.Dict) and node.keys == [None] else None
    return of is not None and _QUESTION.search(last_name(of) or "") is not None


def _handed_on(body: Body) -> set[str]:
    """Return the names that are given to a call or put into a list, and that nothing keeps."""
    kept = {
        last_name(node.value)
        for node in body.of(ast.Assign)
        if isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    }
    given = (part for call in body.of(ast.Call) for part in (*call.args, *(k.value for k in call.keywords)))
    within = (part for made in body.of(ast.List) for part in made.elts)
    return {one.id for one in (*given, *within) if isinstance(one, ast.Name)} - kept


def _changes(copied: str, inside: list[ast.AST]) -> Iterator[ast.expr]:
    """Yield where the text of a copy is set to more than its own, or gets another part."""
    own = {copied}
    for loop in inside:
        if isinstance(loop, ast.For | ast.AsyncFor) and root_name(loop.iter) in own:
            own |= names_of(loop.target)
    for node in inside:
        if isinstance(node, ast.Assign | ast.AugAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            more = names_of(node.value) - own if not isinstance(node.value, ast.ListComp) else frozenset()
            if more and _is_text_of(target, own):
                yield target
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _ADDS
            and _is_text_of(node.func.value, own)
        ):
            yield node


def _is_text_of(node: ast.expr, own: set[str]) -> bool:
    """Tell whether an expression is the text or the parts of one of some turns: ``turn.content``, ``turn["content"]``."""
    if isinstance(node, ast.Attribute):
        return node.attr in _SAYS and last_name(node.value) in own
    if isinstance(node, ast.Subscript):
        return getattr(node.slice, "value", None) in _SAYS and last_name(node.value) in own
    return False
