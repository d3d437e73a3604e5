"""Requests as columns: what the simulators and the curve read, with no text in it.

One request is a slice of ``ids``. Equal ids mean equal *prefixes*: an id stands for a block and
everything before it, so the blocks of a request form a chain and the head of the chain is shared
by all its continuations. Traces that hash blocks one by one are chained while they are read.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from promptlint.trace.spill import Spill, is_spilled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Keys = NDArray[np.uint64]

_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def mix(values: Keys) -> Keys:
    """Scatter 64-bit values over all 64 bits (the finaliser of splitmix64, public domain)."""
    out = values + np.uint64(_MIX[0])
    out ^= out >> np.uint64(30)
    out *= np.uint64(_MIX[1])
    out ^= out >> np.uint64(27)
    out *= np.uint64(_MIX[2])
    out ^= out >> np.uint64(31)
    return out


def ordering(ids: Keys) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the stable order of ``ids``, and for each but the first whether it equals the one before."""
    bits = max(1, int(len(ids) - 1).bit_length())
    if int(ids.max(initial=0)).bit_length() + bits <= 64:
        # Small ids: id and position share one word, and a plain sort of words is fastest.
        words = (ids << np.uint64(bits)) | np.arange(len(ids), dtype=np.uint64)
        words.sort()
        order = (words & np.uint64((1 << bits) - 1)).astype(np.int64)
        words >>= np.uint64(bits)
        return order, words[1:] == words[:-1]
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    return order, ordered[1:] == ordered[:-1]


def pieces(start: Ints, references: int = 1 << 22) -> Iterator[tuple[int, int]]:
    """Cut requests into runs of about ``references`` block references; yield (first, behind the last)."""
    at = 0
    while at < len(start) - 1:
        to = int(np.searchsorted(start, start[at] + references, side="right")) - 1
        yield at, max(at + 1, to)
        at = max(at + 1, to)


@dataclass(frozen=True, slots=True)
class Columns:
    """N requests with M block references in all, oldest request first.

    ``start`` has N + 1 offsets into ``ids``; blocks of a request run from its first token on.
    ``time`` is in seconds, ``length`` and ``output`` in tokens. ``namespace`` numbers the caches
    that never share an entry (conversation, model, tenant); their names are in ``namespaces``.
    """

    time: Floats
    length: Ints
    output: Ints
    start: Ints
    ids: Keys
    namespace: Ints
    session: Ints
    line: Ints
    block_tokens: int
    namespaces: tuple[str, ...] = ("",)

    @property
    def requests(self) -> int:
        """Return the number of requests."""
        return len(self.time)

    @property
    def references(self) -> int:
        """Return the number of block references."""
        return len(self.ids)

    @property
    def counts(self) -> Ints:
        """Return the number of blocks of each request."""
        return np.diff(self.start)

    @property
    def tokens(self) -> int:
        """Return the input tokens of all requests."""
        return int(self.length.sum())

    def rooms(self) -> Keys:
        """Return for each block reference the number of its namespace."""
        return np.repeat(self.namespace.astype(np.uint64), self.counts)

    def slice(self, low: int, high: int) -> Columns:
        """Return the requests from ``low`` to before ``high``."""
        start = self.start[low : high + 1]
        return replace(
            self,
            time=self.time[low:high],
            length=self.length[low:high],
            output=self.output[low:high],
            start=start - start[0],
            ids=np.asarray(self.ids[start[0] : start[-1]]),
            namespace=self.namespace[low:high],
            session=self.session[low:high],
            line=self.line[low:high],
        )

    def _rewritten(self, change: Callable[[Columns], Keys]) -> Columns:
        """Return columns with other ids, made piece by piece."""
        found = Spill()
        for low, high in pieces(self.start):
            found.add(change(self.slice(low, high)))
        return replace(self, ids=found.ids())

    def blocks(self) -> Iterator[list[int]]:
        """Yield the block ids of each request."""
        for low, high in pieces(self.start):
            begun = int(self.start[low])
            ids, ends = (
                self.ids[begun : self.start[high]].tolist(),
                (self.start[low : high + 1] - begun).tolist(),
            )
            for begin, end in pairwise(ends):
                yield ids[begin:end]

    def owners(self) -> Ints:
        """Return for each block reference the number of its request."""
        return np.repeat(np.arange(self.requests, dtype=np.int64), self.counts)

    def take(self, order: Ints) -> Columns:
        """Return the requests ``order`` (indices), in that order."""
        counts = self.counts[order]
        start = np.zeros(len(order) + 1, dtype=np.int64)
        np.cumsum(counts, out=start[1:])
        found = Spill()
        for low, high in pieces(start):
            source = np.arange(start[low], start[high], dtype=np.int64)
            source += np.repeat(self.start[order[low:high]] - start[low:high], counts[low:high])
            found.add(np.asarray(self.ids[source]))
        return replace(
            self,
            time=self.time[order],
            length=self.length[order],
            output=self.output[order],
            start=start,
            ids=found.ids(),
            namespace=self.namespace[order],
            session=self.session[order],
            line=self.line[order],
        )

    def in_time_order(self) -> Columns:
        """Return the requests sorted by time; equal times keep the order of the log."""
        if self.requests < 2 or bool(np.all(self.time[1:] >= self.time[:-1])):
            return self
        return self.take(np.argsort(self.time, kind="stable"))

    def separated(self) -> Columns:
        """Return columns in which no two namespaces share an id."""
        if len(self.namespaces) < 2:
            return self
        if is_spilled(self.ids):
            return self._rewritten(lambda part: mix(part.ids ^ mix(part.rooms())))
        rooms = self.rooms()
        width = int(self.ids.max(initial=0)).bit_length()
        if width + len(self.namespaces).bit_length() <= 40:  # small ids stay small: they sort faster
            return replace(self, ids=(rooms << np.uint64(width)) | self.ids)
        return replace(self, ids=mix(self.ids ^ mix(rooms)))

    def is_chained(self) -> bool:
        """Tell whether every id always has the same id (or nothing) before it."""
        if self.references == 0:
            return True
        heads = np.zeros(self.references, dtype=bool)
        heads[self.start[:-1][self.counts > 0]] = True
        before = np.concatenate([self.ids[:1], self.ids[:-1]])
        before[heads] = self.ids[heads]  # a root is its own parent
        order, same = ordering(self.ids)
        parents = before[order]
        return bool(np.all((parents[1:] == parents[:-1]) | ~same))

    def chained(self) -> Columns:
        """Return columns whose ids stand for whole prefixes.

        Each id becomes the wrapping sum of mixed (position, id) pairs up to it: 64 bits, so that
        even 10^8 distinct blocks collide with a chance of three in ten thousand.
        """
        if is_spilled(self.ids):  # to look for parents would take the memory of all references
            return self._rewritten(Columns._chain)
        return self if self.is_chained() else replace(self, ids=self._chain())

    def _chain(self) -> Keys:
        counts = self.counts
        place = np.arange(self.references, dtype=np.int64) - np.repeat(self.start[:-1], counts)
        terms = mix(mix(self.ids) ^ (place.astype(np.uint64) * np.uint64(_MIX[0])))
        running = np.cumsum(terms)
        before = np.zeros(self.requests, dtype=np.uint64)
        inside = self.start[:-1] > 0
        before[inside] = running[self.start[:-1][inside] - 1]
        out: Keys = running - np.repeat(before, counts)
        return out


_FIELDS = 8


@dataclass(slots=True)
class Builder:
    """Collects requests one at a time and hands them out as `Columns`."""

    block_tokens: int
    _rows: array[float] = field(default_factory=lambda: array("d"))  # `_FIELDS` numbers a request
    _ids: Spill = field(default_factory=Spill)
    _namespaces: dict[str, int] = field(default_factory=dict)
    _sessions: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        ids: Sequence[int] | Keys | bytes,
        *,
        time: float = 0.0,
        order: float | None = None,
        length: int | None = None,
        output: int = 0,
        namespace: str = "",
        session: str = "",
        line: int = 0,
    ) -> None:
        """Add one request; without ``length`` its blocks are taken to be full.

        ``order`` replaces the time as the place among the others.
        """
        if isinstance(ids, bytes):
            keys: Keys = np.frombuffer(ids, dtype=np.uint64)
        else:
            keys = ids if isinstance(ids, np.ndarray) else _keys(ids)
        room = self._namespaces.setdefault(namespace, len(self._namespaces))
        talk = self._sessions.setdefault(session, len(self._sessions))
        tokens = len(keys) * self.block_tokens if length is None else length
        place = time if order is None else order
        self._rows.extend((time, place, tokens, output, room, talk, line, len(keys)))
        self._ids.add(keys)

    def __len__(self) -> int:
        return len(self._rows) // _FIELDS

    def build(self, *, in_time_order: bool = True) -> Columns:
        """Return everything added so far, oldest first or as it came."""
        rows = np.array(self._rows, dtype=np.float64).reshape(-1, _FIELDS)
        whole = (rows[:, at].astype(np.int64) for at in range(2, _FIELDS))
        length, output, namespace, session, line, counts = whole
        start = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(counts, out=start[1:])
        columns = Columns(
            rows[:, 0].copy(),
            length,
            output,
            start,
            self._ids.ids(),
            namespace,
            session,
            line,
            self.block_tokens,
            tuple(self._namespaces) or ("",),
        )
        order = rows[:, 1]
        if not in_time_order or bool(np.all(order[1:] >= order[:-1])):
            return columns
        return columns.take(np.argsort(order, kind="stable"))


def _keys(ids: Sequence[int]) -> Keys:
    """Turn ids of any sign and size into 64 unsigned bits."""
    try:
        return np.array(ids, dtype=np.int64).view(np.uint64)
    except OverflowError:
        return np.array([value & 0xFFFFFFFFFFFFFFFF for value in ids], dtype=np.uint64)


def concatenate(parts: Iterable[Columns]) -> Columns:
    """Join columns of one block size; namespaces with equal names become one."""
    items = list(parts)
    names: dict[str, int] = {}
    rooms = []
    for part in items:
        table = np.array([names.setdefault(name, len(names)) for name in part.namespaces], dtype=np.int64)
        rooms.append(table[part.namespace])
    shifts = np.cumsum([0, *(len(part.ids) for part in items)])
    talks = np.cumsum([0, *(int(part.session.max(initial=0)) + 1 for part in items)])
    return Columns(
        np.concatenate([part.time for part in items]),
        np.concatenate([part.length for part in items]),
        np.concatenate([part.output for part in items]),
        np.concatenate(
            [
                np.zeros(1, dtype=np.int64),
                *(part.start[1:] + by for part, by in zip(items, shifts, strict=False)),
            ]
        ),
        np.concatenate([part.ids for part in items]),
        np.concatenate(rooms),
        np.concatenate([part.session + by for part, by in zip(items, talks, strict=False)]),
        np.concatenate([part.line for part in items]),
        items[0].block_tokens,
        tuple(names),
    ).in_time_order()
