"""The cache rules of one provider or engine, as typed fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any


class Granularity(StrEnum):
    """Where a hit can end."""

    EXACT = "exact_breakpoint"  # at a mark, to the token
    BLOCK = "block"  # at multiples of `block_tokens`
    TOKEN = "token"  # anywhere
    UNIT = "prefix_unit"  # at the ends of earlier prompts and answers
    OBJECT = "whole_object"  # a cached object is the prefix, whole or not at all
    UPSTREAM = "upstream"  # a gateway or router: the rules of what stands behind it
    UNKNOWN = "unknown"  # between nothing and the longest common prefix


class TtlKind(StrEnum):
    """What a lifetime promises."""

    CONTRACT = "contract"  # readable for that long
    MINIMUM = "minimum"  # for at least that long
    MAXIMUM = "maximum"  # for at most that long
    BEST_EFFORT = "best_effort"
    ENGINE_LRU = "engine_lru"  # until the space is needed


@dataclass(frozen=True, slots=True)
class ModelRow:
    """What one family of models does differently; the first row that fits a field decides it.

    ``usd`` is the price of a million ordinary input tokens, valid from and until the given days.
    """

    profile: str
    match: tuple[str, ...]
    source: str
    valid_from: date | None = None
    valid_until: date | None = None
    min_tokens: int | None = None
    min_tokens_alt: tuple[int, ...] = ()
    read_multiplier: float | None = None
    write_multiplier: Mapping[str, float] = field(default_factory=dict)
    usd: float | None = None
    tier_above_prompt_tokens: int | None = None
    tier_multiplier: float | None = None
    ttl_allowed: tuple[str, ...] = ()
    note: str = ""

    def fits(self, model: str, on: date) -> bool:
        """Tell whether the row speaks of a model (lower case, no provider prefix) on a day."""
        if (self.valid_from and on < self.valid_from) or (self.valid_until and on > self.valid_until):
            return False
        return any(fnmatchcase(model, pattern.lower()) for pattern in self.match)


@dataclass(frozen=True, slots=True)
class Profile:
    """The cache rules of one provider or engine. None and empty mean that no value is documented.

    Token counts are tokens, lifetimes seconds; multipliers are prices of a read or written token as a
    multiple of the ordinary input price and replace it. ``provenance`` names the source of each field
    as ``CODE:GRADE`` (see `sources`); `source_of` falls back to the source of the whole profile.
    """

    name: str
    provider: str
    title: str
    source: str
    granularity: Granularity = Granularity.UNKNOWN
    surfaces: tuple[str, ...] = ()
    mode: tuple[str, ...] = ()
    block_tokens: int | None = None
    block_overrides: Mapping[str, int] = field(default_factory=dict)
    last_token: str = "unknown"  # "recomputed", "may_be_cached", "unknown"
    hit_formula: str = ""
    order: tuple[str, ...] = ()
    min_tokens: int | None = None
    min_tokens_alt: tuple[int, ...] = ()
    below_minimum: str = ""
    marker_field: str = ""
    marker_value: Mapping[str, str] = field(default_factory=dict)
    marker_blocks: tuple[str, ...] = ()
    marker_forbidden: tuple[str, ...] = ()
    automatic_marker_field: str = ""
    automatic_uses_slot: bool = False
    max_breakpoints: int | None = None
    overflow: str = ""  # "error_400", "keep_latest"
    lookback: int | None = None
    lookback_unit: str = ""  # "block", "breakpoint"
    lookback_alt: tuple[int, ...] = ()
    lookback_includes_self: bool = False
    lookback_collapses_tool_runs: bool = False
    ttl_kind: TtlKind = TtlKind.BEST_EFFORT
    ttl_seconds: Mapping[str, float] = field(default_factory=dict)
    ttl_max_seconds: Mapping[str, float] = field(default_factory=dict)
    ttl_default: str = ""
    ttl_field: str = ""
    ttl_clock: str = ""  # "request_start"
    ttl_order: str = ""  # "longer_first"
    ttl_refresh_on_hit: bool = False
    ttl_surfaces: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ttl_allowed: tuple[str, ...] = ()
    readable_after: str = ""  # "first_response_byte", "response_end"
    write_multiplier: Mapping[str, float] = field(default_factory=dict)
    read_multiplier: float | None = None
    input_tokens: str = "inclusive"  # or "exclusive": whether the API's input count holds cached tokens
    usage: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    routing_keys: tuple[str, ...] = ()
    required_keys: tuple[str, ...] = ()
    isolation: tuple[str, ...] = ()
    survives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    uncertain: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)
    extras: Mapping[str, Any] = field(default_factory=dict)  # facts of this provider only
    models: tuple[ModelRow, ...] = ()
    model: str = ""  # the model whose rows have been applied

    @property
    def hosted(self) -> bool:
        """Tell whether tokens are paid for: an API, not an engine or router."""
        return self.provider not in ("engine", "router")

    @property
    def needs_marks(self) -> bool:
        """Tell whether nothing is cached unless the request says where."""
        # "automatic_marker" is a mark too, only placed by the provider.
        return bool(self.mode) and not {"automatic", "automatic_with_key", "upstream", "router"} & set(
            self.mode
        )

    @property
    def recomputes_last_token(self) -> bool:
        """Tell whether the last prompt token is always computed (engines; unknown for most APIs)."""
        return self.last_token == "recomputed"

    def write_price(self, ttl: str = "") -> float:
        """Return the multiplier of a written token for a lifetime as written in a mark."""
        prices = self.write_multiplier
        return prices.get(ttl or self.ttl_default, prices.get("*", 1.0))

    def lifetime(self, ttl: str = "") -> float | None:
        """Return the seconds of a lifetime as written in a mark, or None where none is documented."""
        return self.ttl_seconds.get(ttl or self.ttl_default)

    def source_of(self, name: str) -> str:
        """Return the source and grade of a field."""
        return self.provenance.get(name, self.source)

    def for_model(self, model: str, on: date | None = None) -> Profile:
        """Return the rules for one model on a day (default: today), its rows applied field by field."""
        plain, day = plain_model(model), on or date.today()
        rows = [row for row in self.models if row.fits(plain, day)]
        changes: dict[str, Any] = {}
        provenance = dict(self.provenance)
        for name in _PER_MODEL:
            row = next((row for row in rows if getattr(row, name) not in (None, (), {})), None)
            if row is not None:
                changes[name] = getattr(row, name)
                provenance[name] = row.source
        if "min_tokens" in changes and "min_tokens_alt" not in changes:
            changes["min_tokens_alt"] = ()
        return replace(self, **changes, provenance=provenance, model=model)

    def serves(self, model: str) -> bool:
        """Tell whether a model is one of the rows; a profile without any takes every model."""
        plain, day = plain_model(model), date.today()
        return not self.models or any(row.fits(plain, day) for row in self.models)

    def row_for(self, model: str, on: date | None = None) -> ModelRow | None:
        """Return the first row with a price for a model on a day."""
        plain, day = plain_model(model), on or date.today()
        return next((row for row in self.models if row.usd is not None and row.fits(plain, day)), None)


_PER_MODEL = ("min_tokens", "min_tokens_alt", "read_multiplier", "write_multiplier", "ttl_allowed")


def plain_model(model: str) -> str:
    """Return a model name as the rows write it: lower case, no provider prefix, Claude with dashes.

    >>> plain_model("anthropic/claude-opus-4.8")
    'claude-opus-4-8'
    >>> plain_model("openai:gpt-4o")
    'gpt-4o'
    """
    plain = model.lower().rsplit("/", 1)[-1]
    if "claude" in plain:
        return plain[plain.index("claude") :].replace(".", "-")
    prefix, _, rest = plain.partition(":")
    if any(letter.isdigit() for letter in rest) and not any(letter.isdigit() for letter in prefix):
        return rest
    return plain
