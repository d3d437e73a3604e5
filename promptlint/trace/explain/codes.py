"""From a cause to the rule that speaks of it: log and lint name one fault alike."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from promptlint.layout import Kind
from promptlint.trace.explain.diff import Shape
from promptlint.trace.explain.outcome import Outcome, Reason

# Where a kind has several rules, what decides between them. Without a row: the first rule of the kind.
_BY_REASON: Mapping[Reason, str] = {
    Reason.LOOKBACK: "mark-lookback",
    Reason.NOT_YET_READABLE: "",
}
_BY_SHAPE: Mapping[Shape, str] = {
    Shape.REMOVED: "history-cut",
    Shape.INSERTED: "history-inserted",
    Shape.EDITED: "history-rewritten",
    Shape.REPLACED: "history-rewritten",
}


def code_of(outcome: Outcome) -> tuple[str, str]:
    """Return code and name of the rule for a miss; ("", reason) where no rule speaks of it."""
    assert outcome.kind is not None
    name = _name(outcome)
    if name == "":
        return "", outcome.reason.value.replace(" ", "-")
    by_name, by_kind = _rules()
    if name is not None and name in by_name:
        return by_name[name], name
    return by_kind.get(outcome.kind, ("", outcome.kind.value))


def _name(outcome: Outcome) -> str | None:
    """Return a rule's name, "" for none, None for the first rule of the kind."""
    if outcome.reason in _BY_REASON:
        return _BY_REASON[outcome.reason]
    diff = outcome.difference
    match outcome.kind:
        case Kind.HISTORY_REWRITE if diff:
            return _BY_SHAPE.get(diff.shape)
        case Kind.TOOLS_ORDER:
            return "tools-change" if "changed" in outcome.detail else "tools-order"
        case Kind.BREAKPOINT_MISPLACED:
            return "mark-behind-changing" if outcome.request.marks else "mark-missing"
        case Kind.ROUTING:
            return "cache-key-per-request" if "key" in outcome.detail else "replica-random"
        case Kind.RANDOM if "order" in outcome.detail:
            return "random-order"
        case Kind.CHAT_TEMPLATE:
            return "chat-template-clock" if "prints" in outcome.detail else "chat-template-rewrites"
        case Kind.OTHER:
            return ""
        case _:
            return None


@cache
def _rules() -> tuple[Mapping[str, str], Mapping[Kind, tuple[str, str]]]:
    """Return codes by name, and the first rule of each kind, those on by default first."""
    from promptlint.catalog.catalog import Catalog

    rules = sorted(Catalog().rules.values(), key=lambda rule: (not rule.default, rule.code))
    first: dict[Kind, tuple[str, str]] = {}
    for rule in rules:
        first.setdefault(rule.kind, (rule.code, rule.name))
    return {rule.name: rule.code for rule in rules}, first
