"""Waiting for files to change, by looking at their times."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from promptlint.config import Config
from promptlint.discover import discover

_PAUSE_S = 0.5


def changes(paths: Sequence[str], config: Config, pause: float = _PAUSE_S) -> Iterator[None]:
    """Yield once at the start and after each change of a file below the paths."""
    before: dict[str, tuple[int, int]] | None = None
    while True:
        now = _stamps(paths, config)
        if now != before:
            before = now
            yield
        time.sleep(pause)


def _stamps(paths: Sequence[str], config: Config) -> dict[str, tuple[int, int]]:
    stamps = {}
    for shown in discover(paths, config, Path.cwd()).listing:
        try:
            stat = Path(shown).stat()
        except OSError:
            continue
        stamps[shown] = (stat.st_mtime_ns, stat.st_size)
    return stamps
