"""What a log says: requests in the order of their prefix, and what the provider counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

from promptlint.layout import Section

IMAGE_TOKENS = 1100  # of an image whose size is not known


@dataclass(frozen=True, slots=True)
class Mark:
    """A cache mark behind a part; ``automatic`` where the provider places it."""

    ttl: str = ""
    automatic: bool = False


@dataclass(frozen=True)
class Part:
    """One block of a request: a tool definition, a system block, a content block of a message.

    ``index`` numbers the tool or message within its section, ``kind`` is one of ``text``,
    ``tool``, ``schema``, ``image``, ``thinking``, ``tool_use``, ``tool_result``.
    """

    section: Section
    index: int
    role: str
    text: str
    kind: str = "text"
    mark: Mark | None = None
    tokens: int | None = None  # where the text does not tell: images, withheld reasoning

    @cached_property
    def digest(self) -> bytes:
        """Return a hash of everything that enters the prefix."""
        head = f"{self.section}\0{self.role}\0{self.kind}\0{self.tokens or 0}\0"
        return blake2b((head + self.text).encode("utf-8", "surrogatepass"), digest_size=12).digest()

    @property
    def weight(self) -> float:
        """Return a rough size in tokens: four bytes a token, as long as nothing better is known."""
        if self.tokens is not None:
            return float(self.tokens)
        return (len(self.text) if self.text.isascii() else len(self.text.encode("utf-8", "replace"))) / 4


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them. ``input`` includes those read and written."""

    input: int
    read: int | None = None  # None: the log does not say
    written: int | None = None
    output: int = 0
    written_by_ttl: Mapping[str, int] = field(default_factory=dict)

    @property
    def cached(self) -> int:
        """Return the tokens that stand in the cache after the request, as far as counted."""
        return (self.read or 0) + (self.written or 0)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A request in tokens, made by the encoder ``by``.

    ``keys`` are the 64-bit keys of its full blocks as bytes; ``sizes`` the tokens of its parts, empty
    where the log counts them itself.
    """

    keys: bytes
    length: int
    by: str
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Request:
    """One request with its text. Missing facts are empty; ``time`` is in seconds since the epoch."""

    file: str
    line: int
    parts: tuple[Part, ...]
    time: float | None = None
    id: str = ""
    provider: str = ""
    surface: str = ""  # "chat", "responses", "messages", "converse", "completions", …
    model: str = ""
    session: str = ""
    tenant: str = ""  # organisation, workspace, key: caches are not shared across it
    salt: str = ""
    replica: str = ""
    routing: str = ""  # cache key or affinity header
    parameters: Mapping[str, str] = field(default_factory=dict)
    usage: Usage | None = None
    reply: str = ""
    first_byte: float | None = None
    reason: str = ""  # the provider's own word for the miss
    notes: tuple[str, ...] = ()  # events of the session since the request before: "compacted", …
    encoded: Encoded | None = field(default=None, repr=False, compare=False)  # where a reader has done it

    @property
    def namespace(self) -> tuple[str, str, str]:
        """Return what decides whether two requests may share entries."""
        return self.model, self.tenant, self.salt

    @cached_property
    def weight(self) -> float:
        """Return the rough size of the prompt in tokens."""
        return sum(part.weight for part in self.parts)

    @property
    def input_tokens(self) -> int:
        """Return the counted, else the estimated size."""
        return self.usage.input if self.usage else max(1, round(self.weight))

    @cached_property
    def marks(self) -> list[int]:
        """Return the indices of the parts that carry a mark."""
        return [i for i, part in enumerate(self.parts) if part.mark]


@dataclass(frozen=True, slots=True)
class Hashed:
    """One request of which only block hashes are known."""

    line: int
    ids: Sequence[int]
    block_tokens: int
    time: float = 0.0
    length: int | None = None
    output: int = 0
    namespace: str = ""  # ids of different namespaces are not comparable
    session: str = ""
    kind: str = ""
    depth: int = 0  # of sub-agents; 0 for the main thread
    order: float | None = None  # place among the others, where it is not that of the time
