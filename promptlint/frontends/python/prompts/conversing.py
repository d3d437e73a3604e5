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
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python.readings.turns import is_added
from promptlint.frontends.python.values.forms import is_conversation
from promptlint.frontends.python.values.naming import goes_on
from promptlint.frontends.python.values.values import ListV, Obj, Value
from promptlint.layout import Section, Segment

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame


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


def as_turn(segments: list[Segment], node: ast.expr, frame: Frame) -> tuple[Segment, ...]:
    """Return a message as one of the turns where a loop adds it to them: the system may speak there, too."""
    if frame.func is None or not is_added(node, frame.func.node):
        return tuple(segments)
    return tuple(replace(segment, section=Section.MESSAGES, role="") for segment in segments)
