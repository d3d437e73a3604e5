"""What the hits should be, from token ids alone, and why a prompt does not hit more."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from promptlint.cache.align import common_prefix, vllm_hit
from promptlint.cache.base import PrefixCache
from promptlint_runtime.engine import recall, run
from promptlint_runtime.scheduler import Limits
from promptlint_runtime.sequence import Request


def predict(
    requests: Sequence[Request],
    make_cache: Callable[[], PrefixCache],
    limits: Limits,
    outputs: Mapping[int, Sequence[int]],
) -> dict[int, int]:
    """Return the hit tokens of each request on a fresh cache, by the rules of that cache.

    ``outputs`` are the tokens that each request will give: they enter the cache too, and decide when
    the next request starts. A request that never fits has 0.
    """
    return {
        outcome.request.id: outcome.hit for outcome in run(requests, make_cache(), recall(outputs), limits)
    }


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a prompt leaves everything sent before it.

    ``shared`` is the longest common prefix with an earlier prompt, in tokens; ``block`` the block of
    the first token that differs, None where the whole prompt had been sent; ``limit`` the hit that
    the shared tokens allow.
    """

    shared: int
    block: int | None
    limit: int


class Earlier:
    """Prompts sent so far, in lexical order: the closest one is always a neighbour."""

    def __init__(self, block_tokens: int) -> None:
        self._block = block_tokens
        self._sent: dict[tuple[str, str, str], list[tuple[int, ...]]] = {}

    def add(self, request: Request) -> Divergence:
        """Compare a prompt with those before it, then count it among them."""
        sent = self._sent.setdefault(request.extra.namespace, [])
        tokens = request.tokens
        at = bisect_left(sent, tokens)
        shared = max((common_prefix(tokens, other) for other in sent[max(0, at - 1) : at + 1]), default=0)
        insort(sent, tokens)
        block = None if shared == len(tokens) else shared // self._block
        return Divergence(shared, block, vllm_hit(shared, len(tokens), self._block))
