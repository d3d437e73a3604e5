"""PL501 and PL502: fixed text whose bytes or tokens depend on what is inserted into it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.checks.base import HOW_OFTEN, Measure, Thresholds
from promptlint.checks.observed import BEHIND_PLACE, Observed
from promptlint.findings import Finding, Fix, Severity
from promptlint.layout import Confidence, Kind, Layout, Scope

DEDENT = Observed(
    "PL501",
    "whitespace-depends-on-value",
    ("dedent-after-interpolation",),
    Kind.WHITESPACE,
    "the whitespace of fixed text depends on a value that was inserted before it was cleaned up",
    "dedent or strip the fixed text first, then insert the value",
    scope=Scope.REQUEST,
    behind=BEHIND_PLACE,
    shows_code=True,
)


@dataclass(frozen=True, slots=True)
class GluedHole:
    """Reports a word of fixed text that runs into a hole, so that both may become one token."""

    code: str = "PL502"
    name: str = "glued-hole"
    default: bool = False

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each hole that has a letter or digit of stable text right before it."""
        for before, hole in zip(layout.segments, layout.segments[1:], strict=False):
            if not hole.is_hole or before.of_message != hole.of_message:
                continue
            text = before.text or ""
            if not text[-1:].isalnum() or not hole.scope.narrower_than(before.effective_scope):
                continue
            word = text.split()[-1][-20:]
            yield Finding(
                self.code,
                self.name,
                Kind.WHITESPACE,
                f"`{word}` runs into a value that {HOW_OFTEN[hole.scope]}; "
                "its last token depends on that value and is never reused",
                hole.place,
                Severity.INFO,
                Confidence.HIGH,
                hole.scope,
                fix=Fix("put a space or newline in front of the value"),
                prompt=layout.name,
            )


CHECKS = (DEDENT, GluedHole())
