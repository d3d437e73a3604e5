"""Which file of the project a template name means."""

from __future__ import annotations

from posixpath import dirname, join, normpath

from promptlint.frontends.base import Context
from promptlint.source import SourceFile

#: Folder names that template loaders are usually pointed at.
_ROOTS = ("templates", "template", "prompts", "prompt", "prompt_templates")


def resolve(name: str, importer: str, context: Context) -> SourceFile | None:
    """Return the template called ``name`` in the file ``importer``, or None.

    Tried in this order: beside the importer, in each folder above it, in a root folder (``templates``,
    ``prompts``, …) beside one of those, and the only file of the project whose path ends with the name.
    """
    wanted = normpath(name.replace("\\", "/").lstrip("/"))
    if not wanted or (wanted.startswith("..") and not dirname(importer)):
        return None
    for candidate in _candidates(wanted, importer):
        if candidate != importer or name == importer:
            found = context.load(candidate)
            if found is not None:
                return found
    tail = f"/{wanted}"
    matches = [path for path in context.listing if path == wanted or path.endswith(tail)]
    if len(matches) == 1 and matches[0] != importer:
        return context.load(matches[0])
    return None


def _candidates(wanted: str, importer: str) -> list[str]:
    found: dict[str, None] = {}
    folder = dirname(importer)
    folders = [folder]
    while folder and folder != "/":
        folder = dirname(folder)
        folders.append(folder)
    for base in folders:
        found[normpath(join(base, wanted))] = None
    for base in folders:
        for root in _ROOTS:
            found[normpath(join(base, root, wanted))] = None
    return list(found)
