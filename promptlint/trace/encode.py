"""Text requests to columns: tokenize, cut into blocks, hash in a chain.

A prompt is tokenized in chunks that end where a byte-pair tokenizer can never merge: behind a
single newline, before a letter or digit. (Behind several newlines GPT-2's rule takes the last one
apart.) Where a chunk ends depends on what stands before it and never on the length of the prompt,
so that prompts with a common beginning have common chunks, whatever the tokenizer does at their
borders, and a chunk that has been seen is not tokenized again.
"""

from __future__ import annotations

import re
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from promptlint.trace.model import Encoded, Part, Request

if TYPE_CHECKING:
    from promptlint.trace.columns import Keys

Encode = Callable[[str], Sequence[int]]

_CHUNK = 1024
_SETTLED = re.compile(r"(?<=\S)\n(?=[A-Za-z0-9])")
_REMEMBERED = 64 * 1024 * 1024  # bytes of token ids


_START: tuple[bytes, bytes] = (b"", b"")


@dataclass(slots=True)
class _Memory:
    """A table that forgets what was used longest ago once it holds too many bytes."""

    rows: OrderedDict[Any, Any] = field(default_factory=OrderedDict)
    size: int = 0

    def get(self, key: Any) -> Any:
        found = self.rows.get(key)
        if found is not None:
            self.rows.move_to_end(key)
        return found

    def put(self, key: Any, value: Any, size: int) -> None:
        self.rows[key] = (value, size)
        self.size += size
        while self.size > _REMEMBERED:
            _, (_, dropped) = self.rows.popitem(last=False)
            self.size -= dropped


@dataclass(frozen=True, slots=True)
class Tokens:
    """What blocks are made of. ``model`` and ``tokenizer`` choose the encoding, unless ``unit`` is bytes."""

    block: int
    unit: str = "tokens"
    model: str = ""
    tokenizer: str = ""

    def open(self) -> tuple[Encoder, str]:
        """Return the encoder, and the name of its encoding."""
        if self.unit == "bytes":
            return Encoder(self.block, None, f"bytes/{self.block}"), "bytes"
        from promptlint.tokens.choose import DEFAULT_ENCODING, open_counter

        counter = open_counter(self.model, self.tokenizer).counter
        encode = getattr(counter, "encode", None)
        if encode is None:  # an estimator: ids of another vocabulary show equal text as well
            base = open_counter("", DEFAULT_ENCODING).counter
            encode = getattr(base, "encode", None)
            counter = base if encode else counter
        name = counter.name if encode else "bytes"
        return Encoder(self.block, encode, f"{name}/{self.block}"), name


@dataclass(slots=True)
class Encoder:
    """Gives the block keys of requests. ``encode`` is None for blocks of bytes instead of tokens.

    Three things are remembered: the ids of a piece of text, what a piece does to a chain that stands at a
    certain point, and what a whole part does, with its size. A prompt that begins like an earlier one costs
    one look-up a part.
    """

    block: int
    encode: Encode | None
    name: str = ""
    _ids: _Memory = field(default_factory=_Memory)
    _steps: _Memory = field(default_factory=_Memory)
    _parts: _Memory = field(default_factory=_Memory)
    _sizes: _Memory = field(default_factory=_Memory)

    def request(self, request: Request) -> tuple[Keys, int]:
        """Return the chained keys of a request's full blocks, and its length."""
        unit = 1 if self.encode is None else 4
        width, length = self.block * unit, 0
        before, rest = _START
        found: list[bytes] = []
        for part in request.parts:
            known = self._parts.get((before, rest, part.digest))
            if known is None:
                known = self._part(before, rest, part, width)
            (keys, before, rest, size), _ = known
            found.append(keys)
            length += size
        return np.frombuffer(b"".join(found), dtype=np.uint64), length // unit

    def encoded(self, request: Request) -> Encoded:
        """Return a request's blocks, and the sizes of its parts where the log does not count."""
        keys, length = self.request(request)
        sizes: tuple[int, ...] = ()
        if request.usage is None and self.encode is not None:
            sizes = tuple(self._size(p) if p.tokens is None else p.tokens for p in request.parts)
        return Encoded(keys.tobytes(), length, self.name, sizes)

    def _size(self, part: Part) -> int:
        known = self._sizes.get(part.digest)
        if known is None:
            known = (self.count(part.text), 0)
            self._sizes.put(part.digest, known[0], 200)
        size: int = known[0]
        return size

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        return sum(len(self._data(piece)) for piece in _cut(text)) // 4

    def _part(self, before: bytes, rest: bytes, part: Part, width: int) -> Any:
        """Hash on by a whole part, and remember the way."""
        key, length = (before, rest, part.digest), 0
        found: list[bytes] = []
        for piece in self._pieces(part):
            known = self._steps.get((before, rest, piece))
            if known is None:
                known = self._step(before, rest, piece, width)
            (keys, before, rest, size), _ = known
            found.append(keys)
            length += size
        value = (b"".join(found), before, rest, length)
        self._parts.put(key, value, 300 + len(value[0]))
        return value, 0

    def _step(self, before: bytes, rest: bytes, piece: str | bytes, width: int) -> Any:
        """Hash on by one piece, and remember the way."""
        added = piece if isinstance(piece, bytes) else self._data(piece)
        data, keys, key = rest + added, [], (before, rest, piece)
        end = len(data) // width * width
        for at in range(0, end, width):
            before = blake2b(before + data[at : at + width], digest_size=8).digest()
            keys.append(before)
        value = (b"".join(keys), before, data[end:], len(added))
        self._steps.put(key, value, 200 + len(piece) + len(value[0]))
        return value, 0

    def _pieces(self, part: Part) -> Iterator[str | bytes]:
        """Yield a part in pieces, behind one token that stands for its role: templates write roles too."""
        if self.encode is None:
            yield from _cut(part.text)
            return
        if part.role or part.kind != "text":
            head = crc32(f"{part.role}\0{part.kind}".encode()) | 0x80000000
            yield head.to_bytes(4, "little")
        if part.kind == "image" and part.tokens:
            yield crc32(part.text.encode("utf-8", "surrogatepass")).to_bytes(4, "little") * part.tokens
        else:
            yield from _cut(part.text)

    def _data(self, text: str) -> bytes:
        """Return the token ids of a piece as 32-bit numbers, or its bytes."""
        if self.encode is None:
            return text.encode("utf-8", "surrogatepass")
        known = self._ids.get(text)
        if known is None:
            data = array("I", self.encode(text)).tobytes()
            self._ids.put(text, data, 100 + len(text) + len(data))
            return data
        found: bytes = known[0]
        return found


def _cut(text: str) -> Iterator[str]:
    """Yield pieces of a text that no byte-pair tokenizer joins, counted off from its beginning."""
    at = 0
    while cut := _SETTLED.search(text, at + _CHUNK):
        yield text[at : cut.end()]
        at = cut.end()
    if at < len(text) or not text:
        yield text[at:]
