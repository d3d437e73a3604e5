"""What the rules on cache marks share: whose rules apply, and where the marks are."""

from __future__ import annotations

from collections.abc import Iterator

from promptlint.catalog.profile import Profile
from promptlint.catalog.profiles import get_profile, profile_for
from promptlint.checks.base import Measure
from promptlint.findings import Cost
from promptlint.layout import Breakpoint, Layout, Parameter, Scope

INJECTION = "cache_control_injection_point"  # LiteLLM: the proxy places the mark
_BY_MARKER = {
    "cache_control": "anthropic",
    "cachePoint": "anthropic-bedrock",
    "prompt_cache_breakpoint": "openai-breakpoints",
}


def rules_of(layout: Layout, measure: Measure) -> Profile | None:
    """Return the cache rules of the provider that gets this request, None where nothing tells.

    A profile that the user chose for token costs is no reason to judge marks by it; without a provider
    or model, the field that the mark is written in tells who reads it.
    """
    own = profile_for(layout.provider, layout.model) if layout.provider or layout.model else None
    if own is None:
        marker = next((mark.marker for _, mark in marked(layout)), "")
        own = get_profile(_BY_MARKER[marker]) if marker in _BY_MARKER else None
    chosen = measure.profile
    if isinstance(chosen, Profile) and own is not None and chosen.name == own.name:
        return chosen  # the same rules, with the user's own changes
    return own


def marked(layout: Layout) -> list[tuple[int, Breakpoint]]:
    """Return the marks with the indices of the segments at whose ends they stand."""
    return [(at, segment.breakpoint) for at, segment in enumerate(layout.segments) if segment.breakpoint]


def injected(layout: Layout) -> Iterator[Parameter]:
    """Yield the places where a proxy is told to put marks."""
    yield from (parameter for parameter in layout.parameters if parameter.name == INJECTION)


def automatic(layout: Layout) -> Parameter | None:
    """Return the parameter that asks the provider to place a mark itself."""
    names = ("cache_control", "prompt_cache_options", "cachedContent", "cached_content")
    return next((parameter for parameter in layout.parameters if parameter.name in names), None)


def literal_tokens(measure: Measure, end: int) -> int:
    """Return the tokens of the literal segments before index ``end``."""
    return sum(measure.tokens(index) for index in range(end))


def written(layout: Layout, measure: Measure, index: int, profile: Profile) -> Cost:
    """Return the known tokens that a mark at a segment's end covers."""
    tokens = literal_tokens(measure, index + 1)
    return Cost(tokens, 0, profile.name, measure.lost_behind(index, Scope.RELEASE).estimated)
