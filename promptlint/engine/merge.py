"""One finding a fault: the same place seen from several files, by name or traced."""

from __future__ import annotations

from collections.abc import Sequence

from promptlint.engine.units import Result
from promptlint.findings import NEAR_SENTENCE, Finding, Status
from promptlint.layout import ABOUT, DATA, Confidence, Kind
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


def _weight(finding: Finding) -> tuple[bool, int, int, int, bool, bool]:
    """Weigh what is said of one place; of equals, the request that names its model, or shows the way, says the most."""
    cost = finding.cost
    return (
        finding.status is Status.ACTIVE,
        finding.confidence.rank,
        finding.severity.rank,
        cost.tokens if cost else 0,
        cost is not None and not cost.estimated,
        bool(finding.related),
    )


def merge(results: Sequence[Result]) -> list[Finding]:
    """Return one finding for each rule and place, sorted by place: what counts, then the surer, the worse, the first.

    What a template's own reading knows only by a name gives way to the code that renders it: the place
    of ``{{ today }}`` is no clock where the program passes a fixed text, or is traced to something else.
    """
    settled: dict[str, list[Place]] = {}
    for result in results:
        for place in result.settled:
            settled.setdefault(place.path, []).append(place)
    best: dict[tuple[str, Place], Finding] = {}
    for result in results:
        decided = settled.get(result.path, ())
        for finding in result.findings:
            if _by_name(finding) and any(_inside(finding.primary, place) for place in decided):
                continue
            key = finding.code, finding.primary
            if key not in best or _weight(finding) > _weight(best[key]):
                best[key] = finding
    traced = {f.primary for f in best.values() if f.kind in _OF_A_VALUE and not _by_name(f)}
    kept = [f for f in best.values() if not (_by_name(f) and f.primary in traced)]
    return _leaders(_one_of_its_kind(sorted(kept, key=lambda f: (f.primary, f.code))))


def _one_of_its_kind(found: list[Finding]) -> list[Finding]:
    """Leave out what says less of a place that another finding is about: whose data it is, how a conversation is cut.

    Of a value that callers name differently, what was given tells least, and then what changes most often counts.
    A cut stands in the statement that makes it, and both may have been seen. What has no order in a tool's
    description is a text, and no list of tools.
    """
    named: dict[Place, Finding] = {}
    cuts: list[Finding] = []
    orders = {one.primary for one in found if one.kind is Kind.UNORDERED}
    found = [one for one in found if one.kind is not Kind.TOOLS_ORDER or one.primary not in orders]
    for one in found:
        if _by_name(one):
            named[one.primary] = max(named.get(one.primary, one), one, key=_tells)
        elif one.kind is Kind.HISTORY_REWRITE:
            before = cuts[-1] if cuts else one
            if not (_inside(one.primary, before.primary) or _inside(before.primary, one.primary)):
                cuts.append(one)
            elif _sureness(one) > _sureness(before) or not cuts:
                cuts[-1:] = [one]
    stay = {id(one) for one in (*named.values(), *cuts)}
    return [
        one for one in found if id(one) in stay or not (one.kind is Kind.HISTORY_REWRITE or _by_name(one))
    ]


def _leaders(found: list[Finding]) -> list[Finding]:
    """Leave out what another finding of the same prompt names as standing together with its own value, near by.

    Variants of a prompt begin with another of its values; what stands in front of more text leads.
    """
    beside: dict[tuple[str, str, Place], list[tuple[int, int]]] = {}
    for at, one in enumerate(found):
        if one.status is Status.ACTIVE:
            for step in one.related:
                beside.setdefault((_family(one), one.prompt, step.place), []).append((_lost(one), -at))
    return [
        one
        for at, one in enumerate(found)
        if not any(
            _lost(one) + NEAR_SENTENCE > leader[0] and leader > (_lost(one), -at)
            for leader in beside.get((_family(one), one.prompt, one.primary), ())
        )
    ]


def _family(finding: Finding) -> str:
    return "about" if finding.kind in ABOUT else finding.code


def _lost(finding: Finding) -> int:
    return finding.cost.tokens if finding.cost else 0


def _tells(finding: Finding) -> tuple[bool, int, bool, int, bool]:
    given = finding.kind is Kind.REQUEST_INPUT  # which much is taken for that nothing else is known of
    often = finding.scope.rank
    return finding.status is Status.ACTIVE, finding.severity.rank, not given, often, finding.kind not in DATA


def _sureness(finding: Finding) -> tuple[bool, int]:
    return finding.status is Status.ACTIVE, finding.confidence.rank


def _by_name(finding: Finding) -> bool:
    return finding.confidence is Confidence.LOW and finding.kind in _OF_A_VALUE


def _inside(inner: Place, outer: Place) -> bool:
    same = inner.path == outer.path
    return same and outer.span.start <= inner.span.start and inner.span.end <= outer.span.end
