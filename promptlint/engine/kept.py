"""Results in the cache: what is written, and whether it still holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptlint.engine.codec import decode, encode
from promptlint.engine.key import listing_digest
from promptlint.engine.outlines import Outlines
from promptlint.engine.store import Store
from promptlint.engine.units import Result
from promptlint.engine.world import World
from promptlint.source import Place, Span
from promptlint.suppress import Suppression


class Kept:
    """Results of earlier runs that still hold, and those of this run."""

    def __init__(self, store: Store, world: World, listing: Callable[[], tuple[str, ...]]) -> None:
        self._store = store
        self._world = world
        self._listing = listing
        self._listing_digest = ""
        self._outlines = Outlines(store, world)

    def _listed(self) -> str:
        if not self._listing_digest:
            self._listing_digest = listing_digest(self._listing())
        return self._listing_digest

    def find(self, path: str, slot: str) -> Result | None:
        """Return the result kept for a file if nothing that it was derived from has changed."""
        try:
            return self._find(path, slot, self._store.get(slot))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            return None  # not ours, or written by a version that kept other fields

    def _find(self, path: str, slot: str, plain: Any) -> Result | None:
        if plain is None:
            return None
        if plain["listing"] and plain["listing"] != self._listed():
            return None
        moved = [d for d, digest in plain["dependencies"].items() if self._digest(d) != digest]
        names = plain["names"]
        if not all(d in names and self._outlines.agree(d, plain["dependencies"][d], names[d]) for d in moved):
            return None
        if moved:
            plain["dependencies"] |= {d: self._digest(d) for d in moved}
            self._store.put(slot, plain)
        return Result(
            path,
            tuple(decode(f) for f in plain["findings"]),
            tuple(
                Suppression(Span(s[0], s[1]), s[2], s[3], tuple(s[4]), s[5], s[6])
                for s in plain["suppressions"]
            ),
            tuple(plain["dependencies"]),
            bool(plain["listing"]),
            plain["read"],
            tuple(Place(p[0], Span(p[1], p[2])) for p in plain["settled"]),
        )

    def _digest(self, path: str) -> str:
        return self._store.digest(path, self._world.file(path))

    def keep(self, result: Result, slot: str) -> None:
        """Keep a result; one with an error is found again next time."""
        if result.error is not None or not self._store.enabled:
            return
        plain: dict[str, Any] = {
            "dependencies": {d: self._digest(d) for d in result.dependencies},
            "names": result.names,
            "listing": self._listed() if result.listed else "",
            "read": result.read,
            "settled": [[p.path, p.span.start, p.span.end] for p in result.settled],
            "findings": [encode(f) for f in result.findings],
            "suppressions": [
                [s.span.start, s.span.end, s.first, s.last, s.codes, s.reason, s.foreign]
                for s in result.suppressions
            ],
        }
        self._store.put(slot, plain)
        self._outlines.keep(result.outlines)
