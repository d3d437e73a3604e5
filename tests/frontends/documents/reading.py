"""Documents read from text, for the tests beside."""

from __future__ import annotations

from collections.abc import Mapping

from promptlint.frontends import documents
from promptlint.frontends.base import Context
from promptlint.layout import Layout, Segment
from promptlint.source import SourceFile


def read(path: str, text: str, others: Mapping[str, str] | None = None) -> list[Layout]:
    """Read one file, after `claims` has agreed to it as the engine would ask."""
    files = {path: text, **(others or {})}
    if not documents.claims(path, text[: documents.HEAD]):
        return []

    def load(name: str) -> SourceFile | None:
        return SourceFile(name, files[name]) if name in files else None

    return documents.read(SourceFile(path, text), Context(load=load, listing=tuple(files)))


def one(path: str, text: str, others: Mapping[str, str] | None = None) -> Layout:
    (layout,) = read(path, text, others)
    return layout


def outline(layout: Layout) -> list[tuple[str, str, int, str]]:
    return [(s.section.value, s.role, s.message, shown(s)) for s in layout.segments]


def shown(segment: Segment) -> str:
    return f"<{segment.origin.name}>" if segment.text is None else segment.text.strip()


def source_of(segment: Segment, text: str) -> str:
    return text[segment.place.span.start : segment.place.span.end]
