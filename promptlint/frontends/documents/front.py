"""Front matter: the YAML between two ``---`` lines at the top of a file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from promptlint.frontends.documents import tree
from promptlint.frontends.documents.nodes import DataError, DictNode
from promptlint.frontends.mapped import MappedText
from promptlint.source import SourceFile

_FRONT = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*---[ \t]*\n(?:.*?\n)??---[ \t]*(?:\n|\Z)", re.DOTALL)


def body_start(text: str) -> int:
    """Return where the text behind the front matter begins; 0 without front matter."""
    match = _FRONT.match(text)
    return match.end() if match else 0


@dataclass(frozen=True, slots=True)
class Front:
    """A file cut in two. ``head`` is None without front matter, or if ``error`` says why it is unreadable."""

    head: DictNode | None
    body: MappedText
    error: DataError | None = None


def split(source: SourceFile) -> Front:
    """Return the front matter and the text behind it."""
    start = body_start(source.text)
    body = MappedText.of(source, start)
    if start == 0:
        return Front(None, body)
    head = source.text[:start].rstrip().removesuffix("---")
    try:
        node = tree.load(SourceFile(source.path, head), "yaml")
    except DataError as error:
        return Front(None, body, error)
    return Front(node if isinstance(node, DictNode) else None, body)
