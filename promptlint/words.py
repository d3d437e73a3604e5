"""Counted nouns and shortened code, so that every message of every command has them right."""

from __future__ import annotations

import re

SHOWN = 60  # characters of an expression that a message shows
_COMMENT = re.compile(r"[ \t]#[^\n'\"`]*$", re.MULTILINE)
_INNER = re.compile(r"(?<=[(\[{]) | (?=[)\]}])")


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return ``1 token`` or ``1,204 tokens``; ``plural`` where an ``s`` at the end will not do."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def shortened(code: str, limit: int = SHOWN) -> str:
    """Return code on one line, cut to a number of characters; the comments of several lines are left out."""
    if "\n" in code:
        text = _INNER.sub("", " ".join(_COMMENT.sub("", code).split()))
    else:
        text = " ".join(code.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
