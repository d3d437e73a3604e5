"""Findings as plain JSON values, for the cache, and back."""

from __future__ import annotations

import dataclasses
from typing import Any

from promptlint.findings import Cost, Edit, Finding, Fix, Severity, Status
from promptlint.layout import Confidence, Kind, Scope, Step
from promptlint.source import Place, Span

Plain = Any  # what `json` gives: None, bool, int, str, list, dict


def _place(place: Place) -> Plain:
    return [place.path, place.span.start, place.span.end]


def _to_place(plain: Plain) -> Place:
    return Place(plain[0], Span(plain[1], plain[2]))


def encode(finding: Finding) -> Plain:
    """Return a finding as JSON values."""
    cost, fix = finding.cost, finding.fix
    return {
        "code": finding.code,
        "name": finding.name,
        "kind": finding.kind.value,
        "message": finding.message,
        "primary": _place(finding.primary),
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "scope": finding.scope.value,
        "origin": finding.origin and _place(finding.origin),
        "related": [[_place(step.place), step.note] for step in finding.related],
        "cost": cost and dataclasses.astuple(cost),
        "fix": fix and [fix.message, [[_place(e.place), e.text] for e in fix.edits], fix.safe],
        "status": finding.status.value,
        "prompt": finding.prompt,
    }


def _to_cost(plain: list[Any]) -> Cost:
    tokens, blocks, profile, estimated, usd, *short = plain
    return Cost(tokens, blocks, profile, estimated, (usd[0], usd[1]) if usd else None, *short)


def decode(plain: Plain) -> Finding:
    """Return the finding that `encode` made this of."""
    cost, fix = plain["cost"], plain["fix"]
    return Finding(
        code=plain["code"],
        name=plain["name"],
        kind=Kind(plain["kind"]),
        message=plain["message"],
        primary=_to_place(plain["primary"]),
        severity=Severity(plain["severity"]),
        confidence=Confidence(plain["confidence"]),
        scope=Scope(plain["scope"]),
        origin=_to_place(plain["origin"]) if plain["origin"] else None,
        related=tuple(Step(_to_place(place), note) for place, note in plain["related"]),
        cost=_to_cost(cost) if cost else None,
        fix=Fix(fix[0], tuple(Edit(_to_place(p), text) for p, text in fix[1]), fix[2]) if fix else None,
        status=Status(plain["status"]),
        prompt=plain["prompt"],
    )
