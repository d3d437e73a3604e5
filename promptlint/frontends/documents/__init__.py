"""Prompts kept as documents: prompty, dotprompt, YAML, JSON, TOML, Markdown and text.

`claims` says cheaply whether a file is worth reading, `read` returns its layouts, and
`tree.load` gives any data file as a tree with places.
"""

from __future__ import annotations

from promptlint.frontends.base import Context
from promptlint.layout import Layout
from promptlint.source import SourceFile

HEAD = 65_536
"""How many characters of a file are worth showing to `claims`."""


def claims(path: str, head: str) -> bool:
    """Tell whether `read` should look at a file, by its name and beginning; costs microseconds.

    True only says that it is worth parsing. What first speaks of prompts behind the head is missed.
    """
    # Imported here, as the readers below are: a run over Python alone needs only `tree`.
    from promptlint.frontends.documents import screen

    return screen.claims(path, head)


def read(source: SourceFile, context: Context, *, named: bool = False) -> list[Layout]:
    """Return the prompts of one document, none if it holds none.

    ``named`` says that the user asked for this very file: then it needs no further sign of being a
    prompt. A file that is certainly a prompt file and malformed gives one layout with a
    ``parse-error``; any other malformed file gives nothing. Never raises for what stands in the file.
    """
    from promptlint.frontends.documents import dotprompt, evidence, prompty, semantic_kernel, shapes, textfile
    from promptlint.frontends.documents.broken import broken
    from promptlint.frontends.documents.nodes import DataError
    from promptlint.frontends.documents.screen import DATA_SUFFIXES, SEMANTIC_KERNEL

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
