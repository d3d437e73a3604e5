"""Exports of Langfuse: observations, alone or within their trace."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from promptlint.trace.model import Request, Usage
from promptlint.trace.readers.bodies import parameters_of, parts_of, provider_of, surface_of
from promptlint.trace.readers.fields import first, mapping, number, seconds, text
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
