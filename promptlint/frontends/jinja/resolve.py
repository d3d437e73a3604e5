"""Which file of the project a template name means."""

from __future__ import annotations

from posixpath import dirname, join, normpath

from promptlint.frontends.base import Context
from promptlint.source import SourceFile

#: Folder names that template loaders are usually pointed at.
_ROOTS = ("templates", "template", "prompts", "prompt", "prompt_templates")


_FOLDERS_UP = 4


def resolve(name: str, importer: str, context: Context) -> SourceFile | None:
    """Return the template called ``name`` in the file ``importer``, or None.

    Tried in this order: beside the importer, in each folder above it, in a root folder (``templates``,
    ``prompts``, …) beside one of those, and the only file of the project whose path ends with the name.
    A name that climbs (``../x``) is taken only if it leads to a file of the listing, never out of the
    project; hidden files are no templates.
    """
    wanted = normpath(name.replace("\\", "/").lstrip("/"))
    if any(part.startswith(".") and part != ".." for part in wanted.split("/")):
        return None
    climbs = wanted.startswith("..")
    for candidate in _candidates(wanted, importer):
        if candidate == importer or (climbs and candidate not in context.listing):
            continue
        found = context.load(candidate)
        if found is not None:
            return found
    if climbs:
        return None
    tail = f"/{wanted}"
    matches = [path for path in context.listing if path == wanted or path.endswith(tail)]
    if len(matches) == 1 and matches[0] != importer:
        return context.load(matches[0])
    return None


def _candidates(wanted: str, importer: str) -> list[str]:
    found: dict[str, None] = {}
    folder = dirname(importer)
    folders = [folder]
    # an absolute path does not tell where the project starts: look only a few folders up
    while folder and folder != "/" and (not importer.startswith("/") or len(folders) < _FOLDERS_UP):
        folder = dirname(folder)
        folders.append(folder)
    for base in folders:
        found[normpath(join(base, wanted))] = None
    for base in folders:
        for root in _ROOTS:
            found[normpath(join(base, root, wanted))] = None
    return list(found)
