"""For programs: every finding of every status, and the summary."""

from __future__ import annotations

import json
from typing import Any

import promptlint
from promptlint.findings import Cost, Finding, Severity, Status
from promptlint.report import Report, fingerprint
from promptlint.reporters.mask import mask
from promptlint.reporters.options import Options
from promptlint.reporters.spots import spot
from promptlint.source import Place


def render(report: Report, options: Options) -> str:
    """Return one JSON object; docs/output.md describes its fields."""
    data = {
        "version": promptlint.__version__,
        "findings": [_finding(report, finding) for finding in report.findings],
        "errors": [
            {"file": e.path, "message": e.message, "next_step": e.next_step, "internal": e.internal}
            for e in report.errors
        ],
        "summary": _summary(report),
    }
    if options.statistics:
        data["statistics"] = _statistics(report)
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _place(report: Report, place: Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    at = spot(report, place)
    return {"file": at.file, "line": at.line}


def _cost(cost: Cost) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "tokens": cost.tokens,
        "blocks": cost.blocks,
        "profile": cost.profile,
        "estimated": cost.estimated,
    }
    if cost.usd_per_thousand:
        now, then = cost.usd_per_thousand
        plain["usd_per_thousand_requests"] = {"now": now, "mended": then}
    if cost.below_minimum:
        plain["below_minimum"], plain["fixed_tokens"] = cost.below_minimum, cost.fixed_tokens
    return plain


def _finding(report: Report, finding: Finding) -> dict[str, Any]:
    at = spot(report, finding.primary)
    cost, fix = finding.cost, finding.fix
    return {
        "code": finding.code,
        "name": finding.name,
        "kind": finding.kind.value,
        "file": at.file,
        "line": at.line,
        "column": at.column,
        "end_line": at.end_line,
        "end_column": at.end_column,
        "message": mask(finding.message),
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "scope": finding.scope.value,
        "origin": _place(report, finding.origin),
        "cost": cost and _cost(cost),
        "status": finding.status.value,
        "reason": finding.reason,
        "prompt": finding.prompt,
        "chain": [{**(_place(report, s.place) or {}), "note": mask(s.note)} for s in finding.related],
        "fix": fix and {"message": mask(fix.message), "safe": fix.safe, "edits": len(fix.edits)},
        "fingerprint": fingerprint(finding, report.load(finding.primary.path)),
    }


def _summary(report: Report) -> dict[str, Any]:
    return {
        "files": report.files,
        **{status.value: report.count(status) for status in Status},
        "by_severity": {severity.value: report.count_severity(severity) for severity in Severity},
        "lost_tokens": sum(f.cost.tokens for f in report.active if f.cost),
        "errors": len(report.errors),
        "notes": list(report.notes),
        "seconds": round(report.seconds, 3),
    }


def _statistics(report: Report) -> dict[str, int]:
    codes = [f.code for f in report.active]
    return {code: codes.count(code) for code in sorted(set(codes))}
