"""Running totals over requests: what was read, by whose count, and how the counts agree."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from promptlint.trace.explain.outcome import Outcome, Reason


@dataclass(slots=True)
class Tally:
    """Totals of a log of requests with text or usage."""

    requests: int = 0
    with_usage: int = 0
    input_tokens: int = 0
    read_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int = 0
    requests_read: int = 0
    share_read: float = 0.0
    expected_tokens: int = 0  # over requests with usage: what the rules say should be read
    agreeing: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    reason_tokens: Counter[str] = field(default_factory=Counter)
    provider_reasons: Counter[tuple[str, str]] = field(default_factory=Counter)  # theirs, ours
    models: Counter[str] = field(default_factory=Counter)
    first_time: float | None = None
    last_time: float | None = None

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        request = outcome.request
        self.requests += 1
        self.models[request.model or "unknown"] += 1
        self.reasons[outcome.reason.value] += 1
        self.reason_tokens[outcome.reason.value] += outcome.lost
        if request.time is not None:
            self.first_time = min(request.time, self.first_time or request.time)
            self.last_time = max(request.time, self.last_time or request.time)
        if request.reason:
            self.provider_reasons[request.reason, outcome.reason.value] += 1
        usage = request.usage
        if usage is None or usage.read is None:
            return
        self.with_usage += 1
        self.input_tokens += usage.input
        self.read_tokens += usage.read
        self.written_tokens += usage.written or 0
        self.output_tokens += usage.output
        self.requests_read += usage.read > 0
        self.share_read += usage.read / usage.input if usage.input else 0.0
        if outcome.predicted is not None:
            self.expected_tokens += outcome.predicted
            self.agreeing += abs(outcome.predicted - usage.read) <= max(16, 0.02 * usage.input)

    def rates(self) -> dict[str, Any]:
        """Return the counted hit rates, each with its denominator."""
        if not self.with_usage:
            return {}
        return {
            "token": _rate(self.read_tokens, self.input_tokens, "input tokens of requests with usage"),
            "request_mean": {
                "value": self.share_read / self.with_usage,
                "denominator": self.with_usage,
                "of": "requests with usage, mean of read / input",
            },
            "request_any": _rate(self.requests_read, self.with_usage, "requests with usage"),
        }

    def reconciliation(self) -> dict[str, Any]:
        """Return how the counts of the log compare to what the rules predict."""
        return {
            "requests_with_usage": self.with_usage,
            "counted_read_tokens": self.read_tokens,
            "counted_written_tokens": self.written_tokens,
            "predicted_read_tokens": self.expected_tokens,
            "requests_that_agree": _rate(
                self.agreeing, self.with_usage, "requests with usage, within 16 tokens or 2 % of the input"
            ),
            "unexplained_requests": self.reasons[Reason.ROUTED.value],
            "provider_reasons": [
                {"provider": theirs, "promptlint": ours, "requests": count}
                for (theirs, ours), count in self.provider_reasons.most_common()
            ],
        }


def _rate(part: float, whole: float, of: str) -> dict[str, Any]:
    return {"value": part / whole if whole else 0.0, "numerator": part, "denominator": whole, "of": of}
