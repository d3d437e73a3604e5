"""Identifiers as words: ``currentUserName``, ``current_user_name`` and ``CURRENT-USER-NAME`` are one."""

from __future__ import annotations

import re
from functools import lru_cache

# An acronym, a capitalised or lower word, or digits: "HTTPServerURL2" → HTTP Server URL 2
_SMALL = r"[^\W\d_A-Z]"
_WORD = re.compile(rf"[A-Z]+(?=[A-Z]{_SMALL})|[A-Z]?{_SMALL}+|[A-Z]+|[0-9]+")


@lru_cache(maxsize=8192)
def words(identifier: str) -> tuple[str, ...]:
    """Return the words of one identifier, lower case; numbers are words of their own."""
    return tuple(word.lower() for word in _WORD.findall(identifier))
