"""Several requests at a time on an engine that is not ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from time import perf_counter

from promptlint.errors import InputError
from promptlint_runtime.predict import Earlier
from promptlint_runtime.report import Advance
from promptlint_runtime.rows import Sent, divergence_of
from promptlint_runtime.serial import Answer, Ask, Sequenced, row_of

_LOOK = 0.2  # seconds between looks for an interrupt


@dataclass(frozen=True, slots=True)
class Parallel:
    """Sends ``workers`` prompts at a time. Nothing is predicted: which is computed first is the engine's.

    ``connect`` gives each worker what it asks through; ``block_tokens`` and ``exact`` are as in `Serial`.
    """

    connect: Callable[[], AbstractContextManager[Ask]]
    workers: int
    block_tokens: int | None
    exact: bool = True

    def run(self, title: str, sent: Sequence[Sent], advance: Advance) -> Sequenced:
        """Send all; an interrupt, or an error after the first answer, leaves what is known so far.

        Raises:
            InputError: the engine gave an error before any answer.
        """
        answers: dict[int, Answer] = {}
        begun, partial, stopped = perf_counter(), False, ""
        try:
            for number, answer in self._answers(sent):
                answers[number] = answer
                advance(title, len(answers), len(sent))
        except KeyboardInterrupt:
            partial = True
        except InputError as error:
            if not answers:
                raise
            stopped = str(error)
        seconds = perf_counter() - begun
        earlier, rows = Earlier(self.block_tokens or 1), []
        for item in sent:
            divergence = divergence_of(earlier, item)
            if item.number in answers:
                found = answers[item.number]
                rows.append(row_of(item, found, None, divergence, self.block_tokens, self.exact))
        return Sequenced(tuple(rows), partial, stopped, seconds)

    def _answers(self, sent: Sequence[Sent]) -> Iterator[tuple[int, Answer]]:
        """Yield answers as they come. The threads end with the process: one may wait for a dead server."""
        waiting: SimpleQueue[Sent] = SimpleQueue()
        done: SimpleQueue[tuple[int, Answer | Exception]] = SimpleQueue()
        for item in sent:
            waiting.put(item)

        def work() -> None:
            number = -1
            try:
                with self.connect() as ask:
                    while True:
                        item = waiting.get_nowait()
                        number = item.number
                        done.put((number, ask(item)))
            except Empty:
                return
            except Exception as error:  # noqa: BLE001  the main thread raises it
                done.put((number, error))

        for _ in range(min(self.workers, len(sent))):
            Thread(target=work, daemon=True).start()
        for _ in sent:
            number, answer = _next(done)
            if isinstance(answer, Exception):
                while not waiting.empty():  # nothing more is sent
                    waiting.get_nowait()
                raise answer
            yield number, answer


def _next(done: SimpleQueue[tuple[int, Answer | Exception]]) -> tuple[int, Answer | Exception]:
    while True:
        try:
            return done.get(timeout=_LOOK)
        except Empty:
            continue
