"""Conversations that an object of a library keeps, told by its class and by the names of its methods.

Libraries call them alike, and what is put in is sent in that order::

    history = ChatHistory(system_message=ROLE)
    history.add_user_message(f"The report: {report}")
    history.add_message(ChatMessage(role="user", content=RULES))
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptlint.frontends.python.evaluate import access, methods
from promptlint.frontends.python.evaluate.machine import Frame, Machine
from promptlint.frontends.python.library import engines
from promptlint.frontends.python.values.values import NONE, Const, Item, ListV, Obj, Unknown, Value

if TYPE_CHECKING:
    from promptlint.frontends.python.values.arguments import Arguments

KIND = "dialog"
_ENDS = ("History", "Thread", "Log")
_CLASS = re.compile(r"(?:^|\.)\w*(?:Chat|Message|Conversation)\w*$")
_ADDS = re.compile(
    r"a?(?:add|append|push)_?(?P<role>system|developer|user|human|assistant|ai|model|tool)?_?(?:messages?|msg|turn|prompt|text)?"
)
_GIVES = frozenset(
    {"messages", "get_messages", "aget_messages", "to_messages", "to_list", "to_openai", "get"}
)
_TEXT = ("content", "message", "text", "msg")


def made(m: Machine, path: str, given: Arguments, node: ast.Call, frame: Frame) -> Obj | None:
    """Return the conversation that a call of a class outside of the project makes, if its name says so."""
    if not (path.endswith(_ENDS) and _CLASS.search(path)):
        return None
    out = Obj(kind=KIND, name=path.rsplit(".", 1)[-1], place=frame.module.place(node))
    turns = ListV([], depth=len(m.guards))
    turns.name = "messages"
    out.attrs["messages"] = turns
    system = given.get("system_message", "system_prompt", "system")
    if system is not None:
        turns.items.append(Item(_message(m, "system", system, node, frame)))
    earlier = given.get("messages", 0)
    if isinstance(earlier, ListV):
        turns.items.extend(earlier.items)
    return out


def message(m: Machine, path: str, given: Arguments, node: ast.Call, frame: Frame) -> Obj | None:
    """Return the message that a call of a class outside of the project makes, by its name and arguments."""
    content = given.keywords.get("content")
    if content is None or "role" not in given.keywords or not path.endswith(("Message", "MessageContent")):
        return None
    name = engines.speaker(given.keywords["role"])
    out = Obj(kind="message", name=name, place=frame.module.place(node))
    out.attrs = dict(given.keywords)
    return out


def copied(value: Obj) -> Obj:
    """Return the conversation of an object that was not made here: there have been turns since."""
    out = Obj(kind=KIND, name=value.name, place=value.place)
    turns = ListV(
        [*_turns(value).items, Item(Unknown(None, name="messages[]", path="messages[]"), spread=True)]
    )
    turns.name = "messages"
    out.attrs["messages"] = turns
    return out


def method(m: Machine, value: Obj, name: str, given: Arguments, node: ast.Call, frame: Frame) -> Value:
    """Return what a method of a conversation gives; what it adds is kept."""
    turns = _turns(value)
    adds = _ADDS.fullmatch(name)
    if adds is not None:
        for one in _added(m, adds["role"] or "", given, node, frame):
            methods.method(m, turns, "append", replace(given, args=[one]), node, frame)
        return NONE
    if name in _GIVES:
        return turns
    if name == "clear":
        turns.items.clear()
        return NONE
    return Unknown(frame.module.place(node), name=name, path=f"{value.name}.{name}()")


def _turns(value: Obj) -> ListV:
    turns = value.attrs["messages"]
    return turns if isinstance(turns, ListV) else ListV([])


def _added(m: Machine, role: str, given: Arguments, node: ast.Call, frame: Frame) -> list[Value]:
    """Return the messages that a call adds: a text under a role, a message, or several."""
    values = list(given.args)
    text = given.get(*_TEXT)
    said = given.get("role")
    if not role and said is None and len(values) == 2:
        said, *values = values
    plain = access.plain(said) if said is not None else None
    role = role or (plain if isinstance(plain, str) else "")
    content = text if text is not None else values[0] if values else None
    if content is None:
        return []
    if role or said is not None:
        return [_message(m, role, content, node, frame)]
    return [item.value for item in content.items] if isinstance(content, ListV) else [content]


def _message(m: Machine, role: str, content: Value, node: ast.Call, frame: Frame) -> Obj:
    """Return a message; one that is a message already only gets a role where it has none."""
    if isinstance(content, Obj) and content.kind == "message":
        return content
    out = Obj(kind="message", name=engines.role_of(role), place=frame.module.place(node))
    out.attrs = {"role": Const(out.name), "content": content}
    m.recorder.message(m, out, node, frame)
    return out
