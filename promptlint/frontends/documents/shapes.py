"""Data files: which known format a tree follows, and the layouts in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from promptlint.frontends.base import Context
from promptlint.frontends.documents import generic, litellm, promptfoo, tree
from promptlint.frontends.documents.nodes import DictNode, ListNode, Node
from promptlint.layout import Layout
from promptlint.source import SourceFile

MAX_CHARACTERS = 500_000
_PLAY = {"hosts", "tasks"}  # of Ansible

# Keys at the top of files that belong to other programs, all of a group needed.
_FOREIGN = (
    {"openapi"},
    {"swagger"},
    {"asyncapi"},
    {"apiVersion", "kind"},
    {"lockfileVersion"},
    {"interactions"},
    {"site_name"},
    {"jobs", "on"},
    {"jobs", "steps"},
    {"stages"},
    {"compilerOptions"},
    {"scopeName", "patterns"},
    {"nbformat"},
    {"repos"},
    {"dependencies", "name"},
    {"devDependencies"},
    {"scripts", "version"},
    {"package", "dependencies"},
    {"build-system"},
    {"definitions", "$schema"},
    {"added_tokens_decoder"},
    {"model", "added_tokens"},
)


def read(source: SourceFile, context: Context, *, certain: bool = False) -> list[Layout]:
    """Return the prompts of a YAML, JSON or TOML file; ``certain`` treats it as named after prompts.

    Raises:
        DataError: the file is malformed.
    """
    if len(source.text) > MAX_CHARACTERS and not certain:
        return []
    layouts: list[Layout] = []
    for node in tree.load_all(source):
        layouts += _read_document(node, source, context, certain)
    return sorted(layouts, key=lambda layout: layout.place.span.start)


def _read_document(node: Node, source: SourceFile, context: Context, certain: bool) -> list[Layout]:
    if is_foreign(node) and not certain:
        return []
    if isinstance(node, DictNode) and litellm.matches(node):
        return litellm.read(node, context)
    if isinstance(node, DictNode) and promptfoo.matches(node):
        return promptfoo.read(node, context)
    if isinstance(node, DictNode | ListNode):
        found = generic.read(node, source.path, context, certain=certain)
        name = PurePosixPath(source.path).stem
        return [layout if layout.name else replace(layout, name=name) for layout in found]
    return []


def is_foreign(node: Node) -> bool:
    """Tell whether the top of a file shows that it configures another kind of program."""
    if isinstance(node, ListNode):
        return any(isinstance(item, DictNode) and set(item.names()) >= _PLAY for item in node.items)
    if not isinstance(node, DictNode):
        return False
    keys = {("on" if entry.name in ("true", "True") else entry.name) for entry in node.entries}
    return any(group <= keys for group in _FOREIGN) or _is_compose(node)


def _is_compose(node: DictNode) -> bool:
    services = node.get("services")
    return isinstance(services, DictNode) and any(
        isinstance(entry.value, DictNode) and ("image" in entry.value or "build" in entry.value)
        for entry in services.entries
    )
