"""Transcripts of coding agents: Claude Code and Codex.

Neither stores a request as it was sent. System text and tools are absent (Claude Code) or partly
so (Codex); what precedes an answer is put together from the items before it, and the usage of
the answer says how long the request really was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from promptlint.layout import Section
from promptlint.trace.model import Part, Request
from promptlint.trace.readers.bodies import _blocks, response_item
from promptlint.trace.readers.fields import dig, dumped, mapping, seconds, text
from promptlint.trace.readers.requests import reason_of
from promptlint.trace.readers.stream import Record, Skipped
from promptlint.trace.readers.usage import usage_of


def is_claude_code(value: Mapping[str, Any]) -> bool:
    """Tell by the session id beside a message or a type of this client only."""
    return "sessionId" in value and ("message" in value or "parentUuid" in value or "isSidechain" in value)


def is_codex(value: Mapping[str, Any]) -> bool:
    """Tell by typed records with a payload."""
    return value.get("type") in ("session_meta", "response_item", "turn_context") and "payload" in value


@dataclass(slots=True)
class _Thread:
    """One conversation of a Claude Code file: the main one, or that of a sub-agent."""

    parts: list[Part] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    messages: int = 0
    asked: float | None = None
    pending: Request | None = None
    answered: list[Part] = field(default_factory=list)


def read_claude_code(records: Iterator[Record], name: str, skipped: Skipped) -> Iterator[Request]:
    """Yield one request for each answer; the lines of one answer share its message id."""
    threads: dict[str, _Thread] = {}
    for record in records:
        value = record.value
        key = f"{text(value.get('sessionId'))}/{text(value.get('agentId'))}" if value.get("agentId") else ""
        key = key or text(value.get("sessionId"))
        if value.get("isSidechain") and not value.get("agentId"):
            key += "/sidechain"
        thread = threads.setdefault(key, _Thread())
        kind = value.get("type")
        if kind == "assistant":
            yield from _claude_answer(thread, value, name, record.line, key)
        elif kind == "user":
            yield from _flush(thread)
            thread.parts += _claude_message(thread, value)
            thread.asked = seconds(value.get("timestamp"))
        elif kind == "attachment":
            thread.parts.append(_part(thread, dumped(value.get("attachment") or "")))
        elif kind == "system" and value.get("subtype") == "compact_boundary":
            yield from _flush(thread)
            thread.parts.clear()
            thread.notes.append("compacted")
    for thread in threads.values():
        yield from _flush(thread)


def _part(thread: _Thread, said: str) -> Part:
    thread.messages += 1
    return Part(Section.MESSAGES, thread.messages, "user", said)


def _claude_message(thread: _Thread, value: Mapping[str, Any]) -> list[Part]:
    thread.messages += 1
    message = mapping(value.get("message"))
    return _blocks(message.get("content"), Section.MESSAGES, thread.messages, text(message.get("role")))


def _claude_answer(
    thread: _Thread, value: Mapping[str, Any], name: str, line: int, session: str
) -> Iterator[Request]:
    message = mapping(value.get("message"))
    usage, identity = usage_of(message.get("usage")), text(message.get("id"))
    if usage is None or message.get("model") == "<synthetic>":
        return
    if thread.pending is None or thread.pending.id != identity:
        yield from _flush(thread)
        thread.messages += 1
        parameters = {}
        if speed := text(dig(message, "usage.speed")):
            parameters["speed"] = speed
        thread.pending = Request(
            file=name,
            line=line,
            parts=tuple(thread.parts),
            time=thread.asked or seconds(value.get("timestamp")),
            id=identity,
            provider="anthropic",
            surface="messages",
            model=text(message.get("model")),
            session=session,
            parameters=parameters,
            first_byte=seconds(value.get("timestamp")),
            notes=tuple(thread.notes),
        )
        thread.notes.clear()
    # The counts of the last line of an answer are the final ones.
    reason = reason_of(value) or reason_of(message) or thread.pending.reason
    thread.pending = replace(thread.pending, usage=usage, reason=reason)
    thread.answered += _blocks(message.get("content"), Section.MESSAGES, thread.messages, "assistant")


def _flush(thread: _Thread) -> Iterator[Request]:
    """Hand out the pending request and put its answer into the conversation."""
    if thread.pending is not None:
        yield thread.pending
        thread.parts += thread.answered
        thread.pending, thread.answered = None, []


_KEEPS_REASONING = ("gpt-5.6", "gpt-6")  # reasoning.context "all_turns" is their default


def read_codex(records: Iterator[Record], name: str, skipped: Skipped) -> Iterator[Request]:
    """Yield one request for each ``token_count`` event.

    The reasoning of earlier turns is not sent again to models before GPT-5.6: it is left out from
    the next user message on, which is where their cache falls back to.
    """
    parts: list[Part] = []
    sent = 0  # parts before the answer that is being produced
    model = session = cwd = ""
    provider = "openai"
    asked: float | None = None
    parameters: dict[str, str] = {}
    notes: list[str] = []
    totals: Any = None
    for record in records:
        payload = mapping(mapping(record.value).get("payload"))
        kind, when = text(mapping(record.value).get("type")), seconds(mapping(record.value).get("timestamp"))
        if kind == "session_meta":
            session = text(payload.get("id")) or session
            provider = text(payload.get("model_provider")) or provider
            if base := text(dig(payload, "base_instructions.text")):
                parts.append(Part(Section.SYSTEM, 0, "system", base))
        elif kind == "turn_context":
            model = text(payload.get("model")) or model
            changed = cwd and cwd != text(payload.get("cwd"))
            cwd = text(payload.get("cwd"))
            notes += ["cwd changed"] if changed else []
            parameters = {
                key: text(payload.get(source))
                for key, source in (("reasoning_effort", "effort"), ("summary", "summary"))
                if text(payload.get(source))
            }
        elif kind == "compacted":
            parts = [part for part in parts if part.section is Section.SYSTEM]
            notes.append("compacted")
        elif kind == "response_item":
            item = response_item(payload, record.line, False)
            if payload.get("role") == "user" and not model.startswith(_KEEPS_REASONING):
                kept = [part for part in parts if part.kind != "thinking"]
                notes += ["reasoning dropped"] if len(kept) < len(parts) else []
                parts = kept
            answering = payload.get("type") in ("reasoning", "function_call", "custom_tool_call") or (
                payload.get("role") == "assistant"
            )
            parts += item
            if not answering:
                sent, asked = len(parts), when
        elif kind == "event_msg" and payload.get("type") == "token_count":
            info = mapping(payload.get("info"))
            usage = usage_of(info.get("last_token_usage"))
            if usage is None or info.get("total_token_usage") == totals:
                continue  # rate limits only, or the same counts again
            totals = info.get("total_token_usage")
            yield Request(
                file=name,
                line=record.line,
                parts=tuple(parts[:sent]),
                time=asked or when,
                provider=provider,
                surface="responses",
                model=model,
                session=session,
                parameters=dict(parameters),
                usage=usage,
                first_byte=when,
                notes=tuple(notes),
            )
            notes = []
        elif not kind:
            skipped.add(name, record.line, "no type in it")
