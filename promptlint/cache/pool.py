"""A pool of blocks under chained hashes, with the rules of vLLM.

Where a block without users waits, from the first to be taken to the last::

    blank          fresh          idle
    never found    never used     found by its key; least recently freed first
    (last in,      (a counter)    (a request's last blocks are freed before its first,
    first out)                     so a chain loses its end before its beginning)

Taking an idle block is what evicts it. Rules and order were compared with vLLM 0.32's own manager.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import islice

from promptlint.cache.base import Admission, CacheStats, begin, lengthen
from promptlint.cache.blocks import PLAIN, Chain, Extra, Hasher, Key, block_keys


class BlockPool:
    """A `PrefixCache` of whole blocks; full blocks can be found from the moment they get room.

    Args:
        blocks: number of usable blocks (vLLM's ``num_gpu_blocks`` minus its null block); None: no limit.
        block_tokens: tokens a block.
        hasher: `block_keys`, or `vllm_keys` where keys must equal an engine's.
        on_evict: called with each key that can no longer be found.

    A prompt of exactly k blocks that is fully cached computes its last block again, into a new
    block with the same key: of several blocks with one key the oldest is found.
    """

    def __init__(
        self,
        blocks: int | None,
        block_tokens: int = 16,
        *,
        hasher: Hasher = block_keys,
        on_evict: Callable[[Key], None] | None = None,
    ) -> None:
        if block_tokens < 1 or (blocks is not None and blocks < 1):
            raise ValueError(f"no pool of size {blocks} in blocks of size {block_tokens}")
        self._capacity = blocks
        self._block = block_tokens
        self._hasher = hasher
        self._on_evict = on_evict
        self._clear()

    def _clear(self) -> None:
        self._table: dict[Key, int] = {}  # key → the block that is found
        self._also: dict[Key, list[int]] = {}  # key → further blocks with it, oldest first
        self._key: list[Key | None] = []  # per block ever used
        self._refs: list[int] = []
        self._blank: list[int] = []
        self._idle: OrderedDict[int, None] = OrderedDict()
        self._live: set[Admission] = set()
        self._requests = self._refused = self._prompt = self._hits = self._evicted = 0

    @property
    def block_tokens(self) -> int:
        """Return tokens a block."""
        return self._block

    @property
    def capacity_tokens(self) -> int | None:
        """Return the size in tokens, None without limit."""
        return None if self._capacity is None else self._capacity * self._block

    @property
    def free_blocks(self) -> int | None:
        """Return the blocks that no live request uses, cached or not; None without limit."""
        if self._capacity is None:
            return None
        return self._capacity - len(self._refs) + len(self._blank) + len(self._idle)

    @property
    def stats(self) -> CacheStats:
        """Return the counters."""
        size, free = self._block, self.free_blocks
        cached = len(self._table) + sum(map(len, self._also.values()))
        return CacheStats(
            requests=self._requests,
            refused=self._refused,
            prompt_tokens=self._prompt,
            hit_tokens=self._hits,
            evicted_tokens=self._evicted * size,
            cached_tokens=cached * size,
            free_tokens=None if free is None else free * size,
            capacity_tokens=self.capacity_tokens,
        )

    def match(self, prompt: Sequence[int] | Chain, extra: Extra = PLAIN) -> int:
        """Return the tokens that `start` would hit now; changes nothing."""
        return len(self._find(begin(prompt, self._block, extra, self._hasher))) * self._block

    def start(
        self, prompt: Sequence[int] | Chain, extra: Extra = PLAIN, *, compute: int | None = None
    ) -> Admission | None:
        """Admit a request, or return None if its blocks do not fit; see `PrefixCache.start`."""
        request = begin(prompt, self._block, extra, self._hasher)
        found = self._find(request)
        request.hit = len(found) * self._block
        slots = request.length if compute is None else min(request.length, request.hit + max(1, compute))
        need = -(-slots // self._block) - len(found)
        refs = self._refs
        idle = sum(not refs[block] for block in found)  # will leave the free blocks as well
        if not self._has_room(need + idle):
            self._refused += 1
            return None
        for block in found:
            if not refs[block]:
                del self._idle[block]
            refs[block] += 1
        request.blocks = found
        request.published = len(found)
        self._grow(request, need, slots)
        self._live.add(request)
        self._requests += 1
        self._prompt += request.length
        self._hits += request.hit
        return request

    def extend(
        self, admission: Admission, tokens: Sequence[int] | Chain = (), *, compute: int | None = None
    ) -> bool:
        """Append tokens and take room for them; see `PrefixCache.extend`."""
        self._check_live(admission)
        longer = lengthen(admission, tokens, self._block, self._hasher)
        slots = longer.length if compute is None else min(longer.length, admission.slots + compute)
        need = -(-slots // self._block) - len(admission.blocks)
        if not self._has_room(need):
            return False
        admission.length, admission.keys, admission.tail = longer.length, longer.keys, longer.tail
        self._grow(admission, need, slots)
        return True

    def commit(self, admission: Admission) -> None:
        """Do nothing: as in vLLM, full blocks can be found from the moment they get room."""
        self._check_live(admission)

    def finish(self, admission: Admission) -> None:
        """Free a request's blocks, the last first; see `PrefixCache.finish`."""
        self._check_live(admission)
        self._live.remove(admission)
        admission.live = False
        refs, keys = self._refs, self._key
        for block in reversed(admission.blocks):
            refs[block] -= 1
            if not refs[block]:
                if keys[block] is None:
                    self._blank.append(block)
                else:
                    self._idle[block] = None

    def reset(self) -> None:
        """Forget everything; see `PrefixCache.reset`."""
        if self._live:
            raise RuntimeError(f"requests are live: {len(self._live)}")
        self._clear()

    def _find(self, request: Admission) -> list[int]:
        """Return the blocks of the longest cached prefix, without the block of the last token."""
        get, found = self._table.get, []
        for key in islice(request.keys, (request.length - 1) // self._block):
            block = get(key)
            if block is None:
                break
            found.append(block)
        return found

    def _has_room(self, need: int) -> bool:
        free = self.free_blocks
        return free is None or need <= free

    def _grow(self, request: Admission, need: int, slots: int) -> None:
        request.blocks.extend(self._take() for _ in range(need))
        request.slots = slots
        full = min(slots // self._block, len(request.keys))
        for at in range(request.published, full):
            block, key = request.blocks[at], request.keys[at]
            if self._table.setdefault(key, block) != block:
                self._also.setdefault(key, []).append(block)
            self._key[block] = key
        request.published = max(request.published, full)

    def _take(self) -> int:
        """Return a block with one user, evicting the least recently freed one if it must."""
        if self._blank:
            block = self._blank.pop()
        elif self._capacity is None or len(self._refs) < self._capacity:
            block = len(self._refs)
            self._refs.append(0)
            self._key.append(None)
        else:
            block, _ = self._idle.popitem(last=False)
            self._forget(block)
        self._refs[block] = 1
        return block

    def _forget(self, block: int) -> None:
        key = self._key[block]
        self._key[block] = None
        self._evicted += 1
        others = self._also.get(key)
        if others:
            if self._table[key] == block:
                self._table[key] = others.pop(0)
            else:
                others.remove(block)
            if not others:
                del self._also[key]
            return
        del self._table[key]
        if self._on_evict is not None:
            self._on_evict(key)

    def _check_live(self, admission: Admission) -> None:
        if admission not in self._live:
            raise ValueError("this request is not live in this cache")

    def check(self) -> None:
        """Raise `AssertionError` naming the first broken invariant."""
        users = [0] * len(self._refs)
        for request in self._live:
            assert request.live, "a finished request is still held"
            assert len(request.blocks) == -(-request.slots // self._block), "blocks do not cover the slots"
            assert request.slots <= request.length, "room for tokens that do not exist"
            for block in request.blocks:
                users[block] += 1
        assert users == self._refs, "reference counts differ from the live requests"
        waiting = sorted([*self._blank, *self._idle])
        assert waiting == [block for block, count in enumerate(users) if not count], (
            "a block is lost or free twice"
        )
        assert all(self._key[block] is None for block in self._blank), "a blank block has a key"
        assert all(self._key[block] is not None for block in self._idle), "an idle block has no key"
        holders: dict[Key, set[int]] = {}
        for block, key in enumerate(self._key):
            if key is not None:
                holders.setdefault(key, set()).add(block)
        listed = {key: {block, *self._also.get(key, ())} for key, block in self._table.items()}
        assert listed == holders, "the table differs from the blocks' own keys"
        assert self._capacity is None or len(self._refs) <= self._capacity, "more blocks than the pool has"
