"""Functions that send a prompt through another: nothing in them has a telling name.

A program has its own ``ask(text)`` or ``Answer(backstory=text)`` from a library, and calls it with whatever
it likes::

    def summary(pages):
        return ask(f"Summarise in five lines.\\n{pages}")

``ask`` names a client and messages; ``summary`` is where the prompt is made. So is a function that calls a method of the
program's own object which sends one, whatever it hands over: `owners` says whose method it is.
"""

from __future__ import annotations

import ast
from collections.abc import Container

from promptlint.frontends.python.evaluate import linking
from promptlint.frontends.python.evaluate.machine import Machine
from promptlint.frontends.python.prompts.constants import MIN_FORM
from promptlint.frontends.python.prompts.owners import method
from promptlint.frontends.python.syntax.nodes import parameters, walk
from promptlint.frontends.python.syntax.slicing import asks_a_model, tells_of_prompts
from promptlint.frontends.python.values.modules import Module
from promptlint.frontends.python.values.naming import talks
from promptlint.frontends.python.values.values import ClassV, Ext, FuncV, ModuleV, Template, Unknown, Value

_MAKING = frozenset(
    (
        "format",
        "format_map",
        "replace",
        "join",
        "substitute",
        "safe_substitute",
        "render",
        "build",
        "getvalue",
    )
)
MIN_TEXT = 12  # known characters of a text that is worth a look


def sends(m: Machine, module: Module, func: FuncV, cls: ClassV | None) -> bool:
    """Tell whether a function makes a text, or has one made, and hands it to what sends prompts."""
    found = walk(func.node)
    makes = any(map(_is_text, found))
    own = {arg.arg for arg in parameters(func.node)}
    calls = [n for n in found if isinstance(n, ast.Call) and (_gives(n) if makes else _hands_on(n, own))]
    for callee in (_callee(m, module, n.func, cls) for n in calls):
        own_text = makes or not isinstance(callee, FuncV)
        if _is_sender(callee, m) if own_text else _asks(callee):
            return True
    given = [n.func for n in found if isinstance(n, ast.Call) and _gives(n)]
    if any(_holds(module, node) or _asks(method(m, func, cls, node)) for node in given):
        return True
    if cls is not None and _is_sender(_overridden(func, cls), m) and any(map(_is_super, found)):
        return True
    return makes and any(map(_is_long, found)) and any(map(talks, calls))


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _overridden(func: FuncV, cls: ClassV) -> Value | None:
    """Return what a method stands in the place of, where that is none that Python calls by itself."""
    return None if func.name.startswith("__") else cls.find(func.name, after=func.cls)


def _is_long(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) and _written(node) >= MIN_FORM


def _written(node: ast.JoinedStr) -> int:
    known = (v.value for v in node.values if isinstance(v, ast.Constant))
    return sum(len(text) for text in known if isinstance(text, str))


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr):  # ``f"{header}\n{RULES}"`` has hardly a word of its own
        several = sum(isinstance(part, ast.FormattedValue) for part in node.values) > 1
        return several or _written(node) >= MIN_TEXT
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in _MAKING
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod)


def _gives(node: ast.Call) -> bool:
    return bool(node.args or node.keywords)


def _hands_on(node: ast.Call, own: Container[str]) -> bool:
    """Tell whether a call is given more than constants and what its function was given: ``ask(self.rules(), question)``."""
    return any(
        not isinstance(given, ast.Constant) and not (isinstance(given, ast.Name) and given.id in own)
        for given in (*node.args, *(keyword.value for keyword in node.keywords))
    )


def _callee(m: Machine, module: Module, node: ast.expr, cls: ClassV | None) -> Value | None:
    """Return what a call names, as far as the names of the module and the methods of the class tell."""
    if isinstance(node, ast.Name):
        return linking.name_of(m, module, node.id)
    if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
        known = isinstance(node, ast.Attribute) and node.attr in m.catalog.sinks_by_suffix
        dotted = _path(node) if known else ""
        return Ext(dotted) if dotted else None
    if node.value.id in ("self", "cls"):
        return cls.find(node.attr) if cls is not None else None
    owner = linking.name_of(m, module, node.value.id)
    if isinstance(owner, ModuleV):
        return linking.name_of(m, owner.module, node.attr)
    return Ext(f"{owner.path}.{node.attr}") if isinstance(owner, Ext | Unknown) else None


def _holds(module: Module, node: ast.expr) -> bool:
    """Tell whether what is called, or whose method it is, is an object of the file that was given a template: ``chain.run(…)``."""
    owner = node.value if isinstance(node, ast.Attribute) else node
    known = module.names.get(owner.id) if isinstance(owner, ast.Name) else None
    return isinstance(known, Template) or (isinstance(known, Unknown) and bool(known.templates))


def _path(node: ast.expr) -> str:
    """Return ``OpenAI().responses.create`` for such an expression, else an empty text."""
    if isinstance(node, ast.Attribute):
        owner = _path(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    if isinstance(node, ast.Call):
        made = _path(node.func)
        return f"{made}()" if made else ""
    return node.id if isinstance(node, ast.Name) else ""


def _is_sender(callee: Value | None, m: Machine) -> bool:
    if isinstance(callee, Ext | Unknown):
        return m.sink(callee.path) is not None
    if isinstance(callee, ClassV):
        return _makes_turns(callee)
    return (
        isinstance(callee, FuncV)
        and not isinstance(callee.node, ast.Lambda)
        and tells_of_prompts(callee.node)
    )


def _asks(callee: Value | None) -> bool:
    if not isinstance(callee, FuncV) or isinstance(callee.node, ast.Lambda):
        return False
    return tells_of_prompts(callee.node) and asks_a_model(callee.node)


def _makes_turns(cls: ClassV) -> bool:
    """Tell whether a class writes messages: ``{"role": who, "content": text}``; remembered on its node."""
    known: bool | None = getattr(cls.node, "_makes_turns", None)
    if known is None:
        known = "role" in cls.module.lines(cls.node) and any(
            (isinstance(n, ast.Dict) and any(getattr(key, "value", None) == "role" for key in n.keys))
            or (isinstance(n, ast.keyword) and n.arg == "role")
            for n in walk(*cls.node.body)
        )
        cls.node._makes_turns = known  # type: ignore[attr-defined]
    return known
