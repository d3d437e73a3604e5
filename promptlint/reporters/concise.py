"""One line a finding, for editors and ``grep``."""

from __future__ import annotations

from promptlint.report import Report
from promptlint.reporters.options import Options
from promptlint.reporters.spots import plain, spot
from promptlint.reporters.words import statistics, summary
from promptlint.words import counted


def render(report: Report, options: Options) -> str:
    """Return ``file:line:column: CODE severity: message`` for each finding, then the summary."""
    lines = []
    for finding in report.findings if options.all else report.active:
        at = spot(report, finding.primary)
        lost = f" [{counted(finding.cost.tokens, 'token')}]" if finding.cost else ""
        lines.append(
            f"{plain(at.file)}:{at.line}:{at.column}: {finding.code} {finding.severity.value}: "
            f"{plain(finding.message)}{lost}"
        )
    if options.statistics:
        lines += statistics(report)
    return "\n".join([*lines, summary(report)]) + "\n"
