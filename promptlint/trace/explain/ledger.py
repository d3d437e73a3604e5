"""What a hosted cache should hold, from the requests alone: written prefixes, lifetimes, reach of marks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from promptlint.catalog.profile import Granularity, Profile, TtlKind
from promptlint.trace.explain.history import Entry
from promptlint.trace.model import Part, Request
from promptlint.words import counted

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


Keys = tuple[tuple[str, str], ...]
"""Parameters that are part of an entry's key, by name."""


@dataclass(frozen=True, slots=True)
class Written:
    """A prefix in the cache. Times are seconds, None where the log has none."""

    touched: float | None
    readable: float | None
    lifetime: float | None

    def gap(self, time: float | None) -> float | None:
        """Return the seconds since the last touch."""
        return None if time is None or self.touched is None else time - self.touched


@dataclass(frozen=True, slots=True)
class Reading:
    """What should be read: ``tokens`` now, ``possible`` if the obstacle were away."""

    tokens: float
    possible: float
    obstacle: Obstacle = Obstacle.NONE
    detail: str = ""


@dataclass(slots=True)
class Ledger:
    """The written prefixes of one namespace under one profile.

    A prefix may have been written under several settings of the parameters that reach it; each is
    an entry of its own.
    """

    profile: Profile
    _written: OrderedDict[bytes, dict[Keys, Written]] = field(default_factory=OrderedDict)
    _asked: Request | None = None  # whose keys are known, by the section that an entry ends in
    _by_section: dict[str, Keys] = field(default_factory=dict)

    @property
    def by_marks(self) -> bool:
        """Tell whether nothing is written but at marks."""
        return self.profile.granularity is Granularity.EXACT

    @property
    def minimum(self) -> int:
        """Return the tokens from which on a prefix is cached."""
        return self.profile.min_tokens or (_ASSUMED_MINIMUM if self.by_marks else 0)

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

        The deepest written prefix says what would be possible and what is in its way; what is read
        is the deepest one with nothing in its way.
        """
        first: Reading | None = None
        for reading in self._readings(entry, before, agreed):
            first = first or reading
            if reading.obstacle is Obstacle.NONE:
                return Reading(reading.possible, first.possible, first.obstacle, first.detail)
        if first is not None:
            return first
        marks = self.marks(entry.request)
        return Reading(0, 0, Obstacle.NO_MARKS if self.by_marks and not marks else Obstacle.NOT_WRITTEN)

    def _readings(self, entry: Entry, before: Entry | None, agreed: float) -> Iterator[Reading]:
        """Yield written prefixes of a request, the deepest first, each as if it alone decided."""
        size = len(entry.chain)
        deepest = next((at for at in reversed(range(size)) if entry.chain[at] in self._written), -1)
        if before is not None and not self.by_marks and agreed > entry.borders[deepest + 1]:
            whole = {self._keys(before.request, before.request.parts[-1]): self._whole(before)}
            yield self._reading(entry, size - 1, agreed, whole)
        for depth in range(deepest, -1, -1):
            if variants := self._written.get(entry.chain[depth]):
                yield self._reading(entry, depth, entry.borders[depth + 1], variants)

    def _reading(self, entry: Entry, depth: int, tokens: float, variants: dict[Keys, Written]) -> Reading:
        request, grain = entry.request, self.profile.block_tokens
        if grain and not self.by_marks:
            last = 1 if self.profile.recomputes_last_token else 0
            tokens = min(tokens, entry.borders[-1] - last) // grain * grain
        if tokens < self.minimum:
            said = f"{counted(round(tokens), 'token')}, the minimum is {self.minimum}"
            return Reading(0, tokens, Obstacle.BELOW_MINIMUM, said)
        if self.by_marks and (blocked := self._reach(request, depth)):
            return Reading(0, tokens, *blocked)
        keys = self._keys(request, request.parts[depth])
        written = variants.get(keys)
        other = next(reversed(variants)) if written is None else keys
        written = written or variants[other]
        gap = written.gap(request.time)
        if gap is not None and written.lifetime is not None and gap > written.lifetime:
            said = f"{gap:.0f} s since the last touch, the lifetime is {written.lifetime:.0f} s"
            return Reading(0, tokens, Obstacle.EXPIRED, said)
        # An engine finds blocks from the moment they have room.
        wait = 0.0 if written.readable is None else written.readable - (written.touched or 0.0)
        if self.profile.hosted and gap is not None and 0 <= gap < wait:
            said = "sent before the answer to the writing request had begun"
            return Reading(0, tokens, Obstacle.NOT_YET_READABLE, said)
        if other != keys:
            names = sorted({name for name, _ in set(other) ^ set(keys)})
            return Reading(0, tokens, Obstacle.PARAMETER, ", ".join(names))
        return Reading(tokens, tokens)

    def write(self, entry: Entry) -> None:
        """Remember what a request writes and touches."""
        request = entry.request
        places: Sequence[int] = self.marks(request) if self.by_marks else range(len(entry.chain))
        limit = self.profile.max_breakpoints
        if self.by_marks and limit and len(places) > limit:
            places = [] if self.profile.overflow == "error_400" else places[-limit:]
        for at, digest in enumerate(entry.chain):
            part = request.parts[at]
            keys = self._keys(request, part)
            variants = self._written.get(digest, {})
            known = variants.pop(keys, None)
            if known is None and at not in places:
                if variants:
                    continue
                self._written.pop(digest, None)
                continue
            lifetime = self.lifetime(part, request) if at in places else known.lifetime if known else None
            variants[keys] = Written(request.time, self._readable(request, known), lifetime)
            self._written[digest] = variants
            self._written.move_to_end(digest)
        while len(self._written) > _KEPT:
            self._written.popitem(last=False)

    def _readable(self, request: Request, known: Written | None) -> float | None:
        """Return when what a request writes can be read; what was there already stays readable."""
        if known is not None:
            gap = known.gap(request.time)
            if gap is None or known.lifetime is None or gap <= known.lifetime:
                return known.readable
        if request.first_byte is not None or request.time is None:
            return request.first_byte
        return request.time + (_ASSUMED_WAIT if self.profile.readable_after else 0.0)

    def _whole(self, entry: Entry) -> Written:
        """Return a request as one written prefix."""
        request = entry.request
        return Written(request.time, self._readable(request, None), self.lifetime(request.parts[-1], request))

    def lifetime(self, part: Part, request: Request) -> float | None:
        """Return the seconds that a prefix lives, None where nothing is promised."""
        if self.profile.ttl_kind is TtlKind.ENGINE_LRU:
            return None
        asked = part.mark.ttl if part.mark else ""
        if not request.marks and request.usage:  # transcripts lose the marks, the counts tell their lifetime
            asked = next((ttl for ttl, tokens in request.usage.written_by_ttl.items() if tokens), "")
        asked = asked or request.parameters.get(self.profile.ttl_field, "")
        return self.profile.lifetime(asked) or self.profile.lifetime()

    def _keys(self, request: Request, part: Part) -> Keys:
        """Return the parameters that reach an entry which ends with a part.

        A parameter does not count where the profile says that the part's section survives its
        change, nor where the profile does not know it, unless it is known to change the prompt.
        """
        section = "response_schema" if part.kind == "schema" else part.section.value
        if self._asked is not request:
            self._asked, self._by_section = request, {}
        if section not in self._by_section:
            self._by_section[section] = self._keys_of(request, section)
        return self._by_section[section]

    def _keys_of(self, request: Request, section: str) -> Keys:
        found = list(request.parameters.items())
        if any(item.kind == "image" for item in request.parts):
            found.append(("images", "yes"))
        kept = []
        for name, value in found:
            survivors = self.profile.survives.get(_SURVIVES.get(name, name.rpartition(".")[2]))
            if section not in survivors if survivors is not None else name in _ALWAYS_KEYS:
                kept.append((name, value))
        return tuple(sorted(kept))

    def _reach(self, request: Request, depth: int) -> tuple[Obstacle, str] | None:
        """Return what keeps the request's own marks from finding the prefix that ends with part ``depth``."""
        marks = self.marks(request)
        if not marks:
            return Obstacle.NO_MARKS, "the request has no mark"
        limit = self.profile.max_breakpoints
        if limit and len(request.marks) > limit:
            return Obstacle.TOO_MANY_MARKS, f"{counted(len(request.marks), 'mark')}, allowed {limit}"
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
                f"{counted(steps, 'block')} from the mark back to the prefix, the look-back is {reach}",
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


# Names of parameters in requests, where profiles call them otherwise.
_SURVIVES = {
    "toolConfig.toolChoice": "tool_choice",
    "output_config": "effort",
    "reasoning": "reasoning_effort",
}
# Rendered into the prompt or part of the address, whatever the profile says.
_ALWAYS_KEYS = {"reasoning_effort", "chat_template_kwargs", "betas", "inference_geo"}
