"""Lists that a class keeps beside its conversation and never sends: what was said, to be shown or written down.

::

    self.log.append(f"user: {text}")        self.log = self.log[-100:]        for line in self.log: print(line)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptlint.frontends.python.syntax.nodes import GROWING, SHRINKING, definitions, remembered, walk
from promptlint.frontends.python.values.naming import talks

_OF_REQUESTS = frozenset(("messages", "contents", "model"))
_Method = ast.FunctionDef | ast.AsyncFunctionDef


def is_never_sent(attribute: str, method: ast.AST, tree: ast.Module) -> bool:
    """Tell whether nothing on the way to a model reads what a method keeps in an attribute, only fills and cuts it.

    False where the class talks to no model itself: then others read it.
    """
    home = next(
        (one for one in definitions(tree) if isinstance(one, ast.ClassDef) and method in one.body), None
    )
    if home is None:
        return False
    sending = _on_the_way(home)
    inside = set(map(id, walk(home)))
    outside = (node for node in walk(tree) if id(node) not in inside)
    read = any(isinstance(node, ast.Attribute) and node.attr == attribute for node in outside)
    return bool(sending) and not read and not any(_reads(one, attribute) for one in sending)


@remembered
def _on_the_way(home: ast.ClassDef) -> list[_Method]:
    """Return the methods that talk to a model, those that use them, and all that these use."""
    methods = {one.name: one for one in home.body if isinstance(one, _Method)}
    uses = {
        name: {n.attr for n in walk(one) if isinstance(n, ast.Attribute) and n.attr in methods}
        for name, one in methods.items()
    }
    found = {name for name, one in methods.items() if any(map(_sends, walk(one)))}
    for _ in methods:
        found |= {name for name, used in uses.items() if used & found}
    for _ in methods:
        found |= {used for name in found for used in uses[name]}
    return [methods[name] for name in methods if name in found]


def _sends(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (talks(node) or any(k.arg in _OF_REQUESTS for k in node.keywords))


def _reads(method: _Method, attribute: str) -> bool:
    """Tell whether a method uses what is in an attribute, or hands its object to somebody who may."""
    own = method.args.args[0].arg if method.args.args else ""
    kept = set(map(id, _maintained(method, attribute)))
    for node in walk(method):
        if isinstance(node, ast.Attribute) and node.attr == attribute and id(node) not in kept:
            return True
        if isinstance(node, ast.Call) and any(isinstance(a, ast.Name) and a.id == own for a in node.args):
            return True
    return False


def _maintained(method: _Method, attribute: str) -> Iterator[ast.AST]:
    """Yield where the list is filled, measured and cut, not read."""
    for node in walk(method):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.value
        elif isinstance(node, ast.Assign) and any(_is(target, attribute) for target in node.targets):
            yield from walk(node.value)
        elif isinstance(node, ast.Call):
            func = node.func
            if isinstance(func, ast.Attribute) and func.attr in GROWING | SHRINKING:
                yield func.value
            elif isinstance(func, ast.Name) and func.id == "len":
                yield from node.args


def _is(node: ast.AST, attribute: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == attribute
