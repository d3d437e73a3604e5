"""Records with wrong types in them: skipped or read in part, never a crash."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from promptlint.errors import PromptlintError
from promptlint.trace.analyze import analyze
from promptlint.trace.options import Options
from tests.trace.faults import CLAUDE_TOOLS, TALK, TOOLS
from tests.trace.provider import Provider, chat, claude, manual

JUNK: list[Any] = [
    None,
    True,
    -1,
    0,
    1e308,
    float("nan"),
    "",
    "x",
    "{",
    "[1",
    [],
    [[]],
    {},
    {"a": {}},
    "\ud800",
    [None],
    2**70,
]


def seeds() -> list[Any]:
    openai, anthropic = Provider(), Provider("anthropic")
    for turn in range(2):
        openai.send(chat(manual("a shop", 60), *TALK[: 2 * turn + 1], tools=TOOLS), thread="t")
        anthropic.send(
            claude(manual("a shop", 60), *TALK[: 2 * turn + 1], tools=CLAUDE_TOOLS, rolling=True), thread="t"
        )
    usage = {"input_tokens": 5, "cache_read_input_tokens": 9, "cache_creation_input_tokens": 1}
    claude_code = {
        "type": "assistant",
        "sessionId": "s",
        "timestamp": "2026-10-12T10:00:00Z",
        "message": {
            "id": "m",
            "model": "claude-opus-4-8",
            "content": [{"type": "text", "text": "x"}],
            "usage": usage,
        },
    }
    codex = [
        {"type": "session_meta", "payload": {"id": "s", "base_instructions": {"text": "You code."}}},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]},
        },
        {
            "type": "event_msg",
            "payload": {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 9}}},
        },
    ]
    span = {
        "attributes": {"gen_ai.request.model": "m", "gen_ai.input.messages": [{"role": "user", "parts": []}]}
    }
    return [
        *openai.rows,
        *anthropic.rows,
        claude_code,
        *codex,
        span,
        {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]},
        {"run_type": "llm", "inputs": {"messages": [[{"type": "human", "content": "x"}]]}, "outputs": {"generations": [[{}]]}},
        {"traceId": "t", "startTime": "2026-10-12", "input": [{"role": "user", "content": "x"}], "usageDetails": {"input": 1}},
        {"log": {"entries": [{"request": {"url": "/v1/messages", "postData": {"text": "{\"messages\": []}"}}, "response": {}}]}},
        {"timestamp": 1, "input_length": 9, "output_length": 1, "hash_ids": [1, 2]},
        {"chat_id": 1, "parent_chat_id": -1, "timestamp": 1, "input_length": 9, "hash_ids": [1]},
        {"id": "w", "block_size": 64, "requests": [{"t": 0, "in": 9, "out": 1, "hash_ids": [1]}]},
        {"timestamp": 1, "input": "hello", "session_id": "s"},
    ]  # fmt: skip


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += spots(inner, (*path, key))
    return found


def mutated(value: Any, rng: random.Random) -> Any:
    copy = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 3)):
        places = spots(copy)
        if not places:
            break
        *way, last = rng.choice(places)
        holder = copy
        for key in way:
            holder = holder[key]
        if rng.random() < 0.3 and isinstance(holder, dict):
            holder.pop(last)
        else:
            holder[last] = deepcopy(rng.choice(JUNK))
    return copy


def survive(rounds: int, seed: int, path: Path) -> None:
    rng = random.Random(seed)
    known = seeds()
    for _ in range(rounds):
        picked = rng.choice(known)
        rows = [mutated(picked, rng) if rng.random() < 0.7 else picked for _ in range(3)]
        path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
        try:
            with suppress(PromptlintError):
                analyze([path], [], Options(unit="bytes"))
        except Exception as error:
            error.add_note(json.dumps(rows)[:4000])
            raise


def test_wrong_types(tmp_path: Path) -> None:
    survive(150, 1, tmp_path / "log.jsonl")


@pytest.mark.slow
def test_many_wrong_types(tmp_path: Path) -> None:
    survive(2000, 2, tmp_path / "log.jsonl")
