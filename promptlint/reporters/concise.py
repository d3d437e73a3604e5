"""One line a finding, for editors and ``grep``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptlint.findings import Finding
from promptlint.report import Report
from promptlint.reporters.options import Options
from promptlint.reporters.spots import plain, spot
from promptlint.reporters.words import statistics, summary
from promptlint.words import counted


def render(report: Report, options: Options) -> str:
    """Return one line for each finding, then the summary."""
    shown = [*lines(report, report.findings if options.all else report.active)]
    if options.statistics:
        shown += statistics(report)
    return "\n".join([*shown, summary(report)]) + "\n"


def lines(report: Report, findings: Iterable[Finding]) -> Iterator[str]:
    """Yield ``file:line:column: CODE severity: message`` for each finding."""
    for finding in findings:
        at = spot(report, finding.primary)
        lost = f" [{counted(finding.cost.tokens, 'token')}]" if finding.cost and finding.cost.tokens else ""
        yield (
            f"{plain(at.file)}:{at.line}:{at.column}: {finding.code} {finding.severity.value}: "
            f"{plain(finding.message)}{lost}"
        )
