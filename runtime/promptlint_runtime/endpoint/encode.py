"""Token ids from the server itself, or characters in their place."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from promptlint.errors import InputError
from promptlint_runtime.endpoint.http import Http
from promptlint_runtime.endpoint.surfaces import Surface
from promptlint_runtime.prompts import Encoded, Prompt


class ServerEncoder:
    """Asks the server's ``/tokenize`` for the ids it will use."""

    def __init__(self, http: Http, surface: Surface, model: str) -> None:
        self._http = http
        self._chat = surface.name != "completions"
        self._model = model

    def works(self) -> bool:
        """Tell whether the server has such a path."""
        return self._ask({"prompt": "a", "content": "a"}) is not None

    def __call__(self, prompt: Prompt) -> Encoded:
        """Encode; see `encode.Encoder`."""
        if prompt.ids is not None:
            return Encoded(prompt.ids)
        if self._chat:
            messages = (prompt.body or {}).get("messages") or [{"role": "user", "content": prompt.text}]
            body = {"messages": messages, "add_generation_prompt": True}
            tools = (prompt.body or {}).get("tools")
            ids = self._ask({**body, "tools": tools} if tools else body)
        else:
            ids = self._ask({"prompt": prompt.text, "content": prompt.text, "add_special": True})
        if not ids:
            raise InputError(f"{prompt.name}: {prompt.label}: the server could not tokenize it", "")
        return Encoded(tuple(ids))

    def _ask(self, body: dict[str, Any]) -> list[int] | None:
        answer = self._http.post("/tokenize", {"model": self._model, **body})
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        return tokens if isinstance(tokens, list) and all(isinstance(t, int) for t in tokens) else None


def characters(prompt: Prompt) -> Encoded:
    """Return characters as if they were tokens: where prompts part can be told, how many tokens not."""
    ends = tuple(accumulate(len(piece.text) for piece in prompt.pieces))
    return Encoded(tuple(map(ord, prompt.text)) or (0,), ends)
