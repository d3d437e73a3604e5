"""PL701, PL702 and PL901: how requests are sent, and files that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from promptlint.catalog.profile import Profile
from promptlint.checks.asked import asked, asked_for_tools, goes_on
from promptlint.checks.base import HOW_OFTEN, Measure, Thresholds, costliest, weaker
from promptlint.checks.marks import INJECTION, rules_of
from promptlint.checks.observed import Observed
from promptlint.findings import Finding, Fix, Severity
from promptlint.layout import DATA, UNSET, Confidence, Guard, Kind, Layout, Parameter, Scope

REPLICA = Observed(
    "PL701",
    "replica-random",
    ("replica-random",),
    Kind.ROUTING,
    "each request goes to a replica chosen without regard to its conversation",
    "choose the replica by a hash of the conversation, or use a router that knows the prefixes",
    scope=Scope.REQUEST,
    shows_code=True,
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
    shows_code=True,
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
        found = []
        others = any(seen.what == "tools-changed" for seen in layout.observations) or asked_for_tools(layout)
        told_with = _WITH_TOOLS if others else frozenset[str]()
        for seen in layout.observations:
            name = seen.data.get("name", "")
            if name in told_with:
                continue
            if seen.what == "parameter-flips" and name not in _MARKS and not _harmless(layout, measure, name):
                [finding] = _SEEN_FLIPPING.run(replace(layout, observations=(seen,)), measure, thresholds)
                lost = _lost(layout, measure, name)
                found.append(replace(finding, message=f"{finding.message}; {lost}") if lost else finding)
        told = {finding.primary for finding in found}
        for parameter in layout.parameters:
            if parameter.name.startswith("key:") or parameter.name in (_MARKS | told_with):
                continue  # keys that are new in each request, and marks, have rules of their own
            if _harmless(layout, measure, parameter.name):
                continue
            if parameter.place not in told and _changes(layout, parameter):
                found.append(self._finding(layout, measure, parameter))
        yield from costliest(found)

    def _finding(self, layout: Layout, measure: Measure, parameter: Parameter) -> Finding:
        cause = parameter.cause
        if len(parameter.choices) > 1:
            how = f"is {' or '.join(parameter.choices)} from call to call"
        else:
            how = HOW_OFTEN[parameter.scope]
        lost = _lost(layout, measure, parameter.name) or "nothing is shared across the change"
        return Finding(
            self.code,
            self.name,
            Kind.PARAMETER_CHANGE,
            f"`{parameter.name}`, a part of the cache key, {how}; {lost}",
            parameter.place,
            Severity.WARNING,
            weaker(cause.confidence if cause else Confidence.MEDIUM, layout.confidence),
            parameter.scope,
            cause.place if cause and cause.place != parameter.place else None,
            cause.chain if cause else (),
            fix=Fix("keep one setting for the whole conversation"),
            prompt=layout.name,
        )


_CONFIGURED = re.compile(r"(?:\b|_)(?:config|configuration|cfg|settings)\b")
# Another list of tools loses all that these could: one choice is told once.
_WITH_TOOLS = frozenset(("tool_choice", "parallel_tool_calls"))
# Where marks stand is no part of the key.
_MARKS = frozenset(("cache_control", "prompt_cache_options", "cache_control_injection_points", INJECTION))
# What a profile's table calls the parameters of the SDKs.
_TABLE = {
    "output_config": "effort",
    "reasoning": "reasoning_effort",
    "text": "response_schema",
    "response_format": "response_schema",
    "response_model": "response_schema",
}


def _kept(layout: Layout, measure: Measure, name: str) -> tuple[Profile, tuple[str, ...]] | None:
    """Return the provider's rules and the sections that survive a change, None where they do not say."""
    profile = rules_of(layout, measure) if name else None
    of = name.partition(".")[0]  # ``reasoning.effort`` is an entry of `reasoning`
    kept = profile.survives.get(_TABLE.get(of, of)) if profile else None
    return None if profile is None or kept is None else (profile, kept)


def _harmless(layout: Layout, measure: Measure, name: str) -> bool:
    """Tell whether the provider says that a change of a parameter loses nothing."""
    known = _kept(layout, measure, name)
    return known is not None and set(known[0].order) <= set(known[1])


def _lost(layout: Layout, measure: Measure, name: str) -> str:
    """Say which cached sections a change of a parameter throws away, "" where the provider does not say."""
    known = _kept(layout, measure, name)
    if known is None:
        return ""
    profile, kept = known
    lost = [section.replace("_", " ") for section in profile.order if section not in kept]
    stay = f"; the cached {_list(kept)} can still be read" if kept else ""
    return f"at {profile.title} this loses the cached {_list(lost)}{stay}"


def _list(words: Sequence[str]) -> str:
    """Return words as ``a, b and c``; at least one."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _is_configured(guard: Guard) -> bool:
    """Tell whether a condition asks for what was configured: ``self.config.get("thinking") == "adaptive"``."""
    return any(_CONFIGURED.search(one) for one in (guard.expression, *(known for _, known in guard.known_as)))


def _changes(layout: Layout, parameter: Parameter) -> bool:
    """Tell whether a parameter changes from one request of a conversation to the next.

    Several values on several paths of the program are a model or schema that was configured, but a
    setting of the turn that is switched, and so is whatever the question chooses. What a user chooses
    holds for the conversation.
    """
    if len(parameter.choices) > 1 and not (parameter.guards and all(map(_is_configured, parameter.guards))):
        given = [choice for choice in parameter.choices if choice != UNSET]
        if layout.repeated and parameter.name in _OF_A_TURN and len(given) > 1:
            return True
        # A model that is named by the request is asked for what it is: ``if model.startswith("gemini-")``.
        others = (g for g in parameter.guards if g.name.rpartition(".")[2] != parameter.name)
        if goes_on(layout) and any(asked(layout, guard) for guard in others):
            return True
    cause = parameter.cause
    if cause is None or cause.kind in DATA or cause.kind is Kind.PER_USER:
        return False
    traced = cause.confidence is Confidence.HIGH or cause.kind is Kind.COUNTER
    return traced and parameter.scope is Scope.REQUEST


CHECKS = (REPLICA, ParameterFlips(), PARSE)
