"""What kind of file a name speaks of."""

from __future__ import annotations

import re
from enum import StrEnum

from promptlint.globs import PathRules


class FileType(StrEnum):
    """How a file is read. Of a `DOCUMENT` only its content tells whether it holds a prompt."""

    PYTHON = "python"
    JINJA = "jinja"
    CHAT_TEMPLATE = "chat-template"
    DOCUMENT = "document"


_DOCUMENTS = (
    *(".md", ".markdown", ".mdx", ".txt", ".text", ".yaml", ".yml", ".json", ".toml", ".prompty", ".prompt"),
    *(".prompts", ".xml", ".poml", ".hbs", ".handlebars", ".mustache", ".tmpl", ".tpl"),
)
_BY_SUFFIX = {
    **dict.fromkeys(_DOCUMENTS, FileType.DOCUMENT),
    ".py": FileType.PYTHON,
    ".j2": FileType.JINJA,
    ".jinja": FileType.JINJA,
    ".jinja2": FileType.JINJA,
    ".jinja-md": FileType.JINJA,
}
_GENERATED = re.compile(
    "bash|bat|bzl|c|cc|cfg|cmake|conf|cpp|cs|css|csv|env|go|h|hcl|hpp|htm|html|ini|ipynb|java|js|jsx|kt|lua|mk|php|"
    "properties|proto|ps1|py|pyi|r|rb|rs|rst|scala|scss|sd|service|sh|sql|swift|tex|tf|toml|ts|tsx|vue|zsh"
)
"""Of ``x.py.j2``: templates that write programs, pages and settings, not prompts."""
_DATA = frozenset({"json", "yaml", "yml"})  # the same, unless the name speaks of a prompt
_CHAT_TEMPLATES = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json")


def type_of(name: str, include: PathRules | None = None) -> FileType | None:
    """Return how a file is read, judging by its name alone; None where promptlint does not read it."""
    base = name.rpartition("/")[2]
    if base in _CHAT_TEMPLATES:
        return FileType.CHAT_TEMPLATE
    stem, _, suffix = base.rpartition(".")
    found = _BY_SUFFIX.get(f".{suffix.lower()}") if stem else None
    if found is FileType.JINJA:
        if "chat_template" in name:
            return FileType.CHAT_TEMPLATE
        inner = stem.rpartition(".")[2].lower() if "." in stem else ""
        if (
            _GENERATED.fullmatch(inner)
            or (inner in _DATA and "prompt" not in base.lower())
            or stem == "Dockerfile"
        ):
            return None
    if found is None and include is not None and include.matches(name):
        return FileType.JINJA
    return found
