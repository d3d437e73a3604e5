"""One finding a fault: the same place seen from several files, by name or traced."""

from __future__ import annotations

from collections.abc import Iterable

from promptlint.findings import Finding
from promptlint.layout import Confidence, Kind
from promptlint.source import Place

_OF_A_VALUE = frozenset(
    {
        Kind.CLOCK,
        Kind.IDENTIFIER,
        Kind.RANDOM,
        Kind.UNORDERED,
        Kind.ENVIRONMENT,
        Kind.COUNTER,
        Kind.PER_USER,
        Kind.RETRIEVED,
        Kind.REQUEST_INPUT,
    }
)
"""Kinds that say what a value is; one place has one of them."""


def _weight(finding: Finding) -> tuple[int, int, int]:
    return (
        finding.confidence.rank,
        finding.severity.rank,
        finding.cost.tokens if finding.cost else 0,
    )


def merge(findings: Iterable[Finding]) -> list[Finding]:
    """Return one finding for each rule and place, sorted by place: the surer, then the worse.

    What is known only by its name gives way to what another file's code was traced to: ``{{ today }}``
    is no clock where the program that renders the template passes a fixed text's id.
    """
    best: dict[tuple[str, Place], Finding] = {}
    for finding in findings:
        key = finding.code, finding.primary
        kept = best.get(key)
        if kept is None or _weight(finding) > _weight(kept):
            best[key] = finding
    about_value = [f for f in best.values() if f.kind in _OF_A_VALUE]
    traced = {f.primary for f in about_value if f.confidence is not Confidence.LOW}
    by_name = {id(f) for f in about_value if f.confidence is Confidence.LOW and f.primary in traced}
    kept_ones = [f for f in best.values() if id(f) not in by_name]
    return sorted(kept_ones, key=lambda f: (f.primary, f.code))
