"""Markdown and plain text: the whole file is a prompt, or it is none."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from promptlint.frontends.base import Context
from promptlint.frontends.documents import evidence, front, roles
from promptlint.frontends.documents.content import LITERAL_STYLE, read_content, style_of
from promptlint.frontends.documents.draft import Draft
from promptlint.frontends.documents.requests import provider_of_model
from promptlint.frontends.documents.screen import claims
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Confidence, Layout, LayoutKind
from promptlint.source import SourceFile

MAX_CHARACTERS = 200_000
# In templates with `!<INPUT 0>!` fields what stands before this mark explains them, and is cut off before use.
_LEGEND_END = "<commentblockmarker>###</commentblockmarker>"
_QUOTED = re.compile(r"`[^`\n]*\{[{%#]")
_READ_AS_IT_STANDS = (
    ".instructions.md",
    "copilot-instructions.md",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    "SKILL.md",
)
_STYLES = {
    ".hbs": "mustache",
    ".handlebars": "mustache",
    ".mustache": "mustache",
    ".tmpl": "mustache",
    ".tpl": "mustache",
}


def read(source: SourceFile, context: Context, *, certain: bool = False) -> list[Layout]:
    """Return the layout of a text file that is a prompt, else nothing; ``certain`` asks for no proof.

    A file named after prompts must speak to a model or have placeholders; any other must do both.
    """
    path = source.path
    if not certain and (len(source.text) > MAX_CHARACTERS or not claims(path, source.text)):
        return []
    parts = front.split(source)
    # Two rules around a text are no front matter.
    body = parts.body if parts.head is not None else MappedText.of(source)
    legend = body.text.find(_LEGEND_END)
    if legend >= 0:
        body = body.slice(legend + len(_LEGEND_END), len(body.text))
    told = _told_style(path)
    style = told or style_of(body.text)
    confidence = Confidence.HIGH if certain else _confidence(path, body.text, style != LITERAL_STYLE)
    if confidence is None:
        return []
    name = PurePosixPath(path).name.partition(".")[0]
    draft = Draft(name, source.place(0, len(source.text)), context, LayoutKind.TEMPLATE)
    draft.confidence = confidence
    if parts.head is not None:
        draft.model = parts.head.text("model")
        draft.provider = provider_of_model(draft.model)
    read_as = read_content(body, context, told)
    if read_as.observations and not (certain or told) and _only_shows(path, body.text):
        return []
    content = draft.take(read_as)
    if roles.has_roles(body.text):
        draft.add(roles.split(content, body))
    else:
        draft.speakers.begin("system" if evidence.names_system(path) else "")
        draft.add(draft.speakers.spoken(segment) for segment in content)
    return [draft.layout()]


def _told_style(path: str) -> str:
    """Return how the name says that the file is filled; coding assistants read theirs as it stands."""
    if path.endswith(_READ_AS_IT_STANDS):
        return LITERAL_STYLE
    return _STYLES.get(PurePosixPath(path).suffix.lower(), "")


def _confidence(path: str, text: str, has_fields: bool) -> Confidence | None:
    """Return how sure it is that a text is a prompt, None if it is not."""
    addressed = evidence.is_addressed(text)
    signs = evidence.documentation_signs(text)
    if evidence.is_named_prompt(path) or evidence.names_system(path):
        if has_fields and signs < 8:
            return Confidence.HIGH if addressed or not signs else Confidence.MEDIUM
        if addressed and signs < 3:
            return Confidence.MEDIUM
        return Confidence.LOW if _is_plain_prose(path, text) and not signs else None
    return Confidence.LOW if has_fields and addressed and signs == 0 else None


def _only_shows(path: str, text: str) -> bool:
    """Tell whether a text that is no template after all is one about templates: it quotes their marks."""
    return not evidence.is_named_prompt(path) or _QUOTED.search(text) is not None


def _is_plain_prose(path: str, text: str) -> bool:
    """Tell whether a file of a prompts folder just says something, as parts of prompts do."""
    return evidence.is_prompt_name(path.rpartition("/")[0].rpartition("/")[2]) and len(text.split()) >= 8
