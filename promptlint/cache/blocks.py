"""The hash chain: a block's key stands for its tokens and for everything before them.

::

    tokens   t0 … t15 | t16 … t31 | t32 … t39      block = 16, the last one is not full
    keys     k0 = H(root, t0…t15, extra)
             k1 = H(k0,  t16…t31, extra)           no key for t32…t39

Equal keys mean equal prefixes, so one look-up a block finds the longest reusable prefix.
"""

from __future__ import annotations

import pickle
import sys
from array import array
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import Protocol

Key = Hashable
"""A block's key: bytes from `block_keys` or `vllm_keys`, or whatever a request log carries."""

_DIGEST = 16
_ROOT = bytes(_DIGEST)


@dataclass(frozen=True, slots=True)
class Image:
    """An image (or other media item) whose placeholder covers tokens ``start`` to ``start + length``."""

    digest: str
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Extra:
    """What decides reuse besides the tokens.

    ``salt`` enters the first block only, and reaches the others through the chain. ``lora`` and its
    path enter every block, an image enters each block that its placeholder touches.
    """

    salt: str = ""
    lora: str = ""
    lora_path: str = ""
    images: tuple[Image, ...] = ()

    def of_block(self, start: int, end: int) -> tuple[Hashable, ...] | None:
        """Return the extra keys of the block that holds tokens ``start`` to ``end``, or None.

        The shape and the order are vLLM's, so that `vllm_keys` gives the engine's own hashes.
        """
        found: list[Hashable] = []
        if self.lora:
            found.append(("lora", self.lora, self.lora_path))
        for image in self.images:
            if image.start < end and start < image.start + image.length:
                found.append(("mm", image.digest, image.start - start))
        if self.salt and start == 0:
            found.append(("cache_salt", self.salt))
        return tuple(found) or None

    @property
    def namespace(self) -> tuple[str, str, str]:
        """Return what keeps whole requests apart, whatever their tokens."""
        return self.salt, self.lora, self.lora_path


PLAIN = Extra()


@dataclass(frozen=True, slots=True)
class Chain:
    """A prompt of which only hashes are known, as in published request logs.

    Attributes:
        length: number of tokens.
        keys: one key a full block, each standing for the whole prefix up to its end. A shorter list
            is allowed: blocks without a key take room but are never found again.
    """

    length: int
    keys: Sequence[Key]


class Hasher(Protocol):
    """Turns tokens into the keys of their full blocks: `block_keys`, `vllm_keys`, `page_keys`.

    ``parent`` is the key before the first block (None: the root), ``first`` the position of
    ``tokens[0]`` in the prompt, a multiple of ``block``: with both, a chain goes on where it stopped.
    """

    def __call__(
        self,
        tokens: Sequence[int],
        block: int,
        extra: Extra = PLAIN,
        *,
        parent: Key | None = None,
        first: int = 0,
    ) -> Sequence[Key]:
        """Return one key a full block."""
        ...


def block_keys(
    tokens: Sequence[int],
    block: int,
    extra: Extra = PLAIN,
    *,
    parent: Key | None = None,
    first: int = 0,
) -> list[bytes]:
    """Return one 16-byte key a full block of ``block`` tokens, chained by blake2b.

    Raises:
        ValueError: a token id that does not fit 32 bits, or a block size below 1.
    """
    _check_block(block)
    before = _bytes_key(parent, _ROOT)
    data, width = token_bytes(tokens), 4 * block
    if extra == PLAIN:
        return _plain_keys(data, width, before)
    keys: list[bytes] = []
    for at in range(0, len(data) - width + 1, width):
        start = first + at // 4
        more = extra.of_block(start, start + block)
        note = b"" if more is None else repr(more).encode("utf-8", "surrogatepass")
        before = blake2b(before + data[at : at + width] + note, digest_size=_DIGEST).digest()
        keys.append(before)
    return keys


def _plain_keys(data: bytes, width: int, parent: bytes) -> list[bytes]:
    """Hash block by block; this loop is the speed limit of the pool."""
    keys: list[bytes] = []
    append, digest_size = keys.append, _DIGEST
    for at in range(0, len(data) - width + 1, width):
        parent = blake2b(parent + data[at : at + width], digest_size=digest_size).digest()
        append(parent)
    return keys


def token_bytes(tokens: Sequence[int]) -> bytes:
    """Return token ids as little-endian 32-bit numbers.

    Raises:
        ValueError: an id below 0 or above 2**32 - 1.
    """
    try:
        numbers = array("I", tokens)
    except OverflowError:
        raise ValueError("token ids must lie between 0 and 2**32 - 1") from None
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def vllm_root(seed: str | None = None) -> bytes:
    """Return the parent of vLLM's first block; ``seed`` is the engine's ``PYTHONHASHSEED``, if set."""
    return _pickled("vllm-none-hash" if seed is None else seed)


def vllm_keys(
    tokens: Sequence[int],
    block: int,
    extra: Extra = PLAIN,
    *,
    parent: Key | None = None,
    first: int = 0,
) -> list[bytes]:
    """Return the block hashes that vLLM's default algorithm (``sha256`` over pickle) gives.

    They equal the ``block_hashes`` of the engine's KV events bit for bit (vLLM 0.32). An engine
    started with ``PYTHONHASHSEED`` set has another root: give ``parent=vllm_root(seed)``.
    """
    _check_block(block)
    before = _bytes_key(parent, vllm_root())
    keys: list[bytes] = []
    for at in range(0, len(tokens) - block + 1, block):
        start = first + at
        row = tuple(tokens[at : at + block])
        before = _pickled((before, row, extra.of_block(start, start + block)))
        keys.append(before)
    return keys


def page_keys(
    tokens: Sequence[int],
    block: int,
    extra: Extra = PLAIN,
    *,
    parent: Key | None = None,
    first: int = 0,
) -> Sequence[Key]:
    """Return the bare content of each full page, for a tree that knows what stands before it.

    Nothing is chained. Salt and LoRA are part of the first page only, an image of each page it touches.
    """
    _check_block(block)
    pages: list[Key]
    if block == 1:
        pages = list(tokens)
    else:
        data, width = token_bytes(tokens), 4 * block
        pages = [data[at : at + width] for at in range(0, len(data) - width + 1, width)]
    for image in extra.images:
        for page in range(image.start // block, -(-(image.start + image.length) // block)):
            at = page - first // block
            if 0 <= at < len(pages):
                pages[at] = (pages[at], image.digest, image.start - page * block)
    if pages and first == 0 and extra.namespace != PLAIN.namespace:
        pages[0] = (pages[0], extra.namespace)
    return pages


def _bytes_key(key: Key | None, root: bytes) -> bytes:
    if key is None:
        return root
    if not isinstance(key, bytes):
        raise TypeError(f"a chain of hashes cannot go on from the key {key!r}")
    return key


def _pickled(value: object) -> bytes:
    return sha256(pickle.dumps(value, pickle.HIGHEST_PROTOCOL)).digest()


def _check_block(block: int) -> None:
    if block < 1:
        raise ValueError(f"no block has a size of {block}")
