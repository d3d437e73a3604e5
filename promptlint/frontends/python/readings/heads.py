"""Which expression is the first message of a conversation, or its system message, by how it was got.

::

    messages[0]                 first = messages[0]                 next(m for m in messages if m["role"] == "system")

    for message in messages:
        if message["role"] == "system":
            message["content"] += found
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from promptlint.frontends.python.readings.shapes import last_name, names_of
from promptlint.frontends.python.syntax.nodes import remembered, walk
from promptlint.frontends.python.values.naming import HISTORY, called_name

_SYSTEM = re.compile(r"\b(system|developer)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
# Contexts of voice agents keep their turns as items.
_KEEPS_ITEMS = re.compile(r"(^|_)(chat_ctx|chat_context|chat_history|history|conversation|context)$")


def is_list_of_turns(node: ast.expr) -> bool:
    """Tell whether an expression is named like the turns of a conversation: ``self.messages``, ``chat_ctx.items``."""
    name = last_name(node) or ""
    if isinstance(node, ast.Attribute) and name == "items":
        return _KEEPS_ITEMS.search(last_name(node.value) or "") is not None
    return HISTORY.search(name) is not None


def turns_headed_by(first: ast.expr, at: ast.AST, func: ast.AST | None) -> ast.expr | None:
    """Return the list whose first or system message an expression is, where ``at`` sets its text; else None."""
    if (whole := _of_first(first)) is not None:
        return whole
    if not isinstance(first, ast.Name) or func is None:
        return None
    found = list(_lists(first.id, at, func))
    return found[0] if len(found) == 1 else None


@remembered
def _read_of_first(func: ast.AST) -> dict[str, frozenset[str]]:
    """Return the names that hold the first element of a list, or something of that, by how the list is written."""
    found: dict[str, set[str]] = {}
    for node in walk(func):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if (whole := _of_first(node.value)) is not None:
                found.setdefault(ast.unparse(whole), set()).add(node.targets[0].id)
            for names in found.values():
                if not names.isdisjoint(names_of(node.value)):
                    names.add(node.targets[0].id)
    return {whole: frozenset(names) for whole, names in found.items()}


def asks_of_first(condition: str, whole: ast.expr, func: ast.AST) -> bool:
    """Tell whether a condition asks what the first element of a list is: ``first["role"] != "user"``."""
    written = ast.unparse(whole)
    names = _read_of_first(func).get(written, frozenset())
    return f"{written}[0]" in condition or not names.isdisjoint(_WORD.findall(condition))


def _of_first(node: ast.expr) -> ast.expr | None:
    """Return the list of which an expression is the first element."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0:
        return node.value
    return None


def _lists(name: str, at: ast.AST, func: ast.AST) -> Iterator[ast.expr | None]:
    """Yield for each place that gives a name its value the list whose head that is, None for something else."""
    for node in walk(func):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                yield _head_of(node.value)
        elif isinstance(node, ast.For | ast.AsyncFor) and last_name(node.target) == name:
            asked = any(
                isinstance(test, ast.If)
                and _asks_for_system(test.test, name)
                and any(one is at for one in walk(*test.body))
                for test in walk(*node.body)
            )
            yield node.iter if asked else None


def _head_of(value: ast.expr) -> ast.expr | None:
    if (whole := _of_first(value)) is not None:
        return whole
    if isinstance(value, ast.Call) and called_name(value) == "next" and value.args:
        made = value.args[0]
        if isinstance(made, ast.GeneratorExp) and isinstance(made.elt, ast.Name):
            one = made.generators[0]
            if any(_asks_for_system(test, made.elt.id) for test in one.ifs):
                return one.iter
    return None


def _asks_for_system(test: ast.expr, name: str) -> bool:
    """Tell whether a condition holds for the system message only: ``m["role"] == "system"``."""
    asked = any(isinstance(n, ast.Name) and n.id == name for n in walk(test))
    negated = any(isinstance(n, ast.NotEq | ast.NotIn | ast.Not | ast.IsNot) for n in walk(test))
    return asked and not negated and _SYSTEM.search(ast.unparse(test)) is not None
