"""Hosted caches without marks: steps of tokens, whole earlier prompts, or a step nobody documents.

::

    BLOCK    |128|128|128|…      every full step of a prompt above the minimum is kept
    UNIT     prompt ─┤ answer ─┤ an earlier prompt, prompt with answer, or a prefix seen twice, whole
    UNKNOWN  block ends          the longest common prefix is the most that can hit

Lifetimes are rarely promised: what is read is an upper bound, with ``cautious`` a lower one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from promptlint.cache.request import (
    FORGET_AFTER,
    SWEEP_EVERY,
    Block,
    Outcome,
    Request,
    chain,
    ends,
    mix,
    ordered,
)
from promptlint.catalog.profile import Granularity, Profile, TtlKind


@dataclass(slots=True)
class Kept:
    """A prefix in the cache: when it can be read and when it was last used, in seconds."""

    readable: float
    used: float
    unit: bool = True  # False: only passed through, until another prompt shares it


class AutomaticCache:
    """The cache of one provider account, for profiles that need no marks."""

    def __init__(self, profile: Profile, cautious: bool = False) -> None:
        self.profile = profile
        self._kept: dict[bytes, Kept] = {}
        self._seconds = _longest_idle(profile, cautious)
        self._sends = 0

    def __len__(self) -> int:
        return len(self._kept)

    def send(self, request: Request) -> Outcome:
        """Account for one request; requests come in the order of their start."""
        blocks = ordered(request.blocks, self.profile.order)
        total = request.tokens
        if reason := self._not_cached(request, total):
            return Outcome(total, exact=False, missed={reason: 0})
        self._sweep(request.at)
        points = list(self._points(request, blocks))
        read, missed = self._look_up(request.at, points, total)
        minimum = self.profile.min_tokens or 0
        if read < minimum:
            read = 0
        self._keep(request, blocks, points, total)
        return Outcome(total, read, exact=False, missed=missed)

    def _not_cached(self, request: Request, total: int) -> str:
        """Return why a request neither reads nor writes, or ""."""
        if self.profile.min_tokens and total < self.profile.min_tokens:
            return "below-minimum"
        for key in self.profile.required_keys:
            if key.rpartition(":")[2] not in request.parameters:
                return "no-key"
        return ""

    def _points(self, request: Request, blocks: Sequence[Block]) -> Iterator[tuple[bytes, int]]:
        """Yield key and length of every prefix at which a hit can end, shortest first."""
        step = self.profile.block_tokens
        if self.profile.granularity is Granularity.BLOCK and step:
            if request.keys is not None:
                root = mix(b"", request.namespace, *(f"{k}={v}" for k, v in sorted(self._keyed(request))))
                for at, key in enumerate(request.keys, 1):
                    yield mix(root, key), at * step
            else:
                yield from _steps(chain(request, blocks, self.profile), blocks, step)
            return
        yield from zip(chain(request, blocks, self.profile), ends(blocks), strict=True)

    def _keyed(self, request: Request) -> Iterator[tuple[str, str]]:
        for name, value in request.parameters.items():
            if name == "model" or name in self.profile.survives:
                yield name, value

    def _look_up(
        self, at: float, points: Sequence[tuple[bytes, int]], total: int
    ) -> tuple[int, dict[str, int]]:
        """Return the length of the longest live prefix and what was missed."""
        read, missed = 0, dict[str, int]()
        for key, length in reversed(points):
            kept = self._kept.get(key)
            if kept is None or (self.profile.granularity is Granularity.UNIT and not kept.unit):
                continue
            if kept.readable > at:
                missed.setdefault("not-readable", length)
            elif at - kept.used > self._seconds:
                missed.setdefault("expired", length)
            else:
                read = length
                break
        if self.profile.recomputes_last_token and read == total:  # and with it the step it stands in
            step = self.profile.block_tokens or 1
            read = max(0, (total - 1) // step * step)
        return read, missed

    def _keep(
        self, request: Request, blocks: Sequence[Block], points: Sequence[tuple[bytes, int]], total: int
    ) -> None:
        readable = request.at if request.first_byte is None else request.first_byte
        if self.profile.granularity is not Granularity.UNIT:
            for key, _ in points:
                self._touch(key, request.at, readable, True)
            return
        shared = max((n for n, (key, _) in enumerate(points) if key in self._kept), default=-1)
        for n, (key, _) in enumerate(points):
            self._touch(key, request.at, readable, n == len(points) - 1 or n == shared)
        if request.output:
            ended = readable if request.end is None else request.end
            whole = (*blocks, *request.output)
            self._touch(chain(request, whole, self.profile)[-1], request.at, ended, True)

    def _touch(self, key: bytes, at: float, readable: float, unit: bool) -> None:
        kept = self._kept.get(key)
        if kept is None or at - kept.used > self._seconds:
            self._kept[key] = Kept(readable, at, unit)
        else:
            kept.used, kept.unit = at, kept.unit or unit

    def _sweep(self, now: float) -> None:
        """Drop what has not been used for long, so that a long log needs bounded memory."""
        self._sends += 1
        if self._sends % SWEEP_EVERY == 0:
            oldest = now - min(self._seconds, FORGET_AFTER) - 1
            self._kept = {key: kept for key, kept in self._kept.items() if kept.used >= oldest}


def _longest_idle(profile: Profile, cautious: bool) -> float:
    """Return the seconds without use after which a prefix counts as gone."""
    low, high = profile.lifetime(), profile.ttl_max_seconds.get(profile.ttl_default)
    if cautious or profile.ttl_kind in (TtlKind.CONTRACT, TtlKind.MINIMUM):
        return low or inf
    return high or (low if profile.ttl_kind is TtlKind.MAXIMUM and low else inf)


def _steps(keys: Sequence[bytes], blocks: Sequence[Block], step: int) -> Iterator[tuple[bytes, int]]:
    """Yield key and length of every full step of tokens.

    Inside a block the content is only known by the block's key, so a step that ends there is named by
    the chain up to the block's start, the block, and the offset in it.
    """
    at = 0
    for n, block in enumerate(blocks):
        before = keys[n - 1] if n else b""
        first = -(-(at + 1) // step) * step
        for length in range(first, at + block.tokens + 1, step):
            yield mix(before, keys[n], length), length
        at += block.tokens
