"""Applying edits to texts: all of a fix or nothing of it, never two over one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from promptlint.findings import Edit, Finding
from promptlint.source import SourceFile


@dataclass(frozen=True, slots=True)
class Plan:
    """New texts by path, and the findings whose fixes they hold or had to leave out."""

    texts: dict[str, str]
    applied: tuple[Finding, ...]
    left: tuple[Finding, ...]


def plan(findings: Iterable[Finding], load: Callable[[str], SourceFile | None]) -> Plan:
    """Work out the texts with all safe fixes that agree.

    A fix that overlaps an earlier one is left for the next run, as is one that would make a Python file
    unreadable.
    """
    taken: dict[str, list[Edit]] = {}
    applied: list[Finding] = []
    left: list[Finding] = []
    texts: dict[str, str] = {}
    for finding in findings:
        fix = finding.fix
        if fix is None or not fix.edits or not fix.safe:
            continue
        new = {path: list(edits) for path, edits in taken.items()}
        for edit in fix.edits:
            new.setdefault(edit.place.path, []).append(edit)
        changed = {edit.place.path for edit in fix.edits}
        results = {path: _apply(load(path), new[path]) for path in changed}
        if any(text is None for text in results.values()):
            left.append(finding)
            continue
        taken = new
        texts.update({path: text for path, text in results.items() if text is not None})
        applied.append(finding)
    return Plan(texts, tuple(applied), tuple(left))


def _apply(source: SourceFile | None, edits: list[Edit]) -> str | None:
    """Return the text with all edits, or None if they overlap or the result cannot be read."""
    if source is None:
        return None
    parts, at = [], 0
    for edit in sorted(set(edits), key=lambda e: e.place.span):
        if edit.place.span.start < at or edit.place.span.end > len(source.text):
            return None
        parts += [source.text[at : edit.place.span.start], edit.text]
        at = edit.place.span.end
    text = "".join([*parts, source.text[at:]])
    return text if not source.path.endswith(".py") or _parses(text) or not _parses(source.text) else None


def _parses(text: str) -> bool:
    import ast

    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
