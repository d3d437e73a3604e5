"""The four ledgers: every printed figure that the field quotes, from the formulas."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlint.catalog.profiles import get_profile, profile_for
from promptlint.catalog.shapes import find_device, find_shape, shapes
from promptlint.errors import CatalogError, InputError, UsageError
from promptlint.estimate import Question, estimate
from promptlint.estimate.compute import attention_flops, compute_ledger, memory_ledger
from promptlint.estimate.money import money_ledger, rounded
from promptlint.estimate.render import size, text


def ask(**changes):
    return estimate(Question(**{"prefix": 4000, "new": 200, "flops": 400e12, **changes}))


@pytest.mark.parametrize(
    ("model", "fixed", "shown"),
    [("8b", 0, (168, 8, 168, 8, 21.0)), ("70b", 0, (1470, 70, 1470, 70, 21.0)),
     ("8b", 30, (168, 8, 198, 38, 5.2)), ("70b", 30, (1470, 70, 1500, 100, 15.0))],
)  # fmt: skip
def test_time(model: str, fixed: float, shown: tuple[float, ...]) -> None:
    time = ask(model=model, fixed_ms=fixed).json()["time"]
    got = [time[key] for key in ("prefill_miss_ms", "prefill_hit_ms", "ttft_miss_ms", "ttft_hit_ms")]
    assert [round(value) for value in got] == list(shown[:4])
    assert round(time["ttft_speedup"], 1) == shown[4]


def test_compute() -> None:
    compute = ask(model="8b").json()["compute"]
    assert rounded(100 * compute["reusable_ratio"], 2) == "95.24"
    assert compute["prefill_speedup"] == 21
    assert rounded(100 * compute["attention_share"]) == "6.9"
    assert rounded(100 * compute["attention_share_last_token"]) == "13.7"
    assert compute["flops_miss"] == 2 * 8e9 * 4200
    assert compute["flops_hit"] == 2 * 8e9 * 200
    assert 19 < compute["prefill_speedup_with_attention"] < 21


def test_attention_costs_less_than_the_token_ratio_promises() -> None:
    """Measured FLOP ratios of a 135M model: 9.03 at P = 2,048 and 14.67 at P = 3,840, with Q = 200."""
    shape = find_shape("smollm2-135m")
    # The measured model counts 212.3 MFLOP a token in linear layers: all weights but the tied embedding.
    linear = 2 * (shape.exact - shape.vocab * shape.hidden)
    for prefix, ratio in ((2048, 9.03), (3840, 14.67)):
        miss = linear * (prefix + 200) + attention_flops(shape, 0, prefix + 200)
        hit = linear * 200 + attention_flops(shape, prefix, prefix + 200)
        assert miss / hit == pytest.approx(ratio, rel=0.02)


@pytest.mark.parametrize(
    ("model", "token", "prefix"), [("8b", "128 KiB", "500 MiB"), ("70b", "320 KiB", "1.22 GiB (1.31 GB)")]
)
def test_memory(model: str, token: str, prefix: str) -> None:
    memory = ask(model=model).json()["memory"]
    assert size(memory["kv_bytes_per_token"]) == token
    assert size(memory["prefix_bytes"]) == prefix


def test_prefixes_that_fit() -> None:
    assert ask(model="8b", memory=80e9).json()["memory"]["prefixes_that_fit"] == 122
    assert ask(model="70b", memory=80e9).json()["memory"]["prefixes_that_fit"] == 0


def test_a_long_prompt_of_an_old_7b() -> None:
    answer = ask(prefix=32_000, model="7b")
    assert round(answer.memory.prefix_bytes / 1e9) == 17
    assert "(16.8 GB)" in text(answer)


def test_window_bounds_what_is_kept_and_looked_at() -> None:
    shape = find_shape("gemma-2-9b")
    short, long = (memory_ledger(length, shape, None).prefix_bytes for length in (4096, 8192))
    assert long == short * 1.5  # half of the layers stop at 4,096
    full = attention_flops(find_shape("llama-3-8b"), 0, 8192) / (32 * 4096)
    assert attention_flops(shape, 0, 8192) / (42 * 4096) < full


def test_scenarios() -> None:
    made = ask(break_at=(3500, 800)).json()["compute"]["breaks"]
    assert [rounded(100 * row["reusable_ratio"]) for row in made] == ["95.2", "83.3", "19.0"]


def test_money_table() -> None:
    table = ask(profile="anthropic").json()["money"]["table"]
    shown = {row["uses"]: rounded(row["saving_percent"]) for row in table}
    assert [shown[uses] for uses in (1, 2, 3, 4, 20)] == ["-25.0", "32.5", "51.7", "61.3", "84.3"]
    assert len(table) == 20


def test_break_even() -> None:
    money = money_ledger(4000, get_profile("anthropic"))
    assert rounded(money.break_even_reuses, 2) == "0.28"
    assert money.write_premium == 0.25
    assert rounded(money_ledger(4000, get_profile("anthropic"), ttl="1h").break_even_reuses, 2) == "1.11"
    assert money_ledger(4000, get_profile("openai-auto")).break_even_reuses == 0
    assert money_ledger(4000, get_profile("cerebras")).break_even_reuses is None


def test_money_in_dollars() -> None:
    answer = ask(model="claude-opus-4-8", reuses=3)
    assert answer.money.price.ordinary == 5.0
    assert answer.expected.usd == pytest.approx(4000 * 5e-6 * 1.55)
    assert answer.json()["money"]["expected"]["uses"] == 4


def test_low_traffic() -> None:
    often, seldom = (ask(profile="anthropic", interval=seconds) for seconds in (60, 3600))
    assert often.money.traffic.regular
    assert often.money.traffic.relative_cost < 0.2
    assert not seldom.money.traffic.regular
    assert seldom.money.traffic.relative_cost > 1
    assert "low traffic" in text(seldom)
    assert "raise the hit rate" in seldom.advice[0]
    # At the longest interval that pays, the expected cost is that of no cache.
    edge = ask(profile="anthropic", interval=often.money.traffic.pays_up_to)
    assert edge.money.traffic.relative_cost == pytest.approx(1)


def test_below_minimum_says_both_figures() -> None:
    answer = ask(prefix=1500, model="claude-opus-4-7")
    assert answer.money.below_minimum == 2048
    assert "2,048 or 4,096" in text(answer)
    assert "2,048" in answer.advice[0]
    assert "% saved" not in text(answer)


def test_a_prompt_that_only_needs_another_order_is_told_so() -> None:
    answer = ask(prefix=2, new=1500, model="claude-opus-5", flops=None, break_at=(1400,))
    assert answer.money.below_minimum
    assert "token 1,400 instead of 2" in answer.advice[0]


def test_hosted_model_has_no_shape() -> None:
    made = ask(model="claude-opus-5", flops=None).json()
    assert made["memory"]["kv_bytes_per_token"] is None
    assert made["time"]["ttft_miss_ms"] is None
    assert made["compute"]["prefill_speedup"] == 21


def test_advice_is_two_lines_from_the_figures() -> None:
    first, then = ask(model="8b", fixed_ms=30).advice
    assert "160 of 198 ms" in first
    assert "21%" in then


def test_every_assumption_is_said() -> None:
    said = "\n".join(ask(flops=None).assumptions)
    for word in ("llama-3-8b", "h100", "40%", "anthropic", "fixed part", "bytes a KV number"):
        assert word in said


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"new": 0}, UsageError),
        ({"model": "nothing-known"}, UsageError),
        ({"device": "h999", "flops": None}, CatalogError),
        ({"profile": "antropic"}, CatalogError),
        ({"profile": "anthropic", "ttl": "2h"}, UsageError),
        ({"break_at": (9999,)}, UsageError),
        ({"model": "missing/config.json"}, InputError),
    ],
)
def test_errors_say_the_next_step(changes: dict, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        ask(**changes)
    assert caught.value.next_step


# Parameter counts as published with the weights.
PUBLISHED = {
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "mistral-7b": 7_241_732_096,
    "mixtral-8x7b": 46_702_792_704,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-8b": 8_190_735_360,
    "qwen3-30b-a3b": 30_532_122_624,
    "gemma-2-9b": 9_241_705_984,
    "smollm2-135m": 134_515_008,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_shapes_give_the_published_parameter_counts(name: str) -> None:
    assert shapes()[name].exact == PUBLISHED[name]


@pytest.mark.parametrize("name", shapes())
def test_nominal_size_is_near_the_exact_one(name: str) -> None:
    assert shapes()[name].size == pytest.approx(shapes()[name].exact, rel=0.06)


def test_names_and_config_files(tmp_path: Path) -> None:
    for written in ("meta-llama/Llama-3.1-8B-Instruct", "llama3-8b", "Meta-Llama-3-8B", "8B", "Llama-3.1-8B"):
        assert find_shape(written).name == "llama-3-8b"
    assert find_shape("Qwen/Qwen2.5-7B-Instruct").name == "qwen2.5-7b"
    assert find_shape("no-such-model") is None
    assert find_device("NVIDIA H100").flops == 989e12
    config = {
        "hidden_size": 576, "num_attention_heads": 9, "num_key_value_heads": 3, "num_hidden_layers": 30,
        "intermediate_size": 1536, "vocab_size": 49152, "tie_word_embeddings": True,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert find_shape(str(tmp_path)).exact == find_shape("smollm2-135m").exact
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(InputError):
        find_shape(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="hidden_size"):
        find_shape(str(tmp_path / "config.json"))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
@given(st.integers(0, 10**6), st.integers(1, 10**5), st.sampled_from(sorted(shapes())))
def test_flop_ratio_lies_between_one_and_the_token_ratio(prefix: int, new: int, name: str) -> None:
    made = compute_ledger(prefix, new, shapes()[name])
    assert 1 <= made.flop_speedup <= made.linear_speedup * (1 + 1e-9)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
@given(st.integers(1, 50))
def test_reuse_pays_from_break_even_on(uses: int) -> None:
    profile = profile_for("anthropic", "claude-opus-5")
    money = money_ledger(4000, profile, uses=uses)
    assert (money.table[-1].saving_percent > 0) == (uses - 1 > money.break_even_reuses)
    assert all(isinstance(row.cost, Fraction) for row in money.table)


def test_batches_take_their_share_of_every_price() -> None:
    """Anthropic: half of all prices, so the saving in percent stays and the dollars halve."""
    single = ask(model="claude-opus-5")
    batch = ask(model="claude-opus-5", batch=True)
    one, half = single.money, batch.money
    assert one.price is not None
    assert half.price is not None
    assert (half.price.ordinary, half.price.read) == (one.price.ordinary / 2, one.price.read / 2)
    assert half.price.written("5m") == one.price.written("5m") / 2
    assert [row.saving_percent for row in half.table] == [row.saving_percent for row in one.table]
    assert [row.usd for row in half.table] == [row.usd and row.usd / 2 for row in one.table]
    assert any(said.startswith("batch: 0.5 times all prices") for said in batch.assumptions)


def test_batches_where_no_price_for_them_is_known() -> None:
    with pytest.raises(UsageError, match="no price for batches"):
        ask(profile="deepseek", batch=True)
