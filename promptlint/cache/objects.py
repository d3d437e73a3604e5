"""Caches that are made on purpose and named in each request (Gemini ``cachedContents``)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from promptlint.cache.request import Block, Outcome, Request, ordered
from promptlint.catalog.profile import Profile
from promptlint.words import counted


@dataclass(slots=True)
class CachedObject:
    """A created object: its blocks, and when its storage began and ends. Times are seconds."""

    blocks: tuple[Block, ...]
    created: float
    expires: float

    @property
    def tokens(self) -> int:
        """Return its length."""
        return sum(block.tokens for block in self.blocks)


class ObjectCache:
    """Cached objects of one account: read whole, or not at all."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._objects: dict[str, CachedObject] = {}

    def create(
        self, name: str, blocks: tuple[Block, ...], at: float, seconds: float | None = None
    ) -> Outcome:
        """Create an object that lives for ``seconds`` (default: the provider's); its tokens are billed once."""
        total = sum(block.tokens for block in blocks)
        if total < (self.profile.min_tokens or 0):
            return Outcome(
                total, rejected=f"{counted(total, 'token')}, the minimum is {self.profile.min_tokens}"
            )
        lifetime = (self.profile.lifetime() or inf) if seconds is None else seconds
        self._objects[name] = CachedObject(ordered(blocks, self.profile.order), at, at + lifetime)
        return Outcome(total, written={self.profile.ttl_default: total})

    def send(self, request: Request) -> Outcome:
        """Account for one request, which names the object that stands before its blocks."""
        own = request.tokens
        if not request.cached_object:
            return Outcome(own)
        found = self._objects.get(request.cached_object)
        if found is None:
            return Outcome(own, rejected=f"no cached object `{request.cached_object}`")
        if found.expires < request.at:
            rejected = f"cached object `{request.cached_object}` has expired"
            return Outcome(own, missed={"expired": found.tokens}, rejected=rejected)
        taken = {"systemInstruction": "system", "tools": "tools"}
        for name in self.profile.extras.get("forbidden_with_object", ()):
            if any(block.section == taken.get(name, name) for block in request.blocks):
                return Outcome(own, rejected=f"`{name}` beside a cached object")
        return Outcome(own + found.tokens, found.tokens)

    def storage_token_hours(self, name: str, until: float) -> float:
        """Return the tokens times hours for which an object has been stored until a time."""
        found = self._objects[name]
        return found.tokens * max(0.0, min(until, found.expires) - found.created) / 3600
