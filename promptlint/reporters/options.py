"""What a reader may choose about a report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """``color``: ANSI colours. ``source``: show the lines of a finding. ``statistics``: counts by rule.

    ``all``: also list what is suppressed, accepted by the baseline or below the threshold.
    """

    color: bool = False
    source: bool = True
    statistics: bool = False
    all: bool = False
    width: int = 110
