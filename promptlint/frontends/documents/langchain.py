"""Prompts that LangChain wrote: ``_type`` files of its loader, and ``lc`` objects of its serializer."""

from __future__ import annotations

from promptlint.frontends.base import Context
from promptlint.frontends.documents.draft import Draft
from promptlint.frontends.documents.nodes import DictNode, ListNode, Node, place_of
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Layout, Origin, OriginKind, Segment

_STYLES = {"f-string": "format", "jinja2": "jinja", "mustache": "mustache"}
_TYPES = frozenset({"prompt", "few_shot", "chat", "chat_prompt"})
_ROLES = (("System", "system"), ("Human", "user"), ("AI", "assistant"), ("Chat", ""))


def matches(node: Node) -> bool:
    """Tell whether a mapping is a prompt of LangChain."""
    if not isinstance(node, DictNode):
        return False
    if node.text("_type") in _TYPES:
        return True
    if isinstance(node.get("template"), MappedText) and (
        "input_variables" in node or "template_format" in node
    ):
        return node.text("template_format") in ("", *_STYLES)  # as its first versions wrote it
    return "lc" in node and _class(node).endswith(("PromptTemplate", "StructuredPrompt"))


def read(node: DictNode, name: str, context: Context) -> list[Layout]:
    """Return the layout of a serialized prompt."""
    draft = Draft(node.text("name") or name, place_of(node), context)
    _add(draft, node)
    return [draft.layout()] if draft.segments else []


def _class(node: DictNode) -> str:
    """Return the class name that an ``lc`` object carries at the end of its ``id``."""
    path = node.get("id")
    last = path.items[-1] if isinstance(path, ListNode) and path.items else None
    return last.text if isinstance(last, MappedText) else ""


def _add(draft: Draft, node: Node | None) -> None:
    """Append a template object: its messages, its examples between prefix and suffix, or its text."""
    if not isinstance(node, DictNode):
        return
    fields = node.get("kwargs") if "lc" in node else node
    if not isinstance(fields, DictNode):
        return
    style = _STYLES.get(fields.text("template_format") or "f-string", "format")
    if isinstance(listed := fields.get("messages"), ListNode):
        for message in listed.items:
            _add_message(draft, message)
        return
    for key in ("prefix", "template", "content"):
        if isinstance(text := fields.get(key), MappedText):
            draft.say(text, style)
    if (examples := fields.get("examples", "example_selector")) is not None:
        _add_examples(draft, examples)
    if isinstance(suffix := fields.get("suffix"), MappedText):
        draft.say(suffix, style)
    inner = fields.get("prompt")
    for part in inner.items if isinstance(inner, ListNode) else (inner,):
        _add(draft, part)


def _add_message(draft: Draft, message: Node) -> None:
    if not isinstance(message, DictNode):
        return
    kind = _class(message) or message.text("_type", "type", "role")
    fields = message.get("kwargs") if "lc" in message else message
    if isinstance(fields, DictNode) and isinstance(variable := fields.get("variable_name"), MappedText):
        draft.speakers.begin("")
        _hole(draft, variable, variable.text)
        return
    role = next((role for prefix, role in _ROLES if kind.startswith(prefix) or kind == role), kind)
    draft.speakers.begin(role)
    _add(draft, message)


def _add_examples(draft: Draft, examples: Node) -> None:
    """Append fixed examples as they are; a selector's choice is known at run time only."""
    if not isinstance(examples, ListNode):
        _hole(draft, examples, "examples")
        return
    for example in examples.items:
        if isinstance(example, DictNode):
            for entry in example.distinct():
                if isinstance(entry.value, MappedText):
                    draft.say(entry.value, "literal")


def _hole(draft: Draft, node: Node, name: str) -> None:
    segment = Segment(place_of(node), None, Origin(OriginKind.VARIABLE, name, name))
    draft.add([draft.speakers.spoken(segment)])
