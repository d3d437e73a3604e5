"""Prices of input tokens: from the package ``genai-prices`` where it is installed and knows the model,
else from the dated rows of our own profiles. Nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from typing import Any

from promptlint.catalog.profile import Profile, plain_model
from promptlint.catalog.profiles import describe_source

_PROVIDERS = {"bedrock": "aws", "vertex": "google", "xai": "x-ai", "moonshot": "moonshotai"}


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars a million input tokens: ordinary, read from the cache, written for a lifetime."""

    model: str
    ordinary: float
    read: float
    write: Mapping[str, float] = field(default_factory=dict)  # by lifetime; "*" for any
    source: str = ""
    on: date = date.min

    def written(self, ttl: str = "") -> float:
        """Return the price of a written token for a lifetime."""
        return self.write.get(ttl, self.write.get("*", self.ordinary))

    def scaled(self, factor: float) -> Price:
        """Return all prices times a factor."""
        write = {ttl: price * factor for ttl, price in self.write.items()}
        return replace(self, ordinary=self.ordinary * factor, read=self.read * factor, write=write)


def price_for(
    profile: Profile, model: str, on: date | None = None, prompt_tokens: int = 0, own: bool = False
) -> Price | None:
    """Return what a model costs on a day (default: today), or None where nobody lists it.

    ``prompt_tokens`` chooses the tier of models that are dearer above some length. ``own`` leaves
    ``genai-prices`` out.
    """
    day = on or date.today()
    rules = profile.for_model(model, day)
    found = None if own else _listed(rules, model, day, prompt_tokens)
    return found or _own(rules, model, day, prompt_tokens)


def per_thousand(tokens: int, profile: Profile, paid: float = 1.0) -> tuple[float, float] | None:
    """Return the dollars for tokens of 1,000 requests, as it is and once they are read from the cache.

    ``paid`` is what such a token costs as it is, in ordinary ones. The first request always pays for writing.
    Only our own rows are asked, so that a check stays quick. None where the profile's model has no price.
    """
    price = price_for(profile, profile.model, own=True)
    if price is None:
        return None
    first = price.ordinary * max(paid, profile.write_price())
    return tokens * price.ordinary * paid / 1000, tokens * (first + 999 * price.read) / 1e6


def _own(profile: Profile, model: str, on: date, prompt_tokens: int) -> Price | None:
    row = profile.row_for(model, on)
    if row is None or row.usd is None:
        return None
    usd = row.usd
    long = profile.extras.get("long_context", {})
    if row.tier_above_prompt_tokens is not None and prompt_tokens > row.tier_above_prompt_tokens:
        usd *= row.tier_multiplier or 1.0
    elif long and prompt_tokens > long["above_input_tokens"]:
        usd *= long["input_and_cache"]
    write = {ttl: usd * multiplier for ttl, multiplier in profile.write_multiplier.items()}
    read = 1.0 if profile.read_multiplier is None else profile.read_multiplier
    return Price(model, usd, usd * read, write, describe_source(row.source), on)


def _listed(profile: Profile, model: str, on: date, prompt_tokens: int) -> Price | None:
    """Ask ``genai-prices``; what it does not list of a model is taken as a multiple of the input price."""
    try:
        import genai_prices
        from genai_prices import data_snapshot
    except ImportError:
        return None
    provider = _PROVIDERS.get(profile.provider, profile.provider)
    at, prices = datetime.combine(on, time(12), UTC), None
    for name in dict.fromkeys((model, plain_model(model))):
        try:
            prices = (
                data_snapshot.get_snapshot().find_provider_model(name, None, provider, None)[1].get_prices(at)
            )
            break
        except LookupError:
            continue
    usd = _usd(getattr(prices, "input_mtok", None), prompt_tokens)
    if usd is None:
        return None
    listed = {"5m": "cache_write_mtok", "30m": "cache_write_mtok", "1h": "cache_write_1h_mtok"}
    write = {}
    for ttl, multiplier in profile.write_multiplier.items():
        written = _usd(getattr(prices, listed.get(ttl, ""), None) if ttl in listed else None, prompt_tokens)
        write[ttl] = usd * multiplier if written is None else written
    read = _usd(getattr(prices, "cache_read_mtok", None), prompt_tokens)
    if read is None:
        read = usd * (1.0 if profile.read_multiplier is None else profile.read_multiplier)
    return Price(model, usd, read, write, f"genai-prices {genai_prices.__version__}", on)


def _usd(value: Any, prompt_tokens: int) -> float | None:
    """Return a listed price as a number; above a tier's start its price is that of every token."""
    if value is None:
        return None
    for tier in reversed(getattr(value, "tiers", ())):
        if prompt_tokens > tier.start:
            return float(tier.price)
    return float(getattr(value, "base", value))
