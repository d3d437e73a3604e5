"""Conversations to try a chat template with. Every part carries a word that occurs nowhere else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

Message = dict[str, object]

_WORD = re.compile(r"zq[a-z]+\d+")
_LONG = "and more of it " * 140  # 2,100 characters


@dataclass(frozen=True, slots=True)
class Marker:
    """A word in a conversation: what it marks, and the message it belongs to (None: the tools)."""

    word: str
    kind: str  # "system", "late-system", "user", "content", "reasoning", "call", "result", "tools"
    message: int | None
    role: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages that grow turn by turn, with tools that stay the same.

    ``unusual`` says that many clients never send such a conversation.
    """

    name: str
    messages: tuple[Message, ...]
    markers: tuple[Marker, ...]
    tools: tuple[Message, ...] = ()
    unusual: bool = False

    def lengths(self) -> Iterator[int]:
        """Yield the numbers of messages at which a request or an answer ends, shortest first."""
        for length in range(1, len(self.messages) + 1):
            if any(message["role"] == "user" for message in self.messages[:length]):
                yield length


class _Builder:
    """Builds one conversation; ``mark`` makes the words."""

    def __init__(self, name: str, arguments: str, parts: bool, reasoning: str, tools: bool) -> None:
        self.name = name
        self.arguments = arguments  # of tool calls: "object" or "text"
        self.parts = parts  # content as a list of parts
        self.reasoning = reasoning  # "", "field" or "inline"
        self.messages: list[Message] = []
        self.markers: list[Marker] = []
        self.tools: tuple[Message, ...] = ()
        if tools:
            word = self.mark("tools", None)
            self.tools = (
                {
                    "type": "function",
                    "function": {
                        "name": "look_up",
                        "description": f"Looks things up {word}",
                        "parameters": {
                            "type": "object",
                            "properties": {"word": {"type": "string", "description": "what to look up"}},
                            "required": ["word"],
                        },
                    },
                },
            )

    def mark(self, kind: str, message: int | None, role: str = "") -> str:
        word = f"zq{kind.replace('-', '')}{len(self.markers)}"
        self.markers.append(Marker(word, kind, message, role))
        return word

    def say(self, role: str, kind: str, **more: object) -> None:
        mark = self.mark(kind, len(self.messages), role)
        # Where a template cuts a result, the word is in what it cuts off.
        text = f"Some text {_LONG if kind == 'result' else ''}{mark} ends."
        content: object = [{"type": "text", "text": text}] if self.parts else text
        self.messages.append({"role": role, "content": content, **more})

    def answer(self, call: bool = False) -> None:
        index = len(self.messages)
        message: Message = {"role": "assistant"}
        thought = f"A thought {self.mark('reasoning', index, 'assistant')} ends." if self.reasoning else ""
        if self.reasoning == "field":
            message |= {"reasoning_content": thought, "reasoning": thought, "thinking": thought}
        if call:
            word = self.mark("call", index, "assistant")
            given: object = {"word": word}
            function = {
                "name": "look_up",
                "arguments": given if self.arguments == "object" else json.dumps(given),
            }
            message["tool_calls"] = [{"id": "call12345", "type": "function", "function": function}]
            text = ""
        else:
            text = f"Some text {self.mark('content', index, 'assistant')} ends."
        if self.reasoning == "inline":
            text = f"<think>\n{thought}\n</think>\n\n{text}"
        message["content"] = [{"type": "text", "text": text}] if self.parts else text
        self.messages.append(message)

    def done(self, unusual: bool = False) -> Conversation:
        return Conversation(self.name, tuple(self.messages), tuple(self.markers), self.tools, unusual)


@dataclass(frozen=True, slots=True)
class Style:
    """What differs between clients: a template takes one style and fails with another."""

    arguments: str = "object"  # of tool calls: "object", or JSON "text"
    parts: bool = False  # contents as lists of parts
    system: bool = True  # starts with a system message


STYLES = tuple(
    Style(arguments, parts, system)
    for system in (True, False)
    for parts in (False, True)
    for arguments in ("object", "text")
)

#: name → (how reasoning is given, whether tools are on offer, whether they are called)
_SHAPES = {
    "turns": ("", False, False),
    "turns with tools on offer": ("", True, False),
    "answers with reasoning": ("field", False, False),
    "answers with reasoning in their text": ("inline", False, False),
    "tool calls": ("", True, True),
    "tool calls with reasoning": ("field", True, True),
}
NAMES = (*_SHAPES, "turns without a system message", "a system message in between")


def conversation(name: str, style: Style) -> Conversation:
    """Return one of the conversations of `NAMES` in a style."""
    reasoning, tools, calls = _SHAPES.get(name, ("", False, False))
    builder = _Builder(name, style.arguments, style.parts, reasoning, tools)
    late = name == "a system message in between"
    if style.system and name != "turns without a system message":
        builder.say("system", "system")
    for turn in range(2 if calls or late else 3):
        if late and turn:
            builder.say("system", "late-system")
        builder.say("user", "user")
        if calls:
            for _ in range(2):
                builder.answer(call=True)
                builder.say("tool", "result", name="look_up", tool_call_id="call12345")
        builder.answer()
    builder.say("user", "user")
    return builder.done(unusual=late)


def words(text: str) -> Iterator[tuple[int, str]]:
    """Yield the marker words of a rendering with their positions."""
    for match in _WORD.finditer(text):
        yield match.start(), match.group()
