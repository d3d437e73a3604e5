"""A layout while its parts are gathered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from promptlint.frontends.base import MAX_PIECES, Context
from promptlint.frontends.documents.content import Content, read_content
from promptlint.frontends.documents.nodes import DataError, DictNode, Node, Scalar, place_of, plain
from promptlint.frontends.mapped import MappedText
from promptlint.frontends.roles import Speakers
from promptlint.layout import (
    Breakpoint,
    Confidence,
    Layout,
    LayoutKind,
    Observation,
    Parameter,
    Section,
    Segment,
)
from promptlint.source import Place

_TOO_MANY = f"it has more than {MAX_PIECES:,} pieces: the rest was not read"
_ORDER = {section: index for index, section in enumerate(Section)}


@dataclass(slots=True)
class Draft:
    """Gathers segments, messages, marks and parameters of one prompt."""

    name: str
    place: Place
    context: Context
    kind: LayoutKind = LayoutKind.PROMPT
    provider: str = ""
    model: str = ""
    confidence: Confidence = Confidence.HIGH
    segments: list[Segment] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    parameters: list[Parameter] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    speakers: Speakers = field(default_factory=Speakers)
    tools: int = 0

    def add(self, segments: Iterable[Segment]) -> None:
        """Append segments as they are, as far as there is room."""
        room = MAX_PIECES - len(self.segments)
        self.segments.extend(found := list(islice(segments, room + 1)))
        if len(found) > room:
            self.segments.pop()
            if _TOO_MANY not in self.gaps:
                self.gaps.append(_TOO_MANY)

    def take(self, content: Content) -> tuple[Segment, ...]:
        """Note what a content could not tell, and return its segments."""
        self.gaps.extend(content.gaps)
        self.observations.extend(content.observations)
        return content.segments

    def say(self, text: MappedText, style: str = "") -> None:
        """Append a text to the current message."""
        if _TOO_MANY in self.gaps:
            return
        content = self.take(read_content(text, self.context, style))
        self.add(self.speakers.spoken(segment) for segment in content)

    def message(self, role: str, *texts: MappedText, style: str = "") -> None:
        """Append a message."""
        self.speakers.begin(role)
        for text in texts:
            self.say(text, style)

    def mark(self, breakpoint: Breakpoint) -> None:
        """Put a cache mark at the end of what was added last."""
        if self.segments:
            self.segments[-1] = replace(self.segments[-1], breakpoint=breakpoint)

    def parameter(self, name: str, value: Node) -> None:
        """Note a request parameter; a constant keeps its text."""
        self.parameters.append(parameter(name, value))

    def broken(self, error: DataError | None) -> None:
        """Note where a part of the file could not be read."""
        if error is not None:
            self.gaps.append(error.why)
            self.observations.append(Observation("parse-error", error.place, error.why))

    def layout(self) -> Layout:
        """Return the finished layout, sections in the order in which providers read them."""
        ordered = sorted(self.segments, key=lambda segment: _ORDER[segment.section])
        return Layout(
            name=self.name,
            place=self.place,
            segments=tuple(ordered),
            kind=self.kind,
            complete=not self.gaps,
            gaps=tuple(self.gaps),
            provider=self.provider,
            model=self.model,
            confidence=self.confidence,
            parameters=tuple(self.parameters),
            observations=tuple(self.observations),
        )


def parameter(name: str, value: Node) -> Parameter:
    """Return a request parameter; of a list or mapping, the text is JSON."""
    if isinstance(value, MappedText):
        text = value.text
    elif isinstance(value, Scalar):
        text = value.raw
    else:
        text = json.dumps(plain(value), ensure_ascii=False)
    return Parameter(name, place_of(value), text)


def parameters(node: Node | None, names: Sequence[str] = ()) -> list[Parameter]:
    """Return the entries of a mapping as parameters, all of them or those of these names."""
    if not isinstance(node, DictNode):
        return []
    return [parameter(e.name, e.value) for e in node.distinct() if not names or e.name in names]
