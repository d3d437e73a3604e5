"""The two caches once more, written to be read: every question is answered by looking at everything."""

from __future__ import annotations

from dataclasses import dataclass, field

Pages = tuple[object, ...]


@dataclass(eq=False)
class Request:
    tokens: list[int]
    salt: str
    slots: int
    blocks: list[int] = field(default_factory=list)
    hit: int = 0
    node: Node | None = None


class NaivePool:
    """Blocks in one list; the head of ``free`` is taken first."""

    def __init__(self, blocks: int, size: int) -> None:
        self.size = size
        self.free = list(range(blocks))
        self.users = [0] * blocks
        self.content: list[object] = [None] * blocks
        self.born = [0] * blocks
        self.clock = 0

    def find(self, tokens: list[int], salt: str) -> list[int]:
        found = []
        for end in range(self.size, len(tokens), self.size):  # never the block of the last token
            holders = [b for b, c in enumerate(self.content) if c == (salt, tuple(tokens[:end]))]
            if not holders:
                break
            found.append(min(holders, key=lambda b: self.born[b]))
        return found

    def start(self, tokens: list[int], salt: str, compute: int | None) -> Request | None:
        found = self.find(tokens, salt)
        hit = len(found) * self.size
        slots = len(tokens) if compute is None else min(len(tokens), hit + max(1, compute))
        waiting = [b for b in self.free if b not in found]
        need = -(-slots // self.size) - len(found)
        if need > len(waiting):
            return None
        self.free = waiting
        for block in found:
            self.users[block] += 1
        request = Request(list(tokens), salt, 0, found, hit)
        self.grow(request, slots)
        return request

    def extend(self, request: Request, tokens: list[int], compute: int | None) -> bool:
        known = len(request.tokens) + len(tokens)
        slots = known if compute is None else min(known, request.slots + compute)
        if -(-slots // self.size) - len(request.blocks) > len(self.free):
            return False
        request.tokens += tokens
        self.grow(request, slots)
        return True

    def grow(self, request: Request, slots: int) -> None:
        while len(request.blocks) * self.size < slots:
            block = self.free.pop(0)
            self.content[block] = None
            self.users[block] = 1
            request.blocks.append(block)
        request.slots = slots
        for at in range(slots // self.size):
            block = request.blocks[at]
            if self.content[block] is None:
                self.clock += 1
                self.content[block] = (request.salt, tuple(request.tokens[: (at + 1) * self.size]))
                self.born[block] = self.clock

    def finish(self, request: Request) -> None:
        for block in reversed(request.blocks):
            self.users[block] -= 1
            if not self.users[block]:
                if self.content[block] is None:
                    self.free.insert(0, block)
                else:
                    self.free.append(block)


@dataclass(eq=False)
class Node:
    """An edge of the tree: pages ``start`` to the end of ``path``."""

    path: Pages
    start: int
    used: int

    @property
    def size(self) -> int:
        return len(self.path) - self.start


class NaiveRadix:
    """All nodes in one list; parents and children are found by comparing paths."""

    def __init__(self, pages: int, size: int) -> None:
        self.size = size
        self.free = pages
        self.nodes: list[Node] = []
        self.live: list[Request] = []
        self.clock = 0
        self.evicted = 0

    def pages(self, tokens: list[int], salt: str) -> Pages:
        full = len(tokens) // self.size
        return tuple((salt, *tokens[at * self.size : (at + 1) * self.size]) for at in range(full))

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def walk(self, pages: Pages) -> Node | None:
        """Return the node that ends where ``pages`` leave the tree, splitting one if they must."""
        now, last, at = self.tick(), None, 0
        while at < len(pages):
            below = [n for n in self.nodes if n.start == at and n.path[: at + 1] == pages[: at + 1]]
            if not below:
                break
            (node,) = below
            node.used = now
            same = at
            while same < min(len(node.path), len(pages)) and node.path[same] == pages[same]:
                same += 1
            if same < len(node.path):
                last = Node(node.path[:same], at, self.tick())
                self.nodes.append(last)
                node.start = same
                break
            last, at = node, same
        return last

    def leaves(self) -> list[Node]:
        paths = [request.node.path for request in self.live if request.node]
        return [
            node
            for node in self.nodes
            if not any(n is not node and n.path[: len(node.path)] == node.path for n in self.nodes)
            and not any(path[: len(node.path)] == node.path for path in paths)
        ]

    def room(self, need: int) -> bool:
        while self.free < need and (leaves := self.leaves()):
            oldest = min(leaves, key=lambda node: node.used)
            self.nodes.remove(oldest)
            self.free += oldest.size
            self.evicted += oldest.size
        return self.free >= need

    def start(self, tokens: list[int], salt: str, compute: int | None) -> Request | None:
        node = self.walk(self.pages(tokens[:-1], salt))
        found = len(node.path) if node else 0
        hit = found * self.size
        slots = len(tokens) if compute is None else min(len(tokens), hit + max(1, compute))
        request = Request(list(tokens), salt, slots, [], hit, node)
        self.live.append(request)
        need = -(-slots // self.size) - found
        if not self.room(need):
            self.live.remove(request)
            return None
        self.free -= need
        request.blocks = [0] * (found + need)
        return request

    def extend(self, request: Request, tokens: list[int], compute: int | None) -> bool:
        known = len(request.tokens) + len(tokens)
        slots = known if compute is None else min(known, request.slots + compute)
        need = -(-slots // self.size) - len(request.blocks)
        if not self.room(need):
            return False
        self.free -= need
        request.blocks += [0] * need
        request.tokens += tokens
        request.slots = slots
        return True

    def commit(self, request: Request) -> None:
        pages = self.pages(request.tokens[: request.slots], request.salt)
        own = len(pages) - (len(request.node.path) if request.node else 0)  # pages not yet in the tree
        node = self.walk(pages)
        there = len(node.path) if node else 0
        if there < len(pages):
            node = Node(pages, there, self.tick())
            self.nodes.append(node)
        self.free += own - (len(pages) - there)
        request.node = node

    def finish(self, request: Request) -> None:
        self.commit(request)
        self.free += len(request.blocks) - request.slots // self.size
        self.live.remove(request)
