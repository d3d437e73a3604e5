"""LiteLLM proxy configurations: where the proxy will put cache marks, for each model.

The prompts themselves come from the proxy's callers. A layout of one model has no segments, and one
parameter ``cache_control_injection_point`` (JSON, at its place) for each entry.
"""

from __future__ import annotations

from promptlint.frontends.base import Context
from promptlint.frontends.documents.draft import Draft, parameters
from promptlint.frontends.documents.nodes import DictNode, ListNode, Node, place_of
from promptlint.frontends.documents.requests import provider_of_model
from promptlint.layout import Layout, LayoutKind

POINT = "cache_control_injection_point"
_POINTS = "cache_control_injection_points"
_SECRET = frozenset(
    {"api_key", "api_base", "aws_access_key_id", "aws_secret_access_key", "vertex_credentials"}
)


def matches(node: Node) -> bool:
    """Tell whether this is a proxy configuration."""
    return (
        isinstance(node, DictNode)
        and isinstance(models := node.get("model_list"), ListNode)
        and any(isinstance(model, DictNode) and "litellm_params" in model for model in models.items)
    )


def read(node: DictNode, context: Context) -> list[Layout]:
    """Return a layout for each model that sets anything about caching."""
    models = node.get("model_list")
    assert isinstance(models, ListNode)
    layouts = []
    for model in models.items:
        settings = model.get("litellm_params") if isinstance(model, DictNode) else None
        if isinstance(model, DictNode) and isinstance(settings, DictNode) and _POINTS in settings:
            layouts.append(_layout(model, settings, context))
    return layouts


def _layout(model: DictNode, settings: DictNode, context: Context) -> Layout:
    draft = Draft(model.text("model_name"), place_of(model), context, LayoutKind.REQUEST)
    draft.model = settings.text("model")
    draft.provider = provider_of_model(draft.model)
    points = settings.get(_POINTS)
    for point in points.items if isinstance(points, ListNode) else ():
        draft.parameter(POINT, point)
    draft.parameters += [p for p in parameters(settings) if p.name != _POINTS and p.name not in _SECRET]
    return draft.layout()
