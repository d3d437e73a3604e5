"""What is shown elsewhere: fields that code fills, and texts that are part of a request.

A layout that code assembled from a template alternates between the two files::

    t.j2  "It is "    app.py  "noon"    t.j2  ". You are …"
    0 ── 6                              17 ── 40

What the template has between 6 and 17 is settled: the program says what stands there. Between two messages, or
between two texts of a Python file, there is code, and other prompts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from promptlint.layout import Confidence, Kind, Layout, LayoutKind, Scope, Section, Segment
from promptlint.source import Place, Span

TURNS = "messages"  # what a hole is called that stands for the turns so far
_LOOKED_BACK = 32  # segments of a file among which the one in front of a field is looked for
FIELD = 120  # characters of the longest field, ends of strings around it included, within one text of a Python file


def settled(path: str, layouts: Iterable[Layout]) -> tuple[Place, ...]:
    """Return the ranges in other files whose text the code in ``path`` decides, in all its layouts."""
    found: set[Place] = set()
    for layout in layouts:
        for other in {s.place.path for s in layout.segments} - {path}:
            found.update(_gaps(other, layout.segments))
    return tuple(sorted(found))


def unshown(layouts: Sequence[Layout]) -> Iterator[Layout]:
    """Yield the layouts without the texts and messages that a request of the same file shows in their place.

    Of a turn alone nobody can tell whether a conversation stands in front of it. A message that a request has as one
    of the turns so far is shown there as the conversation.
    """
    sent = [layout for layout in layouts if layout.kind is LayoutKind.REQUEST]
    requests = [
        (_pieces(layout) | {(s.place, s.is_hole, None) for s in layout.segments}, layout.alone)
        for layout in sent
    ]
    turns = {segment.place for layout in sent for segment in layout.segments if segment.origin.name == TURNS}
    for layout in layouts:
        goes_on = layout.repeated and not any(s.section is Section.TOOLS for s in layout.segments[:1])
        part = layout.kind is LayoutKind.PROMPT and not layout.observations
        pieces = _pieces(layout) if part and requests else frozenset()
        shown = any(pieces <= whole and alone >= goes_on for whole, alone in requests)
        if not (pieces and (shown or (not goes_on and _all_in(layout, turns)))):
            yield layout


def _all_in(layout: Layout, turns: set[Place]) -> bool:
    """Tell whether a prompt is made of messages that a request has as turns so far."""
    return all(any(_holds(turn, segment.place) for turn in turns) for segment in layout.segments)


def _holds(outer: Place, inner: Place) -> bool:
    spans = outer.span.start <= inner.span.start and inner.span.end <= outer.span.end
    return spans and outer.path == inner.path


def _pieces(layout: Layout) -> frozenset[tuple[Place, bool, Kind | None]]:
    """Return what stands where; a request that leaves a field open does not show what fills it."""
    return frozenset((s.place, s.is_hole, s.cause.kind if s.cause else None) for s in layout.segments)


def _gaps(path: str, segments: Sequence[Segment]) -> Iterator[Place]:
    """Yield the ranges of one file that are filled from elsewhere, between two of its own segments.

    What fills a field may stand in the same file, so the segment in front of the field need not be the last one.
    """
    ends: deque[int] = deque(maxlen=_LOOKED_BACK)
    message: tuple[Section, int] | None = None
    for segment in segments:
        if segment.of_message != message:
            ends.clear()
            message = segment.of_message
        if segment.place.path == path:
            start = segment.place.span.start
            before = max((end for end in ends if end <= start), default=start)
            if before < start and _may_be_one(path, start - before):
                yield Place(path, Span(before, start))
        if not _known(segment):
            ends.clear()
        if segment.place.path == path:
            ends.append(segment.place.span.end)


def _may_be_one(path: str, length: int) -> bool:
    """Tell whether a range of a file may be a hole of one text, by its length."""
    return length <= FIELD or not path.endswith(".py")


def _known(segment: Segment) -> bool:
    """Tell whether a piece is fixed text, or a value that was followed to its source."""
    if segment.text is not None:
        return True
    cause = segment.cause
    return segment.scope is not Scope.UNKNOWN and (cause is None or cause.confidence is not Confidence.LOW)
