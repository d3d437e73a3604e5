"""Logs of one request a line, parsed and tokenized by several processes.

::

    file ─lines─▶ batches ─┬─▶ worker: parse, tokenize, hash ─┬─▶ requests in the order of the file
                           └─▶ worker …                       ┘   (explained in this process)

What a worker makes of a line depends on that line alone, so the result is that of one process. Ordering,
explaining and counting need everything that came before and stay here.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import TYPE_CHECKING

from promptlint import workers
from promptlint.trace.encode import Encoder, Tokens
from promptlint.trace.explain.history import chain_of
from promptlint.trace.model import Request
from promptlint.trace.readers import FORMATS, Format, Log, only_objects
from promptlint.trace.readers.stream import Skipped, parsed, raw_lines

if TYPE_CHECKING:
    from promptlint.trace.readers import Entry

_WORTH = 64 * 1024 * 1024  # bytes of a file: some seconds of one core
_BATCH = 2 * 1024 * 1024
_AHEAD = 2  # batches that wait for each process
_MOST = 8  # beyond, this process cannot keep up with explaining

Batch = list[tuple[int, bytes]]
Answer = tuple[list[Request], Skipped]


def processes(log: Log, jobs: int) -> int:
    """Return how many processes read a log; 0 of ``jobs`` takes them where that is worth starting them."""
    if not log.format_of_lines:
        return 1
    if jobs:
        return jobs
    return min(_MOST, os.cpu_count() or 1) if log.path.stat().st_size > _WORTH else 1


def read_apart(log: Log, tokens: Tokens, jobs: int) -> Iterator[Entry]:
    """Yield the requests of a log, encoded; those of one process that reads alone, in the same order."""
    log.skipped.clear()  # what was found while the format was looked for is found again
    log.progress[0] = 0
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_begin, initargs=(log.format, log.name, tokens)
    ) as pool:
        waiting: deque[Future[Answer]] = deque()
        try:
            for batch in _batches(raw_lines(log.path, log.name, log.skipped, log.progress)):
                waiting.append(pool.submit(_read, batch))
                if len(waiting) > _AHEAD * jobs:
                    yield from _taken(waiting.popleft(), log)
            while waiting:
                yield from _taken(waiting.popleft(), log)
        finally:  # an interrupt waits for nothing that was only asked for
            pool.shutdown(wait=False, cancel_futures=True)


def _taken(answer: Future[Answer], log: Log) -> Iterator[Request]:
    requests, skipped = answer.result()
    log.skipped.merge(skipped)
    yield from requests


def _batches(lines: Iterator[tuple[int, bytes]]) -> Iterator[Batch]:
    batch: Batch = []
    size = 0
    for number, line in lines:
        batch.append((number, line))
        size += len(line)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_state: list[tuple[Format, str, Encoder]] = []  # of a worker


def _begin(form: str, name: str, tokens: Tokens) -> None:
    workers.begin()
    _state[:] = [(next(one for one in FORMATS if one.name == form), name, tokens.open()[0])]


def _read(batch: Batch) -> Answer:
    """Parse and encode some lines."""
    ((form, name, encoder),) = _state
    skipped = Skipped()
    found: list[Request] = []
    values = parsed(batch, lambda number, why: skipped.add(name, number, why))
    for entry in form.read(only_objects(values, name, skipped), name, skipped):
        assert isinstance(entry, Request)
        chain_of(entry.parts)  # the digests are kept in the parts
        found.append(replace(entry, encoded=encoder.encoded(entry)) if entry.parts else entry)
    return found, skipped
