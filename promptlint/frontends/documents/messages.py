"""Message lists: ``role`` and ``content``, in the dialects of the providers and frameworks."""

from __future__ import annotations

import json

from promptlint.frontends.documents.draft import Draft
from promptlint.frontends.documents.embedded import load_json
from promptlint.frontends.documents.marks import is_bare_mark, mark_of
from promptlint.frontends.documents.nodes import DictNode, ListNode, Node, place_of, plain
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Segment

ROLES = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "model",
    "tool": "tool",
    "function": "tool",
}
_ROLE_KEYS = ("role", "type", "author", "speaker")
_CONTENT_KEYS = ("content", "contents", "parts", "text", "value", "template", "prompt")
_TEXT_KEYS = ("text", "thinking", "input_text", "content")
# Binary content is not read as text, and no tokenizer of ours counts it.
_BINARY = frozenset(
    {"image", "image_url", "input_image", "document", "file", "input_file", "input_audio", "audio", "video"}
)


def role_of(node: Node) -> str:
    """Return the role of a message, "" if the node is none."""
    if not isinstance(node, DictNode):
        return ""
    return next((ROLES[value] for key in _ROLE_KEYS if (value := node.text(key).lower()) in ROLES), "")


def content_of(message: DictNode) -> Node | None:
    """Return what a message says."""
    return message.get(*_CONTENT_KEYS)


def is_message(node: Node) -> bool:
    """Tell whether a node is a mapping with a known role and content."""
    return isinstance(node, DictNode) and bool(role_of(node)) and content_of(node) is not None


def is_message_list(node: Node | None) -> bool:
    """Tell whether a list holds messages: at least one, and nothing else but texts."""
    if not isinstance(node, ListNode) or not node.items:
        return False
    return any(map(is_message, node.items)) and all(
        is_message(item)
        or isinstance(item, MappedText)
        or (isinstance(item, DictNode) and bool(role_of(item)))
        for item in node.items
    )


_KEPT = (
    "response_metadata",
    "additional_kwargs",
    "usage",
    "usage_metadata",
    "created_at",
    "finish_reason",
    "tool_call_id",
)
_MANY = 12


def is_recorded(node: ListNode) -> bool:
    """Tell whether a list is a conversation that took place: answers with what is kept of them, or many of them."""
    answers = [
        item for item in node.items if isinstance(item, DictNode) and role_of(item) in ("assistant", "tool")
    ]
    kept = any(item.get(*_KEPT) is not None for item in answers)
    return kept or (len(node.items) > _MANY and len(answers) * 3 > len(node.items))


def embedded(text: MappedText) -> ListNode | None:
    """Return the message list that a text holds as JSON, None if it holds none."""
    node = load_json(text)
    return node if isinstance(node, ListNode) and is_message_list(node) else None


def add(draft: Draft, node: Node | None, style: str = "") -> None:
    """Append every message of a list; a bare text stands for messages made at run time."""
    if not isinstance(node, ListNode):
        return
    for item in node.items:
        if isinstance(item, MappedText):
            draft.message("", item, style=style)
        elif isinstance(item, DictNode):
            draft.speakers.begin(role_of(item))
            blocks(draft, content_of(item), style)
            if (calls := item.get("tool_calls")) is not None:
                draft.add([draft.speakers.spoken(_as_json(calls))])
            if mark := mark_of(item):
                draft.mark(mark)


def blocks(draft: Draft, node: Node | None, style: str = "") -> None:
    """Append content to the current message: a text, or a list of content blocks with their marks."""
    if isinstance(node, MappedText):
        draft.say(node, style)
    elif isinstance(node, ListNode):
        for item in node.items:
            blocks(draft, item, style)
    elif isinstance(node, DictNode):
        if (
            not is_bare_mark(node)
            and node.text("type") not in _BINARY
            and not _BINARY.intersection(node.names())
        ):
            inner = node.get(*_TEXT_KEYS)
            if inner is None:
                draft.add([draft.speakers.spoken(_as_json(node))])
            else:
                blocks(draft, inner, style)
        if mark := mark_of(node):
            draft.mark(mark)


def system(draft: Draft, node: Node | None, style: str = "") -> None:
    """Append a system prompt that stands outside the messages."""
    if isinstance(node, DictNode):
        node = content_of(node)
    if node is not None:
        draft.speakers.begin("system")
        blocks(draft, node, style)


def _as_json(node: Node) -> Segment:
    return Segment(place_of(node), json.dumps(plain(node), ensure_ascii=False))
