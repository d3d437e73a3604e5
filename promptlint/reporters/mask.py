"""Hiding what looks like a key in text that is shown."""

from __future__ import annotations

import re

_KNOWN = (
    r"\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic, Stripe
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bhf_[A-Za-z0-9]{16,}",
    r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*",
)
_NAMED = re.compile(
    r"(?i)(?P<name>\b[\w-]*(?:api[-_]?key|secret|passw(?:or)?d|token|authorization|bearer)[\w-]*"
    r"[\"']?\s*(?:[:=]\s*|\s)(?:Bearer\s+)?[\"']?)(?P<value>(?=[^\s\"']*\d)[A-Za-z0-9+/_.=-]{16,})"
)
# A password in an address, and one written out: short ones too, so nothing of them is shown.
_WRITTEN = re.compile(
    r"(?P<name>://[^\s/:@\"']*:|(?i:\b[\w-]*passw(?:or)?d[\"']?\s*[:=]\s*[\"']))(?P<value>[^\s@\"']+)(?=[@\"'])"
)
_SHAPES = re.compile("|".join(f"(?:{shape})" for shape in _KNOWN))


def mask(text: str) -> str:
    """Return text of the same length with what looks like a secret starred out, its first 4 letters aside."""
    text = _SHAPES.sub(lambda m: _star(m.group()), text)
    text = _WRITTEN.sub(lambda m: m["name"] + "*" * len(m["value"]), text)
    return _NAMED.sub(lambda m: m["name"] + _star(m["value"]), text)


def _star(secret: str) -> str:
    return secret[:4] + "*" * (len(secret) - 4)
