"""Request bodies of the known APIs as blocks with their marks.

Five shapes: Anthropic Messages, OpenAI Chat (also Qwen, OpenRouter, LiteLLM with ``cache_control`` on parts),
OpenAI Responses, Bedrock Converse (``cachePoint`` marks the block before it), Gemini ``generateContent``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from promptlint.cache.request import Block, Request

Count = Callable[[str], int]
MARKERS = ("cache_control", "prompt_cache_breakpoint", "cachePoint")
IMAGE_TOKENS = 1_500  # width x height / 750, of about a megapixel
_IMAGES = frozenset(("image", "image_url", "input_image"))


def surface_of(body: Mapping[str, Any]) -> str:
    """Return the API that a request body was written for."""
    if "contents" in body:
        return "generateContent"
    if "input" in body or "instructions" in body:
        return "responses"
    if "modelId" in body or "toolConfig" in body or _has_cache_points(body):
        return "converse"
    if "system" in body or "cache_control" in body or "thinking" in body or "output_config" in body:
        return "messages"
    anthropic = any("input_schema" in tool for tool in _maps(body.get("tools")))
    return "messages" if anthropic or "claude" in str(body.get("model", "")) else "chat.completions"


def _has_cache_points(body: Mapping[str, Any]) -> bool:
    contents = [message.get("content") for message in _maps(body.get("messages"))]
    lists = [
        part for content in [body.get("system"), *contents] if isinstance(content, list) for part in content
    ]
    return any(isinstance(part, Mapping) and "cachePoint" in part for part in lists)


def read_request(
    body: Mapping[str, Any],
    count: Count,
    surface: str = "",
    at: float = 0.0,
    image_tokens: int = IMAGE_TOKENS,
) -> Request:
    """Return a request body as blocks, marks and the parameters that belong to the cache key.

    ``count`` gives the tokens of a text; what is not text is counted as its JSON, images as
    ``image_tokens``. Unknown fields are left out; nothing raises.
    """
    reader = _READERS[surface or surface_of(body)]
    request = reader(body, _Blocks(count, image_tokens))
    return replace(request, at=at)


class _Blocks:
    """Makes blocks; holds what all shapes share: counting, keys and marks."""

    def __init__(self, count: Count, image_tokens: int) -> None:
        self.count = count
        self.image_tokens = image_tokens

    def text(self, text: str, section: str, message: int = 0, role: str = "", kind: str = "text") -> Block:
        return Block(text, self.count(text), section, kind, None, message, role)

    def part(self, part: object, section: str, message: int = 0, role: str = "") -> Block:
        """Return a content part without its mark in the key: a mark is not part of the prefix."""
        if not isinstance(part, Mapping):
            return self.text(part if isinstance(part, str) else _json(part), section, message, role)
        plain = {key: value for key, value in part.items() if key not in MARKERS}
        kind = str(part.get("type") or next(iter(plain), "text"))
        text = part.get("text")
        shown = text if isinstance(text, str) and kind.endswith("text") else _json(plain)
        tokens = self.image_tokens if kind in _IMAGES else self.count(shown)
        return Block(_json(plain), tokens, section, kind, _mark(part), message, role)

    def content(self, content: object, section: str, message: int = 0, role: str = "") -> list[Block]:
        """Return the blocks of a string or list of parts; a ``cachePoint`` part marks the one before it."""
        if content is None:
            return []
        if isinstance(content, str):
            return [self.text(content, section, message, role)]
        blocks: list[Block] = []
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, Mapping) and "cachePoint" in part:
                if blocks:
                    blocks[-1] = replace(blocks[-1], mark=_mark(part))
                continue
            blocks.append(self.part(part, section, message, role))
        return blocks

    def tools(self, tools: object) -> list[Block]:
        blocks = self.content(tools if isinstance(tools, list) else None, "tools")
        return [replace(block, kind="tool", message=at) for at, block in enumerate(blocks)]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _mark(part: Mapping[str, Any]) -> str | None:
    """Return the lifetime of a part's mark, "" for the default, None without a mark."""
    for name in MARKERS:
        if (mark := part.get(name)) is not None:
            return str(mark.get("ttl") or "") if isinstance(mark, Mapping) else ""
    return None


def _parameters(found: Iterable[tuple[str, object]]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else _json(value) for name, value in found if value is not None
    }


def _get(body: Mapping[str, Any], *path: str) -> Any:
    here: Any = body
    for name in path:
        here = here.get(name) if isinstance(here, Mapping) else None
    return here


def _has_image(blocks: Sequence[Block]) -> str | None:
    return "yes" if any(block.kind in _IMAGES for block in blocks) else None


def _messages(body: Mapping[str, Any], make: _Blocks) -> Request:
    """Anthropic Messages, direct or through Bedrock's InvokeModel and Vertex."""
    blocks = make.tools(body.get("tools"))
    blocks += make.content(body.get("system"), "system", role="system")
    for at, message in enumerate(_maps(body.get("messages"))):
        blocks += make.content(message.get("content"), "messages", at, str(message.get("role", "")))
    parameters = _parameters(
        [
            ("model", body.get("model")),
            ("tool_choice", body.get("tool_choice")),
            ("thinking", body.get("thinking")),
            ("effort", _get(body, "output_config", "effort")),
            ("speed", body.get("speed")),
            ("images", _has_image(blocks)),
        ]
    )
    return Request(tuple(blocks), parameters=parameters, automatic=_mark(body))


def _chat(body: Mapping[str, Any], make: _Blocks) -> Request:
    """OpenAI Chat Completions and what speaks it; leading system messages are the system section."""
    blocks = make.tools(body.get("tools"))
    if (schema := _get(body, "response_format", "json_schema")) is not None:
        blocks.append(make.text(_json(schema), "response_schema", kind="schema"))
    leading = True
    for at, message in enumerate(_maps(body.get("messages"))):
        role = str(message.get("role", ""))
        leading = leading and role in ("system", "developer")
        section = "system" if leading else "messages"
        made = make.content(message.get("content"), section, at, role)
        made += [make.part(call, section, at, role) for call in _maps(message.get("tool_calls"))]
        if made and made[-1].mark is None and _mark(message) is not None:
            made[-1] = replace(made[-1], mark=_mark(message))
        blocks += made
    return Request(
        tuple(blocks),
        parameters=_openai_parameters(body, body.get("reasoning_effort"), body.get("verbosity")),
        mode=str(_get(body, "prompt_cache_options", "mode") or ""),
        ttl=str(_get(body, "prompt_cache_options", "ttl") or body.get("prompt_cache_retention") or ""),
    )


def _responses(body: Mapping[str, Any], make: _Blocks) -> Request:
    """OpenAI Responses: instructions, then input items."""
    blocks = make.tools(body.get("tools"))
    if (schema := _get(body, "text", "format")) is not None and _get(
        body, "text", "format", "type"
    ) != "text":
        blocks.append(make.text(_json(schema), "response_schema", kind="schema"))
    blocks += make.content(body.get("instructions"), "system", role="system")
    items = body.get("input")
    for at, item in enumerate(
        [{"role": "user", "content": items}] if isinstance(items, str) else _maps(items)
    ):
        role = str(item.get("role", ""))
        if "content" in item:
            blocks += make.content(item["content"], "messages", at, role)
        else:
            blocks.append(make.part(item, "messages", at, role or "assistant"))
    return Request(
        tuple(blocks),
        parameters=_openai_parameters(
            body, _get(body, "reasoning", "effort"), _get(body, "text", "verbosity")
        ),
        mode=str(_get(body, "prompt_cache_options", "mode") or ""),
        ttl=str(_get(body, "prompt_cache_options", "ttl") or body.get("prompt_cache_retention") or ""),
    )


def _openai_parameters(body: Mapping[str, Any], effort: object, verbosity: object) -> dict[str, str]:
    return _parameters(
        [
            ("model", body.get("model")),
            ("parallel_tool_calls", body.get("parallel_tool_calls")),
            ("reasoning_effort", effort),
            ("verbosity", verbosity),
            ("service_tier", body.get("service_tier")),
            ("prompt_cache_key", body.get("prompt_cache_key")),
            ("chat_template_kwargs", body.get("chat_template_kwargs")),
        ]
    )


def _converse(body: Mapping[str, Any], make: _Blocks) -> Request:
    """Bedrock Converse."""
    blocks = make.tools(_get(body, "toolConfig", "tools"))
    blocks += make.content(body.get("system"), "system", role="system")
    for at, message in enumerate(_maps(body.get("messages"))):
        blocks += make.content(message.get("content"), "messages", at, str(message.get("role", "")))
    blocks = [replace(block, kind=_CONVERSE_KINDS.get(block.kind, block.kind)) for block in blocks]
    choice = _get(body, "toolConfig", "toolChoice")
    thinking = _get(body, "additionalModelRequestFields", "thinking")
    parameters = [("model", body.get("modelId")), ("tool_choice", choice), ("thinking", thinking)]
    return Request(tuple(blocks), parameters=_parameters([*parameters, ("images", _has_image(blocks))]))


_CONVERSE_KINDS = {"toolUse": "tool_use", "toolResult": "tool_result", "reasoningContent": "thinking"}


def _generate(body: Mapping[str, Any], make: _Blocks) -> Request:
    """Gemini generateContent."""
    blocks = make.tools(body.get("tools"))
    system = body.get("systemInstruction", body.get("system_instruction"))
    parts = system.get("parts") if isinstance(system, Mapping) else system
    blocks += make.content(parts, "system", role="system")
    contents = body.get("contents")
    for at, message in enumerate([{"parts": contents}] if isinstance(contents, str) else _maps(contents)):
        blocks += make.content(message.get("parts"), "messages", at, str(message.get("role", "user")))
    return Request(
        tuple(blocks),
        parameters=_parameters([("model", body.get("model"))]),
        cached_object=str(body.get("cachedContent", body.get("cached_content")) or ""),
    )


def _maps(items: object) -> list[Mapping[str, Any]]:
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


_READERS: Mapping[str, Callable[[Mapping[str, Any], _Blocks], Request]] = {
    "messages": _messages,
    "chat.completions": _chat,
    "responses": _responses,
    "converse": _converse,
    "generateContent": _generate,
}


def inject(
    messages: Sequence[Mapping[str, Any]], points: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return messages with the marks that LiteLLM's ``cache_control_injection_points`` put on them.

    A point names a role, an index, or both; a role without an index marks every message of that role.
    """
    marked = list(messages)
    for point in points:
        if point.get("location", "message") != "message":
            continue
        role, index = point.get("role"), point.get("index")
        if index is not None:
            at = int(index) + (len(marked) if int(index) < 0 else 0)
            chosen = [at] if 0 <= at < len(marked) else []
        else:
            chosen = [at for at, message in enumerate(marked) if message.get("role") == role]
        for at in chosen:
            marked[at] = {**marked[at], "cache_control": point.get("control", {"type": "ephemeral"})}
    return marked
