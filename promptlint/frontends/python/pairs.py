"""Calls that take the system text and the conversation apart, whoever they belong to.

A program's own client has a method that takes both, one behind the other::

    system = template.replace("{date}", now)
    return self.model.chat(system, history, options)

What is sent is the text in front of the turns, and it is sent again with each of them.
"""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from promptlint.frontends.python.emit import Emitter
from promptlint.frontends.python.history import is_history
from promptlint.frontends.python.naming import SENDS, called_name
from promptlint.frontends.python.values import Choice, ListV, Str, Unknown, Value

if TYPE_CHECKING:
    from promptlint.frontends.python.calls import Arguments
    from promptlint.frontends.python.machine import Frame

_SYSTEM = re.compile(r"system|sys_|instruction|^prompt$|preamble|persona", re.IGNORECASE)


def emitted(emitter: Emitter, given: Arguments, node: ast.Call, frame: Frame) -> Emitter | None:
    """Put a system text and the turns behind it into an emitter, if a call is given both; else None."""
    if not SENDS.search(called_name(node)):
        return None
    every: list[tuple[int | str, Value]] = [*enumerate(given.args), *given.keywords.items()]
    for (key, text), (next_key, turns) in pairwise(every):
        if not _goes_on(turns) or not _is_system(text, key, given.nodes.get(key), frame):
            continue
        made = text.place if isinstance(text, Unknown) else None  # one text, however often it is handed on
        emitter.system(text, made or frame.module.place(given.nodes.get(key, node)))
        emitter.messages(turns, frame.module.place(given.nodes.get(next_key, node)))
        return emitter
    return None


def _goes_on(value: Value) -> bool:
    """Tell whether a value is a conversation with turns that are not all known here."""
    if isinstance(value, Choice):
        return any(map(_goes_on, value.values))
    if not is_history(value):
        return False
    return not isinstance(value, ListV) or any(
        item.spread or any(guard.kind == "for" for guard in item.guards) for item in value.items
    )


def _is_system(value: Value, key: int | str, node: ast.expr | None, frame: Frame) -> bool:
    changes = value.plain() is None if isinstance(value, Str) else value.cause is not None
    if not changes or not isinstance(value, Str | Unknown | Choice):
        return False
    names = [key if isinstance(key, str) else "", frame.module.text(node) if node is not None else ""]
    return any(map(_SYSTEM.search, names))
