"""Spreading files over processes, when there are enough of them to pay for the start."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, cast

from promptlint import workers
from promptlint.discover import Target
from promptlint.engine.units import Result
from promptlint.errors import PromptlintError
from promptlint.report import FileError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.synchronize import Lock

Work = Callable[..., Iterator[tuple[Target, Result]]]
"""A function of a module: called with the targets of one process, as they come, then with what all have in common."""


def processes(targets: int, jobs: int, worth: int) -> int:
    """Return how many processes so many targets are worth.

    ``jobs`` is 0 for a choice by size and cores; ``worth`` is how many targets pay for one more process.
    """
    most = jobs or min(_cores(), targets // worth)
    return max(1, min(most, targets // 2))


def shares(targets: Sequence[Target], count: int) -> list[Sequence[Target]]:
    """Deal targets out like cards."""
    return [targets[start::count] for start in range(count)]


def neighbours(targets: Sequence[Target], count: int) -> list[Sequence[Target]]:
    """Deal targets out by their sizes, those that stand together to one process.

    Files of one folder import each other: apart, each process would read most of the program again.
    """
    sizes = [_size(target) for target in targets]
    whole, done = sum(sizes), 0
    out: list[list[Target]] = [[] for _ in range(count)]
    for target, size in zip(targets, sizes, strict=True):
        out[min(count - 1, (done + size // 2) * count // max(1, whole))].append(target)
        done += size
    return list(out)


def _size(target: Target) -> int:
    try:
        return target.file.stat().st_size + 1
    except OSError:
        return 1


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spread(
    works: Sequence[tuple[Work, Sequence[Sequence[Target]]]], common: tuple[Any, ...]
) -> Iterator[tuple[Target, Result]]:
    """Yield what each ``work`` yields for its parts, as it comes; a process does the same part of all works in turn.

    A process that is done with its part helps with the end of the others', and leaves a work alone of which it has
    none. One that dies takes nobody with it: the file that it was at gets an error.

    Raises:
        PromptlintError: one of the processes raised it.
    """
    import multiprocessing  # 15 ms
    from multiprocessing.connection import wait

    if multiprocessing.get_start_method() == "fork":
        _import_once()
    lock = multiprocessing.Lock()
    claims = [
        (work, _Claims(parts, lock, multiprocessing.RawArray("B", sum(map(len, parts)))))
        for work, parts in works
    ]
    running: dict[Connection, multiprocessing.Process] = {}
    done: set[str] = set()
    died = False
    try:
        for number in range(max(len(parts) for _, parts in works)):
            ours, theirs = multiprocessing.Pipe(duplex=False)
            process = multiprocessing.Process(
                target=_serve, args=(theirs, claims, number, common), daemon=True
            )
            process.start()
            theirs.close()
            running[ours] = process
        while running:
            for ready in wait(list(running)):
                connection = cast("Connection", ready)
                try:
                    said = connection.recv()
                except EOFError:
                    process = running.pop(connection)
                    process.join()
                    died = died or process.exitcode != 0
                    continue
                if isinstance(said, PromptlintError):
                    raise said
                done.add(said[0].path)
                yield said
        if died:
            every = (target for _, parts in works for part in parts for target in part)
            yield from _lost(target for target in every if target.path not in done)
    finally:
        for process in running.values():
            process.terminate()
            process.join()


@dataclass(frozen=True, slots=True)
class _Claims:
    """Which targets were taken by a process; the bytes lie in memory that all of them share."""

    parts: Sequence[Sequence[Target]]
    lock: Lock
    taken: Any

    def of(self, number: int) -> Iterator[Target]:
        """Yield the targets of one part, then what is left of the others, from their ends."""
        if number >= len(self.parts):
            return
        starts = [0, *accumulate(map(len, self.parts))]
        spans = [range(start, stop) for start, stop in pairwise(starts)]
        order = [
            *spans[number],
            *(i for span in spans[number + 1 :] + spans[:number] for i in reversed(span)),
        ]
        targets = [target for part in self.parts for target in part]
        for index in order:
            locked = self.lock.acquire(timeout=10)  # whoever holds it longer is dead
            free, self.taken[index] = not self.taken[index], 1
            if locked:
                self.lock.release()
            if free:
                yield targets[index]


def _import_once() -> None:
    """Import what each process will need: a copy of this one has it from the start."""
    from promptlint import checks, volatility  # noqa: F401
    from promptlint.frontends import python  # noqa: F401
    from promptlint.prefix import measure  # noqa: F401


def _serve(
    connection: Connection, works: Sequence[tuple[Work, _Claims]], number: int, common: tuple[Any, ...]
) -> None:
    workers.begin()
    gc.disable()  # as in the first process
    try:
        for work, claims in works:
            for item in work(claims.of(number), *common):
                connection.send(item)
    except PromptlintError as error:
        connection.send(error)
    connection.close()
    os._exit(0)  # all is sent: to take every syntax tree apart first would take as long as some of the work


def _lost(targets: Iterable[Target]) -> Iterator[tuple[Target, Result]]:
    for target in targets:
        why = "not finished: the process that was at it ended"
        error = FileError(target.path, why, "try --jobs 1", internal=True, named=target.named)
        yield target, Result(target.path, error=error)
