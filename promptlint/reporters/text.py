"""For people: the line, what is wrong with it, what it costs, and the right layout."""

from __future__ import annotations

import textwrap

from promptlint.findings import Finding, Severity, Status
from promptlint.report import Report
from promptlint.reporters.options import Options
from promptlint.reporters.spots import plain, snippet, spot, where
from promptlint.reporters.words import cost_text, statistics, summary

_COLORS = {"bold": "1", "dim": "2", "red": "31", "yellow": "33", "blue": "34", "cyan": "36", "green": "32"}
_SEVERITY = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}
_STATUS = {Status.SUPPRESSED: "suppressed", Status.BELOW_THRESHOLD: "below the threshold"}


def render(report: Report, options: Options) -> str:
    """Return one paragraph a finding, then the summary."""
    shown = report.findings if options.all else report.active
    paragraphs = [_finding(report, finding, options) for finding in shown]
    if options.statistics and report.active:
        paragraphs.append("\n".join(statistics(report)))
    paragraphs.append(paint(summary(report), "bold", options))
    return "\n\n".join(paragraphs) + "\n"


def paint(text: str, color: str, options: Options) -> str:
    """Return text in a colour if colours are wanted."""
    return f"\x1b[{_COLORS[color]}m{text}\x1b[0m" if options.color else text


def _finding(report: Report, finding: Finding, options: Options) -> str:
    at = spot(report, finding.primary)
    color = _SEVERITY[finding.severity]
    status = (
        f" [{_STATUS.get(finding.status, report.accepted)}]" if finding.status is not Status.ACTIVE else ""
    )
    place = paint(f"{plain(at.file)}:{at.line}:{at.column}", "bold", options)
    head = paint(f"{finding.code} {finding.severity.value}", color, options)
    lines = [f"{place}: {head}: {plain(finding.message)}{status}"]
    if options.source:
        lines += _source(report, finding, options)
    details: list[tuple[str, str]] = []
    told = {where(report, place) for place in (finding.primary, *(step.place for step in finding.related))}
    for step in finding.related:
        details.append(("through", f"{where(report, step.place)}: {plain(step.note)}"))
    if finding.origin and (made := where(report, finding.origin)) not in told:
        details.append(("made at", made))
    if finding.cost and finding.cost.tokens:
        details.append(("lost", cost_text(finding.cost)))
    if finding.fix:
        details.append(("instead", plain(finding.fix.message)))
    if finding.reason:
        details.append(("reason", plain(finding.reason)))
    details.append(("rule", f"{finding.name}, {finding.confidence.value} confidence"))
    for label, text in details:
        wrapped = textwrap.wrap(text, options.width - 14, break_long_words=False, break_on_hyphens=False) or [
            ""
        ]
        lines.append(f"    {paint(f'{label:>8}', 'cyan', options)}  {wrapped[0]}")
        lines += [f"{'':14}{line}" for line in wrapped[1:]]
    return "\n".join(lines)


def _source(report: Report, finding: Finding, options: Options) -> list[str]:
    rows = snippet(report, finding, options.width - 9)
    lines, last = [], 0
    for number, text, carets in rows:
        if last and number > last + 1:
            lines.append(paint(f"{'…':>6} |", "dim", options))
        lines.append(f"{paint(f'{number:>6} |', 'dim', options)} {text}".rstrip())
        lines.append(f"{paint(f'{chr(32):>6} |', 'dim', options)} {paint(carets, 'red', options)}")
        last = number
    return lines
