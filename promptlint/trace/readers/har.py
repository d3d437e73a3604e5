"""HAR files: what a browser or proxy saw."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from promptlint.trace.model import Request
from promptlint.trace.readers.bodies import parameters_of, parts_of, provider_of, surface_of
from promptlint.trace.readers.fields import dig, first, listing, mapping, seconds, text
from promptlint.trace.readers.requests import reply_of
from promptlint.trace.readers.stream import Record, Skipped
from promptlint.trace.readers.usage import usage_of


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
