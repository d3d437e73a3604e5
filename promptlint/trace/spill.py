"""Block ids on disk: what a log of billions of references leaves in memory is its distinct blocks.

Ids are written to a file without a name, which the system takes back when the run ends, and are read
through a memory map, a chunk at a time.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]

SPILL = 1 << 24  # references that are kept in memory: 128 MB


class Spill:
    """Collects ids, in memory up to `SPILL` of them and on disk beyond."""

    def __init__(self) -> None:
        self._held: list[Keys] = []
        self._count = 0  # in `_held`
        self._file: BinaryIO | None = None

    def add(self, ids: Keys) -> None:
        """Append ids."""
        self._held.append(ids)
        self._count += len(ids)
        if self._count > SPILL:
            self._write()

    def _write(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="promptlint-")  # noqa: SIM115  open as long as the map
        for ids in self._held:
            self._file.write(np.ascontiguousarray(ids, dtype=np.uint64).tobytes())
        self._held, self._count = [], 0

    def ids(self) -> Keys:
        """Return everything that was added, as one array; nothing can be added after that."""
        if self._file is None:
            if len(self._held) == 1:
                return self._held[0]
            return np.concatenate(self._held) if self._held else np.zeros(0, dtype=np.uint64)
        self._write()
        with self._file as file:  # the map keeps the bytes
            file.flush()
            return np.memmap(file, dtype=np.uint64, mode="r")


def is_spilled(ids: Keys) -> bool:
    """Tell whether ids are on disk."""
    return isinstance(ids, np.memmap)
