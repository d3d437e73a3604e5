"""One request as a hosted cache sees it, and what the cache makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import accumulate

from promptlint.catalog.profile import Profile

Key = bytes | str | int
_DIGEST = 16
_USUAL = ("tools", "response_schema", "system", "messages")
FORGET_AFTER = 7 * 24 * 3600.0  # seconds after which a cache need not know why a prefix is gone
SWEEP_EVERY = 4096  # requests


@dataclass(frozen=True, slots=True)
class Block:
    """A content block: the unit that can carry a mark.

    Attributes:
        key: stands for the content; equal keys mean equal text.
        tokens: its length in tokens.
        section: "tools", "response_schema", "system" or "messages".
        kind: the provider's word for the block: "text", "tool_use", "thinking", …
        mark: lifetime of a mark at its end as written, "" for the default, None without a mark.
        message: index of the message it belongs to, within its section.
        role: of that message.
    """

    key: Key
    tokens: int
    section: str = "messages"
    kind: str = "text"
    mark: str | None = None
    message: int = 0
    role: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What was sent, and when.

    Attributes:
        blocks: the content; the cache puts the sections into the provider's order.
        at: seconds at which the request started; any zero, but one clock for a whole run.
        first_byte: when the answer began, which is when another request can first read; None: at once.
        end: when the answer ended; None: with the first byte.
        namespace: whatever keeps caches apart besides the parameters: workspace, region, replica.
        parameters: values that belong to the cache key, under the names of `Profile.survives`.
        automatic: lifetime of a mark that the provider places itself, None where none was asked for.
        mode: "implicit" or "explicit" where the provider has both; "" for its default.
        ttl: lifetime for all marks that do not say their own; "" for the provider's default.
        output: the answer, for caches that keep it.
        cached_object: name of a cached object that stands before the blocks.
        keys: chained keys of the prompt's full steps of `Profile.block_tokens` tokens, where the caller
            has token ids; without them steps inside a changed block count as changed from its start.
    """

    blocks: tuple[Block, ...]
    at: float = 0.0
    first_byte: float | None = None
    end: float | None = None
    namespace: Key = b""
    parameters: Mapping[str, str] = field(default_factory=dict)
    automatic: str | None = None
    mode: str = ""
    ttl: str = ""
    output: tuple[Block, ...] = ()
    cached_object: str = ""
    keys: Sequence[bytes] | None = None

    @property
    def tokens(self) -> int:
        """Return the length of the prompt."""
        return sum(block.tokens for block in self.blocks)


@dataclass(frozen=True, slots=True)
class MarkOutcome:
    """What became of one mark: ``tokens`` are the prefix it covers, ``block`` its index in order."""

    block: int
    tokens: int
    ttl: str
    result: str  # "read", "written", "kept", "below-minimum", "dropped"
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """Tokens read, written and neither, and why no more were read.

    ``missed`` gives, for each reason, the length of the longest earlier prefix that would have been read
    without it: "expired", "lookback", "not-readable", "below-minimum". ``exact`` is False where ``read``
    is an upper bound. A rejected request reads and writes nothing.
    """

    total: int
    read: int = 0
    written: Mapping[str, int] = field(default_factory=dict)  # by lifetime
    exact: bool = True
    marks: tuple[MarkOutcome, ...] = ()
    missed: Mapping[str, int] = field(default_factory=dict)
    rejected: str = ""

    @property
    def write(self) -> int:
        """Return the tokens written, over all lifetimes."""
        return sum(self.written.values())

    @property
    def plain(self) -> int:
        """Return the tokens that are neither read nor written."""
        return self.total - self.read - self.write

    def input_count(self, profile: Profile) -> int:
        """Return what the API reports as input tokens: all of them, or only the plain ones."""
        return self.total if profile.input_tokens == "inclusive" else self.plain

    def cost(self, profile: Profile) -> float:
        """Return the price of the prompt in ordinary input tokens."""
        read = 1.0 if profile.read_multiplier is None else profile.read_multiplier
        written = sum(tokens * profile.write_price(ttl) for ttl, tokens in self.written.items())
        return self.plain + self.read * read + written


def mix(parent: bytes, *parts: Key) -> bytes:
    """Return the key of a prefix that goes on from ``parent``; no two part lists give the same bytes."""
    data = [parent]
    for part in parts:
        if isinstance(part, int):
            part = str(part)
        plain = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        data += (len(plain).to_bytes(8, "little"), plain)
    return blake2b(b"".join(data), digest_size=_DIGEST).digest()


def section_order(order: Sequence[str]) -> tuple[str, ...]:
    """Return all sections in a provider's order; those it says nothing of come first, as they usually do.

    >>> section_order(["messages"])
    ('tools', 'response_schema', 'system', 'messages')
    """
    return (*(section for section in _USUAL if section not in order), *order)


def ordered(blocks: Iterable[Block], order: Sequence[str]) -> tuple[Block, ...]:
    """Return the blocks in the order in which a provider reads the sections; unknown ones stay last."""
    rank = {section: at for at, section in enumerate(section_order(order))}
    return tuple(sorted(blocks, key=lambda block: rank.get(block.section, len(rank))))


def ends(blocks: Iterable[Block]) -> list[int]:
    """Return the length of the prefix up to the end of each block."""
    return list(accumulate(block.tokens for block in blocks))


def chain(request: Request, blocks: Sequence[Block], profile: Profile) -> list[bytes]:
    """Return the key of the prefix up to each block's end.

    A parameter enters before the first section that its change does not leave alone: one that kills the
    messages only is mixed in where they start, so that tools and system prompt keep their keys.
    """
    sections = section_order(profile.order)
    enters: dict[str, list[str]] = {}
    for name, value in sorted(request.parameters.items()):
        survivors = profile.survives.get(name, () if name == "model" else None)
        if survivors is not None:
            documented = profile.order if survivors else sections
            start = next((section for section in documented if section not in survivors), None)
            if start is not None:
                enters.setdefault(start, []).append(f"{name}={value}")
    waiting = list(sections)
    key, keys = mix(b"", request.namespace), []
    for block in blocks:
        while waiting and (block.section in waiting or block.section not in sections):
            section = waiting.pop(0)
            key = mix(key, *enters.get(section, ())) if section in enters else key
            if section == block.section:
                break
        key = mix(key, block.section, block.key)
        keys.append(key)
    return keys
