"""Dotted paths matched by pattern, indexed by their last segment.

Three forms, the more exact first::

    datetime.datetime.now            this path
    langchain*.**.PromptTemplate     this tail, anywhere below a root whose segments fit the globs
    *.chat.completions.create        this tail, whatever stands before it; something must before a single name
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Generic, TypeVar

T = TypeVar("T")
# A call or a key within a path is written out: Repo().head, environ[HOME]
_SEGMENT = r"[$\w]+(?:\(\)|\[\w+\])?"
_PATTERN = re.compile(rf"(?:(?P<any>\*\.)|(?P<root>[\w*?.]+)\.\*\*\.)?(?P<tail>{_SEGMENT}(?:\.{_SEGMENT})*)")


@dataclass(frozen=True, slots=True)
class Dotted(Generic[T]):
    """One pattern, taken apart, with what it stands for."""

    pattern: str
    tail: tuple[str, ...]
    root: (
        tuple[str, ...] | None
    )  # globs over the first segments; None: the tail is the whole path; (): anything
    value: T

    @property
    def weight(self) -> tuple[int, int]:
        """Return how exact the pattern is; the largest wins."""
        rank = 2 if self.root is None else 1 if self.root else 0
        return rank, len(self.tail) + len(self.root or ())

    def fits(self, segments: tuple[str, ...]) -> bool:
        """Tell whether the pattern matches a path; its last segment is known to be equal."""
        if self.root is None:
            return segments == self.tail
        size = len(self.tail)
        before = len(self.root) or (size == 1)
        return (
            len(segments) >= size + before
            and segments[-size:] == self.tail
            and all(map(fnmatchcase, segments, self.root))
        )


def take_apart(pattern: str, value: T) -> Dotted[T]:
    """Read one pattern.

    Raises:
        ValueError: the pattern is of none of the three forms.
    """
    match = _PATTERN.fullmatch(pattern)
    if match is None:
        raise ValueError(f"{pattern!r} is not a dotted path, `*.tail` or `root.**.tail`")
    anything, head, tail = match.groups()
    root = () if anything else tuple(head.split(".")) if head else None
    return Dotted(pattern, tuple(tail.split(".")), root, value)


@dataclass(slots=True)
class DottedIndex(Generic[T]):
    """Patterns by last segment. A pattern added later wins over an equal one."""

    by_last: dict[str, list[Dotted[T]]] = field(default_factory=dict)
    _found: dict[str, T | None] = field(default_factory=dict, repr=False)  # a program names few paths, often

    def add(self, pattern: str, value: T) -> None:
        """Add one pattern; `ValueError` if it cannot be read."""
        entry = take_apart(pattern, value)
        entries = self.by_last.setdefault(entry.tail[-1], [])
        if entries:
            entries[:] = [old for old in entries if old.pattern != pattern]
        entries.append(entry)
        if len(entries) > 1:
            entries.sort(key=lambda e: e.weight, reverse=True)
        self._found.clear()

    def find(self, path: str) -> T | None:
        """Return the value of the most exact pattern that matches a dotted path."""
        if path not in self._found:
            segments = tuple(path.split("."))
            entries = self.by_last.get(segments[-1], ())
            self._found[path] = next((entry.value for entry in entries if entry.fits(segments)), None)
        return self._found[path]

    def suffixes(self) -> Mapping[str, tuple[T, ...]]:
        """Return every value by the last segment of its pattern, the most exact first."""
        return {last: tuple(entry.value for entry in entries) for last, entries in self.by_last.items()}

    def __iter__(self) -> Iterator[Dotted[T]]:
        for entries in self.by_last.values():
            yield from entries
