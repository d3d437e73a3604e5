"""Request bodies of the model APIs: their parts in the order of the prefix, and their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from promptlint.layout import Section
from promptlint.trace.model import IMAGE_TOKENS, Mark, Part
from promptlint.trace.readers.fields import dig, dumped, listing, mapping, text

_MARKS = ("cache_control", "prompt_cache_breakpoint")
_IMAGES = {"image", "image_url", "input_image", "document", "file", "input_file", "input_audio", "video"}
_PARAMETERS = (
    "tool_choice",
    "toolConfig.toolChoice",
    "parallel_tool_calls",
    "thinking",
    "output_config",
    "effort",
    "speed",
    "reasoning",
    "reasoning_effort",
    "verbosity",
    "text.verbosity",
    "service_tier",
    "context_management",
    "chat_template_kwargs",
    "inference_geo",
    "betas",
    "prompt_cache_retention",
    "prompt_cache_options",
)
# Fields of a body that are content, or that no cache is known to look at.
_NO_PARAMETERS = {
    *(
        "model",
        "modelId",
        "messages",
        "system",
        "tools",
        "functions",
        "input",
        "instructions",
        "prompt",
        "contents",
    ),
    *("systemInstruction", "system_instruction", "cache_control", "toolConfig", "text", "user", "metadata"),
    *("prompt_cache_key", "safety_identifier", "cache_salt", "extra_key", "previous_response_id", "store"),
    *("stream", "stream_options", "n", "stop", "stop_sequences", "max_tokens", "max_completion_tokens"),
    *("max_output_tokens", "temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty"),
    *("logprobs", "top_logprobs", "logit_bias", "inferenceConfig", "generationConfig", "diagnostics"),
    *("anthropic_version", "url", "method", "custom_id", "timestamp", "ts", "response", "usage", "id"),
}
_SYSTEM_ROLES = {"system", "developer"}


def surface_of(body: Mapping[str, Any], endpoint: str = "") -> str:
    """Return the API that a body belongs to, or "" for none that is known."""
    for word, surface in (
        ("/responses", "responses"),
        ("/chat/completions", "chat"),
        ("/completions", "completions"),
        ("/messages", "messages"),
        ("converse", "converse"),
        ("generateContent", "generateContent"),
    ):
        if word in endpoint:
            return surface
    if "contents" in body:
        return "generateContent"
    if "input" in body and "messages" not in body:
        return "responses"
    if "messages" in body:
        if "toolConfig" in body or "inferenceConfig" in body or "modelId" in body:
            return "converse"
        return "messages" if _is_anthropic(body) else "chat"
    return "completions" if isinstance(body.get("prompt"), str | list) else ""


def _is_anthropic(body: Mapping[str, Any]) -> bool:
    if "system" in body or "anthropic_version" in body or "cache_control" in body:
        return True
    if "claude" in text(body.get("model")) and "/" not in text(body.get("model")):
        return not any(m.get("role") in ("system", "developer") for m in _dicts(body.get("messages")))
    return any("input_schema" in tool for tool in _dicts(body.get("tools")))


def provider_of(surface: str, model: str = "") -> str:
    """Return the provider that an API and a model name suggest."""
    if surface in ("messages", "converse"):
        return "bedrock" if surface == "converse" else "anthropic"
    if surface == "generateContent":
        return "google"
    name = model.lower()
    for word, provider in (
        ("claude", "anthropic"),
        ("gemini", "google"),
        ("deepseek", "deepseek"),
        ("grok", "xai"),
        ("mistral", "mistral"),
        ("gpt", "openai"),
    ):
        if word in name:
            return provider
    return "openai" if surface in ("responses", "chat") and name[:2] in ("o1", "o3", "o4") else ""


def parts_of(body: Mapping[str, Any], surface: str) -> tuple[Part, ...]:
    """Return the parts of a request in the order in which the provider reads them.

    Tools come first, then a response schema, then system text, then messages; system messages of
    the chat APIs keep their place among the messages unless they lead.
    """
    found = list(_tools(body))
    if schema := first_schema(body):
        found.append(Part(Section.TOOLS, len(found), "", dumped(schema), "schema"))
    if surface == "completions":
        found += _prompt(body.get("prompt"))
    elif surface == "responses":
        found += _blocks(body.get("instructions"), Section.SYSTEM, 0, "system")
        found += _responses(body.get("input"))
    elif surface == "generateContent":
        system = body.get("systemInstruction", body.get("system_instruction"))
        found += _blocks(mapping(system).get("parts", system), Section.SYSTEM, 0, "system")
        for index, message in enumerate(_dicts(body.get("contents"))):
            found += _blocks(message.get("parts"), Section.MESSAGES, index, text(message.get("role")))
    else:
        found += _blocks(body.get("system"), Section.SYSTEM, 0, "system")
        found += _messages(body.get("messages"))
    found = [part for part in found if part.text or part.tokens]
    automatic = body.get("cache_control")
    if isinstance(automatic, Mapping) and surface == "messages":
        found = _marked_last(found, Mark(text(automatic.get("ttl")), automatic=True))
    return tuple(found)


def parameters_of(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters that may be part of a cache's key, as text."""
    found = {}
    for path in _PARAMETERS:
        value = dig(body, path)
        if value is not None:
            found[path] = value if isinstance(value, str) else dumped(value)
    schema = first_schema(body)
    for key, value in body.items():
        if key not in _NO_PARAMETERS and key not in found and value is not None and value is not schema:
            found[key] = value if isinstance(value, str) else dumped(value)
    return found


def first_schema(body: Mapping[str, Any]) -> Any:
    """Return the response schema, which stands in the prefix of the OpenAI APIs."""
    for path in ("response_format", "text.format", "output_format"):
        value = dig(body, path)
        if isinstance(value, Mapping) and "schema" in dumped(value):
            return value
    return None


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in listing(value) if isinstance(item, Mapping)]


def _tools(body: Mapping[str, Any]) -> Iterator[Part]:
    tools = body.get("tools") or dig(body, "toolConfig.tools") or body.get("functions")
    previous: Part | None = None
    for index, tool in enumerate(_dicts(tools)):
        if "cachePoint" in tool:
            if previous:
                previous = replace(previous, mark=Mark(text(dig(tool, "cachePoint.ttl"))))
            continue
        if previous:
            yield previous
        bare = {key: value for key, value in tool.items() if key not in _MARKS}
        previous = Part(Section.TOOLS, index, "", dumped(bare), "tool", _mark(tool))
    if previous:
        yield previous


def _mark(block: Mapping[str, Any]) -> Mark | None:
    for key in _MARKS:
        if isinstance(value := block.get(key), Mapping):
            return Mark(text(value.get("ttl")))
    return None


def _messages(messages: Any) -> Iterator[Part]:
    leading = True
    for index, message in enumerate(_dicts(messages)):
        role = text(message.get("role"))
        leading = leading and role in _SYSTEM_ROLES
        section = Section.SYSTEM if leading else Section.MESSAGES
        blocks = list(_blocks(message.get("content"), section, index, role))
        for key in ("reasoning_content", "reasoning"):
            if isinstance(message.get(key), str) and message[key]:
                blocks.insert(0, Part(section, index, role, message[key], "thinking"))
                break
        calls = message.get("tool_calls") or message.get("function_call")
        for call in _dicts(calls) if isinstance(calls, list) else [calls] if calls else []:
            blocks.append(Part(section, index, role, dumped(call), "tool_use"))
        if role in ("tool", "function"):
            blocks = [replace(block, kind="tool_result") for block in blocks]
        if blocks and (mark := _mark(message)):
            blocks[-1] = replace(blocks[-1], mark=mark)
        yield from blocks


def _blocks(content: Any, section: Section, index: int, role: str) -> list[Part]:
    """Return the content blocks of one message."""
    if isinstance(content, str):
        return [Part(section, index, role, content)] if content else []
    if isinstance(content, Mapping):
        content = [content]
    found: list[Part] = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            found.append(Part(section, index, role, block))
        elif isinstance(block, Mapping):
            if "cachePoint" in block:
                if found:
                    found[-1] = replace(found[-1], mark=Mark(text(dig(block, "cachePoint.ttl"))))
                continue
            found.append(_block(block, section, index, role))
    return found


def _block(block: Mapping[str, Any], section: Section, index: int, role: str) -> Part:
    kind = text(block.get("type")) or next(iter(block), "text")
    mark = _mark(block)
    bare = {key: value for key, value in block.items() if key not in _MARKS}
    if kind in ("thinking", "redacted_thinking", "reasoning", "reasoningContent"):
        said = text(block.get("thinking")) or text(block.get("data")) or dumped(bare)
        return Part(section, index, role, said, "thinking", mark)
    if isinstance(block.get("text"), str):
        return Part(section, index, role, block["text"], "text", mark)
    if kind in _IMAGES or "inlineData" in block:
        return Part(section, index, role, dumped(bare), "image", mark, IMAGE_TOKENS)
    if kind in ("tool_use", "toolUse", "server_tool_use", "functionCall", "function_call"):
        return Part(section, index, role, dumped(bare), "tool_use", mark)
    if "tool_result" in kind or kind in ("toolResult", "functionResponse", "function_call_output"):
        return Part(section, index, role, dumped(bare), "tool_result", mark)
    return Part(section, index, role, dumped(bare), "text", mark)


def _responses(value: Any) -> Iterator[Part]:
    if isinstance(value, str):
        yield Part(Section.MESSAGES, 0, "user", value)
        return
    leading = True
    for index, item in enumerate(_dicts(value)):
        yield from (parts := response_item(item, index, leading))
        leading = leading and all(part.section is Section.SYSTEM for part in parts)


def response_item(item: Mapping[str, Any], index: int, leading: bool) -> list[Part]:
    """Return the parts of one item of a Responses ``input`` list (Codex transcripts hold the same)."""
    kind, role = text(item.get("type")) or "message", text(item.get("role"))
    if kind == "message":
        section = Section.SYSTEM if leading and role in _SYSTEM_ROLES else Section.MESSAGES
        return _blocks(item.get("content"), section, index, role)
    if kind == "reasoning":
        said = text(item.get("encrypted_content")) or dumped(item.get("summary") or "")
        return [Part(Section.MESSAGES, index, "assistant", said, "thinking")]
    bare = {key: item[key] for key in item if key not in ("status", "id", *_MARKS)}
    if kind.endswith("_call_output"):
        return [Part(Section.MESSAGES, index, "tool", dumped(bare), "tool_result", _mark(item))]
    return [Part(Section.MESSAGES, index, "assistant", dumped(bare), "tool_use", _mark(item))]


def _prompt(prompt: Any) -> Iterator[Part]:
    if isinstance(prompt, str):
        yield Part(Section.MESSAGES, 0, "", prompt)
    elif isinstance(prompt, list):
        if all(isinstance(item, int) for item in prompt):  # token ids: their text stands for them
            yield Part(Section.MESSAGES, 0, "", " ".join(map(str, prompt)), tokens=len(prompt))
        else:
            for index, item in enumerate(prompt):
                yield Part(Section.MESSAGES, index, "", text(item))


def _marked_last(parts: list[Part], mark: Mark) -> list[Part]:
    """Put an automatic mark on the last part that can carry one."""
    for at in range(len(parts) - 1, -1, -1):
        if parts[at].kind != "thinking":
            if parts[at].mark is None:
                parts[at] = replace(parts[at], mark=mark)
            break
    return parts
