"""Functions whose text a decorator hands to an agent.

An agent may have several, and reads what they return in the order in which they are written::

    @agent.instructions
    def today(): return f"Today is {date.today()}."     in front of the rules

    @agent.instructions
    def rules(): return RULES
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from promptlint.frontends.python.evaluate import linking, text
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.library import engines
from promptlint.frontends.python.values.naming import path_of
from promptlint.frontends.python.values.values import FuncV, Str, Value

_CARRIED = ("system", "prompt", "user")
MAX_BEHIND = 8  # functions whose texts are looked at behind another's


def handed_on(m: Machine, value: Value, frame: Frame) -> Value | None:
    """Return the prompt that a decorator makes of what a function returns; None where none does."""
    func = frame.func
    if func is None or isinstance(func.node, ast.Lambda):
        return None
    for decorator in func.node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        inner = Frame(func.module, {}, None, func.cls, frozen=True, outer=func.closure)
        sink = m.sink(path_of(m.evaluate(target, inner)))
        carried = sink.arguments.get("return") if sink is not None else None
        if carried in _CARRIED:
            behind = (
                list(islice(_behind(m, func, target, frame), MAX_BEHIND))
                if carried == "system" and value.cause
                else []
            )
            return _joined(value, behind, target, frame) if behind else value
    return None


def made_anew(frame: Frame) -> bool:
    """Tell whether a decorated function is asked for each request; the text of a ``system_prompt`` is kept."""
    decorators = (
        []
        if frame.func is None or isinstance(frame.func.node, ast.Lambda)
        else frame.func.node.decorator_list
    )
    written = " ".join(map(ast.unparse, decorators))
    return "system_prompt" not in written or "dynamic=True" in written


def _behind(m: Machine, func: FuncV, target: ast.expr, frame: Frame) -> Iterator[Value]:
    """Yield what the functions return that stand behind one in its module and have the same decorator."""
    same = ast.dump(target)
    whole = func.module.tree.body if func.module.tree is not None else []
    bound = [n for n in whole if isinstance(n, ast.Assign) and ast.dump(n.targets[0]) in _roots(target)]
    if func.node not in whole or len(bound) > 1:  # the same name may be another agent
        return
    for node in whole:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.lineno <= func.node.lineno:
            continue
        targets = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
        other = linking.name_of(m, func.module, node.name) if same in map(ast.dump, targets) else None
        if isinstance(other, FuncV):
            yield engines.called(m, other, target, frame)


def _roots(target: ast.expr) -> set[str]:
    """Return how the agent of ``agent.instructions`` is written where it is assigned."""
    owner = target.value if isinstance(target, ast.Attribute) else target
    return {ast.dump(ast.Name(owner.id, ast.Store()))} if isinstance(owner, ast.Name) else set()


def _joined(first: Value, behind: list[Value], at: ast.expr, frame: Frame) -> Str:
    """Return the texts one behind the other; a short one keeps the place in its function too."""
    place = frame.module.place(at)
    shown = (one.parts if isinstance(one, Str) else text.parts_of(one, place, "") for one in (first, *behind))
    return Str(tuple(part for parts in shown for part in parts))
