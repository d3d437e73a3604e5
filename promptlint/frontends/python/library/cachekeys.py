"""Cache keys, salts and injection points inside the arguments of a call."""

from __future__ import annotations

import json
from collections.abc import Iterator

from promptlint.frontends.python.evaluate import access
from promptlint.frontends.python.values.pieces import Hole, Lit
from promptlint.frontends.python.values.values import Choice, DictV, ListV, Str, Unknown, Value
from promptlint.layout import Parameter, Scope
from promptlint.source import Place

# Headers and body fields by which providers and engines choose a cache or a replica.
KEYS = frozenset(
    (
        "prompt_cache_key",
        "cache_salt",
        "extra_key",
        "x-grok-conv-id",
        "x-session-affinity",
        "x-session-id",
        "session_id",
    )
)
POINTS = "cache_control_injection_points"


def cache_keys(name: str, value: Value, place: Place) -> Iterator[Parameter]:
    """Yield the cache keys of a mapping such as ``extra_body``; its other entries say nothing about caches."""
    if not isinstance(value, DictV):
        return
    for key, item in value.entries.items():
        if isinstance(key, str) and key.lower() in KEYS:
            found = item.value
            plain = access.plain(found)
            yield Parameter(
                f"key:{name}.{key}",
                place_of(found) or value.place or place,
                None if plain is None else str(plain),
                found.cause.scope if found.cause else Scope.UNKNOWN,
                found.cause,
            )


def place_of(value: Value) -> Place | None:
    """Return where a value, or the first piece of a text, is written; of several the first."""
    if isinstance(value, Str):
        first = value.parts[0] if value.parts else None
        return first.place() if isinstance(first, Lit) else first.place if isinstance(first, Hole) else None
    if isinstance(value, Choice):
        return next(filter(None, map(place_of, value.values)), value.guard.place)
    return value.place if isinstance(value, Unknown | DictV) else None


def injection_points(name: str, value: Value, place: Place) -> Iterator[Parameter]:
    """Yield each entry of LiteLLM's ``cache_control_injection_points`` as JSON, at its place."""
    if name != POINTS or not isinstance(value, ListV):
        return
    for item in value.items:
        if isinstance(item.value, DictV):
            plain = {str(key): access.plain(entry.value) for key, entry in item.value.entries.items()}
            text = json.dumps({key: entry for key, entry in plain.items() if entry is not None}, default=str)
            yield Parameter("cache_control_injection_point", item.value.place or place, text)
