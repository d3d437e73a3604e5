"""Conversations that a program holds in its own objects, or hands on without a call to a model in sight.

Nothing names the class, nor the method that sends::

    thread = Dialog()
    thread.system(ROLE)
    thread.user(f"The report:\\n{report}")
    thread.user(RULES)
    return backend.run(thread)

A list that begins as a request does is one, wherever it is kept. What a function has put into it shows where it is
handed on, and where the function ends.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import linking
from promptlint.frontends.python.readings.turns import is_added
from promptlint.frontends.python.syntax.nodes import Loop, loops_around, remembered, walk
from promptlint.frontends.python.values.forms import is_conversation
from promptlint.frontends.python.values.naming import HISTORY, goes_on
from promptlint.frontends.python.values.values import ClassV, FuncV, ListV, ModuleV, Obj, Value
from promptlint.layout import Observation, Section, Segment
from promptlint.source import Place

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame, Machine
    from promptlint.frontends.python.values.modules import Module

_PILED = "each turn is kept with its mark"
# A turn that is set anew without one: ``messages[-1]["content"] = text``.
_WRITTEN_ANEW = r"(?:\[(?![\"']cache_control)[^\]\n]{0,60}\]){1,4}\s{0,4}=(?!=|.{0,200}cache_control)"
# Marks of earlier turns that are taken off again: ``block.pop("cache_control", None)``.
_TAKES_OFF = re.compile(
    r"(?:pop|del|remove|strip|clear|without)\w{0,40}\b.{0,60}cache_?control", re.IGNORECASE
)


def held(value: Value) -> ListV | None:
    """Return the conversation that a value is, or an object of the program holds."""
    if isinstance(value, ListV):
        return value if is_conversation(value) else None
    if not isinstance(value, Obj) or (value.cls is None and value.kind != "dialog"):
        return None
    return next((v for v in value.attrs.values() if isinstance(v, ListV) and is_conversation(v)), None)


def all_held(values: Iterable[Value]) -> Iterator[ListV]:
    """Yield the conversations that the names of a function hold when it ends, each once."""
    seen: set[int] = set()
    for value in values:
        if (found := held(value)) is not None and id(found) not in seen:
            seen.add(id(found))
            yield found


def grows(value: ListV) -> bool:
    """Tell whether a loop over turns has added to a conversation."""
    return any(goes_on(g.kind, g.expression) for item in value.items for g in item.guards)


def stays(node: ast.AST, frame: Frame) -> bool:
    """Tell whether a loop adds what a node makes, or the name it is bound to, to a text or to turns that go on."""
    return frame.func is not None and is_added(node, frame.func.node)


def as_turn(segments: list[Segment], *, stays: bool) -> tuple[Segment, ...]:
    """Return a message as one of the turns where a loop adds it to them: the system may speak there, too."""
    if not stays:
        return tuple(segments)
    return tuple(replace(segment, section=Section.MESSAGES, role="") for segment in segments)


def piled_up(
    m: Machine, sent: Value | None, segments: list[Segment], call: ast.Call, frame: Frame
) -> Observation | None:
    """Tell where turns are kept with the marks that they were sent with, so that each request has one more.

    A function of another file may take them off on the way: ``create(**within_limit(request))``.
    """
    if not isinstance(sent, ListV) or (place := _piling(sent, segments, call, frame)) is None:
        return None
    written = frame.module.source.text
    taken = (
        _TAKES_OFF.search(written)
        or re.search(rf"\b{re.escape(sent.name)}{_WRITTEN_ANEW}", written)
        or any(_TAKES_OFF.search(other.source.text) for other in called_into(m, frame))
    )
    return None if taken else Observation("mark-limit", place, _PILED)


def called_into(m: Machine, frame: Frame) -> Iterator[Module]:
    """Yield the other files whose functions are called where a request is made."""
    for node in walk(frame.func.node) if frame.func is not None else ():
        if not isinstance(node, ast.Call):
            continue
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        found = linking.name_of(m, frame.module, owner.id) if isinstance(owner, ast.Name) else None
        if isinstance(found, FuncV | ClassV | ModuleV) and found.module is not frame.module:
            yield found.module


def _piling(sent: ListV, segments: list[Segment], call: ast.Call, frame: Frame) -> Place | None:
    """Return a mark that a turn is kept with."""
    kept = False
    for segment in segments if sent.owner else ():
        mark = segment.breakpoint
        if kept and mark is not None and not segment.guards:
            return mark.place
        kept = kept or (segment.is_hole and HISTORY.search(segment.origin.name) is not None)
    if frame.func is None or (added := _marked_in_loop(call, sent.name, frame.func.node)) is None:
        return None
    return frame.module.place(added)


def _marked_in_loop(call: ast.Call, name: str, func: ast.AST) -> ast.expr | None:
    """Return the mark of a turn that the loop around a call adds to the list that is sent."""
    return next((key for loop in loops_around(call, func) if (key := _marks(loop).get(name))), None)


@remembered
def _marks(loop: Loop) -> dict[str, ast.expr]:
    """Return the first marks of what a loop adds to lists, by the names of the lists."""
    found: dict[str, ast.expr] = {}
    for call in (n for n in walk(*loop.body) if isinstance(n, ast.Call)):
        match call.func:
            case ast.Attribute(ast.Name(name), "append") if name not in found:
                constants = (n for n in walk(*call.args) if isinstance(n, ast.Constant))
                if key := next((n for n in constants if n.value == "cache_control"), None):
                    found[name] = key
    return found
