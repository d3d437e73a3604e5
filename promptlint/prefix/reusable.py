"""What a cache can reuse of a stable prefix, by its rules."""

from __future__ import annotations

from dataclasses import dataclass

from promptlint.cache.align import vllm_hit
from promptlint.catalog.profile import Granularity, Profile


@dataclass(frozen=True, slots=True)
class Reusable:
    """The prefix that all requests of one scope share.

    Attributes:
        tokens: literal tokens before the first narrower segment that nothing behind them can change.
        aligned_tokens: what the profile can match of them; 0 below its minimum.
        blocks: whole blocks in ``aligned_tokens``; for profiles without blocks, the tokens.
        first_blocker: index of the first narrower segment, None if there is none.
        holes: wider holes in front of it; their text counts too but is not known, so that ``tokens``
            is the least.
    """

    tokens: int
    blocks: int
    aligned_tokens: int
    first_blocker: int | None
    holes: int = 0


def block_of(profile: Profile) -> int:
    """Return the grain of a profile's hits in tokens; 1 where hits end anywhere or nothing is known."""
    if profile.granularity is Granularity.BLOCK and profile.block_tokens:
        return profile.block_tokens
    return 1


def aligned(tokens: int, profile: Profile, length: int | None = None) -> int:
    """Return how many of ``tokens`` shared leading tokens a profile can match.

    ``length`` is that of the whole prompt, None if it goes on behind the shared tokens. An engine
    computes the last token always, with the block it stands in.
    """
    behind = tokens + 1 if length is None or not profile.recomputes_last_token else length
    found = vllm_hit(tokens, behind, block_of(profile))
    return found if found >= (profile.min_tokens or 0) else 0


def reusable(tokens: int, profile: Profile, first_blocker: int | None, holes: int = 0) -> Reusable:
    """Return a prefix with the part that the profile can match."""
    length = tokens if first_blocker is None and not holes else None
    found = aligned(tokens, profile, length)
    return Reusable(tokens, found // block_of(profile), found, first_blocker, holes)
