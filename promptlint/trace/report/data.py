"""The result of a run as JSON values; every other output is made from it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import promptlint
from promptlint.trace.analyze import Analysis
from promptlint.trace.explain.findings import message_of
from promptlint.trace.explain.group import Group
from promptlint.trace.explain.redact import excerpt, redacted
from promptlint.trace.options import Options


def report_data(analysis: Analysis, options: Options, seconds: float) -> dict[str, Any]:
    """Return findings, summary, causes, simulation, reconciliation and definitions.

    Raises:
        UsageError: a capacity, engine, policy or router that does not exist.
    """
    simulation: dict[str, Any] | None = None
    definitions = dict(_DEFINITIONS)
    if analysis.columns is not None and analysis.columns.references:
        from promptlint.trace.simulation import DEFINITIONS, simulate

        simulation = simulate(analysis.columns, options, analysis.unit)
        simulation["counter"] = analysis.counter
        definitions.update(DEFINITIONS)
    return {
        "version": promptlint.__version__,
        "findings": analysis.findings,
        "errors": [{"file": "", "message": str(e), "next_step": e.next_step} for e in analysis.errors],
        "summary": _summary(analysis, options.show_text, seconds),
        "causes": [cause(group, options.show_text) for group in analysis.groups],
        "simulation": simulation,
        "hosted": {name: total.data() for name, total in analysis.hosted.totals.items()},
        "reconciliation": analysis.tally.reconciliation(),
        "definitions": definitions,
    }


_DEFINITIONS = {
    "lost_tokens": "tokens that stand in this request as in an earlier one and were not read although the rules of "
    "the cache, kept, would have allowed it",
    "reusable_tokens": "tokens that this request has in common with the one it is compared with",
    "usd": "lost tokens times what was paid for them less the price of a read, list prices on the day of the request",
}


def _summary(analysis: Analysis, show_text: bool, seconds: float) -> dict[str, Any]:
    tally, columns = analysis.tally, analysis.columns
    lost = sum(group.lost for group in analysis.groups)
    prices = [group.usd for group in analysis.groups if group.usd is not None]
    return {
        "logs": analysis.formats,
        "texts_shown": show_text,
        "requests": tally.requests or (columns.requests if columns is not None else 0),
        "first": _when(tally.first_time),
        "last": _when(tally.last_time),
        "models": dict(tally.models.most_common(20)),
        "profiles": sorted(analysis.profiles),
        "usage": {
            "requests": tally.with_usage,
            "input_tokens": tally.input_tokens,
            "read_tokens": tally.read_tokens,
            "written_tokens": tally.written_tokens,
            "output_tokens": tally.output_tokens,
        },
        "hit_rates": tally.rates(),
        "reasons": {
            reason: {"requests": count, "lost_tokens": tally.reason_tokens[reason]}
            for reason, count in tally.reasons.most_common()
        },
        "active": len(analysis.findings) + analysis.findings_left_out,
        "findings_left_out": analysis.findings_left_out,
        "lost_tokens": lost,
        "lost_usd": sum(prices) if prices else None,
        "skipped": {
            "lines": analysis.skipped.count,
            "examples": [{"file": f, "line": n, "why": why} for f, n, why in analysis.skipped.examples],
            "duplicates": analysis.intake.duplicates,
            "out_of_order": analysis.intake.late,
            "without_time": analysis.intake.without_time,
        },
        "interrupted": analysis.interrupted,
        "seconds": round(seconds, 3),
    }


def cluster_data(name: str, simulation: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return the report of a log that was counted on a cluster: numbers only."""
    from promptlint.trace.simulation import DEFINITIONS

    empty = Analysis(formats={name: "parquet"})
    summary = {**_summary(empty, False, seconds), "requests": simulation["requests"]}
    return {
        "version": promptlint.__version__,
        "findings": [],
        "errors": [],
        "summary": summary,
        "causes": [],
        "simulation": simulation,
        "hosted": {},
        "reconciliation": empty.tally.reconciliation(),
        "definitions": {**_DEFINITIONS, **DEFINITIONS},
    }


def _when(time: float | None) -> str | None:
    if time is None:
        return None
    try:
        return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None


def cause(group: Group, show_text: bool) -> dict[str, Any]:
    """Return one group of misses."""
    outcome = group.example
    shown = excerpt if show_text else redacted
    diff = outcome.difference
    return {
        "reason": group.reason.value,
        "kind": group.kind.value,
        "requests": group.requests,
        "sessions": group.sessions,
        "lost_tokens": group.lost,
        "usd": group.usd,
        "profile": outcome.profile,
        "section": diff.section.value if diff else None,
        "token": diff.token if diff else None,
        "old": shown(diff.old) if diff else None,
        "new": shown(diff.new) if diff else None,
        "detail": outcome.detail,
        "confidence": outcome.confidence.value,
        "example": {"file": outcome.request.file, "line": outcome.request.line},
        "message": message_of(outcome, show_text),
        "source": group.source,
    }
