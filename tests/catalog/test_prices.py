"""Prices: our own rows against the package that lists them."""

from __future__ import annotations

from datetime import date

import pytest

from promptlint.catalog.prices import per_thousand, price_for
from promptlint.catalog.profiles import get_profile, profile_for

TODAY = date(2026, 11, 29)
NAMES = [
    ("openai", "gpt-4o"),
    ("openai", "gpt-4o-mini"),
    ("openai", "gpt-4.1"),
    ("openai", "gpt-4.1-mini"),
    ("openai", "gpt-4.1-nano"),
    ("openai", "gpt-5"),
    ("openai", "gpt-5-mini"),
    ("openai", "gpt-5-nano"),
    ("openai", "gpt-5.1"),
    ("openai", "gpt-5.2"),
    ("openai", "gpt-5.4"),
    ("openai", "gpt-5.4-mini"),
    ("openai", "gpt-5.5"),
    ("openai", "gpt-5.6-sol"),
    ("openai", "gpt-6-sol"),
    ("openai", "gpt-6-astra"),
    ("openai", "gpt-6-luna"),
    ("openai", "gpt-6.1-sol"),
    ("openai", "gpt-6.1-terra"),
    ("openai", "o3"),
    ("openai", "o4-mini"),
    ("anthropic", "claude-opus-5-5"),
    ("anthropic", "claude-opus-5"),
    ("anthropic", "claude-opus-4-8"),
    ("anthropic", "claude-opus-4-1"),
    ("anthropic", "claude-fable-5-1"),
    ("anthropic", "claude-fable-5"),
    ("anthropic", "claude-sonnet-5-5"),
    ("anthropic", "claude-sonnet-5"),
    ("anthropic", "claude-sonnet-4-6"),
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-haiku-4-5"),
    ("anthropic", "claude-haiku-5-5"),
    ("google", "gemini-4-argon"),
    ("google", "gemini-3.8-flash"),
    ("google", "gemini-2.5-pro"),
    ("google", "gemini-2.5-flash"),
    ("deepseek", "deepseek-v4-flash"),
    ("xai", "grok-4.6"),
    ("xai", "grok-4.5"),
    ("xai", "grok-4.3"),
    ("mistral", "mistral-large-4"),
    ("moonshot", "kimi-k3"),
    ("moonshot", "kimi-k3.1-pro"),
    ("moonshot", "kimi-k3.1-pro-highspeed"),
    ("groq", "openai/gpt-oss-120b"),
]


@pytest.mark.parametrize("tokens", [1_000, 300_000])
@pytest.mark.parametrize(("provider", "model"), NAMES, ids=[name for _, name in NAMES])
def test_own_prices_agree_with_genai_prices(provider: str, model: str, tokens: int) -> None:
    pytest.importorskip("genai_prices")
    profile = profile_for(provider, model, on=TODAY)
    own, listed = (price_for(profile, model, TODAY, tokens, own=own) for own in (True, False))
    assert listed.source.startswith("genai-prices")
    assert own.ordinary == pytest.approx(listed.ordinary)
    assert own.read == pytest.approx(listed.read, rel=2e-3)  # multipliers are kept to four digits
    for ttl in own.write:
        assert own.written(ttl) == pytest.approx(listed.written(ttl), rel=2e-3)


def test_announced_change_of_price() -> None:
    profile = get_profile("gemini-implicit")
    got = [
        price_for(profile, "gemini-4-argon", date(2026, month, 1), own=True).ordinary for month in (11, 12)
    ]
    assert got == [2.0, 4.0]


def test_own_price_says_where_and_when() -> None:
    price = price_for(get_profile("anthropic"), "claude-opus-5", TODAY, own=True)
    assert (price.ordinary, price.read, price.written("5m"), price.written("1h")) == (5.0, 0.5, 6.25, 10.0)
    assert "seen" in price.source


def test_unlisted_model_has_no_price() -> None:
    assert price_for(get_profile("vllm"), "my-model", TODAY) is None


def test_money_of_lost_tokens() -> None:
    profile = profile_for("anthropic", "claude-opus-5", on=TODAY)
    now, then = per_thousand(2000, profile)
    assert now == 10.0  # $5 a million
    assert then == pytest.approx(2000 * (6.25 + 999 * 0.5) / 1e6)  # written once, then read
    assert per_thousand(2000, get_profile("vllm")) is None
