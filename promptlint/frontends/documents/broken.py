"""Malformed prompt files."""

from __future__ import annotations

from promptlint.frontends.documents import evidence
from promptlint.frontends.documents.nodes import DataError
from promptlint.layout import Layout, LayoutKind, Observation
from promptlint.source import SourceFile


def broken(source: SourceFile, error: DataError, *, certain: bool = False) -> list[Layout]:
    """Return an empty layout that says where reading stopped, if the file is certainly a prompt file.

    Many YAML and JSON files are templates for other programs, or wrong on purpose in tests; only its name
    or folder makes it worth a word.
    """
    if not (certain or evidence.is_named_prompt(source.path)):
        return []
    observation = Observation("parse-error", error.place, error.why)
    return [
        Layout(
            name=source.path.rpartition("/")[2].partition(".")[0],
            place=source.place(0, len(source.text)),
            segments=(),
            kind=LayoutKind.TEMPLATE,
            complete=False,
            gaps=(error.why,),
            observations=(observation,),
        )
    ]
