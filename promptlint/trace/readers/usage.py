"""Usage fields of the model APIs, keyed by API and not by vendor: some counts include cached tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptlint.trace.model import Usage
from promptlint.trace.readers.fields import first, listing, mapping, number, text

_OPENAI = ("prompt_tokens_details", "input_tokens_details", "prompt_token_details", "input_token_details")


def usage_of(value: Any) -> Usage | None:
    """Return the usage object of a response, or None where it holds no input count.

    Anthropic and Bedrock count only what follows the last hit (*exclusive*); the others include
    what was read and written. Which one it is shows in the names of the fields.
    """
    usage = mapping(value)
    if not usage:
        return None
    if "inputTokens" in usage:
        return _bedrock(usage)
    if "promptTokenCount" in usage or "prompt_token_count" in usage:
        return _gemini(usage)
    if any(name in usage for name in _OPENAI) or "prompt_tokens" in usage:
        return _openai(usage)
    if "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage:
        return _anthropic(usage)
    if "cached_input_tokens" in usage:  # Codex
        total = number(usage.get("input_tokens"))
        read = number(usage.get("cached_input_tokens"))
        return None if total is None else Usage(total, read, None, _output(usage))
    total = number(usage.get("input_tokens"))
    return None if total is None else Usage(total, output=_output(usage))


def _output(usage: Mapping[str, Any]) -> int:
    return number(first(usage, "completion_tokens", "output_tokens", "outputTokens")) or 0


def _openai(usage: Mapping[str, Any]) -> Usage | None:
    total = number(first(usage, "prompt_tokens", "input_tokens"))
    if total is None:
        return None
    read = written = None
    by_ttl: dict[str, int] = {}
    for name in _OPENAI:
        details = mapping(usage.get(name))
        if not details:
            continue
        read = _either(read, number(first(details, "cached_tokens", "cache_read")))
        names = (
            "cache_write_tokens",
            "cache_creation_tokens",
            "cache_creation_input_tokens",
            "cache_creation",
        )
        written = _either(written, number(first(details, *names)))
        for key, count in mapping(
            details.get("cache_write_tokens_details") or details.get("cache_creation_token_details")
        ).items():
            if number(count):
                by_ttl[_ttl(key)] = int(count)
    # DeepSeek's own pair; LiteLLM keeps Anthropic's names beside inclusive counts.
    read = _either(
        read, number(first(usage, "prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens"))
    )
    written = _either(written, number(usage.get("cache_creation_input_tokens")))
    return Usage(total, read, written, _output(usage), by_ttl)


def _either(value: int | None, other: int | None) -> int | None:
    return other if value is None else value


def _ttl(key: str) -> str:
    """Return "5m" of ``ephemeral_5m_input_tokens`` and "30m" of ``ttl_30m_tokens``."""
    return next((word for word in key.split("_") if word[:1].isdigit()), "")


def _anthropic(usage: Mapping[str, Any]) -> Usage:
    plain = number(usage.get("input_tokens")) or 0
    read = number(usage.get("cache_read_input_tokens")) or 0
    written = number(usage.get("cache_creation_input_tokens")) or 0
    by_ttl = {
        _ttl(key): int(count) for key, count in mapping(usage.get("cache_creation")).items() if number(count)
    }
    return Usage(plain + read + written, read, written, _output(usage), by_ttl)


def _bedrock(usage: Mapping[str, Any]) -> Usage:
    plain = number(usage.get("inputTokens")) or 0
    read = number(first(usage, "cacheReadInputTokens", "cacheReadInputTokenCount"))
    written = number(first(usage, "cacheWriteInputTokens", "cacheWriteInputTokenCount"))
    by_ttl = {
        text(row.get("ttl")): number(row.get("inputTokens")) or 0
        for row in listing(usage.get("cacheDetails"))
        if isinstance(row, Mapping)
    }
    return Usage(plain + (read or 0) + (written or 0), read, written, _output(usage), by_ttl)


def _gemini(usage: Mapping[str, Any]) -> Usage | None:
    total = number(first(usage, "promptTokenCount", "prompt_token_count"))
    read = number(first(usage, "cachedContentTokenCount", "cached_content_token_count"))
    output = number(first(usage, "candidatesTokenCount", "candidates_token_count")) or 0
    return None if total is None else Usage(total, read or 0, None, output)
