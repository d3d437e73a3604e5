"""Cache marks as they stand in request bodies."""

from __future__ import annotations

from promptlint.frontends.documents.nodes import DictNode, Scalar, place_of
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Breakpoint
from promptlint.source import Place, Span

MARKERS = ("cache_control", "cachePoint", "prompt_cache_breakpoint")


def mark_of(block: DictNode) -> Breakpoint | None:
    """Return the cache mark that a content block, tool or message carries, or is."""
    for marker in MARKERS:
        entry = block.entry(marker)
        if entry is not None:
            ttl = entry.value.get("ttl") if isinstance(entry.value, DictNode) else None
            written = ttl.text if isinstance(ttl, MappedText) else ttl.raw if isinstance(ttl, Scalar) else ""
            place = Place(entry.key.path, Span(entry.key.span.start, place_of(entry.value).span.end))
            return Breakpoint(place, marker, written)
    return None


def is_bare_mark(block: DictNode) -> bool:
    """Tell whether a block is only a mark, as Bedrock writes them between content."""
    return block.names() == ("cachePoint",)
