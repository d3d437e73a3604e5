"""The first message of a conversation, set again while the conversation goes on::

    while True:
        messages[0]["content"] = f"{RULES}\\nBattery: {robot.battery()}"
        messages.append(…)

    def turn(self, action):
        self.messages[0] = {"role": "system", "content": PROMPT.format(state=self.world.describe())}

Whoever sets it again before each request says that it changes, even where nothing else tells so of the value. All
turns stand behind it.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import access
from promptlint.frontends.python.library.engines import role_of
from promptlint.frontends.python.syntax.nodes import parameters
from promptlint.frontends.python.values.forms import CONTENT
from promptlint.frontends.python.values.naming import CONSTRUCTORS
from promptlint.frontends.python.values.pieces import Hole, Loop, flat
from promptlint.frontends.python.values.values import DictV, ListV, Obj, Str, Value

if TYPE_CHECKING:
    from promptlint.frontends.python.evaluate.machine import Frame, Machine

_WORD = re.compile(r"\w+")


def content_of(value: Value) -> Value | None:
    """Return the text of a system message that is set as a whole."""
    if isinstance(value, DictV):
        role = access.plain(value.get("role") or Str(()))
        content = next((found for key in CONTENT if (found := value.get(key)) is not None), None)
    elif isinstance(value, Obj) and value.kind == "message":
        role, content = value.name, value.attrs.get("content")
    else:
        return None
    return content if isinstance(role, str) and role_of(role) == "system" else None


def set_again(m: Machine, node: ast.expr, turns: Value, value: Str, frame: Frame) -> bool:
    """Tell whether a text that was set as the first of ``turns``, written ``node``, will be another in the next request."""
    if value.plain() is not None:
        return False
    inner = max((i for i, g in enumerate(m.guards) if g.kind in ("for", "while")), default=-1)
    if inner >= frame.depth and any(loop in m.turns for loop in m.loops):
        return not isinstance(turns, ListV) or turns.depth <= inner
    func = frame.func
    if func is None or func.name in CONSTRUCTORS or isinstance(func.node, ast.Lambda):
        return False
    if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"):
        return False
    given = {a.arg for a in parameters(func.node)} - {"self"}
    holes = [part for part in flat(value.parts) if isinstance(part, Hole)]
    whole = func.module.place(func.node)
    # What a caller gives is set when somebody wants it: a persona, a language.
    listed = any(isinstance(part, Loop) for part in value.parts)  # what it lists, the object may add to
    own = (hole for hole in holes if whole.holds(hole.place))  # a name of another function is another's
    return (listed or any(hole.call for hole in holes)) and not any(
        hole.root in given or not given.isdisjoint(_WORD.findall(hole.expression)) for hole in own
    )
