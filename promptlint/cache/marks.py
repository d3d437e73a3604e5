"""Which blocks of a request are marked, by a provider's rules: place, number, lifetimes, automatic ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from promptlint.cache.request import Block, Request
from promptlint.catalog.profile import Profile
from promptlint.words import counted

_TOOL_RUNS = ("tool_use", "tool_result")


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark at the end of the block with this index, in the provider's order."""

    block: int
    ttl: str
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks that write, marks that only read, those dropped, and why the request is refused, if it is."""

    writing: tuple[Mark, ...]
    reading: tuple[Mark, ...]
    dropped: tuple[Mark, ...] = ()
    rejected: str = ""


def can_carry(block: Block, profile: Profile) -> bool:
    """Tell whether a provider takes a mark on a block of this kind.

    `Profile.marker_blocks` names kinds ("text"), sections ("messages") or both ("system.text").
    """
    names = {block.kind, block.section, f"{block.section}.{block.kind}"}
    if block.section == "tools":
        names |= {"tool"}
    if block.tokens == 0:
        names |= {"empty_text"}
    if names & set(profile.marker_forbidden):
        return False
    return not profile.marker_blocks or bool(names & set(profile.marker_blocks))


def place_marks(request: Request, blocks: Sequence[Block], profile: Profile) -> Marks:
    """Return the marks of a request whose blocks stand in the provider's order."""
    explicit = [
        Mark(at, _ttl(block.mark, request)) for at, block in enumerate(blocks) if block.mark is not None
    ]
    for mark in explicit:
        if not can_carry(blocks[mark.block], profile):
            kind = blocks[mark.block].kind
            return Marks((), (), tuple(explicit), f"a block of kind `{kind}` cannot carry a mark")
    if profile.overflow == "keep_latest":
        return _latest(request, blocks, profile, explicit)
    marks, rejected = _with_automatic(request, blocks, profile, explicit)
    return Marks(marks, marks, rejected=rejected or _refused(marks, profile))


def _ttl(written: str | None, request: Request) -> str:
    return written or request.ttl


def _with_automatic(
    request: Request, blocks: Sequence[Block], profile: Profile, explicit: list[Mark]
) -> tuple[tuple[Mark, ...], str]:
    """Add the mark that the provider places at the last block that can carry one (Anthropic)."""
    if request.automatic is None or not profile.automatic_marker_field:
        return tuple(explicit), ""
    last = next((at for at in reversed(range(len(blocks))) if can_carry(blocks[at], profile)), None)
    if last is None:
        return tuple(explicit), ""
    ttl = request.automatic or request.ttl
    same = next((mark for mark in explicit if mark.block == last), None)
    if same is not None:
        differs = profile.lifetime(same.ttl) != profile.lifetime(ttl)
        return tuple(explicit), "the last block's own mark has another lifetime" if differs else ""
    if profile.max_breakpoints is not None and len(explicit) >= profile.max_breakpoints:
        beside = counted(len(explicit), "explicit one")
        return tuple(explicit), f"no slot left for the automatic mark beside {beside}"
    return (*explicit, Mark(last, ttl, automatic=True)), ""


def _refused(marks: Sequence[Mark], profile: Profile) -> str:
    """Return why a provider refuses these marks, or ""."""
    if profile.max_breakpoints and len(marks) > profile.max_breakpoints:
        return f"{counted(len(marks), 'mark')}, the provider takes {profile.max_breakpoints}"
    allowed = profile.ttl_allowed or tuple(profile.ttl_seconds)
    for mark in marks:
        if mark.ttl and allowed and mark.ttl not in allowed:
            return f"lifetime `{mark.ttl}` is not one of {', '.join(allowed)}"
    if profile.ttl_order == "longer_first":
        lifetimes = [profile.lifetime(mark.ttl) or 0.0 for mark in sorted(marks, key=lambda mark: mark.block)]
        if any(later > earlier for earlier, later in pairwise(lifetimes)):
            return "a longer lifetime stands behind a shorter one"
    return ""


def _latest(request: Request, blocks: Sequence[Block], profile: Profile, explicit: list[Mark]) -> Marks:
    """Keep the latest marks, and place one at the end of the latest message unless told not to (OpenAI).

    Reads look at all marks, and in implicit mode at the end of every earlier message, which is where
    earlier requests of the conversation had their automatic mark.
    """
    limit = profile.max_breakpoints or len(explicit) + 1
    automatic: list[Mark] = []
    if (request.mode or "implicit") == "implicit" and "automatic" in profile.mode:
        taken = {mark.block for mark in explicit}
        automatic = [Mark(at, request.ttl, True) for at in message_ends(blocks, profile) if at not in taken]
    newest = (
        automatic[-1:] if automatic and (not explicit or automatic[-1].block > explicit[-1].block) else []
    )
    kept = (
        explicit[len(explicit) - (limit - len(newest)) :] if len(explicit) > limit - len(newest) else explicit
    )
    writing = (*kept, *newest)
    reading = sorted([*explicit, *automatic], key=lambda mark: mark.block)[
        -(profile.lookback or len(blocks)) :
    ]
    dropped = tuple(mark for mark in explicit if mark not in kept)
    refused = next(
        (
            f"lifetime `{mark.ttl}` is not one of {', '.join(profile.ttl_seconds)}"
            for mark in writing
            if mark.ttl and mark.ttl not in profile.ttl_seconds
        ),
        "",
    )
    return Marks(writing, tuple(reading), dropped, refused)


def message_ends(blocks: Sequence[Block], profile: Profile) -> list[int]:
    """Return the index of the last block of each message that can carry a mark, answers left out."""
    found = []
    for at, block in enumerate(blocks):
        following = blocks[at + 1] if at + 1 < len(blocks) else None
        if following and (following.section, following.message) == (block.section, block.message):
            continue
        if block.section != "tools" and block.role != "assistant" and can_carry(block, profile):
            found.append(at)
    return found


def reach(mark: int, blocks: Sequence[Block], profile: Profile) -> int:
    """Return the index of the earliest block whose end a mark still looks at.

    A run of tool calls, or of tool results, counts as one position where the provider says so.
    """
    if profile.lookback is None or profile.lookback_unit == "breakpoint":
        return 0
    positions, at = 0, mark
    limit = profile.lookback if profile.lookback_includes_self else profile.lookback + 1
    while at >= 0:
        positions += 1
        if profile.lookback_collapses_tool_runs and blocks[at].kind in _TOOL_RUNS:
            while at > 0 and blocks[at - 1].kind == blocks[at].kind:
                at -= 1
        if positions == limit:
            return at
        at -= 1
    return 0
