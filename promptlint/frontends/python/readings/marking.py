"""Cache marks on turns that are kept: there are only so many, and those on old turns have to be taken off.

::

    if self.results % 10 == 0 and self.marks() < 4:
        block["cache_control"] = MARK                the fortieth result gets the last one
    self.messages.append({"role": "user", "content": [block]})

    for m in messages:
        if m["role"] == "user":
            m["content"][-1]["cache_control"] = MARK     each turn of the user gets one
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence

from promptlint.frontends.python.readings.shapes import last_name, names_of
from promptlint.frontends.python.readings.turnlists import Body, Function, Seen, is_turns
from promptlint.frontends.python.syntax.nodes import definitions, walk
from promptlint.frontends.python.values.modules import Module
from promptlint.frontends.python.values.naming import is_about_marks, tells_of_marks

_COUNT = re.compile(r"mark|cache|breakpoint|checkpoint", re.IGNORECASE)
_MOST = 4  # marks that a request may have
_WHO = re.compile(r"\brole\b|\bisinstance\(")
_SAID = frozenset(("type", "text", "content"))
_TAKES_OFF = frozenset(("pop", "remove", "clear", "discard"))


def names_of_marks(module: Module) -> Iterator[str]:
    """Yield what a file calls its marks, and the functions that set them: what uses these changes no turn."""
    if module.tree is None:
        return
    called = {
        node.targets[0].id
        for node in module.tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and tells_of_marks(module.text(node))
    }
    yield from called
    uses = re.compile(rf"\b(?:{'|'.join(called)})\b") if called else None
    for node in definitions(module.tree):
        if isinstance(node, Function):
            text = module.lines(node)
            if tells_of_marks(text) or (uses is not None and uses.search(text)):
                yield node.name


def stopping(bodies: Sequence[Body]) -> Seen:
    """Yield the conditions that stop setting marks when there are enough, where nothing ever takes one off."""
    if any(
        _takes_off(node)
        for body in bodies
        for node in (*body.of(ast.Call), *body.of(ast.Delete), *body.of(ast.Assign))
    ):
        return
    for body in bodies:
        if not any(_keeps(call) for call in body.of(ast.Call)):
            continue
        for test in body.of(ast.If):
            if _is_room(test.test, body) and any(map(_marks, walk(*test.body))):
                yield "mark-stops", test.test


def unbounded(body: Body) -> Seen:
    """Yield the marks that a loop sets on each turn of a conversation, or on each of those who speak."""
    for loop, inside in body.loops:
        if isinstance(loop, ast.While) or not body.holds_turns(_whole(loop.iter)):
            continue
        if any(isinstance(n, ast.AugAssign | ast.Break) or _takes_off(n) for n in inside):
            continue  # counted, or only some of them
        marks = [n for n in inside if _marks(n) or _is_marked(n, body)]
        tests = [n for n in inside if isinstance(n, ast.If | ast.IfExp)] if marks else []
        turn = names_of(loop.target)
        for mark in marks:
            around = [test for test in tests if mark in walk(test)]
            if all(_of_who_speaks(test.test, turn) for test in around):
                yield "mark-limit", mark
                break


def _whole(source: ast.expr) -> ast.expr:
    """Return the list that a loop runs over, all of it: of ``enumerate(turns)``."""
    if isinstance(source, ast.Call) and last_name(source.func) in ("enumerate", "list") and source.args:
        return source.args[0]
    return source


def _is_marked(node: ast.AST, body: Body) -> bool:
    """Tell whether an expression makes a block with a mark: ``{"type": "text", "cache_control": MARK}``, ``{…, **MARK}``."""
    if not isinstance(node, ast.Dict):
        return False
    return any(
        last_name(value) in body.marking
        if key is None
        else isinstance(key, ast.Constant) and tells_of_marks(str(key.value))
        for key, value in zip(node.keys, node.values, strict=True)
    ) and any(getattr(key, "value", None) in _SAID for key in node.keys)


def _of_who_speaks(test: ast.expr, turn: frozenset[str]) -> bool:
    """Tell whether a condition asks only who says a turn, or in which form."""
    names = {
        name
        for name in names_of(test)
        if name not in turn and not hasattr(builtins, name) and not name[:1].isupper()
    }
    return not names and _WHO.search(ast.unparse(test)) is not None


def _takes_off(node: ast.AST) -> bool:
    """Tell whether a statement takes marks off, or builds turns anew without them."""
    if isinstance(node, ast.Call):
        named = node.func.attr if isinstance(node.func, ast.Attribute) else last_name(node.func) or ""
        return named in _TAKES_OFF and is_about_marks(node)
    if isinstance(node, ast.Delete):
        return is_about_marks(node)
    none = isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None
    return none and is_about_marks(node)


def _keeps(call: ast.Call) -> bool:
    """Tell whether a call adds to a conversation that an object keeps."""
    func = call.func
    adds = isinstance(func, ast.Attribute) and func.attr in ("append", "extend")
    kept = func.value if isinstance(func, ast.Attribute) else func
    return adds and isinstance(kept, ast.Attribute) and is_turns(kept)


def _is_room(test: ast.expr, body: Body) -> bool:
    """Tell whether a condition asks if there are fewer marks than a request may have."""
    for node in walk(test):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Lt | ast.LtE):
            most = body.number(node.comparators[0])
            counted = ast.unparse(node.left)
            # A number that this call begins with counts the marks of one request.
            if most is not None and most <= _MOST and _COUNT.search(counted) and "self" in counted:
                return True
    return False


def _marks(node: ast.AST) -> bool:
    """Tell whether a statement sets a mark."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return isinstance(target, ast.Subscript) and is_about_marks(target.slice)
