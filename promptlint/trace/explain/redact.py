"""Texts for reports: shortened, or their shape only."""

from __future__ import annotations

import re


def excerpt(text: str, limit: int = 80) -> str:
    """Return a text on one line, cut in its middle."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    half = (limit - 3) // 2
    return f"{flat[:half]} … {flat[-half:]}"


def redacted(text: str) -> str:
    """Return the shape of a text: letters as ``a``, digits as ``9``, the rest as it is.

    Enough to see a timestamp or an id, too little to read a secret.
    """
    flat = excerpt(text, 60)
    shape = re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", flat))
    return re.sub(r"a{13,}", "a…a", shape)
