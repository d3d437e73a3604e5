"""What every prefix cache does, whether it belongs to a running engine or to a simulator.

A request's life::

    start ──▶ Admission ──▶ (commit ──▶ extend)* ──▶ finish
      └─▶ None: no room, nothing is held

`start` and `extend` give out room, the caller computes what stands in it, `commit` says that it is
done. A simulator that knows whole requests only needs `start` and `finish`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from promptlint.cache.blocks import PLAIN, Chain, Extra, Hasher, Key


@dataclass(slots=True, eq=False)
class Admission:
    """A live request. Read it; only the cache that made it writes to it.

    Attributes:
        hit: leading tokens of the prompt that were found, a multiple of the block size.
        blocks: block ids; entry i holds tokens ``i*B`` to ``(i+1)*B`` of the request.
        length: tokens known so far, prompt and output.
        slots: leading tokens that have room in ``blocks``; those from ``hit`` on are the caller's to compute.
        keys: keys of the full blocks among ``length`` tokens, as far as they are known.
    """

    extra: Extra
    length: int
    keys: list[Key]
    tail: list[int] = field(default_factory=list)  # tokens behind the last full block
    hit: int = 0
    blocks: list[int] = field(default_factory=list)
    slots: int = 0
    published: int = 0  # leading blocks that other requests can find
    live: bool = True


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Counters since the last reset, in tokens; sizes are those of this moment.

    ``free_tokens`` is what the engine itself calls free: vLLM counts cached blocks that nobody
    uses, SGLang does not. ``capacity_tokens`` is None for a cache without limit.
    """

    requests: int
    refused: int
    prompt_tokens: int
    hit_tokens: int
    evicted_tokens: int
    cached_tokens: int
    free_tokens: int | None
    capacity_tokens: int | None

    @property
    def hit_rate(self) -> float:
        """Return hit tokens over prompt tokens of the admitted requests; 0 before the first."""
        return self.hit_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


class PrefixCache(Protocol):
    """Bookkeeping of a prefix cache; no tensor in it.

    The last token of a prompt is never a hit: its logits are needed.
    """

    @property
    def block_tokens(self) -> int:
        """Return tokens a block (a page): the grain of hits and of `Admission.blocks`."""
        ...

    @property
    def capacity_tokens(self) -> int | None:
        """Return the size in tokens, None without limit. A longer request never starts."""
        ...

    @property
    def stats(self) -> CacheStats:
        """Return the counters."""
        ...

    def match(self, prompt: Sequence[int] | Chain, extra: Extra = PLAIN) -> int:
        """Return the tokens that `start` would hit now; changes nothing."""
        ...

    def start(
        self, prompt: Sequence[int] | Chain, extra: Extra = PLAIN, *, compute: int | None = None
    ) -> Admission | None:
        """Admit a request: find its prefix, take room for what must be computed.

        ``extra`` is ignored for a `Chain`: its keys say everything already.

        ``compute`` is the number of tokens behind the hit that get room now (at least one; None:
        all). Returns None if they do not fit beside the live requests.

        Raises:
            ValueError: an empty prompt, or a chain with more keys than full blocks.
        """
        ...

    def extend(
        self, admission: Admission, tokens: Sequence[int] | Chain = (), *, compute: int | None = None
    ) -> bool:
        """Append tokens (or give the longer chain) and take room for ``compute`` more of those known.

        Returns False, with the admission unchanged, if there is no room: preempt somebody and try again.
        """
        ...

    def commit(self, admission: Admission) -> None:
        """Say that all tokens with room are computed. Done by `finish` too."""
        ...

    def finish(self, admission: Admission) -> None:
        """End a request; its full blocks stay for others until they are evicted."""
        ...

    def reset(self) -> None:
        """Forget everything.

        Raises:
            RuntimeError: a request is live.
        """
        ...

    def check(self) -> None:
        """Raise `AssertionError` naming the first broken invariant; for tests and debugging."""
        ...


def begin(prompt: Sequence[int] | Chain, block: int, extra: Extra, hasher: Hasher) -> Admission:
    """Return an admission without room for a prompt."""
    if isinstance(prompt, Chain):
        _check_chain(prompt, block)
        return Admission(extra, prompt.length, list(prompt.keys))
    if not prompt:
        raise ValueError("a prompt needs at least one token")
    keys = list(hasher(prompt, block, extra))
    return Admission(extra, len(prompt), keys, list(prompt[len(keys) * block :]))


def lengthen(admission: Admission, more: Sequence[int] | Chain, block: int, hasher: Hasher) -> Admission:
    """Return a copy of the sequence part of an admission with tokens appended; nothing else is set."""
    if isinstance(more, Chain):
        _check_chain(more, block)
        if more.length < admission.length or list(more.keys[: len(admission.keys)]) != admission.keys:
            raise ValueError("the longer chain does not begin with the request's own")
        return Admission(admission.extra, more.length, list(more.keys))
    keys, tail = admission.keys, [*admission.tail, *more]
    done = len(keys)
    if more and done * block + len(tail) != admission.length + len(more):
        raise ValueError("tokens cannot follow a chain of hashes; give the longer chain")
    if len(tail) >= block:
        parent = keys[-1] if keys else None
        keys = [*keys, *hasher(tail, block, admission.extra, parent=parent, first=done * block)]
        tail = tail[(len(keys) - done) * block :]
    return Admission(admission.extra, admission.length + len(more), keys, tail)


def _check_chain(chain: Chain, block: int) -> None:
    if chain.length < 1:
        raise ValueError("a prompt needs at least one token")
    if len(chain.keys) > chain.length // block:
        raise ValueError(f"{len(chain.keys)} keys for a length of {chain.length} in blocks of {block}")
