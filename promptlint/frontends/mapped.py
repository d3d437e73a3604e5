"""Decoded text with the way back to the file it came from.

A YAML block scalar loses its indentation, a JSON or Python string its escapes; what is found in the
decoded text must still be shown at its place in the file::

    file     "Hi {name},\\n{text}"
    text      Hi {name},⏎{text}
    runs      (0, 1)    (10, 12)      offset in text, offset in file
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from promptlint.source import Place, SourceFile, Span


@dataclass(frozen=True, slots=True)
class MappedText:
    """Text, and for each of its runs the file offset at which it starts.

    Within a run both offsets advance together. ``end`` is the file offset behind the last character.
    """

    path: str
    text: str
    runs: tuple[tuple[int, int], ...]
    end: int

    @classmethod
    def of(cls, source: SourceFile, start: int = 0, end: int | None = None) -> MappedText:
        """Take a range of a file as it stands."""
        stop = len(source.text) if end is None else end
        return cls(source.path, source.text[start:stop], ((0, start),), stop)

    def offset(self, at: int) -> int:
        """Return the file offset of a character of the text."""
        if at >= len(self.text):
            return self.end
        run = self.runs[max(0, bisect_right(self.runs, (at, 1 << 62)) - 1)]
        return min(run[1] + at - run[0], self.end)

    def place(self, start: int, end: int) -> Place:
        """Return the place in the file of a range of the text."""
        first = self.offset(start)
        last = self.offset(end - 1) + 1 if end > start else first
        return Place(self.path, Span(first, max(first, last)))

    def slice(self, start: int, end: int) -> MappedText:
        """Return a range of the text, mapped alike."""
        runs = [(0, self.offset(start))]
        low = bisect_right(self.runs, (start, 1 << 62))
        high = bisect_left(self.runs, (end, 0), low)
        runs += [(at - start, to) for at, to in self.runs[low:high]]
        return MappedText(self.path, self.text[start:end], tuple(runs), self.place(start, end).span.end)
