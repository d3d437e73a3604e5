"""A hosted API over a log: what its rules would read and write, whatever the log's own counts say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from promptlint.cache.hosted import HostedCache, hosted_cache
from promptlint.cache.request import Block
from promptlint.cache.request import Request as Sent
from promptlint.catalog.profile import Profile
from promptlint.trace.model import Part, Request

_ORDER = {"tools": 0, "response_schema": 1, "system": 2, "messages": 3}


@dataclass(slots=True)
class HostedTotals:
    """Sums over the requests of one profile, in tokens; ``cost`` in ordinary input tokens."""

    requests: int = 0
    input_tokens: int = 0
    read_tokens: int = 0
    written_tokens: int = 0
    cost: float = 0.0
    rejected: int = 0
    exact: bool = True
    missed: Counter[str] = field(default_factory=Counter)

    def data(self) -> dict[str, Any]:
        """Return the sums as JSON values, with the hit rate and its denominator."""
        return {
            "requests": self.requests,
            "input_tokens": self.input_tokens,
            "read_tokens": self.read_tokens,
            "written_tokens": self.written_tokens,
            "token_hit_ratio": self.read_tokens / self.input_tokens if self.input_tokens else 0.0,
            "cost_in_input_tokens": self.cost,
            "cost_without_cache": self.input_tokens,
            "rejected_requests": self.rejected,
            "is_upper_bound": not self.exact,
            "missed_tokens": dict(self.missed),
        }


class HostedSimulation:
    """Runs requests through the caches of their profiles, one cache for each account and model."""

    def __init__(self) -> None:
        self._caches: dict[tuple[str, ...], HostedCache] = {}
        self.totals: dict[str, HostedTotals] = {}

    def send(self, request: Request, profile: Profile, sizes: Sequence[float]) -> None:
        """Account for one request; ``sizes`` are the tokens of its parts."""
        key = (profile.name, *request.namespace, request.replica)
        cache = self._caches.get(key)
        if cache is None:
            cache = self._caches[key] = hosted_cache(profile)
        outcome = cache.send(_sent(request, sizes))
        total = self.totals.setdefault(profile.name, HostedTotals())
        total.requests += 1
        total.input_tokens += outcome.total
        total.read_tokens += outcome.read
        total.written_tokens += outcome.write
        total.cost += outcome.cost(profile)
        total.rejected += bool(outcome.rejected)
        total.exact = total.exact and outcome.exact
        total.missed.update(outcome.missed)


def _sent(request: Request, sizes: Sequence[float]) -> Sent:
    """Return a request in the terms of `promptlint.cache`."""
    parts = request.parts
    automatic = next((part.mark.ttl for part in parts if part.mark and part.mark.automatic), None)
    if automatic is None and not request.marks and request.usage and request.usage.cached:
        automatic = ""  # the log has lost the marks (transcripts do); the counts show that there were some
    return Sent(
        blocks=tuple(_block(part, size) for part, size in zip(parts, sizes, strict=True)),
        at=request.time or 0.0,
        first_byte=request.first_byte,
        parameters=dict(request.parameters),
        automatic=automatic,
    )


def _block(part: Part, size: float) -> Block:
    section = "response_schema" if part.kind == "schema" else part.section.value
    mark = part.mark.ttl if part.mark and not part.mark.automatic else None
    return Block(part.digest, max(0, round(size)), section, part.kind, mark, part.index, part.role)
