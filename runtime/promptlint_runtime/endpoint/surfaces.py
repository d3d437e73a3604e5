"""The APIs that prompts are sent through: body, first token and usage of each.

===========  ====================  =============================================  ==========================
surface      path                  cached tokens                                  prompt tokens
===========  ====================  =============================================  ==========================
completions  /v1/completions       usage.prompt_tokens_details.cached_tokens      usage.prompt_tokens
chat         /v1/chat/completions  as completions                                 as completions
responses    /v1/responses         usage.input_tokens_details.cached_tokens       usage.input_tokens
messages     /v1/messages          usage.cache_read_input_tokens                  sum of the three input counts
===========  ====================  =============================================  ==========================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from promptlint.errors import UsageError
from promptlint_runtime.endpoint.http import DONE
from promptlint_runtime.prompts import Encoded, Prompt

Body = dict[str, Any]
_CARRIED = (
    "tools",
    "tool_choice",
    "system",
    "cache_control",
    "response_format",
    "thinking",
    "reasoning_effort",
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them. ``cached`` is None where it does not say."""

    prompt: int | None
    cached: int | None
    output: int

    def over(self, before: Usage | None) -> Usage:
        """Return these counts, unless only earlier ones say what was cached."""
        return before if self.cached is None and before and before.cached is not None else self


@dataclass(frozen=True, slots=True)
class Surface:
    """One API. ``first`` tells whether an event brings the first token, ``usage`` reads an event's counts."""

    name: str
    path: str
    body: Callable[[Prompt, Encoded | None, str, int], Body]
    first: Callable[[Mapping[str, Any]], bool]
    usage: Callable[[Mapping[str, Any]], Usage | None]
    key: str  # environment variable of the key

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry a key."""
        if self.name == "messages":
            version = {"anthropic-version": "2023-06-01"}
            return {**version, "x-api-key": key} if key else version
        return {"authorization": f"Bearer {key}"} if key else {}


def surface(name: str) -> Surface:
    """Return a surface by name.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in _SURFACES:
        raise UsageError(f"no surface named {name!r}", f"take one of: {', '.join(_SURFACES)}")
    return _SURFACES[name]


_ENDS = frozenset((DONE, "response.completed", "response.incomplete", "message_stop"))


def ends(event: Mapping[str, Any]) -> bool:
    """Tell whether nothing of the answer comes behind an event: a stream without one broke off."""
    choices = event.get("choices") or ()
    return event.get("type") in _ENDS or any(choice.get("finish_reason") for choice in choices)


def _messages(prompt: Prompt) -> list[Any]:
    if prompt.body is not None:
        return list(prompt.body["messages"])
    return [{"role": "user", "content": prompt.text}]


def _carried(prompt: Prompt) -> Body:
    return {k: v for k, v in (prompt.body or {}).items() if k in _CARRIED}


def _completions_body(prompt: Prompt, encoded: Encoded | None, model: str, limit: int) -> Body:
    # Ids are sent where they are known: the server then reuses exactly what was compared here.
    content: Any = prompt.text if encoded is None else list(encoded.ids)
    return {"model": model, "prompt": content, "max_tokens": limit, **_STREAMED}


def _chat_body(prompt: Prompt, encoded: Encoded | None, model: str, limit: int) -> Body:
    messages = {"messages": _messages(prompt), "max_tokens": limit}
    return {**_carried(prompt), "model": model, **messages, **_STREAMED}


def _responses_body(prompt: Prompt, encoded: Encoded | None, model: str, limit: int) -> Body:
    more = {"max_output_tokens": limit, "stream": True, "store": False}
    return {"model": model, "input": _messages(prompt), **more}


def _messages_body(prompt: Prompt, encoded: Encoded | None, model: str, limit: int) -> Body:
    messages = _messages(prompt)
    system = [m for m in messages if m.get("role") == "system"]
    body = {**_carried(prompt), "model": model, "max_tokens": limit, "stream": True}
    if system and "system" not in body:  # this API has no such role
        body["system"] = "\n\n".join(str(m.get("content", "")) for m in system)
    return {**body, "messages": [m for m in messages if m.get("role") != "system"]}


_STREAMED = {"stream": True, "stream_options": {"include_usage": True}, "temperature": 0}


def _openai_usage(event: Mapping[str, Any]) -> Usage | None:
    usage = event.get("usage")
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens", usage.get("prompt_cache_hit_tokens", usage.get("cached_tokens")))
    return Usage(usage.get("prompt_tokens"), cached, int(usage.get("completion_tokens") or 0))


def _responses_usage(event: Mapping[str, Any]) -> Usage | None:
    if event.get("type") != "response.completed":
        return None
    usage = event["response"].get("usage") or {}
    details = usage.get("input_tokens_details") or {}
    return Usage(
        usage.get("input_tokens"), details.get("cached_tokens"), int(usage.get("output_tokens") or 0)
    )


def _messages_usage(event: Mapping[str, Any]) -> Usage | None:
    # Anthropic counts the prompt in the first event; vLLM counts what was cached only in the last but one.
    usage = event.get("usage") if event.get("type") == "message_delta" else None
    if event.get("type") == "message_start":
        usage = event["message"].get("usage")
    if not isinstance(usage, Mapping) or "input_tokens" not in usage:
        return None
    read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    # `input_tokens` counts only what was neither read nor written.
    total = int(usage.get("input_tokens") or 0) + int(read or 0) + int(written or 0)
    return Usage(total, read, int(usage.get("output_tokens") or 0))


def _completion_first(event: Mapping[str, Any]) -> bool:
    return bool(event.get("choices"))


def _chat_first(event: Mapping[str, Any]) -> bool:
    for choice in event.get("choices") or ():
        delta = choice.get("delta") or {}
        if choice.get("finish_reason") or any(v for k, v in delta.items() if k != "role"):
            return True
    return False


_SURFACES = {
    s.name: s
    for s in (
        Surface(
            "completions",
            "/v1/completions",
            _completions_body,
            _completion_first,
            _openai_usage,
            "OPENAI_API_KEY",
        ),
        Surface("chat", "/v1/chat/completions", _chat_body, _chat_first, _openai_usage, "OPENAI_API_KEY"),
        Surface(
            "responses",
            "/v1/responses",
            _responses_body,
            lambda event: str(event.get("type", "")).endswith(".delta"),
            _responses_usage,
            "OPENAI_API_KEY",
        ),
        Surface(
            "messages",
            "/v1/messages",
            _messages_body,
            lambda event: event.get("type") == "content_block_delta",
            _messages_usage,
            "ANTHROPIC_API_KEY",
        ),
    )
}
