"""promptfoo configurations: prompts in Nunjucks, which reads like Jinja, and variables from tests."""

from __future__ import annotations

from dataclasses import replace

from promptlint.frontends.base import Context
from promptlint.frontends.documents import messages
from promptlint.frontends.documents.draft import Draft
from promptlint.frontends.documents.nodes import DictNode, ListNode, Node, place_of
from promptlint.frontends.documents.requests import provider_of_model
from promptlint.frontends.mapped import MappedText
from promptlint.layout import LITERAL, Layout, Segment

_REFERENCES = ("file://", "http://", "https://", "python:", "langfuse://", "exec:", "package:")
_FILE_ENDINGS = (
    ".txt",
    ".json",
    ".md",
    ".yaml",
    ".yml",
    ".js",
    ".ts",
    ".mjs",
    ".cjs",
    ".py",
    ".csv",
    ".j2",
    ".jsonl",
)


def matches(node: Node) -> bool:
    """Tell whether this is a promptfoo configuration: prompts with providers or tests."""
    if not isinstance(node, DictNode) or "prompts" not in node:
        return False
    return ("providers" in node or "targets" in node or "tests" in node or "defaultTest" in node) and (
        isinstance(node.get("prompts"), ListNode | MappedText)
    )


def read(node: DictNode, context: Context) -> list[Layout]:
    """Return a layout for each prompt that is written in the configuration itself."""
    prompts = node.get("prompts")
    items = prompts.items if isinstance(prompts, ListNode) else (prompts,)
    constants = _constants(node)
    model = _model(node)
    layouts = []
    for index, item in enumerate(items):
        text = item.get("raw", "prompt", "content") if isinstance(item, DictNode) else item
        if not isinstance(text, MappedText) or _is_reference(text.text):
            continue
        name = item.text("label", "id", "display") if isinstance(item, DictNode) else ""
        draft = Draft(name or f"prompts[{index}]", place_of(text), context)
        draft.model, draft.provider = model, provider_of_model(model)
        if (chat := messages.embedded(text)) is not None:
            messages.add(draft, chat)
        else:
            draft.say(text)
        draft.segments = [_filled(segment, constants) for segment in draft.segments]
        layouts.append(draft.layout())
    return layouts


def _is_reference(text: str) -> bool:
    stripped = text.strip()
    return stripped.startswith(_REFERENCES) or ("\n" not in stripped and stripped.endswith(_FILE_ENDINGS))


def _model(node: DictNode) -> str:
    """Return the model if there is only one provider: ``openai:chat:gpt-4.1`` or a mapping with ``id``."""
    providers = node.get("providers", "targets")
    items = providers.items if isinstance(providers, ListNode) else (providers,)
    if len(items) != 1 or items[0] is None:
        return ""
    first = items[0]
    name = (
        first.text
        if isinstance(first, MappedText)
        else first.text("id")
        if isinstance(first, DictNode)
        else ""
    )
    return name.rpartition(":")[2]


def _constants(node: DictNode) -> dict[str, MappedText]:
    """Return the variables that `defaultTest` sets and no test changes."""
    default = node.get("defaultTest")
    values = default.get("vars") if isinstance(default, DictNode) else None
    if not isinstance(values, DictNode):
        return {}
    tests = node.get("tests")
    if tests is not None and not isinstance(tests, ListNode):
        return {}  # tests kept in another file may set any of them
    changed = {
        name
        for test in (tests.items if tests else ())
        if isinstance(test, DictNode) and isinstance(own := test.get("vars"), DictNode)
        for name in own.names()
    }
    return {
        entry.name: entry.value
        for entry in values.distinct()
        if entry.name not in changed
        and isinstance(entry.value, MappedText)
        and not entry.value.text.startswith("file://")
    }


def _filled(segment: Segment, constants: dict[str, MappedText]) -> Segment:
    """Put a constant variable's value in place of the hole that prints it."""
    value = constants.get(segment.origin.name) if segment.is_hole else None
    if value is None or segment.origin.expression.strip("{} ") != segment.origin.name:
        return segment
    return replace(segment, place=place_of(value), text=value.text, origin=LITERAL)
