"""The ledger of money: what writing a prefix costs, what reading it saves, and when that pays.

With w the price of a written and r that of a read token, as multiples of the ordinary price, n uses of a
prefix cost w + (n - 1)·r instead of n. Reuses pay from (w - 1) / (1 - r) on. Fractions keep the digits exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import exp, log

from promptlint.catalog.prices import Price
from promptlint.catalog.profile import Profile


@dataclass(frozen=True, slots=True)
class Uses:
    """What ``uses`` uses of the prefix cost, in ordinary prefix prices, and the saving in percent."""

    uses: int
    cost: Fraction
    usd: float | None

    @property
    def saving_percent(self) -> Fraction:
        """Return the saving against no cache; negative where the cache costs more."""
        return 100 * (1 - self.cost / self.uses)


@dataclass(frozen=True, slots=True)
class Traffic:
    """How often a request finds the prefix at a mean interval between requests.

    ``hit_rate`` is for requests that come at random (Poisson), each use renewing the lifetime; ``regular``
    tells whether requests at exactly this interval hit. ``pays_up_to`` is the longest mean interval in
    seconds at which the cache pays on average, None where it always does.
    """

    interval: float
    lifetime: float
    hit_rate: float
    regular: bool
    relative_cost: float
    pays_up_to: float | None


@dataclass(frozen=True, slots=True)
class Money:
    """The money ledger of one prefix under one profile."""

    profile: str
    model: str
    ttl: str
    prefix: int
    write_multiplier: float
    read_multiplier: float
    write_premium: float  # in ordinary prefix prices
    break_even_reuses: float | None  # None: reading saves nothing
    table: tuple[Uses, ...]
    price: Price | None = None
    traffic: Traffic | None = None
    below_minimum: int | None = None  # the minimum, where the prefix is shorter
    minimum_alternatives: tuple[int, ...] = ()


def _fraction(value: float) -> Fraction:
    return Fraction(str(value))


def money_ledger(
    prefix: int,
    profile: Profile,
    price: Price | None = None,
    ttl: str = "",
    uses: int = 20,
    interval: float | None = None,
) -> Money:
    """Return the ledger of a prefix of so many tokens, over 1 to ``uses`` uses.

    ``price`` gives dollars, ``interval`` the mean seconds between two requests with this prefix.
    """
    lasting = ttl or profile.ttl_default
    write = _fraction(profile.write_price(lasting))
    read = _fraction(1.0 if profile.read_multiplier is None else profile.read_multiplier)
    once = prefix * price.ordinary / 1e6 if price else None
    table = []
    for count in range(1, uses + 1):
        cost = write + (count - 1) * read
        table.append(Uses(count, cost, None if once is None else float(cost) * once))
    short = profile.min_tokens if profile.min_tokens and prefix < profile.min_tokens else None
    return Money(
        profile.name,
        profile.model,
        lasting,
        prefix,
        float(write),
        float(read),
        float(write - 1),
        float((write - 1) / (1 - read)) if read < 1 else None,
        tuple(table),
        price,
        _traffic(interval, profile, lasting, write, read),
        short,
        profile.min_tokens_alt,
    )


def _traffic(
    interval: float | None, profile: Profile, ttl: str, write: Fraction, read: Fraction
) -> Traffic | None:
    lifetime = profile.lifetime(ttl)
    if interval is None or lifetime is None:
        return None
    hit_rate = 1 - exp(-lifetime / interval) if interval > 0 else 1.0
    cost = hit_rate * float(read) + (1 - hit_rate) * float(write)
    # On average it pays while p·(1 - r) > (1 - p)·(w - 1), so from the hit rate p = (w - 1) / (w - r) on.
    needed = float((write - 1) / (write - read)) if write != read else 0.0
    pays = lifetime / -log(1 - needed) if 0 < needed < 1 else None
    return Traffic(interval, lifetime, hit_rate, interval <= lifetime, cost, pays)


def rounded(value: Fraction | float, places: int = 1) -> str:
    """Return a number with a fixed count of decimals, halves away from zero.

    >>> rounded(Fraction("61.25")), rounded(Fraction("84.25")), rounded(-25.0)
    ('61.3', '84.3', '-25.0')
    """
    exact = (
        Decimal(value.numerator) / Decimal(value.denominator)
        if isinstance(value, Fraction)
        else Decimal(str(value))
    )
    return str(exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))
