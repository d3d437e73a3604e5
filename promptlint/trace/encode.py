"""Text requests to columns: tokenize, cut into blocks, hash in a chain.

A prompt is tokenized in chunks that end where a byte-pair tokenizer can never merge: behind a
newline, before a letter or digit. Chunks are counted off from the front, so that prompts with a
common beginning have common chunks, and a chunk that has been seen is not tokenized again.
"""

from __future__ import annotations

import re
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from promptlint.trace.model import Part, Request

if TYPE_CHECKING:
    from promptlint.trace.columns import Keys

Encode = Callable[[str], Sequence[int]]

_CHUNK = 2048
_SETTLED = re.compile(r"\n(?=[A-Za-z0-9])")
_REMEMBERED = 64 * 1024 * 1024  # bytes of token ids


@dataclass(slots=True)
class Encoder:
    """Gives the block keys of requests. ``encode`` is None for blocks of bytes instead of tokens."""

    block: int
    encode: Encode | None
    _known: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    _size: int = 0

    def request(self, request: Request) -> tuple[Keys, int]:
        """Return the chained keys of a request's full blocks, and its length."""
        if self.encode is None:
            data, unit = self._bytes(request), 1
        else:
            data, unit = b"".join(self._part(part) for part in request.parts), 4
        return self._chain(data, self.block * unit), len(data) // unit

    def _part(self, part: Part) -> bytes:
        """Return a part's tokens behind one token that stands for its role: templates write roles too."""
        if not part.role and part.kind == "text":
            return self.tokens(part.text)
        head = crc32(f"{part.role}\0{part.kind}".encode()) | 0x80000000
        if part.kind == "image" and part.tokens:
            body = crc32(part.text.encode("utf-8", "surrogatepass")).to_bytes(4, "little") * part.tokens
        else:
            body = self.tokens(part.text)
        return head.to_bytes(4, "little") + body

    def _bytes(self, request: Request) -> bytes:
        texts = [part.text for part in request.parts]
        return "".join(texts).encode("utf-8", "surrogatepass")

    def tokens(self, text: str) -> bytes:
        """Return the token ids of a text as 32-bit numbers."""
        size = len(text)
        if size < 2 * _CHUNK:
            return self._piece(text)
        found, at = [], 0
        while at < size:
            cut = _SETTLED.search(text, min(size, at + _CHUNK))
            to = cut.end() if cut else size
            found.append(self._piece(text[at:to]))
            at = to
        return b"".join(found)

    def _piece(self, text: str) -> bytes:
        known = self._known.get(text)
        if known is not None:
            self._known.move_to_end(text)
            return known
        assert self.encode is not None
        data = array("I", self.encode(text)).tobytes()
        self._known[text] = data
        self._size += len(data) + len(text)
        while self._size > _REMEMBERED:
            old, ids = self._known.popitem(last=False)
            self._size -= len(ids) + len(old)
        return data

    @staticmethod
    def _chain(data: bytes, width: int) -> Keys:
        keys: list[bytes] = []
        before = b""
        append = keys.append
        for at in range(0, len(data) - width + 1, width):
            before = blake2b(before + data[at : at + width], digest_size=8).digest()
            append(before)
        return np.frombuffer(b"".join(keys), dtype=np.uint64)
