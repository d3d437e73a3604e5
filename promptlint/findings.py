"""Findings: what a check reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from promptlint.layout import Confidence, Kind, Scope, Step
from promptlint.source import Place

NEAR_SENTENCE = 24  # tokens between two values of one sentence


class Severity(StrEnum):
    """How much a finding costs: how often the value changes times what stands behind it."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Return 2 for error, 1 for warning, 0 for info."""
        return {"error": 2, "warning": 1, "info": 0}[self.value]


class Status(StrEnum):
    """Why a finding counts, or does not. Nothing is dropped without a word in the summary."""

    ACTIVE = "active"
    SUPPRESSED = "suppressed"
    BASELINED = "baselined"
    BELOW_THRESHOLD = "below-threshold"


@dataclass(frozen=True, slots=True)
class Cost:
    """Stable tokens, and whole blocks of them, that are computed again because of a finding.

    ``usd_per_thousand`` are the dollars that these tokens cost in 1,000 requests of one day, as it is and once
    they are read from the cache; None where the provider's price is not known, where such requests agree in the
    value, or where the fixed text is too short to be cached. ``below_minimum`` is then the least that the provider
    keeps, in tokens, and ``fixed_tokens`` what the prompt has: with the values in it, it may be longer.
    ``price`` is what a token costs as it is, in ordinary ones: more than 1 where marks have it written each time.
    """

    tokens: int
    blocks: int
    profile: str
    estimated: bool = False  # counted without the model's own vocabulary
    usd_per_thousand: tuple[float, float] | None = None
    below_minimum: int | None = None
    fixed_tokens: int | None = None
    price: float = 1.0


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text at ``place`` with ``text``."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do. ``edits`` is empty where only a person can do it; ``safe`` edits keep meaning."""

    message: str
    edits: tuple[Edit, ...] = ()
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, at the place where the value enters the prompt."""

    code: str  # "PL101"
    name: str  # "clock-before-stable"
    kind: Kind
    message: str
    primary: Place
    severity: Severity
    confidence: Confidence
    scope: Scope = Scope.UNKNOWN
    origin: Place | None = None  # where the value is made, if elsewhere
    related: tuple[Step, ...] = ()
    cost: Cost | None = None
    fix: Fix | None = None
    status: Status = Status.ACTIVE
    reason: str = ""  # of a suppression
    prompt: str = ""  # name of the layout

    def places(self) -> Iterator[Place]:
        """Yield every place that the finding names."""
        yield self.primary
        if self.origin is not None:
            yield self.origin
        yield from (step.place for step in self.related)
        yield from (edit.place for edit in (self.fix.edits if self.fix else ()))
