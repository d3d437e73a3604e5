"""JUnit XML: one test case a file and rule, for test dashboards."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from promptlint.findings import Finding
from promptlint.report import Report
from promptlint.reporters.mask import mask
from promptlint.reporters.options import Options
from promptlint.reporters.spots import spot
from promptlint.reporters.words import cost_text

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, options: Options) -> str:
    """Return a test suite: a failure for each finding, an error for each file that was not checked."""
    active, errors = report.active, report.errors
    cases = [_failure(report, finding) for finding in active]
    for error in errors:
        cases.append(
            f'  <testcase classname={_attr(error.path)} name="read">\n'
            f"   <error message={_attr(error.message)}/>\n  </testcase>"
        )
    if not cases:
        cases.append('  <testcase classname="promptlint" name="check"/>')
    seconds = f"{report.seconds:.3f}"
    head = f'tests="{len(cases)}" failures="{len(active)}" errors="{len(errors)}" time="{seconds}"'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            f"<testsuites {head}>",
            f' <testsuite name="promptlint" {head}>',
            *cases,
            " </testsuite>",
            "</testsuites>\n",
        ]
    )


def _failure(report: Report, finding: Finding) -> str:
    at = spot(report, finding.primary)
    body = [f"{at.file}:{at.line}:{at.column}: {mask(finding.message)}"]
    if finding.cost:
        body.append(f"lost: {cost_text(finding.cost)}")
    if finding.fix:
        body.append(f"instead: {mask(finding.fix.message)}")
    return (
        f"  <testcase classname={_attr(at.file)} name={_attr(f'{finding.code} {finding.name}:{at.line}')} "
        f'file={_attr(at.file)} line="{at.line}">\n'
        f"   <failure type={_attr(finding.severity.value)} message={_attr(mask(finding.message))}>"
        f"{escape(_clean(chr(10).join(body)))}</failure>\n  </testcase>"
    )


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _attr(text: str) -> str:
    return quoteattr(_clean(text), {"\n": "&#10;"})
