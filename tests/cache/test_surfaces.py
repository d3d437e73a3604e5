"""Request bodies of the five APIs: what becomes a block, which block is marked, which parameters count."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from promptlint.cache.hosted import hosted_cache
from promptlint.cache.surfaces import inject, read_request, surface_of
from promptlint.catalog.profiles import get_profile

EPHEMERAL = {"type": "ephemeral"}


def count(text: str) -> int:
    return len(text)


def marks(body: dict, surface: str = "") -> list[tuple[str, str, str | None]]:
    return [(b.section, b.kind, b.mark) for b in read_request(body, count, surface).blocks]


ANTHROPIC = {
    "model": "claude-opus-5",
    "tools": [
        {"name": "a", "input_schema": {}},
        {"name": "b", "input_schema": {}, "cache_control": EPHEMERAL},
    ],
    "system": [{"type": "text", "text": "S" * 900, "cache_control": {**EPHEMERAL, "ttl": "1h"}}],
    "messages": [
        {"role": "user", "content": [{"type": "image", "source": {}}, {"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": "hello"},
    ],
    "thinking": {"type": "enabled"},
    "output_config": {"effort": "low"},
    "cache_control": EPHEMERAL,
    "metadata": {"user_id": "x"},
}


def test_anthropic() -> None:
    request = read_request(ANTHROPIC, count, image_tokens=700)
    assert [(b.section, b.kind, b.mark, b.role) for b in request.blocks] == [
        ("tools", "tool", None, ""),
        ("tools", "tool", "", ""),
        ("system", "text", "1h", "system"),
        ("messages", "image", None, "user"),
        ("messages", "text", None, "user"),
        ("messages", "text", None, "assistant"),
    ]
    assert [b.tokens for b in request.blocks[2:]] == [900, 700, 2, 5]
    assert request.automatic == ""
    assert request.parameters == {
        "model": "claude-opus-5",
        "thinking": '{"type":"enabled"}',
        "effort": "low",
        "images": "yes",
    }


def test_a_mark_is_not_part_of_the_prefix() -> None:
    def body(mark: bool) -> dict:
        extra = {"cache_control": EPHEMERAL} if mark else {}
        return {"system": [{"type": "text", "text": "S", **extra}], "messages": []}

    plain, marked = (read_request(body(mark), count).blocks[0] for mark in (False, True))
    assert plain.key == marked.key


def test_openai_chat() -> None:
    body = {
        "model": "gpt-6-sol",
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "r"}},
        "messages": [
            {
                "role": "developer",
                "content": [{"type": "text", "text": "S", "prompt_cache_breakpoint": {"ttl": "12h"}}],
            },
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "id": "1"}]},
            {"role": "system", "content": "late"},
        ],
        "prompt_cache_options": {"mode": "explicit", "ttl": "30m"},
        "prompt_cache_key": "k",
        "reasoning_effort": "high",
    }
    assert marks(body) == [
        ("tools", "tool", None),
        ("response_schema", "schema", None),
        ("system", "text", "12h"),
        ("messages", "text", None),
        ("messages", "function", None),
        ("messages", "text", None),
    ]
    request = read_request(body, count)
    assert (request.mode, request.ttl) == ("explicit", "30m")
    assert request.parameters == {"model": "gpt-6-sol", "reasoning_effort": "high", "prompt_cache_key": "k"}


def test_openai_responses() -> None:
    body = {
        "model": "gpt-6-sol",
        "instructions": "S",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "q", "prompt_cache_breakpoint": {}}]},
            {"type": "function_call", "name": "f"},
        ],
        "text": {"format": {"type": "json_schema", "name": "r"}, "verbosity": "low"},
        "reasoning": {"effort": "low"},
        "prompt_cache_retention": "24h",
    }
    assert marks(body) == [
        ("response_schema", "schema", None),
        ("system", "text", None),
        ("messages", "input_text", ""),
        ("messages", "function_call", None),
    ]
    assert read_request(body, count).ttl == "24h"
    assert read_request({"input": "q"}, count).blocks[0].role == "user"


def test_bedrock_cache_points_mark_the_block_before() -> None:
    body = {
        "modelId": "anthropic.claude-opus-5",
        "toolConfig": {"tools": [{"toolSpec": {}}, {"cachePoint": {"type": "default"}}]},
        "system": [{"text": "S"}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
        "messages": [
            {
                "role": "user",
                "content": [{"toolResult": {}}, {"text": "q"}, {"cachePoint": {"type": "default"}}],
            }
        ],
    }
    assert marks(body) == [
        ("tools", "tool", ""),
        ("system", "text", "1h"),
        ("messages", "tool_result", None),
        ("messages", "text", ""),
    ]


def test_gemini() -> None:
    body = {"cachedContent": "cachedContents/1", "contents": [{"role": "user", "parts": [{"text": "q"}]}]}
    request = read_request(body, count)
    assert request.cached_object == "cachedContents/1"
    assert [(b.section, b.tokens) for b in request.blocks] == [("messages", 1)]


@pytest.mark.parametrize(
    ("body", "surface"),
    [
        (ANTHROPIC, "messages"),
        ({"model": "claude-opus-5", "messages": []}, "messages"),
        ({"model": "gpt-6", "messages": []}, "chat.completions"),
        ({"input": "q"}, "responses"),
        ({"modelId": "m", "messages": []}, "converse"),
        ({"messages": [{"role": "user", "content": [{"text": "q"}, {"cachePoint": {}}]}]}, "converse"),
        ({"contents": []}, "generateContent"),
    ],
)
def test_surface_of(body: dict, surface: str) -> None:
    assert surface_of(body) == surface


@pytest.mark.parametrize(
    "body", [{}, {"messages": "x"}, {"messages": [1, None]}, {"tools": {"a": 1}}, {"system": 5}]
)
def test_strange_bodies_do_not_raise(body: dict) -> None:
    for surface in ("messages", "chat.completions", "responses", "converse", "generateContent"):
        read_request(body, count, surface)


TURNS = [{"role": role, "content": "x"} for role in ("system", "user", "assistant", "user", "assistant")]


class TestInjection:
    def marked(self, *points: dict) -> list[int]:
        return [at for at, m in enumerate(inject(TURNS, points)) if "cache_control" in m]

    def test_a_role_marks_every_message_of_it(self) -> None:
        assert self.marked({"location": "message", "role": "assistant"}) == [2, 4]

    def test_an_index_marks_one(self) -> None:
        assert self.marked({"location": "message", "role": "user", "index": -1}) == [4]
        assert self.marked({"location": "message", "index": 9}) == []

    def test_five_turns_are_refused(self) -> None:
        turns = [{"role": r, "content": "x" * 2000} for _ in range(5) for r in ("user", "assistant")]
        body = {
            "model": "claude-opus-5",
            "messages": inject(turns, [{"location": "message", "role": "assistant"}]),
        }
        outcome = hosted_cache(get_profile("anthropic")).send(read_request(body, count, "chat.completions"))
        assert outcome.rejected == "5 marks, the provider takes 4"


KEYS = st.sampled_from(["type", "text", "content", "role", "cache_control", "cachePoint", "ttl", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
FIELDS = (
    "model messages input system tools toolConfig contents cache_control response_format text reasoning "
    "prompt_cache_options instructions output_config"
)
BODIES = st.dictionaries(st.sampled_from(FIELDS.split()), JSON, max_size=5)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example({"tools": {"a": 1}})
@example({"tools": 5, "messages": None})
@example({"messages": [{"tool_calls": 3, "content": "x"}]})
@given(BODIES)
def test_any_body_is_read(body: dict) -> None:
    surface_of(body)
    for surface in ("messages", "chat.completions", "responses", "converse", "generateContent"):
        request = read_request(body, count, surface)
        assert hosted_cache(get_profile("anthropic")).send(request).read == 0
