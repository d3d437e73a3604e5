"""Joining what a log shows with what the linter found in the code that wrote the prompts."""

from __future__ import annotations

import re
from typing import Any

from promptlint.catalog.profiles import DEFAULT_PROFILE
from promptlint.findings import Finding
from promptlint.layout import Kind
from promptlint.report import Report
from promptlint.trace.explain.group import Group

_WORDS = re.compile(r"[^\W_]{3,}")
_AROUND = 2  # lines of the source on both sides of a finding
_ENOUGH = 0.5


def join(groups: list[Group], report: Report) -> None:
    """Give each group the finding of the linter that explains it, where there is one.

    A finding fits if it is of the same kind and the words around it in the source stand around the
    difference in the prompt. Where a kind was found in one place only, that place is taken with the
    remark that its words do not decide it.
    """
    for group in groups:
        candidates = [f for f in report.findings if f.kind is group.kind and _may_explain(f, group)]
        scored = sorted(((_score(group, f, report), f) for f in candidates), key=lambda pair: -pair[0])
        if not scored:
            continue
        score, best = scored[0]
        if score >= _ENOUGH:
            group.source = _place(best, report, "same kind, same words around it")
        elif len(candidates) == 1 and group.kind is not Kind.OTHER:
            group.source = _place(best, report, "the only finding of this kind")


def _may_explain(finding: Finding, group: Group) -> bool:
    """Tell whether a finding may be about requests of the log: sent to its provider, and with a key if it is about keys."""
    if group.kind is Kind.ROUTING and not group.example.request.routing:
        return False
    counted_for = finding.cost.profile if finding.cost else group.example.profile
    return counted_for in (group.example.profile, DEFAULT_PROFILE)


def _score(group: Group, finding: Finding, report: Report) -> float:
    """Return the share of the words before the difference that stand near the finding."""
    diff = group.example.difference
    source = report.load(finding.primary.path)
    if diff is None or source is None:
        return 0.0
    line, _ = source.position(finding.primary.span.start)
    lines = source.text.split("\n")
    near = " ".join(lines[max(0, line - 1 - _AROUND) : line + _AROUND])
    words = [word.lower() for word in _WORDS.findall(f"{diff.before[-80:]} {diff.after[:80]}")]
    if not words:
        return 0.0
    known = {word.lower() for word in _WORDS.findall(near)}
    return sum(word in known for word in words) / len(words)


def _place(finding: Finding, report: Report, why: str) -> dict[str, Any]:
    source = report.load(finding.primary.path)
    line = source.position(finding.primary.span.start)[0] if source else 1
    return {
        "code": finding.code,
        "file": finding.primary.path,
        "line": line,
        "message": finding.message,
        "why": why,
    }
