"""The commands `estimate` and `profiles` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from promptlint.catalog.profiles import load_profiles
from promptlint.cli.main import group


def run(*args: str) -> str:
    result = CliRunner().invoke(group, args, catch_exceptions=False, standalone_mode=False)
    assert result.exception is None
    return result.output


def test_estimate_json_has_the_promised_keys() -> None:
    made = json.loads(
        run(
            "estimate",
            "--prefix",
            "4000",
            "--new",
            "200",
            "--model",
            "8b",
            "--flops",
            "400e12",
            "--format",
            "json",
        )
    )
    assert {"reusable_ratio", "prefill_speedup", "flops_miss", "flops_hit", "attention_share"} <= made[
        "compute"
    ].keys()
    assert {"kv_bytes_per_token", "prefix_bytes", "prefixes_that_fit"} <= made["memory"].keys()
    assert {"prefill_miss_ms", "prefill_hit_ms", "ttft_miss_ms", "ttft_hit_ms"} <= made["time"].keys()
    assert {"break_even_reuses", "table"} <= made["money"].keys()
    assert made["assumptions"]


def test_estimate_text() -> None:
    shown = run(
        "estimate", "--prefix", "4000", "--new", "200", "--model", "8b", "--flops", "400T", "--fixed-ms", "30"
    )
    for figure in (
        "95.24 %",
        "21 times",
        "168 ms",
        "198 ms and 38 ms (5.2 times)",
        "128 KiB",
        "122 prefixes",
        "84.3 %",
    ):
        assert figure in shown


@pytest.mark.parametrize(
    ("text", "value"),
    [("400T", 400e12), ("400e12", 4e14), ("80GB", 80e9), ("1GiB", 2**30), ("4TFLOP/s", 4e12)],
)
def test_quantities(text: str, value: float) -> None:
    from promptlint.cli.params import Quantity

    assert Quantity().convert(text, None, None) == value


@pytest.mark.parametrize("text", ["fast", "0", "-3", "12XB", ""])
def test_bad_quantities(text: str) -> None:
    import click

    from promptlint.cli.params import Quantity

    with pytest.raises(click.BadParameter):
        Quantity().convert(text, None, None)


def test_profiles_lists_all() -> None:
    shown = run("profiles", "--isolated")
    assert all(name in shown for name in load_profiles())
    assert len(json.loads(run("profiles", "--isolated", "--format", "json"))) == len(load_profiles())


@pytest.mark.parametrize("name", load_profiles())
def test_profiles_name_shows_each_field_with_source_and_date(name: str) -> None:
    shown = run("profiles", name, "--isolated")
    assert shown.count("seen ") >= 3
    made = json.loads(run("profiles", name, "--isolated", "--format", "json"))
    assert all(field["source"] and "seen" in field["where"] for field in made["fields"].values())


def test_profiles_of_one_model() -> None:
    shown = run("profiles", "anthropic", "--model", "claude-opus-4-7", "--isolated")
    assert "2048" in shown
    assert "4096" in shown
    assert "claude-haiku" not in shown


def test_own_profile_file(tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text(
        '[[profile]]\nname = "house"\ninherits = "vllm"\nblock_tokens = 99\n'
    )
    (tmp_path / "promptlint.toml").write_text('catalogs = ["house.toml"]\n')
    assert "99" in run("profiles", "house", "--config", str(tmp_path / "promptlint.toml"))


def test_estimate_counts_a_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompt.j2").write_text("Check the order line by line. " * 200 + "{{ question }}")
    made = json.loads(
        run("estimate", "prompt.j2", "--model", "llama-3-8b", "--new", "50", "--format", "json")
    )
    assert 1000 < made["compute"]["prefix_tokens"] < 2000
    assert 50 <= made["compute"]["new_tokens"] <= 53  # the last tokens of the text may join what follows
    assert any("tokens of fixed text" in line for line in made["assumptions"])


def test_estimate_says_what_reordering_would_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompt.j2").write_text("{{ now() }}" + "Check the order line by line. " * 200)
    rows = json.loads(run("estimate", "prompt.j2", "--new", "50", "--format", "json"))["compute"]["breaks"]
    assert [row["reusable_ratio"] > 0.9 for row in rows] == [False, True]


ASK = """from openai import OpenAI

RULES = "Check the order line by line. Name the line that you rely on. " * 100


def ask(question: str) -> str:
    answer = OpenAI().chat.completions.create(
        model="gpt-4o",
        messages=[{"role": "system", "content": RULES}, {"role": "user", "content": question}],
    )
    return answer.choices[0].message.content
"""


def test_estimate_takes_provider_and_model_from_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ask.py").write_text(ASK)
    shown = run("estimate", "ask:ask")
    assert "openai-auto, gpt-4o: write 1, read 0.5 times" in shown
    assert "no provider named" not in shown
    assert "at most: 1 hole counted as 1 token each; --new says how many they hold" in shown
    assert "at most" not in run("estimate", "ask:ask", "--new", "300")
    assert "anthropic: write 1.25" in run("estimate", "ask:ask", "--profile", "anthropic")


def test_estimate_prices_no_provider_for_an_open_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompt.j2").write_text("Check the order line by line. " * 20 + "{{ question }}")
    shown = run("estimate", "prompt.j2", "--model", "llama-3.1-8b", "--device", "h100")
    assert "vllm: no token has a price of its own; a hit saves compute and time" in shown
    assert "anthropic" not in shown


def test_dollars_beside_a_saving_are_said_to_be_costs() -> None:
    shown = run("estimate", "--isolated", "--prefix", "4000", "--new", "200", "--model", "gpt-4o")
    assert "it pays from the first reuse on" in shown
    assert "2 uses     25.0 % saved, costs $0.015" in shown


def test_lifetimes_in_the_list_are_not_cut() -> None:
    assert "in_memory, 24h " in run("profiles", "--isolated")


def test_a_model_without_a_row_is_said_to_have_none() -> None:
    shown = run("profiles", "openai-auto", "--model", "house-1", "--isolated")
    assert "no row fits house-1" in shown
    assert "no row fits" not in run("profiles", "openai-auto", "--model", "gpt-4o", "--isolated")
