"""Workflow commands that GitHub shows as annotations."""

from __future__ import annotations

from promptlint.findings import Severity
from promptlint.report import Report
from promptlint.reporters.mask import mask
from promptlint.reporters.options import Options
from promptlint.reporters.spots import spot
from promptlint.reporters.words import cost_text

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report, options: Options) -> str:
    """Return one command a finding, and one for each file that was not checked."""
    lines = []
    for finding in report.active:
        at = spot(report, finding.primary)
        message = mask(finding.message)
        if finding.cost:
            message += f"\nlost: {cost_text(finding.cost)}"
        if finding.fix:
            message += f"\ninstead: {mask(finding.fix.message)}"
        fields = {"file": at.file, "line": at.line, "endLine": at.end_line}
        if at.line == at.end_line:  # columns of an annotation over several lines are refused
            fields |= {"col": at.column, "endColumn": at.end_column}
        fields["title"] = f"{finding.code} {finding.name}"
        pairs = ",".join(f"{key}={_value(str(value))}" for key, value in fields.items())
        lines.append(f"::{_LEVEL[finding.severity]} {pairs}::{_data(message)}")
    lines += [f"::error file={_value(e.path)},title=not checked::{_data(e.message)}" for e in report.errors]
    return "".join(line + "\n" for line in lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
