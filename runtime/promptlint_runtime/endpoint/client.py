"""Sends prompts to a server, and compares what it reports with the prediction."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Self

from promptlint.cache.base import PrefixCache
from promptlint.errors import InputError, UsageError
from promptlint.words import counted
from promptlint_runtime.encode import Encoder
from promptlint_runtime.endpoint.cold import marked, without_marks
from promptlint_runtime.endpoint.encode import ServerEncoder, characters
from promptlint_runtime.endpoint.http import Http
from promptlint_runtime.endpoint.server import Server, counters, describe, reset
from promptlint_runtime.endpoint.surfaces import Surface, Usage, ends, surface
from promptlint_runtime.parallel import Parallel
from promptlint_runtime.prompts import Prompt
from promptlint_runtime.report import Advance, Run, Setting, Timing, versions
from promptlint_runtime.rows import Sent, arrange
from promptlint_runtime.serial import Answer, Ask, Sequenced, Serial
from promptlint_runtime.shapes import Shape
from promptlint_runtime.trials import REPEATS, Manner, Trial, choose, time_prompts

_SALTED = ("vllm", "sglang")  # engines that keep requests of other salts apart


@dataclass(frozen=True, slots=True)
class Target:
    """Which server, and how to talk to it. ``model`` "" takes the first one that it lists.

    ``timed`` prompts are timed cold and warm, ``repeats`` times (None: fewer where they take long);
    ``shape`` is the model's, for the bound of what a hit can save. ``timeout`` in seconds.
    """

    url: str
    surface: str = "completions"
    model: str = ""
    key_variable: str = ""
    block_tokens: int | None = None
    max_new: int = 1
    concurrency: int = 1
    timed: int = 0
    repeats: int | None = None
    shape: Shape | None = None
    timeout: float = 600.0


class Endpoint:
    """One server, to be left with ``with``.

    Prompts go out one at a time, so that what is cached when is known, unless ``concurrency`` says more.
    """

    def __init__(self, target: Target, encode: Encoder | None) -> None:
        """Ask the server what it is; ``encode`` gives token ids, None asks the server for them too.

        Raises:
            InputError: it does not answer.
            UsageError: the surface does not exist, or no model is known.
        """
        self._surface: Surface = surface(target.surface)
        key = os.environ.get(target.key_variable or self._surface.key, "")
        self._target = target
        self._headers = self._surface.headers(key)
        self.http = self._connect()
        self.model = target.model or self._first_model()
        self.server: Server = describe(self.http, target.block_tokens)
        asking = ServerEncoder(self.http, self._surface, self.model)
        self._encode: Encoder | None = encode or (asking if asking.works() else None)

    def _connect(self) -> Http:
        return Http(self._target.url, self._headers, self._target.timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def _first_model(self) -> str:
        text = self.http.get("/v1/models")
        if text is None:
            raise InputError(
                f"{self.http.host}: no answer at /v1/models", "check the URL and the key, or give --model"
            )
        try:
            return str(json.loads(text)["data"][0]["id"])
        except (ValueError, LookupError, TypeError):
            self.http.close()
            raise UsageError(f"{self.http.host} lists no model", "give --model") from None

    def prepare(
        self, prompts: Sequence[Prompt], passes: int, order: str = "given", seed: int = 0
    ) -> list[Sent]:
        """Encode the prompts in the order in which they will be sent; see `rows.arrange`."""
        encode = self._encode or characters
        return arrange(prompts, [encode(prompt) for prompt in prompts], order, passes, seed)

    def tokens_of(self, sent: Sequence[Sent]) -> int:
        """Return how many tokens sending will take, at most; estimated where ids are not known."""
        each = [len(s.encoded.ids) for s in sent]
        if self._encode is None:
            each = [-(-count // 2) for count in each]  # two characters a token is few for any text
        each = [count + self._target.max_new for count in each]
        times = (self._target.repeats or REPEATS) * self._manner.sent
        return sum(each) + times * sum(sorted(each)[len(each) - min(self._target.timed, len(each)) :])

    @property
    def _manner(self) -> Manner:
        # A part of a prompt can be sent where ids are, and the salt goes beside them.
        ids = self._surface.name == "completions" and self._encode is not None
        hosted = not self.server.engine  # an engine of that API caches with and without marks
        off = self.server.engine == "llama.cpp" or (hosted and self._surface.name == "messages")
        return Manner(prefix=ids and self.server.engine in _SALTED, off=off)

    def run(self, title: str, sent: Sequence[Sent], advance: Advance) -> Run:
        """Send all, then time some; an interrupt or an error ends it with what is known so far.

        Raises:
            InputError: the server gave an error before any answer.
        """
        alone, exact = self._target.concurrency == 1, self._encode is not None
        salt, known, notes = self._empty()
        cache = self.server.make_cache() if known and exact and alone else None
        if not alone:
            notes.append(
                "nothing is predicted: with several requests at a time the server decides which is first"
            )
        elif cache is None:
            notes.append("nothing is predicted: the cache's rules, or its tokens, are not known")
        before = counters(self.http)
        done = self._send(title, sent, advance, cache, salt)
        if done.partial or done.stopped:
            self.http.close()  # in the middle of an answer
        after = counters(self.http)
        timings: tuple[Timing, ...] = ()
        partial, stopped = done.partial, done.stopped
        if self._target.timed and not partial and not stopped:
            notes.append(self._how_timed())
            try:
                timings, partial = self._time(done, sent, advance)
            except InputError as error:
                stopped = str(error)
        return Run(
            title=title,
            setting=self._setting(),
            rows=done.rows,
            timings=timings,
            evicted_tokens=0 if cache is None else cache.stats.evicted_tokens,
            partial=partial,
            stopped=stopped,
            seconds=done.seconds,
            notes=tuple(notes),
            counters={name: value - before.get(name, 0.0) for name, value in after.items()},
        )

    def _empty(self) -> tuple[str, bool, list[str]]:
        """Empty the cache, or keep the run apart; return its salt, whether that worked, and what to note."""
        notes, replicas = [], self.server.replicas
        if replicas > 1:
            notes.append(
                f"the server has {counted(replicas, 'replica')} with a cache each: which one answers is not known"
            )
        if reset(self.http, self.server):
            return "", True, notes
        if self.server.engine in _SALTED:
            notes.append("the server's cache could not be emptied: this run has a salt of its own")
            return f"promptlint-{secrets.token_hex(8)}-", True, notes
        notes.append("what the server's cache held before is not known")
        return "", False, notes

    def _send(
        self, title: str, sent: Sequence[Sent], advance: Advance, cache: PrefixCache | None, salt: str
    ) -> Sequenced:
        block, exact = self.server.block_tokens, self._encode is not None
        if self._target.concurrency > 1:
            parallel = Parallel(lambda: self._worker(salt), self._target.concurrency, block, exact)
            return parallel.run(title, sent, advance)

        def ask(item: Sent) -> Answer:
            return self._ask(self.http, item, Trial(salt))

        return Serial(ask, cache, block, exact, salt).run(title, sent, advance)

    @contextmanager
    def _worker(self, salt: str) -> Iterator[Ask]:
        with closing(self._connect()) as http:
            yield lambda item: self._ask(http, item, Trial(salt))

    def _how_timed(self) -> str:
        cold = "a salt of its own" if self.server.engine in _SALTED else "another first line"
        warm = "its cached part" if self._manner.prefix else "the same prompt"
        off = "" if self._manner.off else "; the cache of this server cannot be left out"
        return f"times: cold with {cold} each time, warm right after {warm}{off}"

    def _time(
        self, done: Sequenced, sent: Sequence[Sent], advance: Advance
    ) -> tuple[tuple[Timing, ...], bool]:
        chosen = choose(done.rows, sent, self._target.timed)
        return time_prompts(
            chosen, self._send_trial, self._manner, self._target.repeats, self._target.shape, advance
        )

    def _send_trial(self, item: Sent, trial: Trial) -> Answer:
        if self.server.engine in _SALTED:
            ids = item.encoded.ids[: trial.tokens]
            return self._ask(self.http, replace(item, encoded=replace(item.encoded, ids=ids)), trial)
        prompt = marked(item.prompt, trial.salt)
        if trial.off and prompt.body is not None:
            prompt = replace(prompt, body=without_marks(prompt.body))
        encoded = item.encoded if self._encode is None else self._encode(prompt)
        return self._ask(self.http, Sent(item.number, prompt, encoded), replace(trial, salt=""))

    def _ask(self, http: Http, item: Sent, trial: Trial) -> Answer:
        salt = trial.salt
        encoded = item.encoded if self._encode is not None else None
        body = self._surface.body(item.prompt, encoded, self.model, self._target.max_new)
        if salt + item.prompt.salt:
            body["cache_salt"] = salt + item.prompt.salt
        if self.server.engine == "vllm" and self._surface.name in ("completions", "chat"):
            body["return_token_ids"] = True  # answers are cached too: their ids are needed to predict
        if trial.off and self.server.engine == "llama.cpp":
            body["cache_prompt"] = False
        first: float | None = None
        usage: Usage | None = None
        output: list[int] = []
        ended = False
        for event in http.stream(self._surface.path, body):
            if event.data.get("error"):
                raise InputError(f"{http.host}: {str(event.data['error'])[:300]}", "see the server's log")
            ended = ended or ends(event.data)
            if first is None and self._surface.first(event.data):
                first = event.seconds
            counts = self._surface.usage(event.data)
            usage = counts.over(usage) if counts else usage
            for choice in event.data.get("choices") or ():
                output += choice.get("token_ids") or ()
        if first is None:
            raise InputError(
                f"{http.host}: the answer to {item.prompt.label or 'a prompt'} has no token",
                "check that --surface is an API of this server, and its log",
            )
        if not ended:
            raise InputError(
                f"{http.host}: the answer to {item.prompt.label or 'a prompt'} broke off",
                "see the server's log",
            )
        counted = usage or Usage(None, None, 0)
        return Answer(counted.prompt, counted.cached, counted.output, first, tuple(output))

    def _setting(self) -> Setting:
        server = self.server
        return Setting(
            model=self.model,
            engine=f"{server.engine or 'server'} at {self.http.host}, {self._surface.name}",
            device="the server's",
            dtype="the server's",
            cache={"vllm": "block", "sglang": "radix"}.get(server.engine, "not known"),
            block_tokens=server.block_tokens or 1,
            capacity_tokens=server.capacity_tokens,
            kv_storage="the server's",
            kv_bytes_per_token=None,
            concurrency=self._target.concurrency,
            seed=0,
            versions=versions("promptlint-cache"),
        )
