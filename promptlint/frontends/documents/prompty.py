"""Prompty: front matter, then messages begun by role lines, filled by Jinja (or Mustache).

::

    ---
    name: Chat
    model: {api: chat, configuration: {type: azure_openai}, parameters: {max_tokens: 256}}
    ---
    system:
    You help {{name}}.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from promptlint.frontends.base import Context
from promptlint.frontends.documents import front, roles, tools
from promptlint.frontends.documents.content import read_content
from promptlint.frontends.documents.draft import Draft, parameters
from promptlint.frontends.documents.nodes import DictNode
from promptlint.layout import Layout, LayoutKind
from promptlint.source import SourceFile

_PROVIDERS = {"azure_openai": "openai", "azure": "openai", "openai": "openai", "anthropic": "anthropic"}


def read(source: SourceFile, context: Context) -> list[Layout]:
    """Read one prompty file; front matter that is not YAML gives a ``parse-error`` beside the messages."""
    parts = front.split(source)
    head = parts.head
    draft = Draft(
        PurePosixPath(source.path).stem, source.place(0, len(source.text)), context, LayoutKind.TEMPLATE
    )
    style = "jinja"
    if head is not None:
        draft.name = head.text("name") or draft.name
        style = _style(head)
        _take_model(draft, head)
    draft.broken(parts.error)
    content = draft.take(read_content(parts.body, context, style))
    draft.add(roles.split(content, parts.body))
    return [draft.layout()]


def _style(head: DictNode) -> str:
    template = head.get("template")
    named = template.text("format", "type") if isinstance(template, DictNode) else head.text("template")
    return "mustache" if named in ("mustache", "handlebars") else "jinja"


def _take_model(draft: Draft, head: DictNode) -> None:
    """Read model, parameters and tools, in the shapes of both prompty generations."""
    model = head.get("model")
    if isinstance(model, DictNode):
        configuration = model.get("configuration", "connection")
        where = configuration if isinstance(configuration, DictNode) else model
        kind = where.text("type") or model.text("provider")
        draft.provider = _PROVIDERS.get(kind.lower(), kind.lower())
        draft.model = where.text("azure_deployment", "name", "model") or model.text("id")
        options = model.get("parameters", "options")
        draft.parameters += [p for p in parameters(options) if p.name != "tools"]
        if isinstance(options, DictNode):
            tools.add(draft, options.get("tools"))
    else:
        draft.model = head.text("model")
    tools.add(draft, head.get("tools"))
