"""A radix tree of token pages, with the rules of SGLang's RadixCache.

::

    ()──[sys: 40 pages]──┬──[question A: 3 pages]     an edge holds as many pages as nobody branches in
                         └──[question B: 5 pages]     eviction takes whole leaves, least recently used first

Pages enter the tree when they are computed, not when they get room. Order and sizes were compared
with the class of SGLang 0.5.23.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from promptlint.cache.base import Admission, CacheStats, begin, lengthen
from promptlint.cache.blocks import PLAIN, Chain, Extra, Key, page_keys


class Node:
    """A run of pages behind ``parent``; ``locks`` counts live requests that end in or below it."""

    __slots__ = ("children", "keys", "locks", "pages", "parent", "queued", "used")

    def __init__(self, parent: Node | None, keys: list[Key], pages: list[int], used: int) -> None:
        self.parent = parent
        self.keys = keys
        self.pages = pages
        self.children: dict[Key, Node] = {}
        self.locks = 0
        self.used = used  # tick of the last access
        self.queued = False  # has an entry among the candidates for eviction


class RadixCache:
    """A `PrefixCache` over a radix tree.

    Args:
        capacity_tokens: room for that many tokens, rounded down to pages; None: no limit.
        page: tokens a page.

    Salt and LoRA are part of the first page, and so lead to a branch of their own. A request that does not fit may evict all the same:
    it is refused only after that did not help, as in the engine.
    """

    def __init__(self, capacity_tokens: int | None, page: int = 1) -> None:
        if page < 1 or (capacity_tokens is not None and capacity_tokens < page):
            raise ValueError(f"no cache of size {capacity_tokens} in pages of size {page}")
        self._page = page
        self._capacity = None if capacity_tokens is None else capacity_tokens // page
        self._clear()

    def _clear(self) -> None:
        self._root = Node(None, [], [], 0)
        self._ends: dict[Admission, Node] = {}  # live request → the node that it locks
        self._candidates: list[tuple[int, int, Node]] = []  # heap of (tick when queued, number, node)
        self._spare: list[int] = []  # pages given back
        self._opened = 0  # pages ever used
        self._tree = 0  # pages in the tree
        self._tick = 0
        self._requests = self._refused = self._prompt = self._hits = self._evicted = 0

    @property
    def block_tokens(self) -> int:
        """Return tokens a page."""
        return self._page

    @property
    def capacity_tokens(self) -> int | None:
        """Return the size in tokens, None without limit."""
        return None if self._capacity is None else self._capacity * self._page

    @property
    def free_pages(self) -> int | None:
        """Return the pages that hold nothing; None without limit."""
        return None if self._capacity is None else self._capacity - self._opened + len(self._spare)

    @property
    def tree_tokens(self) -> int:
        """Return the tokens in the tree."""
        return self._tree * self._page

    @property
    def stats(self) -> CacheStats:
        """Return the counters."""
        free = self.free_pages
        return CacheStats(
            requests=self._requests,
            refused=self._refused,
            prompt_tokens=self._prompt,
            hit_tokens=self._hits,
            evicted_tokens=self._evicted * self._page,
            cached_tokens=self.tree_tokens,
            free_tokens=None if free is None else free * self._page,
            capacity_tokens=self.capacity_tokens,
        )

    def match(self, prompt: Sequence[int] | Chain, extra: Extra = PLAIN) -> int:
        """Return the tokens that `start` would hit now; changes nothing."""
        request = begin(prompt, self._page, extra, page_keys)
        keys, node, at = self._reusable(request), self._root, 0
        while at < len(keys) and (child := node.children.get(keys[at])):
            same = _common(child.keys, keys, at)
            at += same
            if same < len(child.keys):
                break
            node = child
        return at * self._page

    def start(
        self, prompt: Sequence[int] | Chain, extra: Extra = PLAIN, *, compute: int | None = None
    ) -> Admission | None:
        """Admit a request, or return None if it does not fit; see `PrefixCache.start`."""
        request = begin(prompt, self._page, extra, page_keys)
        node, found = self._walk(self._reusable(request))
        request.hit = len(found) * self._page
        slots = request.length if compute is None else min(request.length, request.hit + max(1, compute))
        self._lock(node, 1)
        if not self._make_room(-(-slots // self._page) - len(found)):
            self._lock(node, -1)
            self._refused += 1
            return None
        request.blocks, request.published = found, len(found)
        self._ends[request] = node
        self._grow(request, slots)
        self._requests += 1
        self._prompt += request.length
        self._hits += request.hit
        return request

    def extend(
        self, admission: Admission, tokens: Sequence[int] | Chain = (), *, compute: int | None = None
    ) -> bool:
        """Append tokens and take room for them; see `PrefixCache.extend`."""
        self._check_live(admission)
        longer = lengthen(admission, tokens, self._page, page_keys)
        slots = longer.length if compute is None else min(longer.length, admission.slots + compute)
        if not self._make_room(-(-slots // self._page) - len(admission.blocks)):
            return False
        admission.length, admission.keys, admission.tail = longer.length, longer.keys, longer.tail
        self._grow(admission, slots)
        return True

    def commit(self, admission: Admission) -> None:
        """Put the computed full pages into the tree.

        Pages that another request put there first replace this request's own, which go back.
        """
        self._check_live(admission)
        full = min(admission.slots // self._page, len(admission.keys))
        keys, pages = admission.keys[:full], admission.blocks[:full]
        node, found = self._walk(keys)
        for page, own in zip(found, pages, strict=False):
            if page != own:
                self._spare.append(own)
        if len(found) < full:
            child = Node(node, keys[len(found) :], pages[len(found) :], self._next_tick())
            node.children[child.keys[0]] = child
            self._tree += len(child.pages)
            node = child
        admission.blocks[: len(found)] = found
        admission.published = full
        self._lock(node, 1)
        self._lock(self._ends[admission], -1)
        self._ends[admission] = node

    def finish(self, admission: Admission) -> None:
        """Commit, unlock, and give back the page that is not full; see `PrefixCache.finish`."""
        self.commit(admission)
        self._lock(self._ends.pop(admission), -1)
        self._spare.extend(admission.blocks[admission.published :])
        admission.live = False

    def reset(self) -> None:
        """Forget everything; see `PrefixCache.reset`."""
        if self._ends:
            raise RuntimeError(f"requests are live: {len(self._ends)}")
        self._clear()

    def _reusable(self, request: Admission) -> list[Key]:
        """Return the keys of the pages that do not hold the prompt's last token."""
        return request.keys[: (request.length - 1) // self._page]

    def _walk(self, keys: list[Key]) -> tuple[Node, list[int]]:
        """Follow ``keys``, splitting the last edge where they leave it; return the node and the pages."""
        node, tick, at = self._root, self._next_tick(), 0
        pages: list[int] = []
        while at < len(keys) and (child := node.children.get(keys[at])):
            child.used = tick
            same = _common(child.keys, keys, at)
            node = child if same == len(child.keys) else self._split(child, same)
            pages += node.pages
            at += same
            if node is not child:
                break
        return node, pages

    def _split(self, child: Node, at: int) -> Node:
        """Put a node with the first ``at`` pages of ``child`` above it."""
        parent = child.parent
        assert parent is not None
        upper = Node(parent, child.keys[:at], child.pages[:at], self._next_tick())
        upper.locks = child.locks
        upper.children[child.keys[at]] = child
        parent.children[child.keys[0]] = upper
        child.parent, child.keys, child.pages = upper, child.keys[at:], child.pages[at:]
        return upper

    def _lock(self, node: Node | None, by: int) -> None:
        end = node
        while node is not None:
            node.locks += by
            node = node.parent
        if end is not None:
            self._offer(end)

    def _offer(self, node: Node) -> None:
        """Make a leaf that nobody uses a candidate for eviction."""
        if not (node.locks or node.children or node.queued or node.parent is None):
            node.queued = True
            heappush(self._candidates, (node.used, self._next_tick(), node))

    def _make_room(self, need: int) -> bool:
        """Evict whole leaves until ``need`` pages are free; False if all that helps is too little."""
        free = self.free_pages
        if free is None:
            return True
        while free < need and self._candidates:
            queued, _, node = heappop(self._candidates)
            node.queued = False
            if node.used != queued:
                self._offer(node)  # used since it was queued: back in at its new place
            elif not (node.locks or node.children):
                self._evict(node)
                free += len(node.pages)
        return free >= need

    def _evict(self, leaf: Node) -> None:
        parent = leaf.parent
        assert parent is not None
        del parent.children[leaf.keys[0]]
        self._spare.extend(leaf.pages)
        self._tree -= len(leaf.pages)
        self._evicted += len(leaf.pages)
        self._offer(parent)

    def _grow(self, request: Admission, slots: int) -> None:
        for _ in range(-(-slots // self._page) - len(request.blocks)):
            if self._spare:
                request.blocks.append(self._spare.pop())
            else:
                request.blocks.append(self._opened)
                self._opened += 1
        request.slots = slots

    def _next_tick(self) -> int:
        self._tick += 1
        return self._tick

    def _check_live(self, admission: Admission) -> None:
        if admission not in self._ends:
            raise ValueError("this request is not live in this cache")

    def _nodes(self) -> Iterator[Node]:
        stack = [self._root]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.children.values())

    def check(self) -> None:
        """Raise `AssertionError` naming the first broken invariant."""
        locks: dict[int, int] = {}
        for end in self._ends.values():
            node: Node | None = end
            while node is not None:
                locks[id(node)] = locks.get(id(node), 0) + 1
                node = node.parent
        held = list(self._spare)
        in_tree = 0
        for node in self._nodes():
            assert node.locks == locks.get(id(node), 0), "locks differ from the live requests"
            assert len(node.keys) == len(node.pages), "keys and pages differ in number"
            assert bool(node.keys) == (node.parent is not None), "a node without pages"
            for key, child in node.children.items():
                assert child.parent is node, "a child names another parent"
                assert child.keys[0] == key, "a child stands under a wrong key"
            idle = not (node.locks or node.children) and node.parent is not None
            assert node.queued or not idle, "an unused leaf can never be evicted"
            held += node.pages
            in_tree += len(node.pages)
        assert in_tree == self._tree, "the tree's size is miscounted"
        for request in self._ends:
            assert len(request.blocks) == -(-request.slots // self._page), "pages do not cover the slots"
            held += request.blocks[request.published :]
        assert sorted(held) == list(range(self._opened)), "a page is lost or held twice"
        assert self._capacity is None or self._opened <= self._capacity, "more pages than there are"


def _common(edge: list[Key], keys: list[Key], at: int) -> int:
    """Return how many pages of an edge equal ``keys`` from ``at`` on."""
    size = min(len(edge), len(keys) - at)
    part = keys[at : at + size]
    if (edge if size == len(edge) else edge[:size]) == part:
        return size
    return next(i for i, (left, right) in enumerate(zip(edge, part, strict=False)) if left != right)
