"""Small helpers to take values out of JSON of unknown shape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import isnan
from typing import Any

_MOST = 10**12  # a count above this is no count of tokens


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping as it is, a JSON text parsed, anything else empty."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> Sequence[Any]:
    """Return a list as it is, a JSON text parsed, anything else empty."""
    if isinstance(value, str) and value[:1] == "[":
        try:
            value = json.loads(value)
        except ValueError:
            return ()
    return value if isinstance(value, list) else ()


def text(value: Any) -> str:
    """Return a string as it is, numbers as text, anything else empty."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def number(value: Any) -> int | None:
    """Return a count, or None for what cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        return None
    return int(value)


def dig(value: Any, path: str) -> Any:
    """Follow dotted keys; None where they lead nowhere. A flat key with dots is found too."""
    if isinstance(value, dict):  # JSON gives nothing else, and asking for a Mapping is ten times slower
        if path in value:
            return value[path]
        if "." not in path:
            return None
    for key in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def first(value: Any, *paths: str) -> Any:
    """Return the value at the first path that leads somewhere."""
    for path in paths:
        if (found := dig(value, path)) is not None:
            return found
    return None


def dumped(value: Any) -> str:
    """Return JSON with the keys in the order in which they were sent."""
    return json.dumps(value, ensure_ascii=False)


def seconds(value: Any) -> float | None:
    """Return a time as seconds since the epoch: ISO text, or a number in s, ms, us or ns."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        stripped = value.strip()
        try:
            value = float(stripped)
        except ValueError:
            return _iso(stripped)
    if not isinstance(value, int | float) or isnan(value):
        return None
    for limit, unit in ((1e20, 0.0), (1e17, 1e9), (1e14, 1e6), (1e11, 1e3)):
        if value >= limit:
            return value / unit if unit else None
    return float(value) if value >= 0 else None


def _iso(value: str) -> float | None:
    head, dot, tail = value.partition(".")
    if dot:  # more than six digits of a second are too many for datetime
        digits = tail[: len(tail) - len(tail.lstrip("0123456789"))]
        value = f"{head}.{digits[:6]}{tail[len(digits) :]}"
    try:
        parsed = datetime.fromisoformat(value.replace(" UTC", "+00:00"))
    except ValueError:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
