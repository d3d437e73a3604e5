"""Replay on a server: prediction, surfaces, salts, counters, keys and what is said when it fails."""

from __future__ import annotations

import importlib.util
import re
import sys
import threading
from pathlib import Path

import pytest

from promptlint.errors import InputError, UsageError
from promptlint_runtime.endpoint.client import Endpoint, Target
from promptlint_runtime.endpoint.http import Http
from promptlint_runtime.endpoint.server import Server, samples
from promptlint_runtime.inprocess import Vllm, parse_options
from promptlint_runtime.prompts import Piece, Prompt
from promptlint_runtime.report import Run

_SPEC = importlib.util.spec_from_file_location("runtime_servers", Path(__file__).with_name("servers.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
servers = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = servers
_SPEC.loader.exec_module(servers)
Engine, running = servers.Engine, servers.running


def quiet(what: str, done: int, total: int) -> None:
    """Show nothing."""


def text_prompt(text: str, label: str = "x", salt: str = "") -> Prompt:
    half = len(text) // 2
    return Prompt("t.j2", (Piece(text[:half], "t.j2", 1), Piece(text[half:], "t.j2", 2)), label, salt=salt)


PROMPTS = [
    text_prompt("You are a helper. Be kind. Q: one?"),
    text_prompt("You are a helper. Be kind. Q: two?"),
    text_prompt("You are a helper. Be kind. Q: one?"),
    text_prompt("You are a helper. Be kind. Q: one?", salt="other"),
    text_prompt("Today: 12:01. You are a helper."),
]


def replay(url: str, prompts: list[Prompt] = PROMPTS, **target: object) -> Run:
    with Endpoint(Target(url, **target), None) as endpoint:  # type: ignore[arg-type]
        return endpoint.run("as written", endpoint.prepare(prompts, 1), quiet)


def test_predicted_and_reported_hits_are_equal() -> None:
    engine = Engine(block=4)
    engine.seen.append(("", list(map(ord, PROMPTS[0].text))))  # something from before: emptied first
    with running(engine) as url:
        run = replay(url)
    # By hand: 30 shared characters before "one"/"two" are 28 in blocks of 4; 34 sent again are 32.
    assert [row.measured_hit_tokens for row in run.rows] == [0, 28, 32, 0, 0]
    assert run.mismatches == ()
    assert [row.predicted_hit_tokens for row in run.rows] == [0, 28, 32, 0, 0]
    assert run.setting.block_tokens == 4
    assert run.setting.capacity_tokens == 4000
    assert run.counters["vllm:prefix_cache_hits_total"] == 60
    assert run.counters["vllm:prefix_cache_queries_total"] == sum(len(p.text) for p in PROMPTS)
    assert all(row.ttft_ms is not None and row.ttft_ms > 0 for row in run.rows)


def test_answers_enter_the_prediction() -> None:
    engine = Engine(block=4)
    first = [1, 2, 3, 4, 5, 6]
    answer = [(sum(first) + i) % 50 for i in range(6)]
    second = [*first, *answer, 9, 9]
    prompts = [Prompt("p", (Piece("", "p", i),), ids=tuple(ids)) for i, ids in enumerate((first, second), 1)]
    with running(engine) as url:
        run = replay(url, prompts, max_new=6)
    # 6 + 5 computed tokens are cached, 8 of them in full blocks
    assert [row.measured_hit_tokens for row in run.rows] == [0, 8]
    assert run.mismatches == ()
    assert "answer" in run.rows[1].reason


def test_a_server_that_deviates_is_found_out() -> None:
    with running(Engine(block=4, wrong_by=4)) as url:
        run = replay(url)
    assert [row.id for row in run.mismatches] == [1, 2]
    assert "MISMATCH: 28 tokens predicted, 24 measured" in run.mismatches[0].reason


def test_without_a_reset_the_run_has_a_salt_of_its_own() -> None:
    engine = Engine(block=4, can_reset=False)
    engine.seen.append(("", list(map(ord, PROMPTS[0].text))))
    with running(engine) as url:
        run = replay(url)
    assert run.mismatches == ()
    assert run.rows[0].measured_hit_tokens == 0
    salts = {body["cache_salt"] for body in engine.bodies}
    assert len(salts) == 2
    assert any("salt of its own" in note for note in run.notes)


@pytest.mark.parametrize("surface", ["chat", "responses", "messages"])
def test_other_surfaces(surface: str) -> None:
    engine = Engine(block=4)
    system = {"role": "system", "content": "Be kind and brief."}
    body = {"messages": [system, {"role": "user", "content": "Why?"}], "tools": []}
    prompts = [Prompt("log", (Piece("", "log", n),), body=body) for n in (1, 2)]
    with running(engine, vllm=surface == "chat") as url:
        run = replay(url, prompts, surface=surface)
    assert run.rows[0].measured_hit_tokens == 0
    assert run.rows[1].measured_hit_tokens == (run.rows[1].prompt_tokens - 1) // 4 * 4
    if surface == "chat":
        assert run.mismatches == ()
        assert run.rows[1].predicted_hit_tokens == run.rows[1].measured_hit_tokens
    else:
        assert run.rows[1].predicted_hit_tokens is None
    if surface == "messages":
        assert engine.bodies[0]["system"] == "Be kind and brief."
        assert [m["role"] for m in engine.bodies[0]["messages"]] == ["user"]


def test_an_unknown_server_is_measured_but_not_predicted() -> None:
    with running(Engine(block=4), vllm=False) as url:
        run = replay(url)
    assert [row.predicted_hit_tokens for row in run.rows] == [None] * 5
    assert run.rows[1].measured_hit_tokens == 28
    assert (run.rows[1].template, run.rows[1].line) == ("t.j2", 2)
    assert any("nothing is predicted" in note for note in run.notes)


def test_keys_come_from_the_environment_and_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    engine = Engine()
    with running(engine) as url:
        replay(url, PROMPTS[:1], key_variable="MY_KEY")
        assert engine.headers[-1]["authorization"] == "Bearer sk-secret"
        with pytest.raises(InputError, match="no such model") as caught:
            replay(url, PROMPTS[:1], model="other", key_variable="MY_KEY")
    assert "sk-secret" not in f"{caught.value} {caught.value.next_step}"


def test_no_server_and_wrong_urls() -> None:
    with running(Engine()) as url:
        pass
    with pytest.raises(InputError, match="no answer"):
        replay(url)
    for wrong in ("ftp://x", "http://"):
        with pytest.raises(UsageError, match="not the URL"):
            Http(wrong, {})
    with pytest.raises(UsageError, match="keys do not belong"):
        Http("http://user:key@host", {})


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("127.0.0.1:8000", True),
        ("http://10.0.0.5/v1", True),
        ("localhost", True),
        ("https://api.openai.com", False),
    ],
)
def test_who_may_charge(url: str, local: bool) -> None:
    assert Http(url, {}).is_local is local


def test_prometheus_text() -> None:
    text = '# TYPE a counter\na{x="1,2",y="q\\"r"} 3.5e2\nb 1\nbroken line here\nc NaNx\n'
    assert samples(text) == [("a", {"x": "1,2", "y": 'q\\"r'}, 350.0), ("b", {}, 1.0)]


def test_which_servers_can_be_predicted() -> None:
    assert Server("vllm", 16, 160).make_cache().capacity_tokens == 144  # type: ignore[union-attr]
    assert Server("sglang", 1, 100).make_cache().capacity_tokens == 100  # type: ignore[union-attr]
    assert Server("llama.cpp", 1).make_cache() is None
    assert Server("vllm").make_cache() is None


def test_options_of_vllm() -> None:
    assert parse_options(["a=2", "b=true", "c=0.5", "d=x=y"]) == {"a": 2, "b": True, "c": 0.5, "d": "x=y"}
    with pytest.raises(UsageError, match="name=value"):
        parse_options(["tensor-parallel"])
    if importlib.util.find_spec("vllm") is None:
        with pytest.raises(UsageError, match="needs vLLM"):
            Vllm("m", None, 1, {})


def test_cold_is_apart_each_time_and_warm_finds_what_the_run_found() -> None:
    engine = Engine(block=4)
    with running(engine) as url:
        run = replay(url, timed=2, repeats=2)
    first, second = run.timings
    # Request 2 is request 0 again: 32 of its 34 characters are whole blocks. Request 1 shares 28.
    assert [(t.request, t.cached, t.new) for t in run.timings] == [(2, 32, 2), (1, 28, 6)]
    assert first.off is None
    assert first.deviation is None
    assert second.cold.median > 0 < second.warm.median
    timing = engine.bodies[len(PROMPTS) :]
    assert len(timing) == 2 * 2 * 3  # prompts, repeats: cold, the part, warm
    cold, part, warm = timing[:3]
    assert part["prompt"] == cold["prompt"][:32]
    assert part["cache_salt"] == warm["cache_salt"] != cold["cache_salt"]
    assert len({body["cache_salt"] for body in timing}) == 8
    assert any("salt of its own each time" in note for note in run.notes)
    assert run.mismatches == ()


def test_without_salts_a_cold_prompt_has_another_first_line_and_llama_can_leave_its_cache_out() -> None:
    engine = Engine(block=1)
    with running(engine, vllm=False, llama=True) as url:
        run = replay(url, PROMPTS[:1], timed=1, repeats=2)
    (timing,) = run.timings
    assert timing.off is not None
    assert timing.new == 1  # the same prompt again, but for its last token
    prompts = [body["prompt"] for body in engine.bodies[1:]]
    assert len(set(prompts)) == 2
    assert all(p.startswith("[") and p.endswith("]\n" + PROMPTS[0].text) for p in prompts)
    assert [body.get("cache_prompt") for body in engine.bodies[1:]] == [None, None, False] * 2


def test_what_a_provider_reads_first_is_marked() -> None:
    from promptlint_runtime.endpoint.cold import marked, without_marks

    tool = {"type": "function", "function": {"name": "f", "description": "d"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]

    def body(**more: object) -> dict[str, object]:
        prompt = Prompt("log", (Piece("", "log", 1),), body={"messages": messages, **more})
        found = marked(prompt, "x").body
        assert found is not None
        return dict(found)

    assert body(tools=[tool])["tools"][0]["function"]["description"] == "[x]\nd"  # type: ignore[index]
    assert body(tools=[{"name": "f"}], system="s") == {
        "messages": messages, "tools": [{"name": "f", "description": "[x]\n"}], "system": "s"
    }  # fmt: skip
    assert body(system="s")["system"] == "[x]\ns"
    assert body()["messages"][0]["content"][0] == {"type": "text", "text": "[x]\n"}  # type: ignore[index]
    ids = Prompt("log", (Piece("", "log", 1),), ids=(5, 6))
    assert marked(ids, "x").ids[8:] == (5, 6)  # type: ignore[index]
    cached = {"system": [{"type": "text", "cache_control": {"type": "ephemeral"}}], "n": 1}
    assert without_marks(cached) == {"system": [{"type": "text"}], "n": 1}


def test_several_at_a_time_are_measured_in_the_order_of_arrival() -> None:
    engine = Engine(block=4)
    engine.parties = threading.Barrier(4)
    prompts = [text_prompt(f"Question {n} about the same thing?") for n in range(8)]
    with running(engine) as url:
        run = replay(url, prompts, concurrency=4)
    assert engine.most_at_once == 4
    assert [row.id for row in run.rows] == list(range(8))
    assert {row.predicted_hit_tokens for row in run.rows} == {None}
    assert sum(row.measured_hit_tokens or 0 for row in run.rows) == engine.hits
    assert any("which is first" in note for note in run.notes)
    assert run.seconds is not None


def test_replicas_are_not_predicted() -> None:
    with running(Engine(block=4, replicas=2)) as url:
        run = replay(url)
    assert {row.predicted_hit_tokens for row in run.rows} == {None}
    assert any("2 replicas" in note for note in run.notes)


FAULTS = [
    ("500", "HTTP 500: <html>no room</html>"),
    ("page", "has no token"),
    ("broken", "not JSON"),
    ("list", "an object was expected"),
    ("error", "out of room"),
    ("short", "broke off"),
    ("cut", "IncompleteRead|broke off"),
    ("hang", "nothing came for 0.2 s"),
]


@pytest.mark.parametrize(("fault", "what"), FAULTS)
@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_server_that_fails_at_once_is_one_error(fault: str, what: str, concurrency: int) -> None:
    with running(Engine(), fault=fault) as url, pytest.raises(InputError, match=what) as caught:
        replay(url, timeout=0.2 if fault == "hang" else 20.0, concurrency=concurrency)
    assert caught.value.next_step


@pytest.mark.parametrize(("fault", "what"), FAULTS)
def test_a_server_that_fails_later_leaves_what_was_measured(fault: str, what: str) -> None:
    with running(Engine(), fault=fault, good=3) as url:
        run = replay(url, timeout=0.2 if fault == "hang" else 20.0)
    assert re.search(what, run.stopped)
    assert len(run.rows) == 3
    assert run.mismatches == ()
    with running(Engine(), fault=fault, good=7) as url:  # while prompts are timed
        run = replay(url, timeout=0.2 if fault == "hang" else 20.0, timed=1)
    assert len(run.rows) == 5
    assert re.search(what, run.stopped)


def test_usage_of_messages_is_read_where_it_is_complete() -> None:
    from promptlint_runtime.endpoint.surfaces import Usage, surface

    usage = surface("messages").usage
    anthropic = {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7}
    start = usage({"type": "message_start", "message": {"usage": anthropic}})
    assert start == Usage(102, 90, 0)
    assert usage({"type": "message_delta", "usage": {"output_tokens": 3}}) is None
    vllm_start = usage({"type": "message_start", "message": {"usage": {"input_tokens": 102}}})
    assert vllm_start == Usage(102, None, 0)
    end = usage({"type": "message_delta", "usage": {**anthropic, "output_tokens": 3}})
    assert end is not None
    assert end.over(vllm_start) == Usage(102, 90, 3)
    assert Usage(102, None, 3).over(start) == start
