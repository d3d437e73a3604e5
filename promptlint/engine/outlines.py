"""Whether a changed module still means the same to those who use some of its names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptlint.engine.store import Store
from promptlint.engine.world import World

if TYPE_CHECKING:
    from promptlint.frontends.python.readings.outline import Outline

_VERSIONS = 4  # of one file: runs over some files leave results that were made of an earlier one


class Outlines:
    """Tables of the statements of each module, by the digest of the version that they are of."""

    def __init__(self, store: Store, world: World) -> None:
        self._store = store
        self._world = world
        self._tables: dict[str, dict[str, Mapping[str, str]]] = {}
        self._now: dict[str, Outline | None] = {}
        self._answers: dict[tuple[str, str, tuple[str, ...]], bool] = {}

    def agree(self, path: str, digest: str, names: Sequence[str]) -> bool:
        """Tell whether names of a module mean now what they meant when its content had a digest."""
        key = path, digest, tuple(names)
        if key not in self._answers:
            self._answers[key] = self._agree(*key)
        return self._answers[key]

    def _agree(self, path: str, digest: str, names: Sequence[str]) -> bool:
        old = self._known(path).get(digest)
        if old is None:
            return False
        if path not in self._now:
            from promptlint.frontends.python.readings.outline import outline

            source = self._world.peek(path)
            now = self._now[path] = outline(source) if source is not None else None
            if now is not None:
                self.keep({path: now.table})
        now = self._now[path]
        return now is not None and now.agrees(old, names)

    def keep(self, tables: Mapping[str, Mapping[str, str]]) -> None:
        """Keep the tables of modules as they are now."""
        for path, table in tables.items():
            known = self._known(path)
            digest = self._store.digest(path, self._world.file(path))
            if known.pop(digest, None) != table:
                known[digest] = table
                self._store.put(_slot(path), dict(list(known.items())[-_VERSIONS:]))
            known[digest] = table

    def _known(self, path: str) -> dict[str, Mapping[str, str]]:
        if path not in self._tables:
            kept: Any = self._store.get(_slot(path))
            self._tables[path] = kept if isinstance(kept, dict) else {}
        return self._tables[path]


def _slot(path: str) -> str:
    return f" outline {path}"
