"""A counter that looks before it counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from promptlint.tokens.base import Counter, Run
from promptlint.tokens.store import CountStore, digest


class CachedCounter:
    """A `Counter` whose vocabulary is loaded at the first text that is not known yet.

    Args:
        name, exact: as the loaded counter has them.
        load: makes the counter.
        store: where counts are kept between runs; None keeps them for this run only.
    """

    def __init__(
        self, name: str, exact: bool, load: Callable[[], Counter], store: CountStore | None = None
    ) -> None:
        self.name = name
        self.exact = exact
        self._load = load
        self._store = store
        self._seen: dict[bytes, Run] = {}

    @cached_property
    def counter(self) -> Counter:
        """Return the counter itself, loading its vocabulary."""
        return self._load()

    def run(self, parts: Sequence[str]) -> Run:
        """Return the counts of the joined parts."""
        key = digest(parts)
        run = self._seen.get(key)
        if run is None:
            run = self._store.get(key) if self._store else None
            if run is None:
                run = self.counter.run(parts)
                if self._store:
                    self._store.put(key, run)
            self._seen[key] = run
        return run
