"""Places as readers want them: lines, columns, and the source lines themselves."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from promptlint.findings import Finding
from promptlint.report import Report
from promptlint.reporters.mask import mask
from promptlint.source import Place


@dataclass(frozen=True, slots=True)
class Spot:
    """1-based lines and columns; ``end_column`` is the one behind the last character."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


def spot(report: Report, place: Place) -> Spot:
    """Return where a place is; the file's start if its text is gone."""
    source = report.load(place.path)
    if source is None:
        return Spot(place.path, 1, 1, 1, 1)
    size = len(source.text)
    start, end = min(place.span.start, size), min(place.span.end, size)
    if end > start and source.text[end - 1] == "\n":
        end -= 1  # a place that ends with its line ends on that line
    return Spot(place.path, *source.position(start), *source.position(max(start, end)))


def where(report: Report, place: Place) -> str:
    """Return ``file:line``."""
    found = spot(report, place)
    return f"{plain(found.file)}:{found.line}"


def plain(text: str) -> str:
    """Return one line of text with secrets masked and control characters written out.

    Names and expressions come from strangers' files; none may steer a terminal.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in mask(text))


def snippet(report: Report, finding: Finding, width: int) -> list[tuple[int, str, str]]:
    """Return (line number, text, carets) of the finding's lines: the first two and the last.

    Long lines are cut around the carets; secrets are masked.
    """
    source = report.load(finding.primary.path)
    if source is None:
        return []
    at = spot(report, finding.primary)
    numbers = list(range(at.line, at.end_line + 1))
    if len(numbers) > 3:
        numbers = [*numbers[:2], numbers[-1]]
    rows = []
    for number in numbers:
        text = source.line_text(number)
        first = at.column - 1 if number == at.line else len(text) - len(text.lstrip())
        last = at.end_column - 1 if number == at.end_line else len(text)
        rows.append((number, *_window(mask(text), first, max(last, first + 1), width)))
    return rows


def _window(text: str, first: int, last: int, width: int) -> tuple[str, str]:
    """Cut a line to ``width`` around a range and draw the carets under it."""
    cut = 0
    if len(text) > width:
        cut = max(0, min(first - width // 3, len(text) - width))
        tail = "…" if cut + width < len(text) else ""
        text = ("…" if cut else "") + text[cut + bool(cut) : cut + width - len(tail)] + tail
    first, last = max(0, first - cut), min(max(last - cut, first - cut + 1), max(len(text), 1))
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown, " " * _columns(shown[:first]) + "^" * max(1, _columns(shown[first:last]))


def _columns(text: str) -> int:
    """Return how many terminal columns a text takes."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
