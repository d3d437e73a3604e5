"""JSON inside a string of another file, with places in that file."""

from __future__ import annotations

from promptlint.frontends.documents import json_tree
from promptlint.frontends.documents.nodes import (
    DataError,
    DictNode,
    Entry,
    ListNode,
    Node,
    Scalar,
    runs_of,
)
from promptlint.frontends.mapped import MappedText
from promptlint.source import Place, SourceFile

_MAX_CHARACTERS = 100_000


def load_json(text: MappedText) -> ListNode | DictNode | None:
    """Read a string as a JSON list or mapping; None if it is neither."""
    stripped = text.text.strip()
    if len(stripped) > _MAX_CHARACTERS or stripped[:1] + stripped[-1:] not in ("[]", "{}"):
        return None
    try:
        node = _lifted(json_tree.load(SourceFile(text.path, text.text)), text)
    except DataError:
        return None
    return node if isinstance(node, ListNode | DictNode) else None


def _lifted(node: Node, outer: MappedText) -> Node:
    """Return a tree whose places are those of the file instead of the string."""
    if isinstance(node, MappedText):
        offsets = [outer.offset(node.offset(i)) for i in range(len(node.text))]
        end = offsets[-1] + 1 if offsets else outer.offset(node.end)
        return MappedText(outer.path, node.text, runs_of(offsets, end), end)
    place = _place(node.place, outer)
    if isinstance(node, Scalar):
        return Scalar(place, node.value, node.raw)
    if isinstance(node, ListNode):
        return ListNode(place, tuple(_lifted(item, outer) for item in node.items))
    entries = (Entry(e.name, _place(e.key, outer), _lifted(e.value, outer)) for e in node.entries)
    return DictNode(place, tuple(entries))


def _place(place: Place, outer: MappedText) -> Place:
    return outer.place(place.span.start, place.span.end)
