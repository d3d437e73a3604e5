"""Role lines in prompt text: ``system:``, ``# user:`` on a line of their own start a message.

promptflow, prompty and others write chat prompts this way. The text counts as such only if its first
line that is not blank is a role line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from promptlint.frontends.roles import LINE, Speakers
from promptlint.layout import Segment
from promptlint.source import Place, Span

_LINE = re.compile(rf"{LINE}$", re.MULTILINE | re.IGNORECASE)


def has_roles(segments: Sequence[Segment]) -> bool:
    """Tell whether the first text of a prompt is a role line."""
    for segment in segments:
        if segment.text is None:
            return False
        if segment.text.strip():
            return _LINE.match(segment.text.lstrip().partition("\n")[0]) is not None
    return False


def assign_roles(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Return segments cut at role lines, with role, section and message number.

    The message number counts role lines as they are written: a loop over turns counts once.
    """
    if not has_roles(segments):
        return tuple(segments)
    found: list[Segment] = []
    speakers = Speakers()
    for segment in segments:
        if segment.text is None:
            found.append(speakers.spoken(segment))
            continue
        start = 0
        for match in [*_LINE.finditer(segment.text), None]:
            end = match.start() if match else len(segment.text)
            if end > start:
                found.append(speakers.spoken(_cut(segment, start, end)))
            if match:
                speakers.begin(match["line"].lower())
                start = match.start()
    return tuple(found)


def _cut(segment: Segment, start: int, end: int) -> Segment:
    text = segment.text or ""
    span = segment.place.span
    if span.end - span.start != len(text):  # printed by an expression: the whole of it is its place
        return replace(segment, text=text[start:end])
    place = Place(segment.place.path, Span(span.start + start, span.start + end))
    return replace(segment, place=place, text=text[start:end])
