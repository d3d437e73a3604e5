"""vLLM within this process, with a module in its place that counts hits by comparing whole prompts."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from promptlint.errors import InputError, UsageError
from promptlint_runtime.inprocess import Vllm
from promptlint_runtime.prompts import Piece, Prompt
from promptlint_runtime.report import Run
from promptlint_runtime.rows import arrange

BLOCK = 4


class Tokenizer:
    chat_template = None
    is_fast = False

    def __len__(self) -> int:
        return 1000

    def __call__(self, text: str, **_: object) -> dict[str, list[int]]:
        return {"input_ids": list(map(ord, text))}


class DeadError(Exception):
    """Of no class that is known beforehand, as vLLM's own."""


class Llm:
    """As much of ``vllm.LLM`` as is used."""

    def __init__(self, model: str, **options: Any) -> None:
        if "unknown" in options:
            raise TypeError("unexpected keyword argument 'unknown'")
        self.options, self.seen, self.sent = options, [], 0
        self.dies_after, self.closed = options.get("dies_after", 1000), 0
        caches = SimpleNamespace(block_size=BLOCK, num_gpu_blocks=100, cache_dtype="auto")
        config = SimpleNamespace(
            cache_config=caches,
            device_config=SimpleNamespace(device="cpu"),
            model_config=SimpleNamespace(dtype="torch.bfloat16", hf_config=SimpleNamespace(to_dict=dict)),
        )
        core = SimpleNamespace(shutdown=self.shutdown)
        self.llm_engine = SimpleNamespace(vllm_config=config, engine_core=core)

    def shutdown(self) -> None:
        self.closed += 1

    def get_tokenizer(self) -> Tokenizer:
        return Tokenizer()

    def reset_prefix_cache(self) -> None:
        self.seen.clear()

    def generate(self, prompts: list[dict[str, Any]], sampling: Any, use_tqdm: bool) -> list[Any]:
        (prompt,) = prompts
        ids, salt = prompt["prompt_token_ids"], prompt.get("cache_salt", "")
        self.sent += 1
        if self.sent > self.dies_after:
            raise DeadError("the engine died\nsee above")
        shared = 0
        for other_salt, other in self.seen:
            same = next(
                (i for i, (a, b) in enumerate(zip(ids, other, strict=False)) if a != b),
                min(len(ids), len(other)),
            )
            shared = max(shared, same if other_salt == salt else 0)
        hit = 0 if sampling.skip_reading_prefix_cache else min(shared, len(ids) - 1) // BLOCK * BLOCK
        self.seen.append((salt, ids))
        output = SimpleNamespace(token_ids=[7])
        metrics = SimpleNamespace(first_token_latency=0.25)
        return [
            SimpleNamespace(prompt_token_ids=ids, num_cached_tokens=hit, outputs=[output], metrics=metrics)
        ]


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = ModuleType("vllm")
    fake.LLM = Llm  # type: ignore[attr-defined]
    fake.SamplingParams = lambda **o: SimpleNamespace(**{"skip_reading_prefix_cache": None, **o})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", fake)


PROMPTS = [Prompt("t", (Piece(f"You are a helper. {q}?", "t", 1),), q) for q in ("one", "two", "one")]


def replay(engine: Vllm) -> Run:
    return engine.run("x", arrange(PROMPTS, [engine.encode(p) for p in PROMPTS]), lambda *_: None)


def test_hits_and_times() -> None:
    engine = Vllm("m", None, 1, {}, timed=1, repeats=2)
    run = replay(engine)
    engine.close()
    # 18 characters before the question, then 22 in all: 16 and 20 in whole blocks.
    assert [row.measured_hit_tokens for row in run.rows] == [0, 16, 20]
    assert run.mismatches == ()
    (timing,) = run.timings
    assert (timing.request, timing.cached, timing.new) == (2, 20, 2)
    assert timing.off is not None
    assert timing.off.median == timing.cold.median == 250.0
    assert engine._llm.sent == 3 + 2 * 4
    assert engine._llm.closed == 1


@pytest.mark.parametrize(("after", "rows"), [(2, 2), (4, 3)])
def test_an_engine_that_dies_leaves_what_was_measured(after: int, rows: int) -> None:
    run = replay(Vllm("m", None, 1, {"dies_after": after}, timed=1))
    assert run.stopped == "vLLM: the engine died"
    assert len(run.rows) == rows
    with pytest.raises(InputError, match="the engine died"):
        replay(Vllm("m", None, 1, {"dies_after": 0}))


def test_options_that_vllm_does_not_take() -> None:
    with pytest.raises(UsageError, match="does not take"):
        Vllm("m", None, 1, {"unknown": 1})
    with pytest.raises(UsageError, match="no data parallel"):
        Vllm("m", None, 1, {"data_parallel_size": 2})
    launched = {"data_parallel_size": 2, "distributed_executor_backend": "external_launcher"}
    assert Vllm("m", 8, 1, launched)._llm.options["block_size"] == 8
