"""Placeholder styles without blocks: a scan from left to right finds every field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from promptlint.frontends.base import MAX_PIECES
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Origin, OriginKind, Segment

# A piece of a text: its range, and either what an escape stands for or the hole that is there.
Piece = tuple[int, int, str | Origin]
Scanner = Callable[[str], Iterator[Piece]]

_MAX_SPECIFICATION = 200
_NAME = r"[^\W\d]\w*"
_FORMAT_NAME = re.compile(rf"(?:{_NAME}|\d*)(?:\.{_NAME}|\[[^\[\]{{}}\n]*\])*")
_PERCENT = re.compile(
    r"%(?:%|(?:\(([^()\n]*)\))?[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[hlL]?[diouxXeEfFgGcrsa])"
)
_DOLLAR = re.compile(r"\$(?:(\$)|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_BRACES = re.compile(rf"\{{({_NAME}(?:\.{_NAME})*)\}}")
# A tag that is never closed, and is named after the time: "Today is <current_date>."
TIME_TAG = r"<((?:current|todays?)_(?:date|day|month|year|time|date_?time|timestamp))>(?!(?s:.{0,999}?)</\1>)"
_ANGLE = re.compile(rf"{TIME_TAG}|<< ?([A-Z][A-Z0-9_ ]{{0,60}})>>|\[\[ ?([A-Z][A-Z0-9_ ]{{0,60}})\]\]")
_BANG = re.compile(r"!<([^<>!\n]{1,60})>!")
# Llama 2 writes <<SYS>> into the prompt itself; such marks are no fields.
_MARKERS = frozenset({"SYS", "INST", "EOS", "BOS"})


def segments(text: MappedText, scan: Scanner) -> tuple[Segment, ...]:
    """Cut a text into literal segments and holes; neighbouring literals become one segment.

    Behind `MAX_PIECES` the rest is left out.
    """
    result: list[Segment] = []
    at, start, literal = 0, 0, ""
    for first, last, piece in scan(text.text):
        if len(result) > MAX_PIECES:
            return tuple(result)
        literal += text.text[at:first]
        at = last
        if isinstance(piece, str):
            literal += piece
            continue
        if literal:
            result.append(Segment(text.place(start, first), literal))
        result.append(Segment(text.place(first, last), None, piece))
        start, literal = last, ""
    literal += text.text[at:]
    if literal:
        result.append(Segment(text.place(start, len(text.text)), literal))
    return tuple(result)


def hole(expression: str, name: str) -> Origin:
    """Return the origin of a field: its expression, and the name that decides its scope."""
    return Origin(OriginKind.VARIABLE, expression, name)


def _format(text: str) -> Iterator[Piece]:
    at = 0
    while (at := _next_brace(text, at)) >= 0:
        if text.startswith(("{{", "}}"), at):
            yield at, at + 2, text[at]
            at += 2
        elif text[at] == "{" and (end := field_end(text, at)):
            match = _FORMAT_NAME.match(text, at + 1)
            yield at, end, hole(text[at + 1 : end - 1], match.group() if match else "")
            at = end
        else:
            at += 1


def _next_brace(text: str, at: int) -> int:
    """Return the offset of the next brace of either kind, or -1 as `str.find` does."""
    opened, closed = text.find("{", at), text.find("}", at)
    return max(opened, closed) if opened < 0 or closed < 0 else min(opened, closed)


def field_end(text: str, at: int) -> int:
    """Return the offset behind the ``str.format`` field that opens at ``at``, or 0 if none does.

    A format specification may hold fields of its own: ``{x:{width}}``.
    """
    match = _FORMAT_NAME.match(text, at + 1)
    end = match.end() if match else at + 1
    if text.startswith(("!r", "!s", "!a"), end):
        end += 2
    if text.startswith("}", end):
        return end + 1
    if not text.startswith(":", end):
        return 0
    depth = 1
    for position in range(end, min(len(text), end + _MAX_SPECIFICATION)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position + 1
        if text[position] == "\n":
            break
    return 0


def _percent(text: str) -> Iterator[Piece]:
    for match in _PERCENT.finditer(text):
        found = "%" if match.group() == "%%" else hole(match.group(), match.group(1) or "")
        yield match.start(), match.end(), found


def _dollar(text: str) -> Iterator[Piece]:
    for match in _DOLLAR.finditer(text):
        found = "$" if match.group(1) else hole(match.group(), match.group(2) or match.group(3))
        yield match.start(), match.end(), found


def braced(names: frozenset[str]) -> Scanner:
    """Return the scanner of the style ``braces`` for these names only."""
    return _named(_BRACES, names)


def _named(pattern: re.Pattern[str], names: frozenset[str] | None = None) -> Scanner:
    def scan(text: str) -> Iterator[Piece]:
        for match in pattern.finditer(text):
            name = next(group for group in match.groups() if group).strip()
            if name in names if names is not None else name not in _MARKERS:
                yield match.start(), match.end(), hole(match.group(), name)

    return scan


SCANNERS: Mapping[str, Scanner] = {
    "format": _format,
    "braces": _named(_BRACES),
    "percent": _percent,
    "dollar": _dollar,
    "angle": _named(_ANGLE),
    "bang": _named(_BANG),
}
