"""Spreading files over processes, when there are enough of them to pay for the start."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from promptlint.discover import Target
from promptlint.engine.units import Result
from promptlint.errors import PromptlintError
from promptlint.report import FileError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Work = Callable[..., Iterator[tuple[Target, Result]]]
"""A function of a module: called with the targets of one process, then with what all have in common."""


def shares(targets: Sequence[Target], jobs: int, worth: int) -> list[Sequence[Target]]:
    """Deal targets out to processes.

    ``jobs`` is 0 for a choice by size and cores; ``worth`` is how many targets pay for one more process.
    """
    count = _processes(targets, jobs, worth)
    return [targets[start::count] for start in range(count)]


def neighbours(targets: Sequence[Target], jobs: int, worth: int) -> list[Sequence[Target]]:
    """Deal targets out like `shares`, those that stand together to one process, by their sizes.

    Files of one folder import each other: apart, each process would read most of the program again.
    """
    count = _processes(targets, jobs, worth)
    if count == 1:
        return [targets]
    sizes = [_size(target) for target in targets]
    whole, done = sum(sizes), 0
    out: list[list[Target]] = [[] for _ in range(count)]
    for target, size in zip(targets, sizes, strict=True):
        out[min(count - 1, (done + size // 2) * count // max(1, whole))].append(target)
        done += size
    return [part for part in out if part]


def _size(target: Target) -> int:
    try:
        return target.file.stat().st_size + 1
    except OSError:
        return 1


def _processes(targets: Sequence[Target], jobs: int, worth: int) -> int:
    most = jobs or min(_cores(), len(targets) // worth)
    return max(1, min(most, len(targets) // 2))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spread(
    work: Work, parts: Sequence[Sequence[Target]], common: tuple[Any, ...]
) -> Iterator[tuple[Target, Result]]:
    """Yield what ``work`` yields for each part, each in a process of its own, as it comes.

    A process that dies takes nobody with it: its unfinished files get an error each.

    Raises:
        PromptlintError: one of the processes raised it.
    """
    import multiprocessing  # 15 ms
    from multiprocessing.connection import wait

    running: dict[Connection, tuple[BaseProcess, dict[str, Target]]] = {}
    try:
        for part in parts:
            ours, theirs = multiprocessing.Pipe(duplex=False)
            process = multiprocessing.Process(target=_serve, args=(theirs, work, part, common), daemon=True)
            process.start()
            theirs.close()
            running[ours] = process, {target.path: target for target in part}
        while running:
            for ready in wait(list(running)):
                connection = cast("Connection", ready)
                started, waiting = running[connection]
                try:
                    said = connection.recv()
                except EOFError:
                    del running[connection]
                    started.join()
                    yield from _lost(started, waiting)
                    continue
                if isinstance(said, PromptlintError):
                    raise said
                waiting.pop(said[0].path, None)
                yield said
    finally:
        for started, _ in running.values():
            started.terminate()
            started.join()


def _serve(connection: Connection, work: Work, part: Sequence[Target], common: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process hears it too, and ends this one
    gc.disable()  # as in the first process
    try:
        for item in work(part, *common):
            connection.send(item)
    except PromptlintError as error:
        connection.send(error)
    connection.close()
    os._exit(0)  # all is sent: to take every syntax tree apart first would take as long as some of the work


def _lost(process: BaseProcess, waiting: dict[str, Target]) -> Iterator[tuple[Target, Result]]:
    why = f"a process ended with {process.exitcode}"
    for path, target in waiting.items():
        error = FileError(path, f"not finished: {why}", "try --jobs 1", internal=True, named=target.named)
        yield target, Result(path, error=error)
