"""LiteLLM proxy configurations: where the proxy will put cache marks, and to which deployment a request goes.

The prompts themselves come from the proxy's callers. A layout of one model has no segments, and one
parameter ``cache_control_injection_point`` (JSON, at its place) for each entry. What the router does with several
deployments of one name is a layout of its own.
"""

from __future__ import annotations

from collections import defaultdict

from promptlint.frontends.base import Context
from promptlint.frontends.documents.draft import Draft, parameters
from promptlint.frontends.documents.nodes import DictNode, ListNode, Node, place_of
from promptlint.frontends.documents.requests import provider_of_model
from promptlint.frontends.mapped import MappedText
from promptlint.layout import Layout, LayoutKind, Observation

POINT = "cache_control_injection_point"
_POINTS = "cache_control_injection_points"
_SECRET = frozenset(
    {"api_key", "api_base", "aws_access_key_id", "aws_secret_access_key", "vertex_credentials"}
)
# Where a deployment keeps its prefixes: another endpoint, region or provider has another cache.
_WHERE = ("api_base", "aws_region_name", "vertex_location")
# Strategies that ask nothing of the conversation, and checks that do so in front of them.
_SPREADING = frozenset({"simple-shuffle", "least-busy", "usage-based-routing", "usage-based-routing-v2"})
_KEEPING = ("prompt_caching", "affinity")


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
    return [*layouts, *_spread(node, models, context)]


def _spread(node: DictNode, models: ListNode, context: Context) -> list[Layout]:
    """Return a layout that carries the strategy by which turns go to any of several deployments of one model."""
    settings = node.get("router_settings")
    strategy = settings.get("routing_strategy") if isinstance(settings, DictNode) else None
    if not (isinstance(settings, DictNode) and isinstance(strategy, MappedText)):
        return []
    checks = settings.get("optional_pre_call_checks")
    kept = (
        c.text for c in (checks.items if isinstance(checks, ListNode) else ()) if isinstance(c, MappedText)
    )
    if strategy.text not in _SPREADING or any(word in one for one in kept for word in _KEEPING):
        return []
    deployed: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for model in models.items:
        params = model.get("litellm_params") if isinstance(model, DictNode) else None
        if isinstance(model, DictNode) and isinstance(params, DictNode):
            provider = provider_of_model(params.text("model"))
            deployed[model.text("model_name")].add((provider, *(params.text(one) for one in _WHERE)))
    several = next((name for name, places in deployed.items() if name and len(places) > 1), None)
    if several is None:
        return []
    draft = Draft("router", place_of(strategy), context, LayoutKind.REQUEST)
    said = f"`{strategy.text}` over {len(deployed[several])} deployments of `{several}`"
    draft.observations.append(Observation("replica-random", place_of(strategy), said))
    return [draft.layout()]


def _layout(model: DictNode, settings: DictNode, context: Context) -> Layout:
    draft = Draft(model.text("model_name"), place_of(model), context, LayoutKind.REQUEST)
    draft.model = settings.text("model")
    draft.provider = provider_of_model(draft.model)
    points = settings.get(_POINTS)
    for point in points.items if isinstance(points, ListNode) else ():
        draft.parameter(POINT, point)
    draft.parameters += [p for p in parameters(settings) if p.name != _POINTS and p.name not in _SECRET]
    return draft.layout()
