"""SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from urllib.parse import quote

import promptlint
from promptlint.findings import Finding, Severity, Status
from promptlint.report import Report, fingerprint
from promptlint.reporters.mask import mask
from promptlint.reporters.options import Options
from promptlint.reporters.spots import snippet, spot
from promptlint.reporters.words import cost_text
from promptlint.source import Place

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(report: Report, options: Options) -> str:
    """Return one run with every finding; those that do not count carry a suppression or a baseline state."""
    rules = _rules(report)
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "promptlint",
                "version": promptlint.__version__,
                "semanticVersion": promptlint.__version__,
                "rules": rules,
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(report, f, index[f.code], seen)
            for f in report.findings
            if f.status is not Status.BELOW_THRESHOLD
        ],
        "invocations": [
            {
                "executionSuccessful": not any(e.internal for e in report.errors),
                "toolExecutionNotifications": [
                    {
                        "level": "error",
                        "message": {"text": f"{e.message}. {e.next_step}".strip()},
                        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(e.path)}}}],
                    }
                    for e in report.errors
                ],
            }
        ],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _rules(report: Report) -> list[dict[str, Any]]:
    """Return the descriptors of the rules that found something, with their pages as help."""
    from promptlint.catalog.catalog import Catalog

    known = Catalog().rules
    names = {f.code: f.name for f in report.findings}
    descriptors = []
    for code in sorted(names):
        descriptor: dict[str, Any] = {"id": code, "name": names[code]}
        if rule := known.get(code):
            descriptor["shortDescription"] = {"text": rule.summary}
            descriptor["help"] = {"text": rule.summary, "markdown": rule.body}
            descriptor["properties"] = {"tags": ["prompt-cache", rule.kind.value]}
        descriptors.append(descriptor)
    return descriptors


def _uri(path: str) -> str:
    return ("file://" if path.startswith("/") else "") + quote(path, errors="surrogateescape")


def _location(report: Report, place: Place, text: str = "") -> dict[str, Any]:
    at = spot(report, place)
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(at.file)},
            "region": {
                "startLine": at.line,
                "startColumn": at.column,
                "endLine": at.end_line,
                "endColumn": at.end_column,
            },
        }
    }
    if text:
        location["message"] = {"text": text}
    return location


def _result(report: Report, finding: Finding, rule: int, seen: Counter[str]) -> dict[str, Any]:
    mark = fingerprint(finding, report.load(finding.primary.path))
    seen[mark] += 1
    message = mask(finding.message)
    if finding.cost:
        message += f". Lost: {cost_text(finding.cost)}."
    if finding.fix:
        message += f"{'' if finding.cost else '.'} Instead: {mask(finding.fix.message)}"
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVEL[finding.severity],
        "message": {"text": message},
        "locations": [_location(report, finding.primary)],
        "partialFingerprints": {"promptlint/v1": f"{mark}:{seen[mark]}"},
        "properties": {
            "kind": finding.kind.value,
            "scope": finding.scope.value,
            "confidence": finding.confidence.value,
        },
    }
    lines = "\n".join(text for _, text, _ in snippet(report, finding, 400))
    if lines:
        region = result["locations"][0]["physicalLocation"]["region"]
        region["snippet"] = {"text": lines}
    if finding.cost:
        result["properties"]["lostTokens"] = finding.cost.tokens
        result["properties"]["lostBlocks"] = finding.cost.blocks
        result["properties"]["profile"] = finding.cost.profile
    related = [(step.place, mask(step.note)) for step in finding.related]
    if finding.origin and finding.origin not in [place for place, _ in related]:
        related.append((finding.origin, "the value is made here"))
    if related:
        result["relatedLocations"] = [
            {"id": number, **_location(report, place, note)}
            for number, (place, note) in enumerate(related, 1)
        ]
    if finding.status is Status.SUPPRESSED:
        kind = "external" if finding.reason == "per-file-ignores" else "inSource"
        result["suppressions"] = [{"kind": kind, "justification": finding.reason}]
    elif finding.status is Status.BASELINED:
        result["baselineState"] = "unchanged"
        result["suppressions"] = [{"kind": "external", "justification": "accepted by the baseline"}]
    if finding.fix and finding.fix.edits:
        result["fixes"] = [_fix(report, finding)]
    return result


def _fix(report: Report, finding: Finding) -> dict[str, Any]:
    assert finding.fix is not None
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in finding.fix.edits:
        region = _location(report, edit.place)["physicalLocation"]["region"]
        changes.setdefault(edit.place.path, []).append(
            {"deletedRegion": region, "insertedContent": {"text": edit.text}}
        )
    return {
        "description": {"text": mask(finding.fix.message)},
        "artifactChanges": [
            {"artifactLocation": {"uri": _uri(path)}, "replacements": parts}
            for path, parts in changes.items()
        ],
    }
