"""Exports of observability tools: Langfuse, LangSmith, OpenTelemetry GenAI spans, HAR."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from promptlint.trace.model import Request, Usage
from promptlint.trace.readers.bodies import parameters_of, parts_of, provider_of, surface_of
from promptlint.trace.readers.fields import dig, first, listing, mapping, number, seconds, text
from promptlint.trace.readers.requests import reply_of
from promptlint.trace.readers.stream import Record, Skipped
from promptlint.trace.readers.usage import usage_of


def is_langfuse(value: Mapping[str, Any]) -> bool:
    """Tell by an observation's fields, or a trace that holds observations."""
    if isinstance(value.get("observations"), list):
        return True
    return "input" in value and ("traceId" in value or "trace_id" in value) and "startTime" in _camel(value)


def _camel(value: Mapping[str, Any]) -> set[str]:
    return {("startTime" if key == "start_time" else key) for key in value}


def read_langfuse(records: Iterator[Record], name: str, skipped: Skipped) -> Iterator[Request]:
    """Yield generations; usage names depend on the integration, so both conventions are read."""
    for record in records:
        value = mapping(record.value)
        session = text(first(value, "sessionId", "session_id"))
        rows = value["observations"] if isinstance(value.get("observations"), list) else [value]
        for row in rows:
            if isinstance(row, Mapping) and row.get("type", "GENERATION") == "GENERATION" and "input" in row:
                yield _langfuse(
                    row, name, record.line, session or text(first(row, "sessionId", "session_id"))
                )


def _langfuse(row: Mapping[str, Any], name: str, line: int, session: str) -> Request:
    given = row.get("input")
    given = json.loads(given) if isinstance(given, str) and given[:1] in "[{" and _is_json(given) else given
    body: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {}
    if isinstance(given, list):
        body = {"messages": given}
    elif isinstance(given, str):
        body = {"prompt": given}
    model = text(row.get("model"))
    details = mapping(first(row, "usageDetails", "usage_details"))
    read = number(first(details, "cache_read_input_tokens", "input_cached_tokens", "input_cache_read"))
    written = number(
        first(details, "cache_creation_input_tokens", "input_cache_creation", "cache_write_tokens")
    )
    plain = number(first(details, "input", "input_tokens", "prompt_tokens"))
    usage = usage_of(row.get("usage"))
    if plain is not None:
        # Langfuse splits its details: `input` never holds what another key holds.
        output = number(first(details, "output", "output_tokens")) or 0
        usage = Usage(plain + (read or 0) + (written or 0), read, written, output)
    surface = surface_of({**body, "model": model}) or "chat"
    return Request(
        file=name,
        line=line,
        parts=parts_of(body, surface),
        time=seconds(first(row, "startTime", "start_time")),
        id=text(row.get("id")),
        provider=provider_of(surface, model),
        surface=surface,
        model=model,
        session=session or text(first(row, "traceId", "trace_id")),
        parameters=parameters_of({**mapping(first(row, "modelParameters", "model_parameters")), **body}),
        usage=usage,
        reply=text(row.get("output")) or reply_of(mapping(row.get("output"))),
        first_byte=seconds(first(row, "completionStartTime", "completion_start_time", "endTime", "end_time")),
    )


def _is_json(value: str) -> bool:
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


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


def is_har(value: Mapping[str, Any]) -> bool:
    """Tell by a HAR log with entries."""
    return isinstance(dig(value, "log.entries"), list)


def read_har(records: Iterator[Record], name: str, skipped: Skipped) -> Iterator[Request]:
    """Yield calls of model APIs in a HAR file; headers are not kept, other calls are passed over."""
    for record in records:
        for number_, entry in enumerate(listing(dig(record.value, "log.entries")), 1):
            body = mapping(dig(entry, "request.postData.text"))
            url = text(dig(entry, "request.url"))
            surface = surface_of(body, url) if body else ""
            if not surface:
                continue
            answer = _har_answer(mapping(dig(entry, "response.content")))
            model = text(first(body, "model", "modelId")) or text(answer.get("model"))
            started = seconds(entry.get("startedDateTime"))
            wait = dig(entry, "timings.wait")
            yield Request(
                file=name,
                line=max(record.line, number_),
                parts=parts_of(body, surface),
                time=started,
                id=text(answer.get("id")),
                provider=provider_of(surface, model),
                surface=surface,
                model=model,
                routing=text(body.get("prompt_cache_key")),
                parameters=parameters_of(body),
                usage=usage_of(first(answer, "usage", "usageMetadata")),
                reply=reply_of(answer),
                first_byte=started + wait / 1000 if started and isinstance(wait, int | float) else None,
            )


def _har_answer(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a response; of a stream of events, the usage in its events put together."""
    said = text(content.get("text"))
    if content.get("encoding") == "base64":
        try:
            said = base64.b64decode(said).decode("utf-8", "replace")
        except ValueError:
            return {}
    if said[:1] == "{":
        return dict(mapping(said))
    found: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    for line in said.splitlines():
        if not line.startswith("data:"):
            continue
        event = mapping(line[5:].strip())
        for holder in (event, mapping(event.get("message")), mapping(event.get("response"))):
            for key in ("id", "model"):
                found.setdefault(key, holder.get(key)) if holder.get(key) else None
            usage.update({k: v for k, v in mapping(holder.get("usage")).items() if v is not None})
    return {**found, "usage": usage}
