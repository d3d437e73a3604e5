"""One log of each format, written as its producer writes it, and what is read from it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptlint.errors import NothingToCheckError
from promptlint.layout import Section
from promptlint.trace.analyze import analyze
from promptlint.trace.model import Hashed, Request, Usage
from promptlint.trace.options import Options
from promptlint.trace.readers import open_log

Write = Callable[..., Path]
CHAT = {
    "model": "gpt-4.1",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
}
CLAUDE = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 10,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
    "tools": [{"name": "find", "input_schema": {}}],
    "messages": [{"role": "user", "content": "Hi"}],
}


def read(path: Path, form: str) -> list[Request]:
    log = open_log(path)
    assert log.format == form
    entries = list(log.entries)
    assert all(isinstance(entry, Request) for entry in entries)
    return [entry for entry in entries if isinstance(entry, Request)]


def texts(request: Request) -> list[tuple[str, str, str]]:
    return [(part.section.value, part.role, part.text) for part in request.parts]


def test_case_format(write_log: Write) -> None:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 20},
        "output_tokens": 7,
    }
    row = {
        "ts": "2026-10-12T10:00:00Z",
        "provider": "anthropic",
        "endpoint": "/v1/messages",
        "thread": "a",
        "request": CLAUDE,
        "response": {
            "id": "msg_1",
            "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": "Yes."}],
            "usage": usage,
        },
    }
    (request,) = read(write_log(row), "requests")
    assert (request.provider, request.surface, request.session, request.id) == (
        "anthropic",
        "messages",
        "a",
        "msg_1",
    )
    assert request.time == 1791799200.0
    assert request.usage == Usage(123, 100, 20, 7, {"1h": 20})
    assert [section for section, _, _ in texts(request)] == ["tools", "system", "messages"]
    assert request.parts[1].mark is not None
    assert request.parts[1].mark.ttl == "1h"
    assert request.reply == "Yes."


def test_openai_bodies_and_batches(write_log: Write) -> None:
    batch = {"custom_id": "r1", "method": "POST", "url": "/v1/chat/completions", "body": CHAT}
    responses = {
        "model": "gpt-5.6",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"type": "function_call", "name": "find", "arguments": "{}", "call_id": "c"},
            {"type": "function_call_output", "call_id": "c", "output": "none"},
        ],
        "prompt_cache_key": "k",
        "reasoning": {"effort": "low"},
    }
    bare, batched, answered = read(write_log(CHAT, batch, responses), "requests")
    assert texts(bare) == texts(batched) == [("system", "system", "Be brief."), ("messages", "user", "Hi")]
    assert batched.surface == "chat"
    assert batched.id == "r1"
    assert answered.surface == "responses"
    assert answered.routing == "k"
    assert answered.parameters["reasoning"] == '{"effort": "low"}'
    assert [part.kind for part in answered.parts] == ["text", "text", "tool_use", "tool_result"]


def test_anthropic_batch_and_automatic_mark(write_log: Write) -> None:
    body = {**CLAUDE, "cache_control": {"type": "ephemeral"}}
    (request,) = read(write_log({"custom_id": "x", "params": body}), "requests")
    last = request.parts[-1]
    assert last.mark is not None
    assert last.mark.automatic


def test_litellm_spend_log(write_log: Write) -> None:
    row = {
        "request_id": "r",
        "call_type": "acompletion",
        "startTime": "2026-10-12 10:00:00.250000",
        "endTime": "2026-10-12 10:00:02",
        "completionStartTime": "2026-10-12 10:00:01",
        "model": "claude-sonnet-4-5",
        "custom_llm_provider": "anthropic",
        "prompt_tokens": 500,
        "completion_tokens": 5,
        "cache_hit": "False",
        "session_id": "s",
        "team_id": "red",
        "messages": json.dumps(CHAT["messages"]),
        "metadata": json.dumps(
            {"usage_object": {"prompt_tokens": 500, "prompt_tokens_details": {"cached_tokens": 400}}}
        ),
    }
    (request,) = read(write_log(row), "requests")
    assert request.usage == Usage(500, 400, None, 5)
    assert (request.tenant, request.session, request.provider) == ("red", "s", "anthropic")
    assert request.first_byte == request.time + 0.75 if request.time else False


def test_claude_code_counts_an_answer_once(write_log: Write) -> None:
    def line(kind: str, **more: Any) -> dict[str, Any]:
        return {"type": kind, "sessionId": "s", "isSidechain": False, "uuid": "u", **more}

    def answer(time: str, block: dict[str, str], output: int) -> dict[str, Any]:
        usage = {
            "input_tokens": 2,
            "cache_read_input_tokens": 30,
            "cache_creation_input_tokens": 8,
            "output_tokens": output,
            "iterations": [{"input_tokens": 40}],
        }
        message = {"id": "m1", "model": "claude-opus-4-8", "content": [block], "usage": usage}
        return line("assistant", timestamp=time, message=message)

    rows = [
        line("user", timestamp="2026-10-12T10:00:00Z", message={"role": "user", "content": "Hi"}),
        answer("2026-10-12T10:00:02Z", {"type": "thinking", "thinking": "so"}, 3),
        answer("2026-10-12T10:00:03Z", {"type": "text", "text": "Yes."}, 9),
        line("user", timestamp="2026-10-12T10:01:00Z", message={"role": "user", "content": "More"}),
        line("system", subtype="compact_boundary", compactMetadata={}),
        line("user", timestamp="2026-10-12T10:02:00Z", message={"role": "user", "content": "Summary"}),
        answer("2026-10-12T10:02:02Z", {"type": "text", "text": "Ok."}, 1) | {"uuid": "v"},
    ]
    rows[-1]["message"]["id"] = "m2"
    first, second = read(write_log(*rows), "claude-code")
    assert first.usage == Usage(40, 30, 8, 9)
    assert [part.text for part in first.parts] == ["Hi"]
    assert first.line == 2
    assert second.notes == ("compacted",)
    assert [part.text for part in second.parts] == ["Summary"]


def test_codex_drops_the_reasoning_of_earlier_turns(write_log: Write) -> None:
    def item(**payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-10-12T10:00:00Z", "type": "response_item", "payload": payload}

    def counts(total: int, read: int) -> dict[str, Any]:
        last = {"input_tokens": total, "cached_input_tokens": read, "output_tokens": 3}
        info = {"total_token_usage": {"input_tokens": total + 1}, "last_token_usage": last}
        return {
            "timestamp": "2026-10-12T10:00:09Z",
            "type": "event_msg",
            "payload": {"type": "token_count", "info": info},
        }

    def said(role: str, text: str) -> dict[str, Any]:
        return item(type="message", role=role, content=[{"type": "input_text", "text": text}])

    rows = [
        {"type": "session_meta", "payload": {"id": "s", "base_instructions": {"text": "You code."}}},
        {"type": "turn_context", "payload": {"model": "gpt-5.4", "effort": "high", "cwd": "/w"}},
        said("user", "Hi"),
        item(type="reasoning", summary=[], encrypted_content="xyz"),
        said("assistant", "Yes."),
        counts(100, 64),
        counts(100, 64),  # repeated with the rate limits
        said("user", "More"),
        said("assistant", "Ok."),
        counts(120, 0),
    ]
    first, second = read(write_log(*rows), "codex")
    assert [part.text for part in first.parts] == ["You code.", "Hi"]
    assert first.usage == Usage(100, 64, None, 3)
    assert [part.text for part in second.parts] == ["You code.", "Hi", "Yes.", "More"]
    assert second.notes == ("reasoning dropped",)


def test_langfuse(write_log: Write) -> None:
    row = {
        "id": "o",
        "traceId": "t",
        "type": "GENERATION",
        "startTime": "2026-10-12T10:00:00.000Z",
        "model": "claude-sonnet-4-5",
        "input": CHAT["messages"],
        "output": {"role": "assistant", "content": "Yes."},
        "usageDetails": {"input": 10, "cache_read_input_tokens": 90, "output": 4},
    }
    (request,) = read(write_log(row), "langfuse")
    assert request.usage == Usage(100, 90, None, 4)
    assert request.session == "t"
    assert len(request.parts) == 2


def test_langsmith(write_log: Write) -> None:
    human = {"lc": 1, "id": ["langchain", "schema", "HumanMessage"], "kwargs": {"content": "Hi"}}
    row = {
        "id": "r",
        "run_type": "llm",
        "start_time": "2026-10-12T10:00:00",
        "inputs": {"messages": [[{"type": "system", "content": "Be brief."}, human]]},
        "outputs": {},
        "prompt_tokens": 100,
        "prompt_token_details": {"cache_read": 64},
        "extra": {
            "invocation_params": {"model": "gpt-4.1"},
            "metadata": {"thread_id": "t", "ls_provider": "openai"},
        },
    }
    (request,) = read(write_log({**row, "run_type": "chain"}, row), "langsmith")
    assert texts(request) == [("system", "system", "Be brief."), ("messages", "user", "Hi")]
    assert request.usage == Usage(100, 64, None, 0)
    assert (request.session, request.provider) == ("t", "openai")


def test_opentelemetry(write_log: Write) -> None:
    def box(key: str, value: object) -> dict[str, Any]:
        kind = "intValue" if isinstance(value, int) else "stringValue"
        return {"key": key, "value": {kind: value}}

    message = {"role": "user", "parts": [{"type": "text", "content": "Hi"}]}
    attributes = [
        box("gen_ai.provider.name", "anthropic"),
        box("gen_ai.request.model", "claude-sonnet-4-5"),
        box("gen_ai.conversation.id", "c"),
        box("gen_ai.system_instructions", json.dumps([{"type": "text", "content": "Be brief."}])),
        box("gen_ai.input.messages", json.dumps([message])),
        box("gen_ai.usage.input_tokens", 10),  # exclusive, as some emitters copy it
        box("gen_ai.usage.cache_read.input_tokens", 90),
    ]
    span = {"spanId": "x", "startTimeUnixNano": "1791799200000000000", "attributes": attributes}
    (request,) = read(write_log({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}), "otel")
    assert texts(request) == [("system", "system", "Be brief."), ("messages", "user", "Hi")]
    assert request.usage == Usage(100, 90, None, 0)
    assert request.time == 1791799200.0


def test_har_with_a_stream_of_events(write_log: Write) -> None:
    events = (
        'data: {"type":"message_start","message":{"id":"m","model":"claude-sonnet-4-5","usage":'
        '{"input_tokens":5,"cache_read_input_tokens":90,"cache_creation_input_tokens":5}}}\n\n'
        'data: {"type":"message_delta","usage":{"output_tokens":8}}\n\n'
    )
    entry = {
        "startedDateTime": "2026-10-12T10:00:00Z",
        "timings": {"wait": 500},
        "request": {
            "method": "POST",
            "url": "https://api.anthropic.com/v1/messages",
            "headers": [{"name": "x-api-key", "value": "secret"}],
            "postData": {"text": json.dumps(CLAUDE)},
        },
        "response": {"content": {"text": base64.b64encode(events.encode()).decode(), "encoding": "base64"}},
    }
    other = {"request": {"url": "https://example.com/logo.png"}, "response": {}}
    (request,) = read(write_log({"log": {"version": "1.2", "entries": [other, entry]}}), "har")
    assert request.usage == Usage(100, 90, 5, 8)
    assert request.first_byte == 1791799200.5
    assert "secret" not in repr(request)


def test_vllm_log(write_log: Write) -> None:
    lines = (
        (
            "INFO 10-12 10:00:00.125 [logger.py:42] Received request cmpl-1: prompt: 'It\\'s\\nhere', params: "
            "SamplingParams(n=1), prompt_token_ids: [1, 2, 3], lora_request: None."
        ),
        "INFO 10-12 10:00:01 [loggers.py:111] Engine 000: Avg prompt throughput: 1.0 tokens/s",
        "INFO 10-12 10:00:02 [logger.py:42] Received request cmpl-2: params: SamplingParams(n=1), lora_request: None.",
    )
    log = open_log(write_log(*lines, name="server.log"))
    (request,) = list(log.entries)
    assert isinstance(request, Request)
    assert request.parts[0].text == "It's\nhere"
    assert request.parts[0].tokens == 3
    assert log.skipped.count == 1


def test_plain_prompts(write_log: Write) -> None:
    (request,) = read(
        write_log({"timestamp": 1791799200123456, "input": "Hi", "session_id": "s"}), "requests"
    )
    assert request.parts[0].section is Section.MESSAGES
    assert request.time == pytest.approx(1791799200.123456)


def test_prompt_with_a_response_beside_it(write_log: Write) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    row = {"prompt": "Hi", "ts": 1791799200, "response": {"id": "c", "usage": usage}}
    (request,) = read(write_log(row), "requests")
    assert texts(request) == [("messages", "", "Hi")]
    assert request.usage == Usage(10, 4, None, 2)
    assert (request.id, request.surface) == ("c", "completions")


def test_reasons_of_the_provider(write_log: Write) -> None:
    missed = {"cache_miss_reason": {"type": "system_changed", "cache_missed_input_tokens": 900}}
    rows: list[dict[str, Any]] = []
    for turn in range(2):
        system = f"It is 10:0{turn}. " + "Be brief and kind. " * 400
        body = {
            **CLAUDE,
            "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
        }
        counted = {"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 1900}
        response = {"id": f"m{turn}", "usage": counted, **({"diagnostics": missed} if turn else {})}
        rows.append({"ts": 1791799200 + turn, "thread": "t", "request": body, "response": response})
    result = analyze([write_log(*rows)], [], Options())
    theirs = result.tally.reconciliation()["provider_reasons"]
    assert theirs == [{"provider": "system_changed", "promptlint": "prefix changed", "requests": 1}]
    assert result.findings[0]["evidence"]["provider_reason"] == "system_changed"


def test_hashes(write_log: Write) -> None:
    mooncake = {"timestamp": 1500, "input_length": 600, "output_length": 4, "hash_ids": [7, 9]}
    (entry,) = open_log(write_log(mooncake)).entries
    assert isinstance(entry, Hashed)
    assert (entry.time, entry.block_tokens, entry.length) == (1.5, 512, 600)
    rows = [
        {
            "chat_id": 1,
            "parent_chat_id": -1,
            "timestamp": 2.5,
            "input_length": 20,
            "output_length": 1,
            "hash_ids": [1, 2],
        },
        {
            "chat_id": 2,
            "parent_chat_id": 1,
            "timestamp": 3.5,
            "input_length": 20,
            "output_length": 1,
            "hash_ids": [1, 3],
        },
    ]
    one, two = open_log(write_log(*rows)).entries
    assert isinstance(one, Hashed)
    assert isinstance(two, Hashed)
    assert one.session == two.session
    assert one.block_tokens == 16
    inner = {"t": 1.0, "in": 64, "out": 1, "hash_ids": [4]}
    weka = {
        "id": "w",
        "block_size": 64,
        "hash_id_scope": "local",
        "requests": [
            {"t": 0.0, "in": 70, "out": 1, "hash_ids": [1, 2]},
            {"t": 10.0, "type": "subagent", "requests": [inner]},
        ],
    }
    main, agent = open_log(write_log(weka)).entries
    assert isinstance(main, Hashed)
    assert isinstance(agent, Hashed)
    assert (agent.time, agent.depth, agent.namespace) == (11.0, 1, "w")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_packed_by_content(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(pack((json.dumps(CHAT) + "\n").encode()))
    assert len(list(open_log(path).entries)) == 1


def test_zstandard(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "log"
    path.write_bytes(zstandard.ZstdCompressor().compress((json.dumps(CHAT) + "\n").encode()))
    assert len(list(open_log(path).entries)) == 1


def test_one_document_instead_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps([CHAT, CHAT, CHAT], indent=1))
    entries = list(open_log(path).entries)
    assert len(entries) == 3
    assert next(entry.line for entry in entries) == 2


def test_broken_lines_are_named_and_skipped(write_log: Write) -> None:
    path = write_log(CHAT, '{"model": "gpt', CHAT, "[1, 2]", {"other": 1})
    result = analyze([path], [], Options())
    assert result.tally.requests == 2
    assert [line for _, line, _ in result.skipped.examples] == [2, 4, 5]


def _zstd(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    return bytes(zstandard.ZstdCompressor(write_checksum=True).compress(data))


_PACK = {"gzip": gzip.compress, "xz": lzma.compress, "zstandard": _zstd}


@pytest.mark.parametrize("form", _PACK)
def test_a_cut_archive_keeps_all_that_came_before(tmp_path: Path, form: str) -> None:
    """Lines of random words, so that a byte of the archive stands for about as much text everywhere."""
    rows = [json.dumps({**CHAT, "n": hashlib.sha256(b"%d" % n).hexdigest()}) for n in range(400)]
    first, second = (
        _PACK[form](("\n".join(rows[:200]) + "\n").encode()),
        _PACK[form]("\n".join(rows[200:]).encode()),
    )
    path = tmp_path / "log"
    path.write_bytes(first + second[:-1])  # the second member is there but for its last byte
    log = open_log(path)
    assert len(list(log.entries)) == 400
    assert "cut off" in log.skipped.examples[0][2]
    path.write_bytes(first[: len(first) // 2])
    if form == "zstandard":  # which packs 128 KB as one block: half of it is nothing
        with pytest.raises(NothingToCheckError, match="cut off"):
            open_log(path)
        return
    log = open_log(path)
    found = list(log.entries)
    assert "cut off" in log.skipped.examples[0][2]
    assert 60 <= len(found) <= 140
    assert log.skipped.examples[0][1] == found[-1].line + 1


@pytest.mark.parametrize("form", _PACK)
def test_a_wrong_byte_in_an_archive_is_told(tmp_path: Path, form: str) -> None:
    data = bytearray(_PACK[form]("".join(json.dumps({**CHAT, "n": n}) + "\n" for n in range(4000)).encode()))
    whole = _PACK[form]((json.dumps(CHAT) + "\n").encode())
    data[len(data) // 2] ^= 0x55
    path = tmp_path / "log"
    path.write_bytes(whole + bytes(data))
    log = open_log(path)
    assert len(list(log.entries)) >= 1
    assert "damaged" in log.skipped.examples[0][2]


def test_members_and_padding(tmp_path: Path) -> None:
    one = gzip.compress((json.dumps(CHAT) + "\n").encode())
    path = tmp_path / "log"
    path.write_bytes(one + one + bytes(600) + one + bytes(200_000))
    log = open_log(path)
    assert len(list(log.entries)) == 3
    assert log.skipped.count == 0
    path.write_bytes(one + b"rubbish")
    log = open_log(path)
    assert len(list(log.entries)) == 1
    assert "damaged" in log.skipped.examples[0][2]


def test_order_and_duplicates(write_log: Write) -> None:
    def row(second: int, identity: str) -> dict[str, Any]:
        return {"ts": f"2026-10-12T10:00:{second:02d}Z", "request": CHAT, "response": {"id": identity}}

    result = analyze([write_log(row(9, "b"), row(1, "a"), row(9, "b"))], [], Options(rows=True))
    assert [line["id"] for line in result.rows] == ["a", "b"]
    assert result.intake.duplicates == 1


@pytest.mark.parametrize("content", ["", "hello\n", '{"a": 1}\n', "\x00\x01\x02"])
def test_unknown_content_is_one_clear_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.log"
    path.write_text(content)
    with pytest.raises(NothingToCheckError) as error:
        open_log(path)
    assert str(path) in str(error.value)
    assert "mooncake" in error.value.next_step
