"""`load`: a data file as a tree with places, whatever it is written in."""

from __future__ import annotations

from pathlib import PurePosixPath

from promptlint.frontends.documents.nodes import (
    DataError,
    DictNode,
    Entry,
    ListNode,
    Node,
    Scalar,
    place_of,
    plain,
    strings,
)
from promptlint.source import SourceFile

FORMATS = {
    ".json": "json",
    ".jsonc": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
}

__all__ = [
    "FORMATS",
    "DataError",
    "DictNode",
    "Entry",
    "ListNode",
    "Node",
    "Scalar",
    "format_of",
    "load",
    "load_all",
    "place_of",
    "plain",
    "strings",
]


def format_of(path: str) -> str | None:
    """Return ``json``, ``yaml`` or ``toml`` by the ending of a name, None for any other."""
    return FORMATS.get(PurePosixPath(path).suffix.lower())


def load(source: SourceFile, format: str | None = None) -> Node:
    """Read a data file; of a YAML stream, the first document.

    ``format`` is ``json``, ``yaml`` or ``toml``; None goes by the file's ending, and YAML where that
    says nothing (it takes most JSON too). An empty YAML file is a `Scalar` whose value is None.

    Raises:
        DataError: the text is malformed, too deep, or an alias bomb; it is an `InputError` with a place.
        ValueError: an unknown format.
    """
    documents = load_all(source, format)
    return documents[0] if documents else Scalar(source.place(0, 0), None, "")


def load_all(source: SourceFile, format: str | None = None) -> tuple[Node, ...]:
    """Read every document of a data file: one, except for YAML streams. See `load`."""
    match format or format_of(source.path) or "yaml":
        case "json":
            from promptlint.frontends.documents import json_tree

            return (json_tree.load(source),)
        case "toml":
            from promptlint.frontends.documents import toml_tree

            return (toml_tree.load(source),)
        case "yaml":
            from promptlint.frontends.documents import yaml_tree

            return yaml_tree.load_all(source)
        case other:
            raise ValueError(f"unknown data format {other!r}")
