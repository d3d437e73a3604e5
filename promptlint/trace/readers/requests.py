"""Logs of whole requests: bare bodies, batch files, request and response pairs, LiteLLM, plain prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from promptlint.layout import Section
from promptlint.trace.model import Part, Request, Usage
from promptlint.trace.readers.bodies import parameters_of, parts_of, provider_of, surface_of
from promptlint.trace.readers.fields import dig, first, listing, mapping, number, seconds, text
from promptlint.trace.readers.stream import Record, Skipped
from promptlint.trace.readers.usage import usage_of

_BODIES = ("request.body", "request", "body", "params", "payload", "kwargs", "proxy_server_request.body")
_TIMES = (
    "ts",
    "timestamp",
    "time",
    "startTime",
    "start_time",
    "created_at",
    "created",
    "date",
    "request_time",
)
_STARTED = ("first_byte_at", "completionStartTime", "completion_start_time", "first_token_time")
_ENDED = ("endTime", "end_time", "response_time", "completed_at")
_SESSIONS = (
    "thread",
    "thread_id",
    "session",
    "session_id",
    "sessionId",
    "conversation_id",
    "conversation",
    "chat_id",
    "trace_id",
    "litellm_trace_id",
    "metadata.session_id",
    "metadata.thread_id",
    "metadata.conversation_id",
)
_TENANTS = ("organization", "organisation", "workspace", "org", "tenant", "team_id", "api_key", "account")
_REPLICAS = ("replica", "host", "api_base", "server", "endpoint_id", "node", "worker", "backend", "upstream")
_ROUTING = ("prompt_cache_key", "metadata.prompt_cache_key", "x-session-affinity", "x-grok-conv-id", "user")
_WRAPPERS = ("request", "body", "params", "payload", "kwargs", "proxy_server_request", "instructions")
_ANSWERS = ("response", "usage", "output", "result")
_PROMPTS = ("prompt", "input", "text", "query")


def is_request(value: Mapping[str, Any]) -> bool:
    """Tell whether a record holds a request body of a known API, or a plain prompt."""
    return bool(_body(value))


def _body(value: Mapping[str, Any]) -> Mapping[str, Any]:
    for path in _BODIES:
        found = mapping(dig(value, path))
        if surface_of(found):
            return found
    if prompt := _plain(value):
        return {"prompt": prompt}
    return value if surface_of(value) else {}


def _plain(value: Mapping[str, Any]) -> str:
    """Return the prompt of a record that is no request body."""
    if "messages" in value or "model" in value:
        return ""
    return next((value[name] for name in _PROMPTS if isinstance(value.get(name), str)), "")


def read_requests(records: Iterator[Record], name: str, skipped: Skipped) -> Iterator[Request]:
    """Yield one request a record."""
    for record in records:
        if request := build(record.value, name, record.line):
            yield request
        else:
            skipped.add(name, record.line, "no request found in it")


def build(value: Mapping[str, Any], name: str, line: int) -> Request | None:
    """Return the request of one record, or None if there is none."""
    if (flat := _flat_prompt(value, name, line)) is not None:
        return flat
    body = _body(value)
    if not body:
        return None
    endpoint = text(first(value, "endpoint", "url", "request.url", "path", "call_type"))
    surface = surface_of(body, endpoint)
    response = mapping(first(value, "response.body", "response", "result.message", "output"))
    model = text(first(body, "model", "modelId")) or text(first(value, "model", "model_id", "response.model"))
    parameters = parameters_of(body)
    parameters.update(
        (key, item)
        for key, item in parameters_of(mapping(value.get("model_parameters"))).items()
        if key not in parameters
    )
    usage = usage_of(first(response, "usage", "usageMetadata", "usage_metadata"))
    usage = usage or usage_of(first(value, "usage", "response.usage")) or _flat_usage(value)
    return Request(
        file=name,
        line=line,
        parts=parts_of(body, surface),
        time=seconds(first(value, *_TIMES)),
        id=text(first(response, "id")) or text(first(value, "request_id", "id", "custom_id")),
        provider=_provider(value, surface, model),
        surface=surface,
        model=model,
        session=text(first(value, *_SESSIONS)) or text(first(body, "metadata.session_id", "conversation.id")),
        tenant=text(first(value, *_TENANTS)),
        salt=text(first(body, "cache_salt", "extra_key")),
        replica=text(first(value, *_REPLICAS)) or text(first(response, "provider", "system_fingerprint")),
        routing=text(first(body, *_ROUTING)) or text(first(value, "headers.x-session-affinity", *_ROUTING)),
        parameters=parameters,
        usage=usage,
        reply=reply_of(response),
        first_byte=seconds(first(value, *_STARTED)) or seconds(first(value, *_ENDED)),
        reason=reason_of(response) or reason_of(value),
    )


def _provider(value: Mapping[str, Any], surface: str, model: str) -> str:
    said = text(first(value, "provider", "custom_llm_provider", "api_type")).lower()
    return said or provider_of(surface, model)


def _flat_usage(value: Mapping[str, Any]) -> Usage | None:
    """Return the usage of a record that spreads it over its own fields; metadata may hold the rest."""
    total = number(first(value, "prompt_tokens", "input_tokens"))
    if total is None:
        return None
    inner = usage_of(first(mapping(value.get("metadata")), "usage_object", "usage"))
    read = inner.read if inner else number(first(value, "cached_tokens", "num_cached_tokens"))
    written = inner.written if inner else None
    return Usage(total, read, written, number(first(value, "completion_tokens", "output_tokens")) or 0)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which fields of a flat record hold what; "" for none."""

    prompt: str
    time: str
    session: str
    id: str
    reply: str
    counted: bool


@lru_cache(maxsize=256)
def _plan(names: tuple[str, ...]) -> _Plan | None:
    """Return where a plain prompt and its facts stand, by the names of a record's fields."""

    def pick(wanted: tuple[str, ...]) -> str:
        return next((name for name in wanted if name in names), "")

    if "messages" in names or "model" in names or any("." in name for name in names):
        return None
    reply = pick(("output", "response", "completion"))
    counted = "prompt_tokens" in names or "input_tokens" in names
    return _Plan(pick(_PROMPTS), pick(_TIMES), pick(_SESSIONS), pick(("id", "request_id")), reply, counted)


def _flat_prompt(value: Mapping[str, Any], name: str, line: int) -> Request | None:
    """Return the request of a flat record with a prompt: the shape of most prompt logs, read fast."""
    plan = _plan(tuple(value))
    if plan is None or not plan.prompt or any(key in value for key in _WRAPPERS):
        return None
    if any(isinstance(value.get(key), dict) for key in _ANSWERS):
        return None
    prompt = value[plan.prompt]
    if not isinstance(prompt, str) or not prompt:
        return None
    return Request(
        file=name,
        line=line,
        parts=(Part(Section.MESSAGES, 0, "", prompt),),
        time=seconds(value[plan.time]) if plan.time else None,
        id=text(value[plan.id]) if plan.id else "",
        session=text(value[plan.session]) if plan.session else "",
        usage=_flat_usage(value) if plan.counted else None,
        reply=text(value[plan.reply]) if plan.reply else "",
    )


def reply_of(response: Mapping[str, Any]) -> str:
    """Return the text that a model answered, as far as it is plain."""
    content = first(response, "message.content", "content", "output_text", "choices", "output")
    if isinstance(content, str):
        return content
    said: list[str] = []
    for block in listing(content):
        if isinstance(block, Mapping):
            inner = first(block, "text", "message.content")
            if isinstance(inner, str):
                said.append(inner)
            said += [text(dig(item, "text")) for item in listing(block.get("content"))]
    return "".join(said)


def reason_of(value: Mapping[str, Any]) -> str:
    """Return the provider's own reason for a miss, where it gives one."""
    found = first(
        value,
        "diagnostics.cache_miss_reason.type",
        "prompt_cache_diagnostics.cache_miss.reason",
        "prompt_cache_diagnostics.reason",
        "cache_miss_reason",
    )
    return text(found)
