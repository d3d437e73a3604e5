"""Files that are not Python: independent of one another, so spread over processes when there are many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from promptlint.config import Config
from promptlint.discover import Target
from promptlint.engine.judge import Judge
from promptlint.engine.units import Result, check_file
from promptlint.engine.world import World

_WORTH_IT = 200  # files for each further process; starting one costs as much as reading about that many
_CHUNK = 16

Listing = Callable[[], tuple[str, ...]]
_worker: Callable[[Target], Result] | None = None


def processes(files: int, jobs: int) -> int:
    """Return how many processes to use; ``jobs`` is 0 for a choice by size and cores."""
    if jobs:
        return min(jobs, max(1, files // 2))
    return max(1, min(os.cpu_count() or 1, files // _WORTH_IT))


def check_files(
    targets: Sequence[Target], world: World, judge: Judge, listing: Listing, config: Config, spread: bool
) -> Iterator[tuple[Target, Result]]:
    """Check each file; the results come in the order of the targets."""
    count = processes(len(targets), config.jobs) if spread else 1
    comment = config.jinja.comment
    if count == 1:
        for target in targets:
            yield target, check_file(target, world, judge, listing, comment)
        return
    from concurrent.futures import ProcessPoolExecutor  # 15 ms

    with ProcessPoolExecutor(count, initializer=_start, initargs=(config, world.cwd, listing())) as pool:
        yield from zip(targets, pool.map(_check, targets, chunksize=_CHUNK), strict=True)


def _start(config: Config, cwd: Path, listing: tuple[str, ...]) -> None:
    """Make what a process needs, once."""
    global _worker
    _worker = partial(
        check_file,
        world=World(config, cwd),
        judge=Judge(config),
        listing=lambda: listing,
        comment=config.jinja.comment,
    )


def _check(target: Target) -> Result:
    assert _worker is not None
    return _worker(target)
