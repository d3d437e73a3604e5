"""Front matter: the YAML between two ``---`` lines at the top of a file."""

from __future__ import annotations

import re

from promptlint.frontends.documents import tree
from promptlint.frontends.documents.nodes import DictNode
from promptlint.frontends.mapped import MappedText
from promptlint.source import SourceFile

_FRONT = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*---[ \t]*\n(?:.*?\n)??---[ \t]*(?:\n|\Z)", re.DOTALL)


def body_start(text: str) -> int:
    """Return where the text behind the front matter begins; 0 without front matter."""
    match = _FRONT.match(text)
    return match.end() if match else 0


def split(source: SourceFile) -> tuple[DictNode | None, MappedText]:
    """Return the front matter, None where there is none, and the text behind it.

    Raises:
        DataError: the front matter is not YAML.
    """
    start = body_start(source.text)
    body = MappedText.of(source, start)
    if start == 0:
        return None, body
    head = source.text[:start].rstrip().removesuffix("---")
    node = tree.load(SourceFile(source.path, head), "yaml")
    return (node if isinstance(node, DictNode) else None), body
