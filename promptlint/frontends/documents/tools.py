"""Tool definitions: the first thing in most requests, and the dearest to change."""

from __future__ import annotations

import json
from dataclasses import replace

from promptlint.frontends.documents.content import read_content
from promptlint.frontends.documents.draft import Draft
from promptlint.frontends.documents.marks import is_bare_mark, mark_of
from promptlint.frontends.documents.nodes import DictNode, ListNode, Node, place_of, plain, strings
from promptlint.layout import Section, Segment


def add(draft: Draft, node: Node | None) -> None:
    """Append a list of tools, each with an index of its own; anything else is left alone."""
    if not isinstance(node, ListNode):
        return
    for tool in node.items:
        if not isinstance(tool, DictNode):
            continue
        if not is_bare_mark(tool):
            draft.add(replace(s, section=Section.TOOLS, message=draft.tools) for s in _segments(draft, tool))
            draft.tools += 1
        if mark := mark_of(tool):
            draft.mark(mark)


def _segments(draft: Draft, tool: DictNode) -> list[Segment]:
    """Return a tool as the JSON that is sent or, if anything in it is filled in, as its strings."""
    found = [s for _, text in strings(tool) for s in draft.take(read_content(text, draft.context))]
    if any(segment.is_hole for segment in found):
        return found
    return [Segment(place_of(tool), json.dumps(plain(tool), ensure_ascii=False))]
