"""What a conversation changes while it goes on, and what a request is made of that follows it.

::

    def step(self, text):
        system = f"{RULES}\\nDone: {self.done}"                      rendered anew, in front of all turns
        reply = create(system=system, messages=self.messages)
        self.done.append(reply)

    while True:
        create(messages=messages, tools=[READ, WRITE] if editing else [READ])
        editing = wants_to_edit(reply)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from promptlint.frontends.python.evaluate.growing import fillers
from promptlint.frontends.python.evaluate.machine import Frame
from promptlint.frontends.python.syntax.nodes import (
    Loop,
    attributes,
    loops_around,
    parameters,
    remembered,
    walk,
)
from promptlint.frontends.python.values.values import FuncV
from promptlint.layout import Confidence, Observation, Section, Segment


def switched_by(call: ast.Call, frame: Frame) -> frozenset[str]:
    """Return the names that the loops around a call count with or set: they are others in the next turn."""
    if frame.func is None:
        return frozenset()
    return frozenset().union(*map(_switched_in, loops_around(call, frame.func.node)))


@remembered
def _switched_in(loop: Loop) -> frozenset[str]:
    """Return the names that a loop counts with or sets."""
    targets = [] if isinstance(loop, ast.While) else walk(loop.target)
    return frozenset((*_set_in(walk(*loop.body)), *(n.id for n in targets if isinstance(n, ast.Name))))


def _set_in(inside: list[ast.AST]) -> Iterator[str]:
    for node in inside:
        if isinstance(node, ast.Assign | ast.AugAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    yield target.id


def rendered_anew(segments: list[Segment], frame: Frame) -> Iterator[Observation]:
    """Yield the values in front of a conversation that the method which sends it changes in its object."""
    func = frame.func
    if func is None or func.cls is None or isinstance(func.node, ast.Lambda):
        return
    changing: frozenset[str] | None = None  # until a value needs it
    for segment in segments:
        if segment.section is Section.SYSTEM and segment.is_hole and segment.cause is None:
            changing = _changed(func) if changing is None else changing
            if segment.origin.name.split(".")[0].split("[")[0] in changing:
                yield Observation(
                    "history-rewritten",
                    segment.place,
                    segment.origin.expression,
                    confidence=Confidence.MEDIUM,
                )


def _changed(func: FuncV) -> frozenset[str]:
    """Return the attributes that a method, or one that it calls, fills or sets, but for those set once when first asked for.

    What another makes anew of attributes alone, as ``self.prompt = render(self.rules)``, is another when one of these is.
    """
    called = attributes(func.node)
    filled = {
        attr: [one for one in filling if _changes(one, attr, func, called)]
        for attr, filling in (fillers(func.cls) if func.cls is not None else {}).items()
    }
    made = {
        a for a, ways in filled.items() if ways and all(w is not func and _made_anew(w.node, a) for w in ways)
    }
    found = {attr for attr, ways in filled.items() if ways} - made
    while more := {a for a in made if any(not found.isdisjoint(attributes(w.node)) for w in filled[a])}:
        found |= more
        made -= more
    return frozenset(found)


def _changes(one: FuncV, attr: str, func: FuncV, called: frozenset[str]) -> bool:
    return (one.node is func.node or one.name in called) and not only_once(one.node, attr)


def _made_anew(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, attr: str) -> bool:
    """Tell whether a method that is given nothing sets an attribute, and asks nobody but its own object."""
    inside = walk(function)
    me = [arg.arg for arg in parameters(function)]
    calls = (n.func for n in inside if isinstance(n, ast.Call))
    return (
        len(me) == 1
        and not any(
            isinstance(n, ast.Attribute) and n.attr == attr and isinstance(n.ctx, ast.Load) for n in inside
        )
        and not any(isinstance(n, ast.AugAssign) and getattr(n.target, "attr", "") == attr for n in inside)
        and all(
            isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == me[0]
            for f in calls
        )
    )


def only_once(function: ast.AST, attr: str) -> bool:
    """Tell whether a function asks for an attribute in a condition around what sets it: ``if self.prompt is None: …``."""
    return any(
        isinstance(node, ast.If)
        and attr in attributes(node.test)
        and any(isinstance(n, ast.Attribute) and n.attr == attr for n in walk(*node.body))
        for node in walk(function)
    )
