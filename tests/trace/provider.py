"""A provider for tests: bodies in, a log with usage out, by the cache rules of a profile.

The counts come from `promptlint.cache`, which knows nothing of how misses are explained; a token
is four characters, as nobody here has a tokenizer of the hosted models.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from promptlint.cache.hosted import hosted_cache
from promptlint.cache.surfaces import read_request
from promptlint.catalog.profiles import profile_for

START = datetime(2026, 10, 12, 10, 0, tzinfo=UTC)
RULES = [
    "Quote the paragraph of the manual you rely on, and give its number.",
    "Never change an entry that is closed; open a new one and refer to it.",
    "If two entries disagree, name both and ask which of them is meant.",
    "Give quantities with their unit and with the day of the count.",
    "Round figures to two places and say that you have done so.",
    "When a request is unclear, ask one short question and wait.",
    "Escalate cases older than thirty days to the second line at once.",
]


def manual(topic: str, rules: int = 100) -> str:
    """Return a long constant text: about 17 tokens a rule."""
    return f"You assist in {topic}.\n" + "\n".join(
        f"{n}. {RULES[n % 7]} ({topic})" for n in range(1, rules + 1)
    )


class Provider:
    """Answers requests of one account and keeps the log."""

    def __init__(self, provider: str = "openai", model: str = "") -> None:
        self.provider = provider
        self.model = model or {"openai": "gpt-4.1", "anthropic": "claude-sonnet-4-5"}[provider]
        self.now = START
        self.rows: list[dict[str, Any]] = []
        self._caches: dict[str, Any] = {}

    def send(self, body: Mapping[str, Any], after: float = 20, thread: str = "", cache: str = "") -> None:
        """Answer one request; ``cache`` names the replica that it lands on."""
        self.now += timedelta(seconds=after)
        model = body.get("model", self.model)
        sent = {"model": model, **body}
        profile = profile_for(self.provider, model, on=self.now.date())
        assert profile is not None
        store = self._caches.setdefault(f"{model}/{cache}", hosted_cache(profile))
        asked = read_request(json.loads(json.dumps(sent)), lambda text: -(-len(text) // 4))
        at = (self.now - START).total_seconds()
        outcome = store.send(replace(asked, at=at, first_byte=at + 1, end=at + 2))
        row: dict[str, Any] = {
            "ts": self.now.isoformat().replace("+00:00", "Z"),
            "provider": self.provider,
            "endpoint": "/v1/messages" if self.provider == "anthropic" else "/v1/chat/completions",
        }
        if thread:
            row["thread"] = thread
        if outcome.rejected:
            response: dict[str, Any] = {"type": "error", "error": {"message": outcome.rejected}}
        elif self.provider == "anthropic":
            usage = {
                "input_tokens": outcome.plain,
                "cache_read_input_tokens": outcome.read,
                "cache_creation_input_tokens": outcome.write,
                "output_tokens": 5,
            }
            response = {"id": f"msg_{len(self.rows)}", "model": model, "usage": usage}
        else:
            usage = {
                "prompt_tokens": outcome.total,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": outcome.read},
            }
            response = {"id": f"chatcmpl-{len(self.rows)}", "model": model, "usage": usage}
        self.rows.append({**row, "request": sent, "response": response})


def chat(system: str, *turns: str, **more: Any) -> dict[str, Any]:
    """Return a chat body: system text, then user and assistant texts in turn."""
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(turns)]
    return {"messages": [{"role": "system", "content": system}, *messages], **more}


def claude(
    system: Any, *turns: str, marked: bool = True, rolling: bool = False, **more: Any
) -> dict[str, Any]:
    """Return an Anthropic body; ``marked`` puts a mark on the system text, ``rolling`` an automatic one."""
    roles = ("user", "assistant")
    if isinstance(system, str):
        block: dict[str, Any] = {"type": "text", "text": system}
        if marked:
            block["cache_control"] = {"type": "ephemeral"}
        system = [block]
    messages = [
        {"role": roles[n % 2], "content": [{"type": "text", "text": text}]} for n, text in enumerate(turns)
    ]
    automatic = {"cache_control": {"type": "ephemeral"}} if rolling else {}
    return {"max_tokens": 500, **automatic, "system": system, "messages": messages, **more}
