"""Sentences that several reporters share."""

from __future__ import annotations

from collections import Counter

from promptlint.findings import Cost, Severity, Status
from promptlint.report import Report
from promptlint.words import counted


def cost_text(cost: Cost) -> str:
    """Return what is computed again, in tokens and blocks of the profile."""
    about = "about " if cost.estimated else ""
    # Where hits end at any token a block is a token: saying it twice helps nobody.
    blocks = f", {counted(cost.blocks, 'block')}" if 0 < cost.blocks < cost.tokens else ""
    money = ""
    if cost.usd_per_thousand:
        now, then = (f"${usd:,.2f}" for usd in cost.usd_per_thousand)
        money = f"; {now} instead of {then} in 1,000 requests" if now != then else ""
    if cost.below_minimum:
        money = f"; cached from {cost.below_minimum:,} tokens on, the prompt's fixed text has {cost.fixed_tokens:,}"
    return f"{about}{counted(cost.tokens, 'token')}{blocks} ({cost.profile}){money}"


def summary(report: Report) -> str:
    """Return the last line: what was found in how many files, and what does not count."""
    active = len(report.active)
    if active:
        kinds = [
            counted(report.count_severity(severity), word, plural)
            for severity, word, plural in (
                (Severity.ERROR, "error", ""),
                (Severity.WARNING, "warning", ""),
                (Severity.INFO, "info", "info"),  # the word that stands beside each of them
            )
            if report.count_severity(severity)
        ]
        head = f"{counted(active, 'finding')} ({', '.join(kinds)}) in {counted(report.files, 'file')}"
    else:
        head = f"No findings in {counted(report.files, 'file')}"
    apart = [
        f"{report.count(status):,} {words}"
        for status, words in (
            (Status.SUPPRESSED, "suppressed"),
            (Status.BASELINED, report.accepted),
            (Status.BELOW_THRESHOLD, "below the threshold"),
        )
        if report.count(status)
    ]
    if report.errors:
        apart.append(f"{counted(len(report.errors), 'file')} not checked")
    return "; ".join([head, *apart])


def statistics(report: Report) -> list[str]:
    """Return one line a rule: how many active findings, what they cost together, its name."""
    counts = Counter((f.code, f.name) for f in report.active)
    tokens: Counter[str] = Counter()
    for finding in report.active:
        tokens[finding.code] += finding.cost.tokens if finding.cost else 0
    return [
        f"{count:>6,}  {code}  {name:<36} {tokens[code]:>9,} {'token' if tokens[code] == 1 else 'tokens'}"
        for (code, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
