"""Roles in running text: ``system:`` alone on a line, or ``<message role="system">``, begins a message.

The first is how prompty and prompt flow write a chat, the second how Semantic Kernel does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from promptlint.frontends.documents.content import mapped_of
from promptlint.frontends.mapped import MappedText
from promptlint.frontends.roles import LINE, Speakers
from promptlint.layout import Segment

_ROLE = re.compile(
    rf"{LINE}(?:\n|\Z)"
    r"|<message role=[\"'](?P<tag>[a-z]+)[\"'][^<>]{0,200}>\n?|</(?P<end>message)>[ \t]*\n?",
    re.IGNORECASE | re.MULTILINE,
)


def has_roles(text: str) -> bool:
    """Tell whether a text has role lines: a system line, or any two."""
    found = [(match["line"] or match["tag"] or "").lower() for match in _ROLE.finditer(text)]
    return sum(map(bool, found)) > 1 or "system" in found


def split(segments: Sequence[Segment], text: MappedText) -> Iterator[Segment]:
    """Give each segment the role, section and index of its message, and take the role lines out."""
    speakers = Speakers()
    for segment in segments:
        mapped = mapped_of(segment, text)
        if mapped is None:
            yield speakers.spoken(segment)
            continue
        at = 0
        for match in _ROLE.finditer(mapped.text):
            if match["line"] and match.start() == 0 and not _opens_line(text, mapped.offset(0)):
                continue
            yield from _part(segment, mapped, at, match.start(), speakers)
            if match["end"]:
                speakers.role = ""
            else:
                speakers.begin((match["line"] or match["tag"]).lower())
            at = match.end()
        yield from _part(segment, mapped, at, len(mapped.text), speakers)


def _opens_line(text: MappedText, offset: int) -> bool:
    """Tell whether the file offset of a literal begins a line, or follows a tag that ends one."""
    run = bisect_right(text.runs, offset, key=itemgetter(1)) - 1
    index = min(len(text.text), text.runs[run][0] + offset - text.runs[run][1]) if run >= 0 else 0
    while index and text.text[index - 1] in " \t":
        index -= 1
    return offset <= text.offset(0) or not index or text.text.endswith(("\n", "%}"), 0, index)


def _part(
    segment: Segment, mapped: MappedText, start: int, end: int, speakers: Speakers
) -> Iterator[Segment]:
    if mapped.text[start:end].strip() or (start == 0 and end == len(mapped.text)):
        part = replace(segment, place=mapped.place(start, end), text=mapped.text[start:end])
        yield speakers.spoken(part)
