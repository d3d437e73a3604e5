"""Request bodies kept in files: OpenAI, Anthropic, Bedrock Converse and Gemini."""

from __future__ import annotations

from promptlint.frontends.base import Context
from promptlint.frontends.documents import messages, tools
from promptlint.frontends.documents.draft import Draft, parameter, parameters
from promptlint.frontends.documents.marks import mark_of
from promptlint.frontends.documents.nodes import DictNode, ListNode, Node, place_of, strings
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Confidence, Layout, LayoutKind

_WRAPPERS = ("body", "params", "request", "payload")
_CONVERSATIONS = ("messages", "input", "contents")
# Whatever of these stands beside the messages makes the mapping a request.
_SIGNS = frozenset(
    {
        "model",
        "modelId",
        "model_id",
        "system",
        "instructions",
        "systemInstruction",
        "system_instruction",
        "tools",
        "toolConfig",
        "inferenceConfig",
        "generationConfig",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "response_format",
        "anthropic_version",
        "cache_control",
        "prompt_cache_key",
        "prompt_cache_options",
    }
)
# Read as segments, so that they are no parameters.
_SECTIONS = frozenset(
    {
        *_CONVERSATIONS,
        "system",
        "instructions",
        "systemInstruction",
        "system_instruction",
        "tools",
        "functions",
        "toolConfig",
    }
)
# Said about the request, not to the model, and no part of any cache key.
_UNRELATED = frozenset(
    {"name", "description", "metadata", "user", "id", "custom_id", "method", "url", "version", "$schema"}
)
_FAMILIES = (
    ("anthropic", ("anthropic/", "claude")),
    ("google", ("gemini/", "gemini", "google/", "vertex_ai/gemini")),
    ("openai", ("openai/", "azure/", "gpt", "o1", "o3", "o4", "chatgpt")),
    ("deepseek", ("deepseek",)),
    ("mistral", ("mistral", "codestral", "ministral")),
    ("xai", ("xai/", "grok")),
    ("groq", ("groq/",)),
    ("alibaba", ("qwen", "dashscope/")),
    ("moonshot", ("kimi", "moonshot")),
    ("bedrock", ("bedrock/", "anthropic.", "amazon.", "us.anthropic.", "eu.anthropic.")),
)


def find(node: Node) -> DictNode | None:
    """Return the request body in a node: itself, or one under a wrapper such as ``body``."""
    if not isinstance(node, DictNode):
        return None
    if is_request(node):
        return node
    inner = node.get(*_WRAPPERS)
    return inner if isinstance(inner, DictNode) and is_request(inner) else None


def is_request(node: DictNode) -> bool:
    """Tell whether a mapping is a request body: a conversation, and something that is sent with it."""
    if not _SIGNS.intersection(node.names()):
        return False
    conversation = node.get(*_CONVERSATIONS)
    if messages.is_message_list(conversation):
        return True
    return isinstance(node.get("input"), MappedText) and isinstance(node.get("instructions"), MappedText)


def read(node: DictNode, name: str, context: Context) -> Layout:
    """Read one request body, sections in the order in which its provider reads them."""
    draft = Draft(node.text("name") or name, place_of(node), context, LayoutKind.REQUEST)
    draft.model = node.text("model", "modelId", "model_id")
    draft.provider = provider_of(node)
    draft.confidence = Confidence.HIGH if draft.model or draft.provider else Confidence.MEDIUM
    _add_tools(draft, node)
    messages.system(draft, node.get("system", "instructions", "systemInstruction", "system_instruction"))
    conversation = node.get(*_CONVERSATIONS)
    if isinstance(conversation, MappedText):
        draft.message("user", conversation)
    else:
        messages.add(draft, conversation)
    if mark := mark_of(node):  # the automatic mark of a whole request stands at its end
        draft.mark(mark)
    draft.parameters += [
        parameter(entry.name, entry.value)
        for entry in node.distinct()
        if entry.name not in _SECTIONS and entry.name not in _UNRELATED
    ]
    return draft.layout()


def _add_tools(draft: Draft, node: DictNode) -> None:
    tools.add(draft, node.get("tools", "functions"))
    configuration = node.get("toolConfig")
    if isinstance(configuration, DictNode):
        tools.add(draft, configuration.get("tools"))
        draft.parameters += [p for p in parameters(configuration) if p.name != "tools"]


def provider_of(node: DictNode) -> str:
    """Return whose request this is, "" if its words do not tell."""
    keys = node.names()
    if "modelId" in keys or "inferenceConfig" in keys or "toolConfig" in keys:
        return "bedrock"
    if "contents" in keys or "systemInstruction" in keys:
        return "google"
    if found := provider_of_model(node.text("model", "model_id")):
        return found
    if "anthropic_version" in keys:
        return "anthropic"
    used = {key for path, _ in strings(node) for key in path}
    if "cachePoint" in used:
        return "bedrock"
    if "cache_control" in used or "input_schema" in used:
        return "anthropic"
    if {"prompt_cache_key", "prompt_cache_options", "response_format"}.intersection(
        keys
    ) or "image_url" in used:
        return "openai"
    conversation = node.get("messages", "input")
    items = conversation.items if isinstance(conversation, ListNode) else ()
    return "openai" if any(messages.role_of(item) == "developer" for item in items) else ""


def provider_of_model(model: str) -> str:
    """Return the provider that a model's name points to, "" if it is unknown."""
    lowered = model.lower()
    tail = lowered.rpartition("/")[2]
    for provider, prefixes in _FAMILIES:
        if lowered.startswith(tuple(p for p in prefixes if "/" in p)):
            return provider
    for provider, prefixes in _FAMILIES:
        if tail.startswith(tuple(p for p in prefixes if "/" not in p)):
            return provider
    return ""
