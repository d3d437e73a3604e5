"""Texts that hold the same things in another arrangement: order of keys, lines, items; whitespace."""

from __future__ import annotations

import json
import re
from typing import Any

from promptlint.layout import Confidence, Kind

Verdict = tuple[Kind, Confidence, str]
"""A kind, how sure it is, and what shows it."""


def arrangement(a: str, b: str) -> Verdict | None:
    """Return a verdict where both texts hold the same things, arranged or spaced in another way."""
    if "".join(a.split()) == "".join(b.split()):
        return Kind.WHITESPACE, Confidence.HIGH, "only whitespace differs"
    if a[:1] in "[{" and parsed(a) is not None and meaning(a) == meaning(b):
        return Kind.UNORDERED, Confidence.HIGH, "the same JSON with its keys in another order"
    left, right = a.splitlines(), b.splitlines()
    if len(left) > 1 and left != right and sorted(left) == sorted(right):
        return _permuted("the same lines in another order", a)
    if len(left) == len(right):
        odd = [(x, y) for x, y in zip(left, right, strict=True) if x != y]
        if odd and all(_same_items(x, y) for x, y in odd):
            return _permuted("the same items in another order", " ".join(x for x, _ in odd) + a[:0])
        if odd and sorted(x for x, _ in odd) == sorted(y for _, y in odd):
            return _permuted("the same lines in another order", a)
    numbered = [re.sub(r"^\s*(?:\d+[.):]|[-*•])\s*", "", line) for line in left]
    numbered_now = [re.sub(r"^\s*(?:\d+[.):]|[-*•])\s*", "", line) for line in right]
    if len(left) > 2 and sorted(numbered) == sorted(numbered_now):
        return _permuted("the same list in another order", a)
    return None


def _permuted(what: str, text: str) -> Verdict:
    if re.search(r"\b(?:shuffl\w*|random\w*|few[- ]shot|examples?)\b", text, re.IGNORECASE):
        return Kind.RANDOM, Confidence.MEDIUM, f"{what} (examples)"
    return Kind.UNORDERED, Confidence.HIGH, what


def _same_items(a: str, b: str) -> bool:
    for separator in (",", ";", "|", " "):
        left = sorted(item.strip(" .\"'[](){}") for item in a.split(separator))
        right = sorted(item.strip(" .\"'[](){}") for item in b.split(separator))
        if len(left) > 2 and left == right:
            return True
        # A label may stand in front of the first item: "Devices: lamp, door" and "Devices: door, lamp".
        head, _, tail = a.partition(":")
        head_b, _, tail_b = b.partition(":")
        if tail and head == head_b and separator in tail:
            rows = [
                sorted(item.strip(" .\"'[](){}") for item in side.split(separator)) for side in (tail, tail_b)
            ]
            if len(rows[0]) > 1 and rows[0] == rows[1]:
                return True
    return False


def meaning(text: str) -> str:
    """Return JSON without the order of its keys and of lists of plain values; other text as it is."""
    value = parsed(text)
    return text if value is None else json.dumps(_sorted(value), sort_keys=True)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(item) for key, item in value.items()}
    if isinstance(value, str) and value[:1] in ("{", "["):  # arguments of a call are JSON in JSON
        inner = parsed(value)
        return value if inner is None else _sorted(inner)
    if isinstance(value, list):
        items = [_sorted(item) for item in value]
        plain = all(isinstance(item, str | int | float | bool) for item in items)
        return sorted(items, key=str) if plain else items
    return value


def parsed(text: str) -> Any:
    """Return the value of a JSON text, or None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def plain_json(text: str) -> str:
    """Return the strings of a JSON text on lines of their own, so that lists in them can be compared."""
    return text.replace("\\n", "\n")
