"""Marking findings as suppressed, and reporting suppressions that nothing needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from promptlint.findings import Edit, Finding, Fix, Severity, Status
from promptlint.globs import PathRules
from promptlint.layout import Confidence, Kind
from promptlint.source import Place, SourceFile
from promptlint.suppress.comments import Suppression

UNUSED_CODE, UNUSED_NAME = "PL902", "unused-suppression"


def matches(selector: str, code: str, name: str) -> bool:
    """Tell whether ``PL101``, ``PL1``, ``ALL`` or a rule's name selects a rule."""
    return selector == "ALL" or selector == name or code.startswith(selector.upper())


def ignored_codes(path: str, ignores: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the selectors that ``per-file-ignores`` sets for a path, relative to the configuration."""
    return tuple(code for glob, codes in ignores.items() if PathRules([glob]).matches(path) for code in codes)


def apply(
    findings: Iterable[Finding],
    suppressions: Mapping[str, Sequence[Suppression]],
    load: Callable[[str], SourceFile | None],
    in_force: Callable[[str], bool],
) -> list[Finding]:
    """Mark what comments suppress, and add a finding for each comment, or code in it, that does nothing.

    ``suppressions`` maps a path to its comments. A code that is not ``in_force`` cannot be found
    useless: nobody looked for it.
    """
    used: dict[tuple[str, Suppression], set[str]] = {
        (path, item): set() for path, items in suppressions.items() for item in items
    }
    result: list[Finding] = []
    for finding in findings:
        path = finding.primary.path
        items = suppressions.get(path, ())
        source = load(path) if items else None
        if source is not None:
            first = source.position(finding.primary.span.start)[0]
            last = source.position(max(finding.primary.span.start, finding.primary.span.end - 1))[0]
            for item in items:
                hits = [c for c in item.codes if matches(c, finding.code, finding.name)]
                if item.covers(first, last) and (hits or not item.codes):
                    used[path, item].update(hits or ("",))
                    finding = replace(finding, status=Status.SUPPRESSED, reason=item.reason)
        result.append(finding)
    for (path, item), codes in used.items():
        idle = [c for c in item.codes if c not in codes and in_force(c)]
        if idle or not (item.codes or codes):
            result.append(_unused(path, item, idle, load(path)))
    return result


def _unused(path: str, item: Suppression, idle: list[str], source: SourceFile | None) -> Finding:
    what = f"no finding of {', '.join(idle)} here" if idle else "no finding here"
    kept = [code for code in item.codes if code not in idle]
    advice = f"leave only {', '.join(kept)}" if kept else "remove the comment"
    edits = _removal(source, item, kept) if source else ()
    if item.foreign:  # nobody wants it gone: it was meant to be one of ours
        what = f"`{item.foreign}` is no word of ours"
        advice, edits = "write ignore[CODE], ignore-next-line[CODE] or ignore-file[CODE]", ()
    return Finding(
        code=UNUSED_CODE,
        name=UNUSED_NAME,
        kind=Kind.OTHER,
        message=f"suppression without effect: {what}",
        primary=Place(path, item.span),
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        fix=Fix(advice, edits, safe=True),
    )


def _removal(source: SourceFile, item: Suppression, kept: list[str]) -> tuple[Edit, ...]:
    """Return the edit that takes out a comment, with its line if it has one to itself, or some of its codes."""
    start, end = item.span.start, item.span.end
    text = source.text
    if kept:
        opened, closed = text.index("[", start), text.index("]", start)
        return (Edit(source.place(opened + 1, closed), ", ".join(kept)),)
    first = text.rfind("\n", 0, start) + 1
    behind = text.find("\n", end)
    behind = len(text) if behind < 0 else behind
    if not text[first:start].strip() and not text[end:behind].strip():
        return (Edit(source.place(first, min(behind + 1, len(text))), ""),)
    if not text[end:behind].strip():
        start = first + len(text[first:start].rstrip())
    return (Edit(source.place(start, end), ""),)
