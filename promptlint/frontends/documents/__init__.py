"""Prompts kept as documents: prompty, dotprompt, YAML, JSON, TOML, Markdown and text.

`claims` says cheaply whether a file is worth reading, `read` returns its layouts, and
`tree.load` gives any data file as a tree with places.
"""

from __future__ import annotations

from promptlint.frontends.base import Context
from promptlint.frontends.documents import evidence
from promptlint.frontends.documents.claims import DATA_SUFFIXES, HEAD, SEMANTIC_KERNEL, claims
from promptlint.layout import Layout
from promptlint.source import SourceFile

__all__ = ["HEAD", "claims", "read"]


def read(source: SourceFile, context: Context, *, named: bool = False) -> list[Layout]:
    """Return the prompts of one document, none if it holds none.

    ``named`` says that the user asked for this very file: then it needs no further sign of being a
    prompt. A file that is certainly a prompt file and malformed gives one layout with a
    ``parse-error``; any other malformed file gives nothing. Never raises for what stands in the file.
    """
    # Readers are imported here, so that asking `claims` loads none of them.
    from promptlint.frontends.documents import dotprompt, prompty, semantic_kernel, shapes, textfile
    from promptlint.frontends.documents.broken import broken
    from promptlint.frontends.documents.nodes import DataError

    path = source.path.lower()
    if path.endswith(".prompty"):
        return prompty.read(source, context)
    if path.endswith(".prompt"):
        return dotprompt.read(source, context)
    if path.rpartition("/")[2] == SEMANTIC_KERNEL:
        return semantic_kernel.read_folder(source, context)
    if not path.endswith(DATA_SUFFIXES):
        return textfile.read(source, context, certain=named)
    try:
        return shapes.read(source, context, certain=named)
    except DataError as error:
        if "{%" in source.text and evidence.is_named_prompt(source.path):
            return textfile.read(source, context, certain=True)  # a template that prints YAML or JSON
        return broken(source, error, certain=named)
