"""From the kind of a cause to the rule that speaks of it."""

from __future__ import annotations

from functools import cache

from promptlint.layout import Kind

_LOG_ONLY = {Kind.OTHER: ("PL700", "parallel-requests")}


@cache
def code_of(kind: Kind) -> tuple[str, str]:
    """Return code and name of the first rule for a kind; log and lint name one fault alike."""
    from promptlint.catalog.catalog import Catalog

    rules = sorted(Catalog().rules.values(), key=lambda rule: (not rule.default, rule.code))
    for rule in rules:
        if rule.kind is kind:
            return rule.code, rule.name
    return _LOG_ONLY.get(kind, ("PL700", kind.value))
