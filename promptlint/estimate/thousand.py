"""What 1,000 requests with one prompt write, read and cost, as it is written and with stable text first.

The requests are sent on one day, each within the lifetime of the one before, by different users: text that
changes by the day or less often is equal in all of them, everything else differs in each. A hole counts as
one token, since its text is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from promptlint.cache.hosted import hosted_cache
from promptlint.cache.request import Outcome
from promptlint.catalog.prices import Price, price_for
from promptlint.catalog.profile import Granularity, Profile
from promptlint.prefix.measure import Measure
from promptlint.prefix.sent import as_request, one_way

REQUESTS = 1000
_SHOWN = 4  # requests that are played out; from the fourth on nothing new happens


@dataclass(frozen=True, slots=True)
class Thousand:
    """Tokens and dollars of 1,000 requests. ``exact`` is False where ``read`` is an upper bound.

    ``usd`` and ``usd_uncached`` (no cache at all) are None where the model has no listed price.
    ``rejected`` says why the provider would refuse the requests.
    """

    profile: str
    read: int
    written: int
    plain: int
    exact: bool
    usd: float | None = None
    usd_uncached: float | None = None
    rejected: str = ""

    def json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "requests": REQUESTS,
            "profile": self.profile,
            "read_tokens": self.read,
            "written_tokens": self.written,
            "plain_tokens": self.plain,
            "upper_bound": not self.exact,
            "usd": self.usd,
            "usd_uncached": self.usd_uncached,
            "rejected": self.rejected,
        }


def per_thousand(
    measure: Measure,
    profile: Profile | None = None,
    model: str = "",
    *,
    best: bool = False,
    own: bool = False,
) -> Thousand | None:
    """Return what 1,000 requests with a measured layout cost under a profile (default: the measure's).

    ``best`` takes the segments in the order given, whatever their section, and sets one mark at the end of
    the stable ones, where the provider needs marks. ``own`` leaves ``genai-prices`` out. None for a gateway
    or router, which has no cache of its own.
    """
    rules = profile or measure.profile
    if rules.granularity is Granularity.UPSTREAM:
        return None
    chosen = one_way(measure)
    cache = hosted_cache(rules)
    outcomes = [cache.send(as_request(measure, chosen, rules, turn, best)) for turn in range(_SHOWN)]
    price = (
        price_for(rules, model or rules.model, own=own) if rules.hosted and (model or rules.model) else None
    )
    return _sum(rules, outcomes, price)


def _sum(profile: Profile, outcomes: list[Outcome], price: Price | None) -> Thousand:
    """Add up: the first requests as they are, the last one for all the rest."""
    times = [1] * (len(outcomes) - 1) + [REQUESTS - len(outcomes) + 1]
    read = sum(n * outcome.read for n, outcome in zip(times, outcomes, strict=True))
    written = sum(n * outcome.write for n, outcome in zip(times, outcomes, strict=True))
    plain = sum(n * outcome.plain for n, outcome in zip(times, outcomes, strict=True))
    usd = uncached = None
    if price is not None:
        paid = sum(
            n * tokens * price.written(ttl)
            for n, outcome in zip(times, outcomes, strict=True)
            for ttl, tokens in outcome.written.items()
        )
        usd = (plain * price.ordinary + read * price.read + paid) / 1e6
        uncached = (plain + read + written) * price.ordinary / 1e6
    exact = all(outcome.exact for outcome in outcomes)
    return Thousand(profile.name, read, written, plain, exact, usd, uncached, outcomes[0].rejected)


def lines(before: Thousand, after: Thousand) -> list[str]:
    """Return both as a small table for a terminal."""
    bound = "" if before.exact else " (reads: at most)"
    rows = [f"  {'1,000 requests of one day' + bound:<44}{'written':>12}{'read':>12}{'other':>12}{'$':>10}"]
    for name, one in (("as written", before), ("stable first, marked where needed", after)):
        usd = "-" if one.usd is None else f"{one.usd:,.2f}"
        rows.append(f"    {name:<42}{one.written:>12,}{one.read:>12,}{one.plain:>12,}{usd:>10}")
        if one.rejected:
            rows.append(f"      refused: {one.rejected}")
    if before.usd_uncached is not None:
        rows.append(f"    without a cache{'':<63}{before.usd_uncached:>10,.2f}")
    return rows
