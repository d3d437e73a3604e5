"""How often a request is sent, where the program says so: a sleep in its loop, or a schedule.

Observed is the interval only; whether a cache keeps its prefix for that long is the rule's to judge.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from promptlint.frontends.python.readings.shapes import last_name
from promptlint.frontends.python.syntax.nodes import children, walk
from promptlint.frontends.python.values.modules import Module
from promptlint.frontends.python.values.naming import called_name
from promptlint.frontends.python.values.values import FuncV
from promptlint.layout import Layout, Observation, Step
from promptlint.source import Place

_WORDS = re.compile(r"\bsleep\(|\bevery\(|[\"']interval[\"']|IntervalTrigger|@[\w.]*(?:loop|every)\(")
# ``@tasks.loop(minutes=10)`` of Discord, ``@repeat_every(seconds=900)`` of FastAPI's utilities.
_REPEATING = frozenset(("loop", "repeat_every", "every"))
_REPEATS = (ast.While, ast.For, ast.AsyncFor, ast.ListComp, ast.GeneratorExp, ast.Lambda)
_DEEP = 6  # names and products within one another
_NEVER = 1e12  # seconds
_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}


def with_intervals(module: Module, layouts: list[Layout]) -> list[Layout]:
    """Return the layouts, those with marks carrying the interval at which the program sends them."""
    if module.tree is None or not any(map(_marked, layouts)) or not _WORDS.search(module.source.text):
        return layouts
    found = list(_paced(module, module.tree))
    return [_with(layout, found) if _marked(layout) else layout for layout in layouts]


def _marked(layout: Layout) -> bool:
    return any(segment.breakpoint for segment in layout.segments) or any(
        parameter.name in ("cache_control", "prompt_cache_options") for parameter in layout.parameters
    )


def _with(layout: Layout, found: list[tuple[Place, Place, float]]) -> Layout:
    """Add the shortest interval of the code around a request."""
    around = [(seconds, at) for where, at, seconds in found if where.holds(layout.place)]
    if not around:
        return layout
    seconds, at = min(around, key=lambda item: item[0])
    seen = Observation(
        "ttl-short",
        layout.place,
        f"one call in {seconds:g} s",
        related=(Step(at, f"every {seconds:g} s"),),
        data={"interval_seconds": f"{seconds:g}"},
    )
    return replace(layout, observations=(*layout.observations, seen))


def _paced(module: Module, tree: ast.Module) -> Iterator[tuple[Place, Place, float]]:
    """Yield code that runs at an interval, where the interval is set, and its seconds."""
    constants = {
        statement.targets[0].id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    functions = {
        node.name: node for node in walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for func in functions.values():
        for decorator in func.decorator_list:
            if isinstance(decorator, ast.Call) and (span := _decorated(decorator, constants)):
                yield module.place(func), module.place(decorator), span
    for node in walk(tree):
        if isinstance(node, ast.While | ast.For | ast.AsyncFor):
            sleeps = [
                (seconds, call)
                for call in _sleeps(node)
                if call.args and (seconds := _number(call.args[0], constants))
            ]
            if sleeps:
                shortest, sleep = min(sleeps, key=lambda one: one[0])
                at = module.place(sleep)
                yield module.place(node), at, shortest
                yield from ((where, at, shortest) for where in _called(module, node, functions))
        elif isinstance(node, ast.Call) and (scheduled := _scheduled(node, constants)):
            name, seconds = scheduled
            if name in functions:
                yield module.place(functions[name]), module.place(node), seconds


def _sleeps(loop: ast.While | ast.For | ast.AsyncFor) -> Iterator[ast.Call]:
    """Yield the sleeps that every turn of a loop takes: not those after an error or on a condition."""
    waiting: list[ast.AST] = list(loop.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If | ast.ExceptHandler | ast.While | ast.For | ast.FunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call) and called_name(node) == "sleep":
            yield node
        waiting.extend(children(node))


def _called(module: Module, loop: ast.AST, functions: Mapping[str, ast.AST]) -> Iterator[Place]:
    """Yield the functions of a file that a loop calls, through others too, and those that it imports."""
    known: set[str] = set()
    names = _calls(loop)
    for _ in range(_DEEP):
        names -= known
        known |= names
        names = set[str]().union(*(_calls(functions[name]) for name in names & functions.keys()))
    for name in sorted(known):
        if name in functions:
            yield module.place(functions[name])
        elif isinstance(func := module.names.get(name), FuncV):
            yield func.module.place(func.node)


def _calls(node: ast.AST) -> set[str]:
    """Return what a loop or function calls once: of calls within another loop, each but the first comes soon after one."""
    out: set[str] = set()
    waiting: list[ast.AST] = list(children(node))
    for one in waiting:  # grows meanwhile
        if isinstance(one, ast.Call):
            out.add(called_name(one))
        if not isinstance(one, _REPEATS):
            waiting += children(one)
    return out


def _scheduled(call: ast.Call, constants: dict[str, ast.expr]) -> tuple[str, float] | None:
    """Return the function and interval of ``every(n).minutes.do(f)`` or ``add_job(f, "interval", minutes=n)``."""
    name = last_name(call.func)
    if name == "do" and call.args and isinstance(call.func, ast.Attribute):
        unit = call.func.value
        every = unit.value if isinstance(unit, ast.Attribute) else None
        if (
            isinstance(every, ast.Call)
            and last_name(every.func) == "every"
            and isinstance(unit, ast.Attribute)
        ):
            count = _number(every.args[0], constants) if every.args else 1.0
            factor = _UNITS.get(unit.attr.rstrip("s"))
            return (last_name(call.args[0]) or "", count * factor) if count and factor else None
    if name == "add_job":
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        job = call.args[0] if call.args else given.get("func")
        trigger = call.args[1] if len(call.args) > 1 else given.get("trigger")
        seconds = _triggered(trigger, call.keywords, constants) if trigger is not None else 0.0
        return (last_name(job) or "", seconds) if job is not None and seconds else None
    return None


def _triggered(trigger: ast.expr, keywords: list[ast.keyword], constants: dict[str, ast.expr]) -> float:
    """Return the seconds of ``"interval", minutes=10`` or ``IntervalTrigger(minutes=10)``; 0 for another trigger."""
    if isinstance(trigger, ast.Constant) and trigger.value == "interval":
        return _span(keywords, constants)
    made = isinstance(trigger, ast.Call) and last_name(trigger.func) == "IntervalTrigger"
    return _span(trigger.keywords, constants) if made and isinstance(trigger, ast.Call) else 0.0


def _decorated(decorator: ast.Call, constants: dict[str, ast.expr]) -> float:
    """Return the seconds of ``@scheduler.scheduled_job("interval", minutes=10)`` and its like."""
    name = last_name(decorator.func)
    if name == "scheduled_job" and decorator.args:
        return _triggered(decorator.args[0], decorator.keywords, constants)
    return _span(decorator.keywords, constants) if name in _REPEATING else 0.0


def _span(keywords: list[ast.keyword], constants: dict[str, ast.expr]) -> float:
    """Return the seconds that ``hours=1, minutes=30`` are."""
    units = ((keyword.value, _UNITS.get((keyword.arg or "").rstrip("s"))) for keyword in keywords)
    return sum((_number(value, constants) or 0.0) * unit for value, unit in units if unit)


def _number(node: ast.expr, constants: dict[str, ast.expr], depth: int = 0) -> float | None:
    """Return a constant number: a literal, a product of such, or a name of the module."""
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    ):
        return float(node.value) if abs(node.value) < _NEVER else None
    if depth > _DEEP:
        return None
    if isinstance(node, ast.Name) and node.id in constants:
        return _number(constants[node.id], constants, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = (_number(side, constants, depth + 1) for side in (node.left, node.right))
        return None if left is None or right is None else left * right
    return None
