"""OpenTelemetry spans with GenAI attributes: OTLP JSON, or one span a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from promptlint.trace.model import Request, Usage
from promptlint.trace.readers.bodies import parts_of, provider_of
from promptlint.trace.readers.fields import first, listing, mapping, number, seconds, text
from promptlint.trace.readers.stream import Record, Skipped


def is_otel(value: Mapping[str, Any]) -> bool:
    """Tell by OTLP's nesting, or by a span with GenAI attributes."""
    return "resourceSpans" in value or any(key.startswith("gen_ai.") for key in _attributes(value))


def _attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    raw = span.get("attributes")
    if isinstance(raw, Mapping):
        return dict(raw)
    found = {}
    for item in listing(raw):
        boxed = mapping(mapping(item).get("value"))
        found[text(mapping(item).get("key"))] = next(iter(boxed.values()), None)
    return found


def _spans(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "resourceSpans" not in value:
        yield value
    for resource in listing(value.get("resourceSpans")):
        for scope in listing(mapping(resource).get("scopeSpans")):
            yield from (span for span in listing(mapping(scope).get("spans")) if isinstance(span, Mapping))


def read_otel(records: Iterator[Record], name: str, skipped: Skipped) -> Iterator[Request]:
    """Yield spans that carry GenAI input."""
    for record in records:
        for span in _spans(mapping(record.value)):
            attributes = _attributes(span)
            if any(key.startswith("gen_ai.") for key in attributes):
                yield _span(span, attributes, name, record.line)


def _span(span: Mapping[str, Any], attributes: Mapping[str, Any], name: str, line: int) -> Request:
    def get(*keys: str) -> Any:
        return next((attributes[key] for key in keys if attributes.get(key) is not None), None)

    model = text(get("gen_ai.request.model", "gen_ai.response.model"))
    provider = text(get("gen_ai.provider.name", "gen_ai.system")).removeprefix("aws.")
    messages = [_otel_message(m) for m in listing(get("gen_ai.input.messages", "gen_ai.prompt"))]
    system = listing(get("gen_ai.system_instructions"))
    body: dict[str, Any] = {"messages": messages, "tools": listing(get("gen_ai.tool.definitions"))}
    if system:
        body["system"] = [{"type": "text", "text": text(mapping(item).get("content"))} for item in system]
    surface = "messages" if "anthropic" in provider or "claude" in model else "chat"
    start = get("start_time") or first(span, "startTimeUnixNano", "start_time", "startTime")
    return Request(
        file=name,
        line=line,
        parts=parts_of(body, surface),
        time=seconds(start),
        id=text(first(span, "spanId", "context.span_id", "span_id")),
        provider=provider or provider_of(surface, model),
        surface=surface,
        model=model,
        session=text(get("gen_ai.conversation.id", "session.id")),
        usage=_otel_usage(get),
        first_byte=seconds(first(span, "endTimeUnixNano", "end_time", "endTime")),
    )


def _otel_message(message: Any) -> dict[str, Any]:
    row = mapping(message)
    content = row.get("content")
    if isinstance(row.get("parts"), list):
        content = [
            {"type": "text", "text": part["content"]}
            if isinstance(part, Mapping)
            and isinstance(part.get("content"), str)
            and part.get("type") == "text"
            else part
            for part in row["parts"]
        ]
    return {"role": text(row.get("role")), "content": content}


def _otel_usage(get: Any) -> Usage | None:
    total = number(get("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"))
    if total is None:
        return None
    read = number(get("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"))
    written = number(
        get("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens")
    )
    if (read or 0) + (written or 0) > total:
        # The convention counts cached tokens in; emitters that copy Anthropic's number do not.
        total += (read or 0) + (written or 0)
    output = number(get("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")) or 0
    return Usage(total, read, written, output)
