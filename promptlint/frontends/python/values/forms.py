"""What values look like: texts, messages, tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptlint.frontends.python.values.naming import HISTORY
from promptlint.frontends.python.values.pieces import Alt, Lit, Part
from promptlint.frontends.python.values.values import (
    KEPT,
    Choice,
    Const,
    DictV,
    Item,
    ListV,
    Obj,
    Str,
    Template,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from promptlint.frontends.python.values.arguments import Arguments

MIN_TEXT = 20  # known characters without which a text is not taken for a prompt


def is_text(value: Value) -> bool:
    """Tell whether a value is text, whichever way its conditions turn out."""
    if isinstance(value, Choice):
        return any(isinstance(v, (Str, Template)) for v in value.values)
    return isinstance(value, (Str, Template))


_OPENS = re.compile(r"\W*(?:You are|You're|Your (?:role|job|task) is|Act as) (?:an?|the)\b")
SYSTEM_TEXT = 400  # known characters of a text that opens as a system prompt does, and is as long as one


def opens_as_system(value: Value) -> bool:
    """Tell whether a text is long and says first who the model is: ``You are a careful reviewer. …``."""
    if not isinstance(value, Str) or value.literal_length() < SYSTEM_TEXT:
        return False
    return _OPENS.match(_opening(value.parts)) is not None


def _opening(parts: tuple[Part, ...]) -> str:
    """Return the known text that a text begins with; of alternatives the first that has any."""
    for part in parts:
        if isinstance(part, Lit):
            if part.text.strip():
                return part.text
        elif isinstance(part, Alt):
            if found := next(filter(None, map(_opening, part.branches)), ""):
                return found
        else:
            break
    return ""


_PICTURE = re.compile(r"image|audio|video|(^|_)file$")


def is_picture(block: DictV) -> bool:
    """Tell whether a content block is an image or a sound: what is written around it is never read as text."""
    kind = block.get("type")
    plain = kind.plain() if isinstance(kind, Str) else None
    return plain is not None and _PICTURE.search(plain) is not None


_SYSTEM = ("system", "developer")


def is_conversation(value: ListV) -> bool:
    """Tell whether a list is what a request starts with: a system message, and at least one other."""
    if len(value.items) < 2:
        return False
    return any(_role(i.value) in _SYSTEM for i in value.items) and (
        sum(is_message(i.value) for i in value.items) > 1
    )


def holds_turns(value: ListV) -> bool:
    """Tell whether a list is what a conversation begins with: messages, and nothing else."""
    return bool(value.items) and all(is_message(i.value) for i in value.items)


def opened(items: list[Item]) -> list[Item]:
    """Return the items of a list without what may have been put in before, where a system message opens it."""
    if len(items) < 2:
        return items
    earlier, first = items[0], items[1]
    unseen = earlier.spread and isinstance(earlier.value, Unknown) and earlier.value.place is None
    return items[1:] if unseen and _role(first.value) in _SYSTEM else items


def with_earlier(value: ListV) -> list[Item]:
    """Return the items of a list, and what stands for the turns of earlier calls where it outlives them."""
    if value.owner != KEPT or not has_turns(value) or any(item.spread for item in value.items):
        return value.items
    begins = 1 if _role(value.items[0].value) in _SYSTEM else 0
    earlier = Item(Unknown(None, name="messages[]", path="messages[]"), spread=True)
    return [*value.items[:begins], earlier, *value.items[begins:]]


_SPEAKERS = frozenset({"system", "developer", "user", "human", "assistant", "ai"})
CONTENT = ("content", "parts", "text", "message")  # where a message keeps its text, beside a role


def pair(value: Value) -> tuple[str, Value] | None:
    """Return role and content of a message that is written as a pair: ``("system", text)``."""
    if not isinstance(value, ListV) or value.kind != "tuple" or len(value.items) != 2:
        return None
    first, second = (item.value for item in value.items)
    role = first.plain() if isinstance(first, Str) else None
    return (role, second) if role in _SPEAKERS and is_text(second) else None


def _role(value: Value) -> object:
    found: Value | None = None
    if (said := pair(value)) is not None:
        return said[0]
    if isinstance(value, DictV) and "role" in value.entries:
        found = value.entries["role"].value
    elif isinstance(value, Obj):
        found = value.attrs.get("role")
    if isinstance(found, Const):
        return found.value
    return found.plain() if isinstance(found, Str) else None


def _has_role(value: DictV) -> bool:
    """Tell whether a mapping has a speaker's role, and what is said, or may still get it: a service has a role too."""
    if "role" not in value.entries:
        return False
    says = any(key in value.entries for key in (*CONTENT, "tool_calls", "function_call"))
    return says or bool(value.rest) or len(value.entries) == 1 or _role(value) in _SPEAKERS


def is_message(value: Value) -> bool:
    """Tell whether a value is a message, or a place for earlier ones."""
    if isinstance(value, Choice):
        return any(map(is_message, value.values))
    if isinstance(value, DictV):
        return _has_role(value)
    if isinstance(value, ListV):
        return pair(value) is not None
    return isinstance(value, Obj) and value.kind in ("message", "placeholder")


def is_tool(value: DictV) -> bool:
    """Tell whether a mapping defines a tool."""
    if "function" in value.entries and "type" in value.entries:
        called = value.get("function")
        # A model's call of a tool looks alike: it has an id and arguments, and is part of a turn.
        return not ("id" in value.entries or (isinstance(called, DictV) and "arguments" in called.entries))
    keys = value.entries.keys()
    return "description" in keys and ("input_schema" in keys or "parameters" in keys or "inputSchema" in keys)


def spoken(given: Arguments) -> DictV | None:
    """Return the message that a call is given in pieces: ``chat.add_message(role="system", content=text)``."""
    if (role := given.keywords.get("role")) is None:
        return None
    content = next((given.keywords[key] for key in CONTENT if key in given.keywords), None)
    if not isinstance(role, Str) or role.plain() not in _SYSTEM or content is None or not is_text(content):
        return None
    out = DictV()
    out.entries = {"role": Item(role), "content": Item(content)}
    return out


MIN_SECTIONS = 3


def is_sectioned(value: Value) -> bool:
    """Tell whether a mapping is a prompt by its sections: ``{"Introduction": …, "Task": …, "Instructions": {…}}``."""
    if not isinstance(value, DictV) or value.rest or len(value.entries) < MIN_SECTIONS:
        return False
    if any(item.place is None for item in value.entries.values()):
        return False
    return any(is_long(item.value) for item in value.entries.values())


def holds_objects(value: ListV) -> bool:
    """Tell whether messages are objects of the program's own: it hands them on from function to function."""
    return any(isinstance(i.value, Obj) and i.value.cls is not None for i in value.items)


def is_long(value: Value) -> bool:
    """Tell whether a value is text of some length."""
    return isinstance(value, Str) and value.literal_length() >= MIN_TEXT


def promptish(given: Arguments) -> bool:
    """Tell whether the arguments of a loosely matched call look like a prompt at all."""
    for value in [*given.args, *given.keywords.values()]:
        if (
            isinstance(value, (Str, Template))
            and (value.literal_length() if isinstance(value, Str) else 1) >= MIN_TEXT
        ):
            return True
        if isinstance(value, ListV) and any(is_message(i.value) or is_long(i.value) for i in value.items):
            return True
        if isinstance(value, DictV) and value.get("prompt") is not None:
            return True
    return any(
        k in given.keywords
        for k in ("messages", "system", "system_prompt", "prompt", "instructions", "tools")
    )


def is_history(value: Value | None) -> bool:
    """Tell whether a value is, by its name or its elements, the turns of a conversation."""
    if isinstance(value, (Unknown, ListV)) and HISTORY.search(value.name or ""):
        return True
    return has_turns(value)


def has_turns(value: Value | None) -> bool:
    """Tell whether a list holds turns, beside whatever else."""
    return isinstance(value, ListV) and any(_is_turn(i.value) for i in value.items)


def _is_turn(value: Value) -> bool:
    if isinstance(value, Choice):
        return any(map(_is_turn, value.values))
    if isinstance(value, DictV):
        return _has_role(value)
    return isinstance(value, Obj) and value.kind == "message"
