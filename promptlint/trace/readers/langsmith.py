"""Exports of LangSmith runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from promptlint.trace.model import Request, Usage
from promptlint.trace.readers.bodies import parameters_of, parts_of, provider_of, surface_of
from promptlint.trace.readers.fields import dig, first, listing, mapping, number, seconds, text
from promptlint.trace.readers.stream import Record, Skipped


def is_langsmith(value: Mapping[str, Any]) -> bool:
    """Tell by a run's fields."""
    return "run_type" in value and "inputs" in value


def read_langsmith(records: Iterator[Record], name: str, skipped: Skipped) -> Iterator[Request]:
    """Yield runs of type ``llm``; LangChain's input count includes what was read."""
    for record in records:
        value = mapping(record.value)
        if value.get("run_type") not in ("llm", "chat_model"):
            continue
        inputs, outputs = mapping(value.get("inputs")), mapping(value.get("outputs"))
        params = mapping(dig(value, "extra.invocation_params"))
        messages = inputs.get("messages")
        if isinstance(messages, list) and messages and isinstance(messages[0], list):
            messages = messages[0]
        body = {**params, "messages": [_langchain(m) for m in listing(messages)]}
        if not body["messages"]:
            prompts = listing(inputs.get("prompts"))
            body = {**params, "prompt": text(prompts[0]) if prompts else text(inputs.get("prompt"))}
            body.pop("messages", None)
        model = text(first(params, "model", "model_name")) or text(dig(value, "extra.metadata.ls_model_name"))
        surface = surface_of({**body, "model": model}) or "chat"
        yield Request(
            file=name,
            line=record.line,
            parts=parts_of(body, surface),
            time=seconds(value.get("start_time")),
            id=text(value.get("id")),
            provider=text(dig(value, "extra.metadata.ls_provider")) or provider_of(surface, model),
            surface=surface,
            model=model,
            session=text(
                first(
                    value, "extra.metadata.thread_id", "extra.metadata.session_id", "trace_id", "session_id"
                )
            ),
            parameters=parameters_of(params),
            usage=_langsmith_usage(value, outputs),
            first_byte=seconds(first(value, "first_token_time", "end_time")),
        )


def _langsmith_usage(value: Mapping[str, Any], outputs: Mapping[str, Any]) -> Usage | None:
    total = number(value.get("prompt_tokens"))
    details = mapping(first(value, "prompt_token_details"))
    meta = mapping(first(outputs, "usage_metadata", "llm_output.usage_metadata"))
    if not meta:
        for row in listing(outputs.get("generations")):
            row = row[0] if isinstance(row, list) and row else row
            meta = (
                mapping(first(mapping(row), "message.kwargs.usage_metadata", "message.usage_metadata"))
                or meta
            )
    total = number(meta.get("input_tokens")) if total is None else total
    details = details or mapping(meta.get("input_token_details"))
    if total is None:
        return None
    output = number(first(value, "completion_tokens")) or number(meta.get("output_tokens")) or 0
    return Usage(total, number(details.get("cache_read")), number(details.get("cache_creation")), output)


def _langchain(message: Any) -> dict[str, Any]:
    """Return a message of LangChain's serialised form as a chat message."""
    row = mapping(message)
    if isinstance(row.get("kwargs"), Mapping):
        kind = text((listing(row.get("id")) or [""])[-1]).lower()
        row = {"type": kind, **row["kwargs"]}
    role = text(row.get("role")) or text(row.get("type"))
    for word, name in (("human", "user"), ("ai", "assistant"), ("system", "system"), ("tool", "tool")):
        if role.startswith(word):
            role = name
            break
    out = {"role": role, "content": row.get("content")}
    if calls := row.get("tool_calls"):
        out["tool_calls"] = calls
    return out
