"""Path patterns in the syntax of .gitignore."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

_GROUP = re.compile(r"\(\?P<\w+>")


class PathRules:
    """An ordered list of patterns; the last one that matches decides.

    Nearly every path matches none of them, so one joined expression is asked first.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = tuple(lines)

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], bool]]:
        from pathspec import GitIgnoreSpec  # 10 ms: only where there are patterns

        patterns = GitIgnoreSpec.from_lines(self._lines).patterns
        return [(p.regex, p.include) for p in patterns if p.include is not None and p.regex is not None]

    @cached_property
    def _any(self) -> re.Pattern[str] | None:
        parts = [_GROUP.sub("(?:", pattern.pattern) for pattern, _ in self._patterns]
        return re.compile("|".join(f"(?:{part})" for part in parts)) if parts else None

    def verdict(self, path: str) -> bool | None:
        """Tell what the patterns say of a posix path; a folder's ends in ``/``.

        True: it matches. False: a later ``!pattern`` takes it back. None: no pattern speaks of it.
        """
        if not self._lines or self._any is None or not self._any.match(path):
            return None
        for pattern, include in reversed(self._patterns):
            if pattern.match(path):
                return include
        return None

    def matches(self, path: str) -> bool:
        """Tell whether the patterns select a path."""
        return self.verdict(path) is True
