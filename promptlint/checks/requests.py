"""PL701, PL702 and PL901: how requests are sent, and files that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.checks.base import DATA, HOW_OFTEN, Measure, Thresholds, costliest, weaker
from promptlint.checks.observed import Observed
from promptlint.findings import Finding, Fix, Severity
from promptlint.layout import Confidence, Kind, Layout, Parameter, Scope

REPLICA = Observed(
    "PL701",
    "replica-random",
    ("replica-random",),
    Kind.ROUTING,
    "each request goes to a replica chosen without regard to its conversation",
    "choose the replica by a hash of the conversation, or use a router that knows the prefixes",
    scope=Scope.REQUEST,
)
PARSE = Observed(
    "PL901",
    "parse-failure",
    ("parse-error",),
    Kind.OTHER,
    "this cannot be parsed, and was not checked",
    "correct the syntax, or exclude the file",
    scope=Scope.UNKNOWN,
)

_SEEN_FLIPPING = Observed(
    "PL702",
    "parameter-flips",
    ("parameter-flips",),
    Kind.PARAMETER_CHANGE,
    "a parameter that decides what a cache may share differs between the calls of one conversation",
    "keep one setting for the whole conversation",
)
_OF_A_TURN = frozenset(
    {"thinking", "reasoning", "reasoning_effort", "effort", "enable_thinking", "tool_choice", "output_config"}
)


@dataclass(frozen=True, slots=True)
class ParameterFlips:
    """Reports request parameters in the cache key that change within a conversation."""

    code: str = "PL702"
    name: str = "parameter-flips"
    default: bool = True

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each parameter that was seen to change."""
        found = list(_SEEN_FLIPPING.run(layout, measure, thresholds))
        told = {finding.primary for finding in found}
        for parameter in layout.parameters:
            if parameter.name.startswith("key:"):
                continue  # a key that is new in each request has a rule of its own
            if parameter.place not in told and _changes(layout, parameter):
                found.append(self._finding(layout, parameter))
        yield from costliest(found)

    def _finding(self, layout: Layout, parameter: Parameter) -> Finding:
        cause = parameter.cause
        if len(parameter.choices) > 1:
            how = f"is {' or '.join(parameter.choices)} from call to call"
        else:
            how = HOW_OFTEN[parameter.scope]
        return Finding(
            self.code,
            self.name,
            Kind.PARAMETER_CHANGE,
            f"`{parameter.name}`, a part of the cache key, {how}; nothing is shared across the change",
            parameter.place,
            Severity.WARNING,
            weaker(cause.confidence if cause else Confidence.MEDIUM, layout.confidence),
            parameter.scope,
            cause.place if cause and cause.place != parameter.place else None,
            cause.chain if cause else (),
            fix=Fix("keep one setting for the whole conversation"),
            prompt=layout.name,
        )


def _changes(layout: Layout, parameter: Parameter) -> bool:
    """Tell whether a parameter changes from one request of a conversation to the next.

    Several values on several paths of the program are a model or schema that was configured, but a
    setting of the turn that is switched. What a user chooses holds for the conversation.
    """
    if layout.repeated and len(parameter.choices) > 1 and parameter.name in _OF_A_TURN:
        return True
    cause = parameter.cause
    if cause is None or cause.kind in DATA or cause.kind is Kind.PER_USER:
        return False
    return cause.confidence is Confidence.HIGH and parameter.scope is Scope.REQUEST


CHECKS = (REPLICA, ParameterFlips(), PARSE)
