"""Prompts kept as documents: prompty, dotprompt, YAML, JSON, TOML, Markdown and text.

`claims` says cheaply whether a file is worth reading, `read` returns its layouts, and
`tree.load` gives any data file as a tree with places.
"""

from __future__ import annotations

from promptlint.frontends.base import Context
from promptlint.frontends.documents.claims import HEAD, SEMANTIC_KERNEL, TEXT_SUFFIXES, claims
from promptlint.layout import Layout
from promptlint.source import SourceFile

__all__ = ["HEAD", "claims", "read"]


def read(source: SourceFile, context: Context) -> list[Layout]:
    """Return the prompts of one document, none if it holds none.

    A file that is certainly a prompt file and malformed gives one empty layout with a ``parse-error``;
    any other malformed file gives nothing. Never raises for what stands in the file.
    """
    # Readers are imported here, so that asking `claims` loads none of them.
    from promptlint.frontends.documents import dotprompt, prompty, semantic_kernel, shapes, textfile
    from promptlint.frontends.documents.broken import broken
    from promptlint.frontends.documents.nodes import DataError

    path = source.path.lower()
    try:
        if path.endswith(".prompty"):
            return prompty.read(source, context)
        if path.endswith(".prompt"):
            return dotprompt.read(source, context)
        if path.endswith("/" + SEMANTIC_KERNEL):
            return semantic_kernel.read_folder(source, context)
        if path.endswith(TEXT_SUFFIXES):
            return textfile.read(source, context)
        return shapes.read(source, context)
    except DataError as error:
        return broken(source, error)
