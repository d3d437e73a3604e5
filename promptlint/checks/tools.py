"""PL301 to PL303: tools stand in front of the system prompt, so whatever changes there loses all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from promptlint.checks.asked import asked_for_tools
from promptlint.checks.base import Measure, Thresholds, costliest
from promptlint.checks.before_stable import BeforeStable
from promptlint.checks.observed import BEHIND_TOOLS, Observed
from promptlint.findings import Finding, Severity
from promptlint.layout import DATA, Cause, Confidence, Kind, Layout, Observation, Scope, Section
from promptlint.words import shortened

_TOOLS = frozenset({Section.TOOLS})
_ORDER = frozenset({Kind.UNORDERED, Kind.TOOLS_ORDER})
_CHANGING = frozenset(Kind) - _ORDER - {Kind.HISTORY}

_FIX = "sort the tools by name before they are sent"


@dataclass(frozen=True, slots=True)
class ToolsOrder:
    """Reports tools without a fixed order: seen by the frontend, or a segment of unordered parts."""

    code: str = "PL301"
    name: str = "tools-order"
    default: bool = True

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each place that loses the order."""
        yield from costliest(
            [
                *_SEEN_UNORDERED.run(layout, measure, thresholds),
                *_UNORDERED_SEGMENT.run(layout, measure, thresholds),
            ]
        )


_SEEN_UNORDERED = Observed(
    "PL301",
    "tools-order",
    ("tools-unordered",),
    Kind.TOOLS_ORDER,
    "the tool list has no fixed order",
    _FIX,
    scope=Scope.PROCESS,
    behind=BEHIND_TOOLS,
    shows_code=True,
)
_UNORDERED_SEGMENT = BeforeStable(
    "PL301",
    "tools-order",
    _ORDER,
    "the order of {what} in the tools",
    _FIX,
    sections=_TOOLS,
    reported=Kind.TOOLS_ORDER,
)


class _Description(BeforeStable):
    __slots__ = ()

    def owns(self, cause: Cause, section: Section) -> bool:
        """Leave out what a service says its tools are: fetched once, it changes when the service does.

        ``request.tools`` is named like an input and says no more than that there are tools.
        """
        named = cause.kind in DATA and cause.confidence is Confidence.LOW
        return cause.variant != "fetched" and not named and BeforeStable.owns(self, cause, section)


DESCRIPTION = _Description(
    "PL302",
    "volatile-tool-description",
    _CHANGING,
    "{what} in a tool's definition",
    "keep tool definitions constant; say what changes in a message behind the system prompt",
    sections=_TOOLS,
)


@dataclass(frozen=True, slots=True)
class ToolsChange:
    """Reports tools that come and go: seen by the frontend, or chosen by what each request of a conversation asks."""

    code: str = "PL303"
    name: str = "tools-change"
    default: bool = True

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each place where the list changes."""
        seen = list(_SEEN_CHANGING.run(layout, measure, thresholds))
        chosen = None if seen else asked_for_tools(layout)
        if chosen is not None:
            guard, cause = chosen
            one = Observation("tools-changed", guard.place, shortened(guard.expression), cause)
            seen += _SEEN_CHANGING.run(replace(layout, observations=(one,)), measure, thresholds)
        yield from costliest(seen)


_SEEN_CHANGING = Observed(
    "PL303",
    "tools-change",
    ("tools-changed",),
    Kind.TOOLS_ORDER,
    "the tool list changes within a conversation",
    "send one fixed tool list, and reach further tools through a constant dispatcher tool",
    severity=Severity.ERROR,
    behind=BEHIND_TOOLS,
    shows_code=True,
)

CHECKS = (ToolsOrder(), DESCRIPTION, ToolsChange())
