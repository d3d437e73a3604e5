"""Functions that make a conversation shorter: turns dropped at the front, summarised, or emptied in place.

Trimmers are written in many ways, and what they return goes through callers that the evaluator does not follow.
Their form is telling enough. In each of these, ``messages`` is a parameter or local so named, or annotated as a
list of messages::

    kept = [m for m in messages if m["role"] == "system"]     all but the first and the last turn is dropped
    kept.append(messages[-1])

    messages = messages[:i] + [summary] + messages[i + 1:]    a turn is replaced by something else
"""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath

from promptlint.frontends.python.readings.choosing import WRITTEN, choosing
from promptlint.frontends.python.readings.compacting import compacting
from promptlint.frontends.python.readings.continuing import continuing
from promptlint.frontends.python.readings.departing import departing
from promptlint.frontends.python.readings.downgrading import downgrading
from promptlint.frontends.python.readings.dressing import dressing
from promptlint.frontends.python.readings.dropping import dropping
from promptlint.frontends.python.readings.forgetting import forgetting
from promptlint.frontends.python.readings.marking import names_of_marks, stopping, unbounded
from promptlint.frontends.python.readings.placing import placing
from promptlint.frontends.python.readings.rarely import is_called_after_a_break, is_called_when_full
from promptlint.frontends.python.readings.reminding import reminding
from promptlint.frontends.python.readings.shapes import last_name
from promptlint.frontends.python.readings.sliding import sliding
from promptlint.frontends.python.readings.speaking import speaks_to_a_model
from promptlint.frontends.python.readings.turnlists import (
    Body,
    Function,
    Seen,
    is_list,
    kept_turns,
    knowing,
    numbers,
    read,
    script_of,
)
from promptlint.frontends.python.readings.unsent import is_never_sent
from promptlint.frontends.python.readings.withholding import reduced, switched, withdrawn, withheld
from promptlint.frontends.python.readings.wrapping import wrapping
from promptlint.frontends.python.syntax.nodes import definitions, walk, within
from promptlint.frontends.python.values.modules import Module
from promptlint.frontends.python.values.naming import HISTORY
from promptlint.layout import Confidence, Layout, LayoutKind, Observation
from promptlint.source import Span

# Without one of these words a function has no conversation: most are done with at a glance.
_TELLS = ('"role"', "'role'", ".role", "message", "Message")
_WORDS = (
    *("message", "hist", "turn", "conv", "transcript", "dialog"),
    *("msgs", "chat", "role", "memory", "rounds", "events"),
    *(
        "reversed(",
        "[::-1]",
        ".pop(0)",
        "popleft",
        "deque(",
    ),  # of a list that another function fills with messages
)
# Where a file has no messages, what it does to turns is cutting them, or turning them around.
_CUTS = ("[-", "[::-1]", "reversed(", ".pop(0)", "popleft", "deque(", "del ")
_SYSTEM = re.compile(r"system|developer", re.IGNORECASE)


def trimming(module: Module) -> list[Layout]:
    """Return a layout without text that carries where a module shortens conversations; none where it does not."""
    text = module.source.text
    if module.tree is None:
        return []
    nodes = definitions(module.tree)
    classes = {
        id(inner): node.name for node in nodes if isinstance(node, ast.ClassDef) for inner in node.body
    }
    cuts = () if any(word in text for word in _TELLS) else _CUTS
    known = numbers(module.tree)
    stem = PurePosixPath(module.path).stem
    bodies = [
        read(classes.get(id(function)) or stem, function, known)
        for function in nodes
        if isinstance(function, Function) and _tells_of_turns(module.lines(function), cuts)
    ]
    script = script_of(module.tree)
    if script.body and _tells_of_turns(text, cuts):
        bodies.append(read(stem, script, known))
    kept = frozenset().union(*map(kept_turns, bodies))
    marking = frozenset(names_of_marks(module)) if "cache" in text else frozenset()
    if kept or marking:
        bodies = [knowing(body, kept, marking) for body in bodies]
    faults: list[Seen] = [_often(_faults(body), body, module.tree) for body in bodies]
    by_name = {body.function.name: body for body in bodies}
    faults += (wrapping(body, by_name) for body in bodies)
    faults.append(reminding(bodies, by_name))
    if "cache" in text:
        faults.append(stopping(bodies))
        faults += map(unbounded, bodies)
    if "tools=" in text:
        outer = _outermost([body.function for body in bodies if body.function is not script])
        faults += (withheld(function) for function in outer if "tools=" in module.lines(function))
        faults.append(reduced(outer))
        faults.append(switched(outer))
    if WRITTEN.search(text):
        faults.append(choosing(module.tree, [node for node in nodes if isinstance(node, Function)]))
    seen = [
        Observation(what, module.place(node), module.text(node), confidence=Confidence.MEDIUM)
        for form in faults
        for what, node in form
    ]
    if not seen or not speaks_to_a_model(module):
        return []
    seen = _widest(seen)
    return [
        Layout(
            f"conversation in {module.path}", seen[0].place, (), LayoutKind.PROMPT, observations=tuple(seen)
        )
    ]


def _often(seen: Seen, body: Body, tree: ast.Module) -> Seen:
    """Leave out what a function cuts that is called only when there are far more turns or after a break, or is never sent."""
    for what, node in seen:
        kept, list_ = _end_of(node), _list_of(node, body)
        rare = kept is not None and is_called_when_full(tree, body.function, kept)
        rare = rare or is_called_after_a_break(tree, body.function)
        if not rare and not (list_ is not None and is_never_sent(list_, body.function, tree)):
            yield what, node


def _list_of(node: ast.AST, body: Body) -> str | None:
    """Return the attribute that becomes the end of a list: ``self.log = self.log[-100:]``."""
    if not isinstance(node, ast.Subscript):
        return None
    target = next((one.targets[0] for one in body.of(ast.Assign) if one.value is node), node.value)
    return target.attr if isinstance(target, ast.Attribute) else None


def _end_of(node: ast.AST) -> ast.expr | None:
    """Return how many turns are kept where a list of them becomes its end: n of ``kept = turns[-n:]``."""
    cut = node.value if isinstance(node, ast.Assign) else node
    lower = cut.slice.lower if isinstance(cut, ast.Subscript) and isinstance(cut.slice, ast.Slice) else None
    return lower.operand if isinstance(lower, ast.UnaryOp) else None


def _outermost(functions: list[Function]) -> list[Function]:
    """Leave out functions inside of others."""
    out: list[Function] = []
    for one in sorted(functions, key=lambda f: f.lineno):
        if not out or one.lineno > (out[-1].end_lineno or 0):
            out.append(one)
    return out


def _tells_of_turns(text: str, cuts: tuple[str, ...]) -> bool:
    """Tell whether a part of a file may have turns, and if it has to, whether it cuts anything."""
    if cuts and not any(word in text for word in cuts):
        return False
    lowered = text.lower().replace("return", "")  # whatever gives something back has no turns by that
    # A provider that is told of the previous response keeps the turns so far: they need not be sent.
    return any(word in lowered for word in _WORDS) and "previous_response" not in lowered


def _widest(seen: list[Observation]) -> list[Observation]:
    """Leave out what is a part of what another observation says alike: ``return note, turns[-n:]``."""
    inner: set[tuple[str, Span]] = set()
    furthest: dict[str, int] = {}
    distinct = {(one.what, one.place.span) for one in seen}
    # One that starts no later and is no shorter comes first: it holds all that end before it does.
    for what, span in sorted(distinct, key=lambda one: (one[1].start, -one[1].end)):
        if what in furthest and span.end <= furthest[what]:
            inner.add((what, span))
        else:
            furthest[what] = span.end
    return [one for one in seen if (one.what, one.place.span) not in inner]


def _faults(body: Body) -> Seen:
    lists = body.lists
    for form in (sliding, compacting, placing, withdrawn, forgetting, dropping, departing, dressing):
        yield from form(body)
    yield from list(downgrading(body)) or continuing(body)  # the first says more of the same
    if not lists and not any(HISTORY.search(n.attr) for n in body.of(ast.Attribute)):
        return
    for step in body.steps:
        if not isinstance(step, ast.Call) and _replaces_one(step.value, lists):
            yield "history-rewritten", step
    yield from _first_and_last(body)


def _replaces_one(node: ast.expr | None, lists: frozenset[str]) -> bool:
    """Tell whether an expression is a conversation with another turn at an index: ``m[:i] + [x] + m[i + 1:]``."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
        return False
    left, right = node.left, node.right
    if not (
        isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add) and isinstance(left.right, ast.List)
    ):
        return False
    return _part(left.left, lists, "upper") and _part(right, lists, "lower")


def _part(node: ast.expr, lists: frozenset[str], bound: str) -> bool:
    """Tell whether an expression is a conversation up to, or from, an index that is not fixed."""
    if not (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and is_list(node.value, lists)
    ):
        return False
    at = getattr(node.slice, bound)
    return at is not None and any(isinstance(n, ast.Name) for n in walk(at))


def _first_and_last(body: Body) -> Seen:
    """Find a list of the system messages to which the last turn of the same conversation is appended."""
    lists = body.lists
    firsts = {
        node.targets[0].id: node
        for node in body.of(ast.Assign)
        if isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.ListComp)
        and is_list(node.value.generators[0].iter, lists)
        and any(_only_system(test) for test in node.value.generators[0].ifs)
    }
    if not firsts:
        return
    for node in within(body.function.body):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend")
            and (first := firsts.get(last_name(node.func.value) or "")) is not None
            and node.args
            and _is_end(node.args[0], lists)
        ) or (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Add)
            and (first := firsts.get(last_name(node.left) or "")) is not None
            and _is_end(node.right, lists)
        ):
            yield "history-cut", first


def _only_system(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Eq)
        and bool(_SYSTEM.search(ast.unparse(test)))
    )


def _is_end(node: ast.expr, lists: frozenset[str]) -> bool:
    """Tell whether an expression is the last turn of a conversation, alone or in a list: ``messages[-1]``."""
    if isinstance(node, ast.List) and len(node.elts) == 1:
        node = node.elts[0]
    if not (isinstance(node, ast.Subscript) and is_list(node.value, lists)):
        return False
    at = node.slice
    return (
        isinstance(at, ast.UnaryOp) and isinstance(at.op, ast.USub) and isinstance(at.operand, ast.Constant)
    )
