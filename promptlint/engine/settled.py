"""Which holes of a template are filled by the code that renders it.

A layout that code assembled from a template alternates between the two files::

    t.j2  "It is "    app.py  "noon"    t.j2  ". You are …"
    0 ── 6                              17 ── 40

What the template has between 6 and 17 is settled: the program says what stands there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from promptlint.layout import Confidence, Layout, Scope, Segment
from promptlint.source import Place, Span


def settled(path: str, layouts: Iterable[Layout]) -> tuple[Place, ...]:
    """Return the ranges in other files whose text the code in ``path`` decides, in all its layouts."""
    found: set[Place] = set()
    for layout in layouts:
        for other in {s.place.path for s in layout.segments} - {path}:
            found.update(_gaps(other, layout.segments))
    return tuple(sorted(found))


def _gaps(path: str, segments: Sequence[Segment]) -> Iterator[Place]:
    """Yield the ranges of one file that are filled from elsewhere, between two of its own segments."""
    begun: int | None = None
    filled = False
    for segment in segments:
        if segment.place.path == path:
            if begun is not None and filled and segment.place.span.start > begun:
                yield Place(path, Span(begun, segment.place.span.start))
            begun, filled = segment.place.span.end, True
        elif not _known(segment):
            filled = False


def _known(segment: Segment) -> bool:
    """Tell whether a piece is fixed text, or a value that was followed to its source."""
    if segment.text is not None:
        return True
    cause = segment.cause
    return segment.scope is not Scope.UNKNOWN and (cause is None or cause.confidence is not Confidence.LOW)
