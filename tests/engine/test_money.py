"""What a finding costs in dollars, from the check to the reports and through the result cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptlint.config import Config
from promptlint.engine import Request, check
from promptlint.engine.codec import decode, encode
from promptlint.reporters.words import cost_text

PROGRAM = """
from datetime import datetime

import anthropic

RULES = "Check each line of the order. " * 300


def ask(client: anthropic.Anthropic, question: str):
    return client.messages.create(
        model="MODEL",
        max_tokens=100,
        system=[
            {"type": "text", "text": f"It is {datetime.now()}."},
            {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}},
        ],
        messages=[{"role": "user", "content": question}],
    )
"""


def costs(folder: Path, model: str, profile: str = ""):
    (folder / "app.py").write_text(PROGRAM.replace("MODEL", model))
    report = check(Request(("app.py",), Config(root=folder, cache=False, profile=profile), folder))
    return {finding.code: finding for finding in report.findings if finding.cost and finding.cost.tokens}


def test_a_provider_with_a_price(tmp_path: Path) -> None:
    found = costs(tmp_path, "claude-opus-5")
    assert {"PL101", "PL601"} <= found.keys()
    for finding in found.values():
        now, then = finding.cost.usd_per_thousand
        # $5 a million, 6.25 to write and 0.50 to read: a marked prefix that nobody reads is written each time
        assert now == pytest.approx(finding.cost.tokens * 6.25 / 1000)
        assert then == pytest.approx(finding.cost.tokens * (6.25 + 999 * 0.5) / 1e6)
        assert "in 1,000 requests" in cost_text(finding.cost)
        assert decode(json.loads(json.dumps(encode(finding)))) == finding


@pytest.mark.parametrize(
    ("mark", "price"), [("", 1.0), (', "cache_control": {"type": "ephemeral", "ttl": "1h"}', 2.0)]
)
def test_what_is_written_anew_costs_what_its_mark_says(tmp_path: Path, mark: str, price: float) -> None:
    program = PROGRAM.replace(', "cache_control": {"type": "ephemeral"}', mark).replace(
        "MODEL", "claude-opus-5"
    )
    (tmp_path / "app.py").write_text(program)
    report = check(Request(("app.py",), Config(root=tmp_path, cache=False), tmp_path))
    (finding,) = (one for one in report.findings if one.code == "PL101")
    now, then = finding.cost.usd_per_thousand
    assert now == pytest.approx(finding.cost.tokens * 5 * price / 1000)
    # Once the clock is gone the first request writes, at 1.25 times the price at least.
    assert then == pytest.approx(finding.cost.tokens * 5 * (max(price, 1.25) + 999 * 0.1) / 1e6)


def test_text_behind_the_last_mark_is_not_written(tmp_path: Path) -> None:
    behind = '{"type": "text", "text": RULES},\n        ],'
    program = PROGRAM.replace("        ],", f"            {behind}", 1).replace("MODEL", "claude-opus-5")
    (tmp_path / "app.py").write_text(program)
    report = check(Request(("app.py",), Config(root=tmp_path, cache=False), tmp_path))
    (finding,) = (one for one in report.findings if one.code == "PL101")
    now, _ = finding.cost.usd_per_thousand
    # Half of the lost tokens stand under the mark: (1.25 + 1) / 2 times $5 a million.
    assert now == pytest.approx(finding.cost.tokens * 5 * 1.125 / 1000, rel=1e-3)


def test_an_engine_has_none(tmp_path: Path) -> None:
    found = costs(tmp_path, "claude-opus-5", profile="vllm")
    assert found["PL101"].cost.usd_per_thousand is None


def test_a_prompt_under_the_minimum_has_no_price(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "model: gpt-4o\nmessages:\n  - role: system\n    content: |\n"
        "      Request {{ request_id }}\n      " + "Answer in the language of the question. " * 8 + "\n"
        '  - role: user\n    content: "{{ question }}"\n'
    )
    report = check(Request(("a.yaml",), Config(root=tmp_path, cache=False), tmp_path))
    (finding,) = (one for one in report.findings if one.code == "PL102")
    assert finding.cost.usd_per_thousand is None
    assert finding.cost.below_minimum == 1024
    assert (
        finding.cost.fixed_tokens == 68
    )  # "Request", a blank, eight sentences of eight tokens, two line ends
    assert "cached from 1,024 tokens on, the prompt's fixed text has 68" in cost_text(finding.cost)
    assert decode(json.loads(json.dumps(encode(finding)))) == finding


def test_a_date_costs_nothing_in_the_requests_of_one_day(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        PROGRAM.replace("MODEL", "claude-opus-5").replace("datetime.now()", "datetime.now():%Y-%m-%d")
    )
    report = check(Request(("a.py",), Config(root=tmp_path, cache=False), tmp_path))
    dated = [one for one in report.findings if one.code == "PL101"]
    assert dated
    assert all(one.cost.tokens > 1024 and one.cost.usd_per_thousand is None for one in dated)


def test_of_equals_the_request_that_names_its_model(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "from openai import OpenAI\n"
        'RULES = "Answer in the language of the question. " * 200\n\n\n'
        "def system_prompt(tenant):\n"
        '    return f"You work for {tenant}. {RULES}"\n\n\n'
        "def ask(client: OpenAI, user, question):\n"
        '    system = {"role": "system", "content": system_prompt(user.tenant)}\n'
        '    messages = [system, {"role": "user", "content": question}]\n'
        '    return client.chat.completions.create(model="gpt-4o", messages=messages)\n'
    )
    report = check(Request(("a.py",), Config(root=tmp_path, cache=False), tmp_path))
    (finding,) = (one for one in report.findings if one.code == "PL104")
    assert finding.cost.profile == "openai-auto"
    assert finding.cost.usd_per_thousand


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-4o", ""])
def test_a_configured_model_of_another_provider_does_not_count_for_anthropic(
    tmp_path: Path, model: str
) -> None:
    """Anthropic serves no gpt-4o: its tokens are estimated, and its rules are those of the code's own model."""
    (tmp_path / "app.py").write_text(PROGRAM.replace("MODEL", "claude-opus-5"))
    report = check(Request(("app.py",), Config(root=tmp_path, cache=False, model=model), tmp_path))
    (finding,) = (one for one in report.findings if one.code == "PL101")
    assert finding.cost.profile == "anthropic"
    assert finding.cost.estimated
    assert finding.cost.usd_per_thousand
