"""What a frontend is given, and what it promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from promptlint.layout import Layout
from promptlint.source import SourceFile

MAX_PIECES = 20_000
"""Pieces of one prompt, texts and holes, that are read. More is an accident or an attack."""


@dataclass(frozen=True, slots=True)
class Delimiters:
    """Jinja delimiters; a project can set others."""

    block: tuple[str, str] = ("{%", "%}")
    variable: tuple[str, str] = ("{{", "}}")
    comment: tuple[str, str] = ("{#", "#}")


@dataclass(frozen=True, slots=True)
class Context:
    """The world of one run, as far as a frontend may see it.

    ``load`` reads another file of the project by its shown path (posix, as in `SourceFile.path`)
    and returns None where there is none; it never raises. ``listing`` names all files that may be
    included, so that a template name can be resolved by its tail.
    """

    load: Callable[[str], SourceFile | None]
    listing: tuple[str, ...] = ()
    delimiters: Delimiters = field(default_factory=Delimiters)
    options: Mapping[str, str] = field(default_factory=dict)


class Frontend(Protocol):
    """Reads one file. Raises `InputError` only; everything else is an incomplete layout."""

    def __call__(self, source: SourceFile, context: Context) -> list[Layout]:
        """Return the layouts of one file, in the order of their places."""
        ...
