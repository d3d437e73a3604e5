"""PL609 to PL613: keys, lifetimes, dates of the engine, the counting of cached tokens, and requests sent at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from promptlint.catalog.engine_templates import dated_template
from promptlint.checks.base import HOW_OFTEN, Measure, Thresholds, costliest, quoted
from promptlint.checks.marks import automatic, marked, rules_of
from promptlint.checks.observed import Observed
from promptlint.findings import Finding, Severity
from promptlint.layout import Confidence, Kind, Layout, Observation, Parameter, Scope
from promptlint.source import Place

_KEYS = frozenset(
    (
        "prompt_cache_key",
        "cache_salt",
        "extra_key",
        "x-grok-conv-id",
        "x-session-affinity",
        "x-session-id",
        "session_id",
    )
)


@dataclass(frozen=True, slots=True)
class KeyPerRequest(Observed):
    """Reports cache keys, salts and routing keys that are new in every request."""

    code: str = "PL609"
    name: str = "cache-key-per-request"
    what: tuple[str, ...] = ("key-per-request",)
    kind: Kind = Kind.ROUTING
    subject: str = "the cache key or salt is different in every request, so that nothing is shared"
    fix: str = "derive the key from what the requests share: the conversation, or the prompt's version"
    scope: Scope = Scope.REQUEST

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each such parameter."""
        found = list(self.observed(layout, measure))
        for parameter in layout.parameters:
            name = parameter.name.removeprefix("key:").lower().rpartition(".")[2]
            if name in _KEYS and parameter.cause is not None and parameter.scope is Scope.REQUEST:
                found.append(self._finding(layout, parameter, name))
        yield from costliest(found)

    def _finding(self, layout: Layout, parameter: Parameter, name: str) -> Finding:
        cause = parameter.cause
        assert cause is not None
        return self.found(
            f"`{name}` is {quoted(cause.what)}, which {HOW_OFTEN[Scope.REQUEST]}: no request finds what another wrote",
            parameter.place,
            layout,
            Severity.ERROR if cause.confidence is Confidence.HIGH else Severity.WARNING,
            confidence=cause.confidence,
            scope=Scope.REQUEST,
            origin=cause.place,
            related=cause.chain,
        )


@dataclass(frozen=True, slots=True)
class LifetimeTooShort(Observed):
    """Reports calls that come less often than the mark's lifetime lasts.

    The frontend observes the interval (``data["interval_seconds"]``); the provider's rules judge it.
    """

    code: str = "PL610"
    name: str = "lifetime-too-short"
    what: tuple[str, ...] = ("ttl-short",)
    kind: Kind = Kind.TTL
    subject: str = "calls come less often than the lifetime of the marks"
    fix: str = "send the calls closer together, or leave the marks out"

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding for each interval that is longer than every lifetime asked for."""
        for seen in layout.observations:
            if seen.what in self.what and (found := self._judged(layout, measure, seen)):
                yield found

    def _judged(self, layout: Layout, measure: Measure, seen: Observation) -> Finding | None:
        interval = _seconds(seen.data.get("interval_seconds", ""))
        profile = rules_of(layout, measure)
        asked = [mark.ttl for _, mark in marked(layout)] or [""]
        said, fix = seen.detail or self.subject, ""
        if profile is not None and interval is not None:
            lifetime = max((profile.lifetime(ttl) or 0.0 for ttl in asked), default=0.0)
            if not lifetime or interval <= lifetime:
                return None
            said = f"calls come every {interval:,.0f} s, the cache keeps a prefix for {lifetime:,.0f} s"
            longer = [ttl for ttl, seconds in profile.ttl_seconds.items() if seconds >= interval]
            fix = f"ask for the lifetime {longer[0]}" if longer else ""
        return self.found(
            f"{said}: each call writes anew and reads nothing",
            _lifetime_of(layout) or seen.place,
            layout,
            fix=fix,
            confidence=seen.confidence,
            origin=seen.related[0].place if seen.related else None,
            related=seen.related,
        )


def _lifetime_of(layout: Layout) -> Place | None:
    """Return where the lifetime of the marks is written, or would be: at the first of them."""
    for _, mark in marked(layout):
        return mark.made or mark.place
    asked = automatic(layout)
    return asked.place if asked is not None else None


def _seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class EngineDate(Observed):
    """Reports models whose usual chat template prints today's date in front of everything."""

    code: str = "PL611"
    name: str = "engine-inserts-date"
    what: tuple[str, ...] = ()
    kind: Kind = Kind.CHAT_TEMPLATE
    subject: str = ""
    fix: str = "pass a fixed date to the template, or serve a copy without it"
    severity: Severity = Severity.INFO
    scope: Scope = Scope.DAY
    default: bool = False

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield a finding for a request to such a model on an engine of one's own."""
        profile = rules_of(layout, measure)
        if not layout.model or (profile is not None and profile.hosted):
            return
        template = dated_template(layout.model)
        if template is None:
            return
        model = next((p for p in layout.parameters if p.name in ("model", "key:model")), None)
        yield self.found(
            f"the usual chat template of `{layout.model}` prints today's date near its start "
            f"({template.feature}): the whole prompt is computed again every day",
            model.place if model else layout.place,
            layout,
            confidence=Confidence.LOW,
            scope=Scope.DAY,
        )


USAGE = Observed(
    "PL612",
    "usage-miscounted",
    ("usage-miscounted",),
    Kind.OTHER,
    "cached tokens are counted twice or left out",
    "add cache reads and writes to the input tokens where the API leaves them out (Anthropic, Bedrock), and "
    "never where it counts them in (OpenAI, Gemini, LiteLLM)",
)


@dataclass(frozen=True, slots=True)
class WrittenAtOnce(Observed):
    """Reports requests that are sent together, so that each writes the prefix that they share."""

    code: str = "PL613"
    name: str = "mark-written-at-once"
    what: tuple[str, ...] = ("written-at-once",)
    kind: Kind = Kind.OTHER
    subject: str = "all requests are sent at once: each writes the marked prefix, and none reads it"
    fix: str = "wait for one request first, then send the others together"
    shows_code: bool = True

    def run(self, layout: Layout, measure: Measure, thresholds: Thresholds) -> Iterator[Finding]:
        """Yield one finding where a provider keeps what is marked."""
        profile = rules_of(layout, measure) if layout.observations else None
        if profile is not None and profile.needs_marks:
            yield from self.observed(layout, measure)


CHECKS = (KeyPerRequest(), LifetimeTooShort(), EngineDate(), USAGE, WrittenAtOnce())
