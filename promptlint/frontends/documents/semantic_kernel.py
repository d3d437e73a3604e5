"""Semantic Kernel: ``skprompt.txt`` beside ``config.json``, or both in one YAML file."""

from __future__ import annotations

from pathlib import PurePosixPath

from promptlint.frontends.base import Context
from promptlint.frontends.documents import roles, tree
from promptlint.frontends.documents.content import read_content
from promptlint.frontends.documents.draft import Draft, parameters
from promptlint.frontends.documents.nodes import DataError, DictNode, ListNode, Node, place_of
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Layout, LayoutKind
from promptlint.source import SourceFile

_STYLES = {"semantic-kernel": "mustache", "handlebars": "mustache", "jinja2": "jinja", "liquid": "jinja"}


def matches(node: Node) -> bool:
    """Tell whether a mapping is a prompt function: a template with its variables or settings."""
    if not isinstance(node, DictNode) or not isinstance(node.get("template"), MappedText):
        return False
    if named := node.text("template_format"):
        return named in _STYLES
    variables = node.get("input_variables")
    described = isinstance(variables, ListNode) and any(
        isinstance(item, DictNode) for item in variables.items
    )
    return described or "execution_settings" in node


def read_function(node: DictNode, name: str, context: Context) -> list[Layout]:
    """Read a prompt function that is one YAML or JSON mapping."""
    text = node.get("template")
    assert isinstance(text, MappedText)
    draft = Draft(node.text("name") or name, place_of(text), context)
    return [_layout(draft, text, node)]


def read_folder(source: SourceFile, context: Context) -> list[Layout]:
    """Read a ``skprompt.txt`` with what the ``config.json`` beside it says."""
    folder = PurePosixPath(source.path).parent
    draft = Draft(folder.name, source.place(0, len(source.text)), context, LayoutKind.TEMPLATE)
    return [_layout(draft, MappedText.of(source), _configuration(folder, context))]


def _configuration(folder: PurePosixPath, context: Context) -> DictNode | None:
    config = context.load((folder / "config.json").as_posix())
    if config is None:
        return None
    try:
        node = tree.load(config, "json")
    except DataError:
        return None  # only defaults are taken from it
    return node if isinstance(node, DictNode) else None


def _layout(draft: Draft, text: MappedText, configuration: DictNode | None) -> Layout:
    style = "mustache"
    if configuration is not None:
        style = _STYLES.get(configuration.text("template_format"), "mustache")
        _take_settings(draft, configuration)
    content = draft.take(read_content(text, draft.context, style))
    draft.add(roles.split(content, text) if roles.has_roles(text.text) else content)
    return draft.layout()


def _take_settings(draft: Draft, configuration: DictNode) -> None:
    """Read the first service's settings; older files call them ``completion``."""
    settings = configuration.get("execution_settings", "completion")
    if not isinstance(settings, DictNode):
        return
    services = [entry.value for entry in settings.distinct() if isinstance(entry.value, DictNode)]
    chosen = services[0] if services else settings
    assert isinstance(chosen, DictNode)
    draft.model = chosen.text("model_id", "ai_model_id")
    draft.parameters += parameters(chosen)
