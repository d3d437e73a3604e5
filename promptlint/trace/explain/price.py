"""What lost tokens cost: price of the model times what a read would have saved."""

from __future__ import annotations

from datetime import UTC, datetime

from promptlint.catalog.prices import price_for
from promptlint.catalog.profile import Profile
from promptlint.trace.explain.outcome import Outcome


def price_of(outcome: Outcome, profile: Profile | None) -> float | None:
    """Return the cost of a miss in US dollars, or None where no price is known.

    A lost token was paid as input (or as a write) and would have been paid as a read.
    """
    if profile is None or not profile.hosted or profile.read_multiplier is None:
        return None
    request = outcome.request
    day = datetime.fromtimestamp(request.time, UTC).date() if request.time else None
    price = price_for(profile, request.model, day, request.input_tokens)
    if price is None:
        return None
    ttl = next((part.mark.ttl for part in request.parts if part.mark and part.mark.ttl), "")
    written = bool(request.usage and request.usage.written)
    paid = price.written(ttl or profile.ttl_default) if written else price.ordinary
    return outcome.lost * (paid - price.read) / 1e6
