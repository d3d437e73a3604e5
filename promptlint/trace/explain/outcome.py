"""What became of one request."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from promptlint.layout import Confidence, Kind
from promptlint.trace.explain.diff import Difference
from promptlint.trace.model import Request


class Reason(StrEnum):
    """Why a request read less than it could have."""

    FIRST = "first request"
    CHANGED = "prefix changed"
    EXPIRED = "expired"
    BELOW_MINIMUM = "under the minimum"
    LOOKBACK = "look-back"
    MARKS = "marks"
    PARAMETER = "parameter changed"
    ROUTED = "routed elsewhere or evicted"
    NOT_YET_READABLE = "written but not yet readable"
    COMPACTED = "history compacted"
    NOTHING = "nothing to read"
    READ = "read"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request.

    ``read`` tokens came from the cache (``counted`` says whether the log says so or the rules),
    ``reusable`` could have, ``lost`` is the difference where somebody can mend it. Under a provider's minimum nothing
    can be read: such a prefix is a fault where somebody wanted it cached, and loses nothing.
    """

    request: Request
    reason: Reason
    read: int
    reusable: int
    lost: int = 0
    counted: bool = True
    kind: Kind | None = None
    confidence: Confidence = Confidence.HIGH
    detail: str = ""
    against: Request | None = None
    difference: Difference | None = None
    profile: str = ""
    predicted: int | None = None  # tokens that the rules say should be read
    sizes: tuple[int, ...] = ()  # tokens of the request's parts

    @property
    def is_fault(self) -> bool:
        """Tell whether something should be mended."""
        return self.kind is not None and (self.lost > 0 or self.reason is Reason.BELOW_MINIMUM)
