"""Conversations of which only the fixed part is marked: each step pays in full for all that went before.

::

    while not done:
        reply = create(system=[{…, "cache_control": MARK}], messages=messages)
        messages.append(…)

The turns are most of the prompt by then. Said only of a loop that sends what it adds to, where every mark that the
program sets is one of tools or system text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from promptlint.frontends.python.syntax.nodes import Loop, loops_around, walk
from promptlint.frontends.python.values.naming import called_name
from promptlint.layout import Breakpoint, Observation, Parameter, Section, Segment
from promptlint.source import Place

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame
    from promptlint.frontends.python.values.modules import Module

# What sets a mark, or may: a key, an argument by name, a function that is called after it.
_MARK = re.compile(
    r"[\"'](?:cache_?(?:control|point)|prompt_cache_breakpoint)[\"']"
    r"|\bcache_control\s*=(?!=)|\w*cache_?(?:control|point|mark|breakpoint)\w*\(",
    re.IGNORECASE,
)
# Asked for, or taken off: ``if key != "cache_control"``, ``block.pop("cache_control", None)``.
_NO_MARK = re.compile(r"(?:!=|==|\bin)\s*[({\[]?\s*$|\b(?:pop|get)\($|\bdel\s[^\n]*$")
_AUTOMATIC = re.compile(r"cache", re.IGNORECASE)
_PLAIN = frozenset({"copy", "deepcopy", "list", "items", "model_dump", "dict", "to_dict"})
_ADDS = frozenset({"append", "extend"})
_FEW = 8  # rounds of which the last ones read little


def unmarked(
    segments: list[Segment],
    parameters: Iterable[Parameter],
    sent: ast.AST,
    call: ast.Call,
    frame: Frame,
    others: Iterable[Module],
) -> Observation | None:
    """Tell that a loop sends the turns which it adds without a mark on any, while what stands in front is marked."""
    marks = [s.breakpoint for s in segments if s.breakpoint is not None]
    if not marks or any(s.breakpoint and s.section is Section.MESSAGES for s in segments):
        return None
    if frame.func is None or any(_AUTOMATIC.search(one.name) for one in parameters):
        return None
    loop = next(reversed(loops_around(call, frame.func.node)), None)
    if loop is None or not (_goes_on(loop) and _adds(loop, sent) and _is_seen(sent)):
        return None
    if any(_sets_other_marks(module, marks) for module in {frame.module, *others}):
        return None
    return Observation("turns-unmarked", frame.module.place(sent), frame.module.text(sent))


def _is_seen(sent: ast.AST) -> bool:
    """Tell whether a list is sent as it is, or by functions of the program: a method may mark what it gives."""
    calls = (n for n in walk(sent) if isinstance(n, ast.Call))
    return all(isinstance(one.func, ast.Name) or called_name(one) in _PLAIN for one in calls)


def _goes_on(loop: Loop) -> bool:
    """Tell whether a loop is not known to end after a few rounds, nor runs over things that are there."""
    if isinstance(loop, ast.While):
        return True
    if not isinstance(loop.iter, ast.Call) or called_name(loop.iter) != "range":
        return False
    last = loop.iter.args[:2][-1:]
    return not any(isinstance(n, ast.Constant) and isinstance(n.value, int) and n.value < _FEW for n in last)


def _adds(loop: Loop, sent: ast.AST) -> bool:
    """Tell whether a loop adds to a list that it sends."""
    names = {ast.unparse(n) for n in walk(sent) if isinstance(n, ast.Name | ast.Attribute)}
    for node in walk(*loop.body):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDS:
            if ast.unparse(node.func.value) in names:
                return True
        elif isinstance(node, ast.AugAssign) and ast.unparse(node.target) in names:
            return True
    return False


def _sets_other_marks(module: Module, marks: list[Breakpoint]) -> bool:
    """Tell whether a file sets a mark that is none of those that were seen."""
    text = module.source.text
    known = list(_places(marks, module))
    for found in _MARK.finditer(text):
        at = found.start()
        if any(place.span.start <= at < place.span.end for place in known):
            continue
        if not _NO_MARK.search(text[max(0, at - 80) : at]):
            return True
    return False


def _places(marks: list[Breakpoint], module: Module) -> Iterator[Place]:
    for mark in marks:
        for place in (mark.place, mark.made):
            if place is not None and place.path == module.path:
                yield place
