"""Dotprompt: front matter, then Handlebars with roles, history and media; partials are files of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from promptlint.frontends.base import Context
from promptlint.frontends.documents import front, tools
from promptlint.frontends.documents.content import read_content
from promptlint.frontends.documents.draft import Draft, parameters
from promptlint.frontends.documents.requests import provider_of_model
from promptlint.layout import Layout, LayoutKind, OriginKind, Segment
from promptlint.source import SourceFile


def read(source: SourceFile, context: Context) -> list[Layout]:
    """Read one ``.prompt`` file; a partial (``_name.prompt``) is read where it is used, too.

    Front matter that is not YAML gives a ``parse-error`` beside the messages.
    """
    parts = front.split(source)
    head = parts.head
    name = PurePosixPath(source.path).stem
    draft = Draft(name, source.place(0, len(source.text)), context, LayoutKind.TEMPLATE)
    if head is not None:
        draft.name = head.text("name") or name
        draft.model = head.text("model")
        draft.provider = provider_of_model(draft.model)
        draft.parameters += parameters(head.get("config"))
        tools.add(draft, head.get("tools"))
    draft.broken(parts.error)
    content = draft.take(read_content(parts.body, context, "mustache"))
    draft.add(_with_partials(content, (source.path,), draft))
    return [draft.layout()]


def _with_partials(segments: Iterable[Segment], chain: tuple[str, ...], draft: Draft) -> Iterator[Segment]:
    """Put the text of each partial where it is included; ``chain`` are the files that led here."""
    for segment in segments:
        if segment.origin.kind is not OriginKind.INCLUDE:
            yield segment
            continue
        partial = _partial(segment.origin.name, chain[-1], draft.context)
        if partial is None or partial.path in chain:
            why = "was not found" if partial is None else "includes itself"
            draft.gaps.append(f"partial {segment.origin.name} {why}")
            yield segment
            continue
        inner = draft.take(read_content(front.split(partial).body, draft.context, "mustache"))
        for piece in _with_partials(inner, (*chain, partial.path), draft):
            yield _within(segment, piece)


def _within(include: Segment, piece: Segment) -> Segment:
    """Return a partial's piece as part of the message in which it is included."""
    if piece.role:
        return replace(piece, guards=include.guards + piece.guards)
    return replace(
        piece,
        role=include.role,
        section=include.section,
        message=include.message,
        guards=include.guards + piece.guards,
    )


def _partial(name: str, path: str, context: Context) -> SourceFile | None:
    """Find ``_name.prompt`` beside the file that names it, or in a folder ``partials``."""
    folder = PurePosixPath(path).parent
    for place in (folder, folder / "partials"):
        for file in (f"_{name}.prompt", f"{name}.prompt"):
            if (found := context.load((place / file).as_posix())) is not None:
                return found
    return None
