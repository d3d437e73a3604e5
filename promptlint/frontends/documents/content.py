"""The text of one value or file as segments: Jinja, placeholders, or just words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter

from promptlint.frontends import fields
from promptlint.frontends.base import MAX_PIECES, Context
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Observation, Segment

LITERAL_STYLE = "literal"
_HANDLEBARS = ("{{#", "{{/", "{{>", "{{^", "{{else", "{{~#", "{{~/")


@dataclass(frozen=True, slots=True)
class Content:
    """Segments of one text, and where reading it gave up."""

    segments: tuple[Segment, ...]
    gaps: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()


def read_content(text: MappedText, context: Context, style: str = "") -> Content:
    """Cut a text by its placeholders.

    ``style`` is ``jinja``, ``literal``, a style of `fields`, or "" to find out. What Jinja leaves in
    single braces is looked at too: such texts are often filled in two stages.
    """
    guessed = not style
    style = style or style_of(text.text)
    if style == LITERAL_STYLE:
        whole = Segment(text.place(0, len(text.text)), text.text)
        return Content((whole,) if text.text else ())
    if style == "braces":
        return Content(fields.second_stage(text, fields.brace_names(text.text)))
    if style != "jinja":
        return Content(fields.segments(text, style))
    # Imported here: most documents hold no Jinja, and its parser is heavy.
    from promptlint.frontends import jinja

    fragment = jinja.segments(text, context)
    segments = fragment.segments
    names = fields.brace_names(text.text)
    if guessed and "{%" not in text.text and any(o.what == "parse-error" for o in fragment.observations):
        # Doubled braces around what is no expression are escaped ones, beside fields in single braces; else they
        # are marks of the program's own, as ``{{if notes}}``.
        return Content(fields.segments(text, "format" if names else "mustache"))
    if names:
        both = (piece for whole in segments for piece in _second_stage(whole, text, names))
        segments = tuple(islice(both, MAX_PIECES + 1))
    return Content(segments, fragment.gaps, fragment.observations)


def style_of(text: str) -> str:
    """Return how a text is filled: ``jinja``, a style of `fields`, or ``literal``."""
    if "{%" in text:
        return "jinja" if _is_jinja(text) else fields.detect(text) or LITERAL_STYLE
    found = fields.detect(text) or LITERAL_STYLE
    if found == "mustache" and not any(sign in text for sign in _HANDLEBARS) and _is_jinja(text):
        return "jinja"
    return found


def _is_jinja(text: str) -> bool:
    from promptlint.frontends import jinja

    return jinja.looks_like(text)


def _second_stage(segment: Segment, text: MappedText, names: frozenset[str]) -> Iterator[Segment]:
    """Cut the fields of a later stage out of a literal segment, keeping its role and guards."""
    if segment.text is None or "{" not in segment.text:
        yield segment
        return
    mapped = mapped_of(segment, text)
    if mapped is None:
        yield segment
        return
    for piece in fields.second_stage(mapped, names):
        yield replace(segment, place=piece.place, text=piece.text, origin=piece.origin)


def mapped_of(segment: Segment, text: MappedText) -> MappedText | None:
    """Return a literal segment as the part of ``text`` that it was cut from, None if it is not one.

    Whitespace control may have shortened it at its ends.
    """
    if segment.text is None or segment.place.path != text.path:
        return None
    start = _text_offset(text, segment.place.span.start)
    end = _text_offset(text, segment.place.span.end)
    at = text.text.find(segment.text, start, max(end, start + len(segment.text)) + 1)
    return None if at < 0 else text.slice(at, at + len(segment.text))


def _text_offset(text: MappedText, offset: int) -> int:
    """Return the first character of the text that stands at or behind a file offset."""
    index = bisect_right(text.runs, offset, key=itemgetter(1)) - 1
    if index < 0:
        return 0
    at, to = text.runs[index]
    limit = text.runs[index + 1][0] if index + 1 < len(text.runs) else len(text.text)
    return min(at + offset - to, limit)
