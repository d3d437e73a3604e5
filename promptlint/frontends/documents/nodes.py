"""Data files as trees that keep the place of everything.

``Node = MappedText | Scalar | ListNode | DictNode``: strings are `MappedText`, so that a character
deep in a folded, escaped or indented value still has its place in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from promptlint.errors import InputError
from promptlint.frontends.mapped import MappedText
from promptlint.source import Place, SourceFile, Span

MAX_DEPTH = 100
MAX_NODES = 1_000_000
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class DataError(InputError):
    """A data file that cannot be read; ``place`` is where reading stopped, ``why`` is without it."""

    def __init__(self, source: SourceFile, at: int, why: str) -> None:
        line, column = source.position(at)
        super().__init__(f"{source.path}:{line}:{column}: {why}", "correct the file")
        self.place = source.place(at, at)
        self.why = why


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value that is no string. ``raw`` is what stands in the file; dates keep only that."""

    place: Place
    value: bool | int | float | None
    raw: str


@dataclass(frozen=True, slots=True)
class ListNode:
    """A list; the place runs from the first to the last character of its notation."""

    place: Place
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One key with its value. ``name`` is the key as text, whatever its type was."""

    name: str
    key: Place
    value: Node


@dataclass(frozen=True)
class DictNode:
    """A mapping in file order, repeated keys included; looking up takes the last one, as readers do."""

    place: Place
    entries: tuple[Entry, ...]

    @cached_property
    def _by_name(self) -> dict[str, Entry]:
        return {entry.name: entry for entry in self.entries}

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def entry(self, name: str) -> Entry | None:
        """Return the entry that counts for a key."""
        return self._by_name.get(name)

    def get(self, *names: str) -> Node | None:
        """Return the value of the first of these keys that is there."""
        for name in names:
            if name in self._by_name:
                return self._by_name[name].value
        return None

    def text(self, *names: str) -> str:
        """Return the value of the first of these keys if it is a string, else an empty string."""
        value = self.get(*names)
        return value.text if isinstance(value, MappedText) else ""

    def names(self) -> tuple[str, ...]:
        """Return the distinct keys in the order of their first place."""
        return tuple(self._by_name)

    def distinct(self) -> tuple[Entry, ...]:
        """Return the entries that count, in the order of their first place."""
        return tuple(self._by_name.values())


Node = MappedText | Scalar | ListNode | DictNode


def place_of(node: Node) -> Place:
    """Return where a value stands; of a string, what is between its quotes."""
    if isinstance(node, MappedText):
        return Place(node.path, Span(node.offset(0), max(node.offset(0), node.end)))
    return node.place


def plain(node: Node) -> object:
    """Return a tree as ordinary values; dates and the like stay as they are written."""
    if isinstance(node, MappedText):
        return node.text
    if isinstance(node, Scalar):
        return node.raw if node.value is None and node.raw not in _NULLS else node.value
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    return {entry.name: plain(entry.value) for entry in node.distinct()}


def strings(node: Node) -> Iterator[tuple[tuple[str, ...], MappedText]]:
    """Yield each string of a tree with its path of keys and indices, in file order, at most `MAX_NODES`."""
    stack: list[tuple[tuple[str, ...], Node]] = [((), node)]
    for _ in range(MAX_NODES):
        if not stack:
            return
        path, current = stack.pop()
        if isinstance(current, MappedText):
            yield path, current
        elif isinstance(current, ListNode):
            stack += [((*path, str(i)), item) for i, item in reversed(list(enumerate(current.items)))]
        elif isinstance(current, DictNode):
            stack += [((*path, entry.name), entry.value) for entry in reversed(current.distinct())]


def runs_of(offsets: list[int], end: int) -> tuple[tuple[int, int], ...]:
    """Compress the file offset of each character into runs; ``end`` serves an empty text."""
    if not offsets:
        return ((0, end),)
    starts = [0] + [i for i in range(1, len(offsets)) if offsets[i] != offsets[i - 1] + 1]
    return tuple((i, offsets[i]) for i in starts)
