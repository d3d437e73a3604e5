"""Replay on a tiny random model: predicted hits are the measured ones, whatever the setting."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from promptlint.errors import InputError, UsageError
from promptlint_runtime.kv import Storage
from promptlint_runtime.local import Local, Model
from promptlint_runtime.prompts import Piece, Prompt
from promptlint_runtime.replay import Options
from promptlint_runtime.rows import arrange
from promptlint_runtime.scheduler import Limits
from promptlint_runtime.selftest import self_test
from promptlint_runtime.variants import variants

pytestmark = pytest.mark.torch

VOCAB = 512


def quiet(what: str, done: int, total: int) -> None:
    """Show nothing."""


def no_text() -> None:
    raise AssertionError("token ids need no vocabulary")


@pytest.fixture(scope="module")
def local() -> Local:
    return Local(Model("random:tiny", "cpu", "float32"), 0, no_text)  # type: ignore[arg-type]


def by_ids(*prompts: tuple[int, ...]) -> list[Prompt]:
    return [Prompt("p", (Piece("", "p", i + 1),), f"line {i + 1}", ids=ids) for i, ids in enumerate(prompts)]


def mixed(seed: int, count: int) -> list[Prompt]:
    """Prompts that share prefixes, repeat one another, or have a salt."""
    rng = random.Random(seed)
    made: list[tuple[int, ...]] = []
    for _ in range(count):
        base = rng.choice(made)[: rng.randrange(1, 90)] if made and rng.random() < 0.8 else ()
        made.append(base + tuple(rng.randrange(VOCAB) for _ in range(rng.randrange(0 if base else 5, 40))))
    salts = [rng.choice(["", "", "a"]) for _ in made]
    return [replace(p, salt=s) for p, s in zip(by_ids(*made), salts, strict=True)]


@pytest.mark.parametrize(
    "options",
    [
        Options(timed=0),
        Options(timed=0, kv_memory=512 * 320, limits=Limits(4, 50), max_new=6),
        Options(timed=0, kv_memory=512 * 320, limits=Limits(4, 50), max_new=6, cache="radix", block_tokens=1),
        Options(timed=0, cache="radix", block_tokens=4, limits=Limits(3, 64), max_new=3),
        Options(timed=0, kv_memory=512 * 200, block_tokens=8, order="shuffled", storage=Storage.MODEL),
    ],
    ids=str,
)
def test_300_mixed_requests_hit_what_was_predicted(local: Local, options: Options) -> None:
    (run,) = local.replay([("mixed", mixed(3, 300))], options, quiet)
    assert len(run.rows) == 300
    assert run.mismatches == ()
    assert sum(row.measured_hit_tokens or 0 for row in run.rows) > 0
    assert (run.evicted_tokens > 0) == (options.kv_memory is not None)


def test_answers_do_not_depend_on_the_cache(local: Local) -> None:
    prompts, base = mixed(4, 40), Options(timed=0, max_new=5)
    answers = {
        cache: [outcome.output for outcome in outcomes_of(local, prompts, replace(base, cache=cache))]
        for cache in ("off", "block", "radix")
    }
    assert answers["off"] == answers["block"] == answers["radix"]


def outcomes_of(local: Local, prompts: list[Prompt], options: Options) -> list[object]:
    from promptlint_runtime.compute import ModelCompute
    from promptlint_runtime.engine import run
    from promptlint_runtime.replay import Replay

    replay = Replay(local.loaded, options, 40 * 200)
    sent = arrange(prompts, [local.encode(p) for p in prompts])
    requests = [replay._request(s) for s in sent]
    compute = ModelCompute(local.loaded.adapter, replay._kv)
    return sorted(run(requests, replay.make_cache(), compute, options.limits), key=lambda o: o.request.id)


def test_nothing_hits_with_the_cache_off(local: Local) -> None:
    same = tuple(range(64))
    (run,) = local.replay([("off", by_ids(same, same))], Options(cache="off", timed=0), quiet)
    assert [row.measured_hit_tokens for row in run.rows] == [0, 0]
    assert "not in the cache" in run.rows[1].reason


def test_rows_say_where_prompts_part(local: Local) -> None:
    base = tuple(range(40))
    prompts = by_ids(base, (*base[:20], 99, 98, 97), base)
    (run,) = local.replay([("x", prompts)], Options(timed=1, repeats=2), quiet)
    first, second, third = run.rows
    assert (first.measured_hit_tokens, first.first_differing_block) == (0, 0)
    assert (second.measured_hit_tokens, second.first_differing_block, second.line) == (16, 1, 2)
    assert (third.measured_hit_tokens, third.first_differing_block) == (32, None)
    (timing,) = run.timings
    assert (timing.cached, timing.new) == (32, 8)
    assert timing.token_ratio == 5
    assert timing.bound is not None
    assert 1 < timing.bound < 5
    assert timing.deviation < 1e-5
    assert timing.same_token
    assert run.matmul_flops is not None


def test_eight_bit_storage_halves_the_memory_and_says_how_far_it_deviates(local: Local) -> None:
    base = tuple(range(40))
    runs = {
        storage: local.replay(
            [("x", by_ids(base, base))], Options(timed=1, repeats=1, storage=storage), quiet
        )[0]
        for storage in Storage
    }
    plain, small = runs[Storage.MODEL], runs[Storage.INT8]
    assert plain.kv_bytes is not None
    assert small.kv_bytes is not None
    assert small.kv_bytes < plain.kv_bytes / 3
    assert plain.timings[0].deviation < small.timings[0].deviation < 0.1


def test_an_interrupt_leaves_what_was_done(local: Local) -> None:
    def stop_at_three(what: str, done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    (run,) = local.replay([("mixed", mixed(5, 20)), ("never", mixed(6, 3))], Options(timed=0), stop_at_three)
    assert run.partial
    assert len(run.rows) == 3
    assert run.mismatches == ()
    assert run.summary()["partial"] is True


def test_too_little_memory_is_explained(local: Local) -> None:
    with pytest.raises(UsageError, match="do not hold one block"):
        local.replay([("x", mixed(1, 2))], Options(kv_memory=100), quiet)
    (run,) = local.replay([("x", by_ids(tuple(range(100))))], Options(kv_memory=512 * 64, timed=0), quiet)
    assert run.rows[0].refused
    assert "more room" in run.rows[0].reason


def test_ids_outside_the_vocabulary_are_refused(local: Local) -> None:
    with pytest.raises(InputError, match="token 9999"):
        local.replay([("x", by_ids((1, 9999)))], Options(), quiet)


def test_a_prompt_over_the_context_is_refused_by_name(local: Local) -> None:
    with pytest.raises(InputError, match="p: line 1: 4,097 tokens"):
        local.replay([("x", by_ids((1,) * 4097))], Options(), quiet)


def test_self_test_passes_and_sees_the_reordering(local: Local) -> None:
    text = [
        [Piece(f"Today is day {day}.\n", "t", 1), Piece("Rule: be polite and check twice.\n" * 20, "t", 2)]
        for day in range(3)
    ]
    prompts = [Prompt("t", tuple(pieces), str(i)) for i, pieces in enumerate(text)]
    vocabulary = Words()
    words = Local(Model("random:tiny", "cpu", "float32"), 0, lambda: vocabulary)  # type: ignore[arg-type, return-value]
    steps, (written, moved) = self_test(words, prompts, Options(block_tokens=4, repeats=1), quiet)
    assert [step.passed for step in steps] == [True, True, True]
    # By hand: the prompts share "Today is day " at most before, and all of the rules after.
    assert written.rates()["token"]["part"] == 0
    assert moved.rates()["token"]["part"] == 2 * 120


class Words:
    """A vocabulary of words."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def encode(self, text: str) -> list[int]:
        return [self.ids.setdefault(word, len(self.ids)) for word in text.split()]

    def run(self, parts: list[str]) -> object:
        ends, total = [], 0
        for part in parts:
            total += len(part.split())
            ends.append(total)
        return type("Run", (), {"ends": tuple(ends)})()


def test_variants() -> None:
    prompts = mixed(1, 2)
    names: Callable[..., list[str]] = lambda **k: [title for title, _ in variants(prompts, **k)]
    assert names(as_written=False, reordered=False) == ["as written"]
    assert names(as_written=False, reordered=True) == ["reordered"]
    assert names(as_written=True, reordered=True) == ["as written", "reordered"]
