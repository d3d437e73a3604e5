"""A hosted cache with marks: what each request of a run reads and writes, and why not more.

::

    tools ─ system ─●─ messages ─ … ─●        ● marks, at block ends
                    B (1h)           C (5m)
    ├──── read A ──┤── 1h: B-A ──┤─ 5m: C-B ─┤── plain ──┤     A: the longest live entry

Only marks write; each mark looks back over a number of blocks for an entry that an earlier request wrote.
Caches without marks are in `promptlint.cache.automatic`; `hosted_cache` chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from promptlint.cache.automatic import AutomaticCache
from promptlint.cache.marks import Mark, Marks, place_marks, reach
from promptlint.cache.objects import ObjectCache
from promptlint.cache.request import (
    FORGET_AFTER,
    SWEEP_EVERY,
    Block,
    MarkOutcome,
    Outcome,
    Request,
    chain,
    ends,
    ordered,
)
from promptlint.catalog.profile import Granularity, Profile, TtlKind


@dataclass(slots=True)
class Entry:
    """A written prefix: its length, lifetime, and when it can be read. Times are seconds."""

    tokens: int
    ttl: float
    readable: float
    expires: float


class BreakpointCache:
    """The cache of one provider account, for profiles whose hits end exactly at marks."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._entries: dict[bytes, Entry] = {}
        self._sends = 0

    def __len__(self) -> int:
        return len(self._entries)

    def send(self, request: Request) -> Outcome:
        """Account for one request; requests come in the order of their start."""
        blocks = ordered(request.blocks, self.profile.order)
        marks = place_marks(request, blocks, self.profile)
        lengths = ends(blocks)
        total = lengths[-1] if lengths else 0
        if marks.rejected:
            return Outcome(total, rejected=marks.rejected)
        self._sweep(request.at)
        keys = chain(request, blocks, self.profile)
        hit, missed = self._look_up(request, blocks, keys, lengths, marks)
        read = lengths[hit] if hit >= 0 else 0
        self._refresh(request.at, keys[: hit + 1])
        written, outcomes = self._write(request, keys, lengths, marks, hit)
        short = [outcome.tokens for outcome in outcomes if outcome.result == "below-minimum"]
        if short and not read and not written:
            missed["below-minimum"] = max(short)
        exact = self.profile.ttl_kind in (TtlKind.CONTRACT, TtlKind.MINIMUM)
        return Outcome(total, read, written, exact, tuple(outcomes), missed)

    def _look_up(
        self, request: Request, blocks: Sequence[Block], keys: list[bytes], lengths: list[int], marks: Marks
    ) -> tuple[int, dict[str, int]]:
        """Return the index of the block where the longest hit ends (-1: none) and what was missed."""
        by_mark = self.profile.lookback_unit == "breakpoint"
        looked: set[int] = set()
        for mark in marks.reading:
            first = mark.block if by_mark else reach(mark.block, blocks, self.profile)
            looked.update(range(first, mark.block + 1))
        last = marks.reading[-1].block if marks.reading else len(keys) - 1
        hit, missed = -1, dict[str, int]()
        for at in range(len(keys) - 1, -1, -1):
            entry = self._entries.get(keys[at])
            if entry is None:
                continue
            if entry.readable > request.at:
                missed.setdefault("not-readable", lengths[at])
            elif entry.expires < request.at:
                missed.setdefault("expired", lengths[at])
            elif at in looked:
                hit = at
                break
            else:
                missed.setdefault("lookback" if at <= last and marks.reading else "no-mark", lengths[at])
        return hit, missed

    def _refresh(self, at: float, keys: Sequence[bytes]) -> None:
        if self.profile.ttl_refresh_on_hit:
            for key in keys:
                entry = self._entries.get(key)
                if entry is not None and entry.readable <= at <= entry.expires:
                    entry.expires = at + entry.ttl

    def _write(
        self, request: Request, keys: list[bytes], lengths: list[int], marks: Marks, hit: int
    ) -> tuple[dict[str, int], list[MarkOutcome]]:
        """Write at every mark behind the hit; bill each lifetime for the stretch up to its last mark."""
        minimum = self.profile.min_tokens or 0
        written: dict[str, int] = {}
        outcomes = []
        billed = lengths[hit] if hit >= 0 else 0
        readable = self._readable(request)
        for mark in sorted(marks.writing, key=self._billing_order):
            length, ttl = lengths[mark.block], mark.ttl or self.profile.ttl_default
            if length < minimum:
                result = "below-minimum"
            elif mark.block <= hit:
                result = "read" if mark.block == hit else "kept"
            else:
                result = "written"
                if length > billed:
                    written[ttl] = written.get(ttl, 0) + length - billed
                    billed = length
                seconds = self.profile.lifetime(ttl) or inf
                self._entries[keys[mark.block]] = Entry(length, seconds, readable, request.at + seconds)
            outcomes.append(MarkOutcome(mark.block, length, ttl, result, mark.automatic))
        outcomes += [
            MarkOutcome(m.block, lengths[m.block], m.ttl, "dropped", m.automatic) for m in marks.dropped
        ]
        return written, sorted(outcomes, key=lambda outcome: outcome.block)

    def _billing_order(self, mark: Mark) -> tuple[float, int]:
        """Longest lifetime first, then from front to back: B before C in the picture above."""
        return -(self.profile.lifetime(mark.ttl) or 0.0), mark.block

    def _readable(self, request: Request) -> float:
        first = request.at if request.first_byte is None else request.first_byte
        if self.profile.readable_after == "response_end":
            return first if request.end is None else request.end
        return first

    def _sweep(self, now: float) -> None:
        """Drop entries that ran out long ago, so that a long log needs bounded memory."""
        self._sends += 1
        if self._sends % SWEEP_EVERY == 0:
            self._entries = {k: e for k, e in self._entries.items() if e.expires > now - FORGET_AFTER}


HostedCache = BreakpointCache | AutomaticCache | ObjectCache


def hosted_cache(profile: Profile, cautious: bool = False) -> HostedCache:
    """Return an empty cache that follows a profile.

    ``cautious`` makes best-effort caches drop entries at the shortest documented lifetime instead of the
    longest, so that two runs give a range.

    Raises:
        ValueError: the profile is a gateway's or router's, whose rules are those of what stands behind it.
    """
    if profile.granularity is Granularity.UPSTREAM:
        raise ValueError(f"profile {profile.name!r} has no cache of its own: use the vendor's")
    if profile.granularity is Granularity.EXACT:
        return BreakpointCache(profile)
    if profile.granularity is Granularity.OBJECT:
        return ObjectCache(profile)
    return AutomaticCache(profile, cautious)
