"""What a hosted cache should hold, from the requests alone: written prefixes, lifetimes, reach of marks."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum

from promptlint.catalog.profile import Granularity, Profile, TtlKind
from promptlint.trace.explain.history import Entry
from promptlint.trace.model import Part, Request

_KEPT = 200_000
_ASSUMED_WAIT = 0.5  # seconds until an answer begins, where the log does not say
_ASSUMED_MINIMUM = 1024


class Obstacle(StrEnum):
    """What keeps a written prefix from being read."""

    NONE = "none"
    NOT_WRITTEN = "not-written"  # no mark stood where the two requests still agree
    NO_MARKS = "no-marks"
    BELOW_MINIMUM = "below-minimum"
    EXPIRED = "expired"
    NO_MARK_BEHIND = "no-mark-behind"  # the reader has no mark at or behind the written prefix
    LOOKBACK = "look-back"
    TOO_MANY_MARKS = "too-many-marks"
    NOT_YET_READABLE = "not-yet-readable"
    PARAMETER = "parameter"


@dataclass(frozen=True, slots=True)
class Written:
    """A prefix in the cache."""

    tokens: float
    touched: float | None
    readable: float | None
    lifetime: float | None
    parameters: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What should be read: ``tokens`` now, ``possible`` if the obstacle were away."""

    tokens: float
    possible: float
    obstacle: Obstacle = Obstacle.NONE
    detail: str = ""
    gap: float | None = None
    lifetime: float | None = None


@dataclass(slots=True)
class Ledger:
    """The written prefixes of one namespace under one profile."""

    profile: Profile
    _written: OrderedDict[bytes, Written] = field(default_factory=OrderedDict)

    @property
    def by_marks(self) -> bool:
        """Tell whether nothing is written but at marks."""
        return self.profile.granularity is Granularity.EXACT

    def marks(self, request: Request) -> list[int]:
        """Return the parts behind which a prefix is written, automatic places included."""
        found = request.marks
        cached = request.usage is not None and request.usage.cached > 0
        if not found and request.parts and self.by_marks and (cached or not self.profile.needs_marks):
            # The provider marks the end by itself, or the log has lost the marks and the counts show them.
            found = [len(request.parts) - 1]
        return found

    def read(self, entry: Entry, before: Entry | None, agreed: float) -> Reading:
        """Return what the cache should give for a request.

        ``agreed`` are the tokens in common with the request ``before`` it. Where hits need no mark
        they count too: they may end inside a part, where no border was written.
        """
        marks = self.marks(entry.request) if self.by_marks else list(range(len(entry.chain)))
        hit = self._deepest(entry)
        tokens = entry.borders[hit[0] + 1] if hit else 0.0
        if before is not None and not self.by_marks and agreed > tokens:
            hit = (hit[0] if hit else len(entry.chain) - 1, self._whole(before))
            tokens = agreed
        if hit is None:
            obstacle = Obstacle.NO_MARKS if self.by_marks and not marks else Obstacle.NOT_WRITTEN
            return Reading(0, 0, obstacle)
        depth, written = hit
        grain = self.profile.block_tokens
        if grain and not self.by_marks:
            last = 1 if self.profile.recomputes_last_token else 0
            tokens = min(tokens, entry.borders[-1] - last) // grain * grain
        gap = None
        if entry.request.time is not None and written.touched is not None:
            gap = entry.request.time - written.touched
        minimum = self.minimum
        if tokens < minimum:
            said = f"{tokens:.0f} tokens, the minimum is {minimum}"
            return Reading(0, tokens, Obstacle.BELOW_MINIMUM, said, gap)
        if self.by_marks and (blocked := self._reach(entry.request, marks, depth)):
            return Reading(0, tokens, *blocked, gap=gap)
        if gap is not None and written.lifetime is not None and gap > written.lifetime:
            said = f"{gap:.0f} s since the last touch, the lifetime is {written.lifetime:.0f} s"
            return Reading(0, tokens, Obstacle.EXPIRED, said, gap, written.lifetime)
        if gap is not None and written.readable is not None and self.profile.hosted:
            wait = written.readable - (written.touched or 0.0)
            unread = 0 <= gap < wait
        else:
            unread = False  # an engine finds blocks from the moment they have room
        if unread:
            said = "sent before the answer to the writing request had begun"
            return Reading(0, tokens, Obstacle.NOT_YET_READABLE, said, gap)
        changed = [name for name, _ in set(written.parameters) ^ set(self._keys(entry.request))]
        if changed:
            kept = self._surviving(entry, sorted(set(changed)), depth)
            if kept < tokens:
                return Reading(kept, tokens, Obstacle.PARAMETER, ", ".join(sorted(set(changed))), gap)
        return Reading(tokens, tokens, gap=gap, lifetime=written.lifetime)

    def _whole(self, entry: Entry) -> Written:
        """Return a request as one written prefix."""
        request = entry.request
        readable = request.first_byte if request.first_byte is not None else request.time
        lifetime = self.lifetime(request.parts[-1], request)
        return Written(entry.borders[-1], request.time, readable, lifetime, self._keys(request))

    def write(self, entry: Entry) -> None:
        """Remember what a request writes and touches."""
        request = entry.request
        places = self.marks(request) if self.by_marks else list(range(len(entry.chain)))
        limit = self.profile.max_breakpoints
        if self.by_marks and limit and len(places) > limit:
            places = [] if self.profile.overflow == "error_400" else places[-limit:]
        readable = request.first_byte
        if readable is None and request.time is not None:
            readable = request.time + _ASSUMED_WAIT
        if self.profile.readable_after == "" and request.first_byte is None:
            readable = request.time
        touched = [at for at in range(len(entry.chain)) if entry.chain[at] in self._written]
        lifetime = None
        for at in sorted({*touched, *places}):
            digest = entry.chain[at]
            part = request.parts[at]
            known = self._written.get(digest)
            lifetime = self.lifetime(part, request) if at in places else known.lifetime if known else None
            fresh = Written(entry.borders[at + 1], request.time, readable, lifetime, self._keys(request))
            if known is not None and at not in places:
                fresh = Written(known.tokens, request.time, known.readable, known.lifetime, known.parameters)
            elif known is not None and known.parameters == fresh.parameters:
                fresh = Written(fresh.tokens, request.time, known.readable, lifetime, fresh.parameters)
            self._written[digest] = fresh
            self._written.move_to_end(digest)
        while len(self._written) > _KEPT:
            self._written.popitem(last=False)

    @property
    def minimum(self) -> int:
        """Return the tokens from which on a prefix is cached."""
        return self.profile.min_tokens or (_ASSUMED_MINIMUM if self.by_marks else 0)

    def lifetime(self, part: Part, request: Request) -> float | None:
        """Return the seconds that a prefix lives, None where nothing is promised."""
        profile = self.profile
        if profile.ttl_kind is TtlKind.ENGINE_LRU:
            return None
        asked = part.mark.ttl if part.mark else ""
        asked = asked or request.parameters.get(profile.ttl_field, "")
        seconds = profile.lifetime(asked)
        if profile.ttl_kind is TtlKind.MAXIMUM:
            # "At most": in practice entries live some minutes, at most the documented hour or day.
            return seconds or profile.lifetime()
        return seconds

    def _keys(self, request: Request) -> tuple[tuple[str, str], ...]:
        """Return the parameters that may be part of the cache's key, pictures among them where they count."""
        found = [(k, v) for k, v in request.parameters.items() if k not in _LIFETIMES]
        if "images" in self.profile.survives and any(part.kind == "image" for part in request.parts):
            found.append(("images", "yes"))
        return tuple(sorted(found))

    def _deepest(self, entry: Entry) -> tuple[int, Written] | None:
        for depth in range(len(entry.chain) - 1, -1, -1):
            if (written := self._written.get(entry.chain[depth])) is not None:
                return depth, written
        return None

    def _reach(self, request: Request, marks: list[int], depth: int) -> tuple[Obstacle, str] | None:
        """Return what keeps the request's own marks from finding the prefix that ends with part ``depth``."""
        if not marks:
            return Obstacle.NO_MARKS, "the request has no mark"
        limit = self.profile.max_breakpoints
        if limit and len(request.marks) > limit:
            return Obstacle.TOO_MANY_MARKS, f"{len(request.marks)} marks, {limit} are allowed"
        behind = [mark for mark in marks if mark >= depth]
        if not behind:
            return Obstacle.NO_MARK_BEHIND, "no mark stands at or behind the prefix that was written"
        reach = self.profile.lookback
        if reach is None or self.profile.lookback_unit == "breakpoint":
            return None
        steps = min(self._positions(request, depth, mark) for mark in behind)
        if steps > reach:
            return (
                Obstacle.LOOKBACK,
                f"{steps} blocks from the mark back to the prefix, the look-back is {reach}",
            )
        return None

    def _positions(self, request: Request, depth: int, mark: int) -> int:
        """Count positions from a mark back to a part, both included."""
        count, before = 0, ""
        for part in request.parts[depth : mark + 1]:
            run = self.profile.lookback_collapses_tool_runs and part.kind in ("tool_use", "tool_result")
            if not (run and part.kind == before):
                count += 1
            before = part.kind
        return count

    def _surviving(self, entry: Entry, changed: list[str], depth: int) -> float:
        """Return the tokens that stay readable although parameters differ."""
        kept = {"tools", "system", "messages", "response_schema"}
        for name in changed:
            key = _SURVIVES.get(name, name.rpartition(".")[2])
            if key in self.profile.survives:
                kept &= set(self.profile.survives[key])
            elif name in _ALWAYS_KEYS:
                kept = set()
        tokens = 0.0
        places = self.marks(entry.request) if self.by_marks else range(len(entry.chain))
        for at in range(depth + 1):
            part = entry.request.parts[at]
            section = "response_schema" if part.kind == "schema" else part.section.value
            if section not in kept and not (section == "response_schema" and "tools" in kept):
                break
            if at in places:
                tokens = entry.borders[at + 1]
        return tokens


_SURVIVES = {
    "tool_choice": "tool_choice",
    "toolConfig.toolChoice": "tool_choice",
    "output_config": "effort",
    "reasoning": "reasoning_effort",
    "text.verbosity": "verbosity",
    "verbosity": "verbosity",
}
_ALWAYS_KEYS = {"reasoning_effort", "chat_template_kwargs", "betas", "inference_geo"}
_LIFETIMES = {"prompt_cache_retention", "prompt_cache_options"}
