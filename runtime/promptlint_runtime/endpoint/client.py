"""Sends prompts to a server one after another, and compares what it reports with the prediction."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from promptlint.errors import InputError, UsageError
from promptlint_runtime.encode import Encoder
from promptlint_runtime.endpoint.encode import ServerEncoder, characters
from promptlint_runtime.endpoint.http import Http
from promptlint_runtime.endpoint.server import Server, counters, describe, reset
from promptlint_runtime.endpoint.surfaces import Surface, Usage, surface
from promptlint_runtime.prompts import Prompt
from promptlint_runtime.report import Advance, Run, Setting, versions
from promptlint_runtime.rows import Sent
from promptlint_runtime.serial import Answer, Serial


@dataclass(frozen=True, slots=True)
class Target:
    """Which server, and how to talk to it. ``model`` "" takes the first one that it lists."""

    url: str
    surface: str = "completions"
    model: str = ""
    key_variable: str = ""
    block_tokens: int | None = None
    max_new: int = 1


class Endpoint:
    """One server, to be left with ``with``. Prompts go out one at a time: what is cached when is known."""

    def __init__(self, target: Target, encode: Encoder | None) -> None:
        """Ask the server what it is; ``encode`` gives token ids, None asks the server for them too.

        Raises:
            InputError: it does not answer.
            UsageError: the surface does not exist, or no model is known.
        """
        self._surface: Surface = surface(target.surface)
        key = os.environ.get(target.key_variable or self._surface.key, "")
        self.http = Http(target.url, self._surface.headers(key))
        self._target = target
        self.model = target.model or self._first_model()
        self.server: Server = describe(self.http, target.block_tokens)
        asking = ServerEncoder(self.http, self._surface, self.model)
        self._encode: Encoder | None = encode or (asking if asking.works() else None)

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

    def prepare(self, prompts: Sequence[Prompt], passes: int) -> list[Sent]:
        """Encode the prompts in the order in which they will be sent."""
        encode = self._encode or characters
        encoded = [encode(prompt) for prompt in prompts]
        order = list(range(len(prompts))) * passes
        return [Sent(number, prompts[i], encoded[i]) for number, i in enumerate(order)]

    def tokens_of(self, sent: Sequence[Sent]) -> int:
        """Return how many tokens sending will take, at most; estimated where ids are not known."""
        each = [len(s.encoded.ids) for s in sent]
        if self._encode is None:
            each = [-(-count // 2) for count in each]  # two characters a token is few for any text
        return sum(each) + self._target.max_new * len(sent)

    def run(self, title: str, sent: Sequence[Sent], advance: Advance) -> Run:
        """Send all; an interrupt ends it with what is known so far."""
        notes, salt, known = [], "", True
        if not reset(self.http, self.server):
            if self.server.engine in ("vllm", "sglang"):
                salt = f"promptlint-{secrets.token_hex(8)}-"
                notes.append("the server's cache could not be emptied: this run has a salt of its own")
            else:
                known = False
                notes.append("what the server's cache held before is not known")
        exact = self._encode is not None
        cache = self.server.make_cache() if known and exact else None
        if cache is None:
            notes.append("nothing is predicted: the cache's rules, or its tokens, are not known")
        before = counters(self.http)
        serial = Serial(lambda item: self._ask(item, salt), cache, self.server.block_tokens, exact, salt)
        rows, partial = serial.run(title, sent, advance)
        if partial:
            self.http.close()  # in the middle of an answer
        after = counters(self.http)
        return Run(
            title=title,
            setting=self._setting(),
            rows=rows,
            evicted_tokens=0 if cache is None else cache.stats.evicted_tokens,
            partial=partial,
            notes=tuple(notes),
            counters={name: value - before.get(name, 0.0) for name, value in after.items()},
        )

    def _ask(self, item: Sent, salt: str) -> Answer:
        encoded = item.encoded if self._encode is not None else None
        body = self._surface.body(item.prompt, encoded, self.model, self._target.max_new)
        if salt + item.prompt.salt:
            body["cache_salt"] = salt + item.prompt.salt
        if self.server.engine == "vllm" and self._surface.name in ("completions", "chat"):
            body["return_token_ids"] = True  # answers are cached too: their ids are needed to predict
        first: float | None = None
        usage: Usage | None = None
        output: list[int] = []
        for event in self.http.stream(self._surface.path, body):
            if first is None and self._surface.first(event.data):
                first = event.seconds
            usage = self._surface.usage(event.data) or usage
            for choice in event.data.get("choices") or ():
                output += choice.get("token_ids") or ()
        if first is None:
            raise InputError(f"{self.http.host}: the answer to {item.prompt.label} has no token", "")
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
            concurrency=1,
            seed=0,
            versions=versions("promptlint-cache"),
        )
