"""CrewAI's ``agents.yaml`` and ``tasks.yaml``: texts that the framework joins into one prompt."""

from __future__ import annotations

from promptlint.frontends.base import Context
from promptlint.frontends.documents.draft import Draft
from promptlint.frontends.documents.nodes import DictNode, Node, place_of
from promptlint.frontends.documents.requests import provider_of_model
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Layout

# In the order in which the framework writes them.
_AGENT = ("role", "backstory", "goal")
_TASK = ("description", "expected_output")


def matches(node: Node) -> bool:
    """Tell whether a mapping describes an agent or a task."""
    return isinstance(node, DictNode) and (_has(node, _AGENT) or _has(node, _TASK))


def read(node: DictNode, name: str, context: Context) -> Layout:
    """Return the layout of one agent or task."""
    is_agent = _has(node, _AGENT)
    draft = Draft(name, place_of(node), context)
    draft.model = node.text("llm")
    draft.provider = provider_of_model(draft.model)
    draft.speakers.begin("system" if is_agent else "user")
    for key in _AGENT if is_agent else _TASK:
        text = node.get(key)
        assert isinstance(text, MappedText)
        draft.say(text)
    return draft.layout()


def _has(node: DictNode, keys: tuple[str, ...]) -> bool:
    return all(isinstance(node.get(key), MappedText) for key in keys)
