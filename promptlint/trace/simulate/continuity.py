"""What hashes alone say about rebuilds: whether a request continues the one before it in its conversation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from promptlint.trace.columns import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Continuity:
    """Requests that follow another one in their conversation.

    ``continued`` begin with all full blocks of the request before, ``changed`` do not. Of the
    changed ones: ``again_tokens`` stand in both lengths behind the change and are computed again;
    ``shared`` is the median share of the earlier request that is still the same.
    """

    followers: int
    continued: int
    changed: int
    again_tokens: int
    shared: float | None

    def data(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)


def continuity(columns: Columns) -> Continuity | None:
    """Compare each request with the one before it in its conversation; None without conversations."""
    keys = columns.session * (len(columns.namespaces) + 1) + columns.namespace
    order = np.argsort(keys, kind="stable")
    pairs = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    if len(pairs) == 0 or len(pairs) == columns.requests - 1:
        return None  # nobody follows anybody, or the log names no conversations
    before, after = order[pairs], order[pairs + 1]
    block = columns.block_tokens
    full = np.minimum(columns.length[before] // block, columns.counts[before])
    agreed = _common(columns, before, after)
    changed = agreed < np.minimum(full, columns.length[after] // block)
    least = np.minimum(columns.length[before], columns.length[after])
    again = np.maximum(0, least - agreed * block)[changed]
    shares = (agreed / np.maximum(1, full))[changed]
    return Continuity(
        len(pairs),
        int((~changed).sum()),
        int(changed.sum()),
        int(again.sum()),
        float(np.median(shares)) if len(shares) else None,
    )


def _common(columns: Columns, left: Ints, right: Ints) -> Ints:
    """Return the number of leading blocks that pairs of requests share, all pairs bisected at once."""
    low = np.zeros(len(left), dtype=np.int64)
    high = np.minimum(columns.counts[left], columns.counts[right])
    while len(searched := np.flatnonzero(low < high)):  # a request without a full block has no id to look at
        middle = (low[searched] + high[searched] + 1) // 2
        here, there = columns.start[left[searched]], columns.start[right[searched]]
        same = columns.ids[here + middle - 1] == columns.ids[there + middle - 1]
        low[searched] = np.where(same, middle, low[searched])
        high[searched] = np.where(same, high[searched], middle - 1)
    return low
