"""Earlier requests of one namespace: which one a request continues, and where its parts stand."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import accumulate, pairwise

from promptlint.layout import Section
from promptlint.trace.model import Part, Request

_KEPT_SESSIONS = 4096
_KEPT_ANCHORS = 200_000
_RECENT = 24
_THREADS = 6  # requests of one conversation that are kept


def chain_of(parts: Sequence[Part]) -> tuple[bytes, ...]:
    """Return one digest a part that stands for the part and everything before it."""
    found, before = [], b""
    for part in parts:
        before = blake2b(before + part.digest, digest_size=12).digest()
        found.append(before)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Entry:
    """A request with its prefix digests and the token positions of its parts' borders."""

    request: Request
    chain: tuple[bytes, ...]
    borders: tuple[float, ...]  # one more than parts; borders[i] tokens stand before part i
    talk: str
    first_of_talk: bool

    def shared(self, other: Entry) -> int:
        """Return how many leading parts two requests have in common."""
        low, high = 0, min(len(self.chain), len(other.chain))
        while low < high:  # equal digests mean equal prefixes, so the border can be bisected
            middle = (low + high + 1) // 2
            if self.chain[middle - 1] == other.chain[middle - 1]:
                low = middle
            else:
                high = middle - 1
        return low


@dataclass(slots=True)
class History:
    """What one namespace has seen; memory is bounded by the newest sessions."""

    _sessions: OrderedDict[str, deque[Entry]] = field(default_factory=OrderedDict)
    _anchors: OrderedDict[bytes, int] = field(default_factory=OrderedDict)
    _recent: deque[Entry] = field(default_factory=lambda: deque(maxlen=_RECENT))

    def entry(self, request: Request) -> Entry:
        """Place a request among the earlier ones, without remembering it yet."""
        chain = chain_of(request.parts)
        talk = request.session or _opening(request)
        return Entry(request, chain, self._borders(request, chain), talk, talk not in self._sessions)

    def predecessor(self, entry: Entry) -> Entry | None:
        """Return the request that this one continues or repeats, or else the most similar recent one.

        A conversation may hold several threads (sub-agents, titles, summaries), so its last few
        requests are looked at, not just the last.
        """
        talk = self._sessions.get(entry.talk)
        if talk is None:
            return _most_similar(entry, self._recent)
        last = talk[-1]
        if last.chain and last.shared(entry) == len(last.chain):
            return last
        return _most_similar(entry, talk) or last

    def remember(self, entry: Entry) -> None:
        """Add a request. Its leading parts become those of the request before, so that text is kept once."""
        talk = self._sessions.setdefault(entry.talk, deque(maxlen=_THREADS))
        last = max(talk, key=entry.shared, default=None)
        if last is not None and (same := last.shared(entry)):
            parts = (*last.request.parts[:same], *entry.request.parts[same:])
            entry = replace(entry, request=replace(entry.request, parts=parts))
        talk.append(entry)
        self._sessions.move_to_end(entry.talk)
        self._recent.append(entry)
        usage, marks = entry.request.usage, entry.request.marks
        if usage and entry.chain:
            self._anchors[entry.chain[-1]] = usage.input
            if marks and usage.cached:
                self._anchors.setdefault(entry.chain[marks[-1]], usage.cached)
        while len(self._sessions) > _KEPT_SESSIONS:
            self._sessions.popitem(last=False)
        while len(self._anchors) > _KEPT_ANCHORS:
            self._anchors.popitem(last=False)

    def _borders(self, request: Request, chain: tuple[bytes, ...]) -> tuple[float, ...]:
        """Return token positions of the borders between parts.

        Where an earlier request with a counted input ended, the position is exact; between two
        such places parts share the tokens by their weight.
        """
        raw = [0.0, *accumulate(part.weight for part in request.parts)]
        known = [(0, 0.0)]
        total = float(request.input_tokens)
        for at, digest in enumerate(chain[:-1], 1):
            tokens = self._anchors.get(digest)
            if tokens is not None and known[-1][1] < tokens < total:
                known.append((at, float(tokens)))
        if usage := request.usage:
            end = request.marks[-1] + 1 if request.marks else 0
            if known[-1][0] < end < len(request.parts) and known[-1][1] < usage.cached <= total:
                known.append((end, float(usage.cached)))
        known.append((len(request.parts), total))
        borders = [0.0]
        for (left, low), (right, high) in pairwise(known):
            span = raw[right] - raw[left]
            for at in range(left + 1, right + 1):
                share = (raw[at] - raw[left]) / span if span else 1.0
                borders.append(low + (high - low) * share)
        return tuple(borders)


def _most_similar(entry: Entry, others: Iterable[Entry]) -> Entry | None:
    """Return the request that has most in common with this one, of equals the latest; None for nothing."""
    best, score = None, 0.0
    own = {part.digest: part.weight for part in entry.request.parts}
    for other in others:
        shared = sum(own.get(part.digest, 0.0) for part in other.request.parts)
        shared += _alike(entry.request.parts, other.request.parts)
        if shared and shared >= score:
            best, score = other, shared
    return best


def _opening(request: Request) -> str:
    """Return a name for the conversation of a request that carries none: its first user message."""
    for part in request.parts:
        if part.section is Section.MESSAGES and part.role in ("user", ""):
            return "\0" + blake2b(part.text[:4096].encode("utf-8", "replace"), digest_size=12).hexdigest()
    return "\0"


def _alike(left: Sequence[Part], right: Sequence[Part]) -> float:
    """Return the weight that the first differing parts of two requests have in common at both ends."""
    for a, b in zip(left, right, strict=False):
        if a.digest != b.digest:
            if a.section is not b.section or a.role != b.role:
                return 0.0
            head = common_prefix(a.text, b.text)
            tail = common_suffix(a.text[head:], b.text[head:])
            return (head + tail) / 4
    return 0.0


def common_prefix(a: str, b: str) -> int:
    """Return the number of leading characters that two texts share."""
    size = min(len(a), len(b))
    if a[:size] == b[:size]:
        return size
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if a[low : middle + 1] == b[low : middle + 1]:
            low = middle + 1
        else:
            high = middle
    return low


def common_suffix(a: str, b: str) -> int:
    """Return the number of trailing characters that two texts share."""
    size = min(len(a), len(b))
    low, high = 0, size
    while low < high:
        middle = (low + high + 1) // 2
        if a[len(a) - middle :] == b[len(b) - middle :]:
            low = middle
        else:
            high = middle - 1
    return low
