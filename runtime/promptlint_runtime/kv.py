"""Keys and values of all cached tokens, in one bounded pool of slots a layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from promptlint_runtime.sequence import Run

Where = slice | Tensor  # slots: a range (no copy on reading), or indices
SCRATCH = 32  # slots behind the others, for the keys and values of padding


class Storage(StrEnum):
    """How keys and values are kept: as computed, or in eight bits with a scale for each vector."""

    MODEL = "model"
    INT8 = "int8"
    FP8 = "fp8"


@dataclass(frozen=True, slots=True)
class LayerSize:
    """Heads and head sizes of one layer's keys and values."""

    heads: int
    key_dim: int
    value_dim: int


def where(runs: Sequence[Run], device: torch.device) -> Where:
    """Turn runs of slots into something to index with."""
    if len(runs) == 1:
        first, count = runs[0]
        return slice(first, first + count)
    if not runs:
        return slice(0, 0)
    return torch.cat([torch.arange(first, first + count) for first, count in runs]).to(device)


def bytes_per_token(sizes: Sequence[LayerSize], dtype: torch.dtype, storage: Storage) -> int:
    """Return what one cached token takes over all layers."""
    numbers = sum(size.heads * (size.key_dim + size.value_dim) for size in sizes)
    if storage is Storage.MODEL:
        return numbers * dtype.itemsize
    vectors = 2 * sum(size.heads for size in sizes)
    return numbers + vectors * _SCALE.itemsize


_SCALE = torch.float16
_LIMIT = {Storage.INT8: 127.0, Storage.FP8: 448.0}  # largest value of int8 and of float8_e4m3fn
_DTYPE = {Storage.INT8: torch.int8, Storage.FP8: torch.float8_e4m3fn}


class KvStore:
    """``slots`` places for the keys ``[KV, D]`` and values ``[KV, DV]`` of a token, for each layer.

    Memory is reserved at once and touched only when written. Slots are given out elsewhere
    (`promptlint.cache`); nothing here knows which of them are in use. `SCRATCH` more stand behind them.
    """

    def __init__(
        self,
        sizes: Sequence[LayerSize],
        slots: int,
        dtype: torch.dtype,
        device: torch.device,
        storage: Storage = Storage.MODEL,
    ) -> None:
        self.sizes = tuple(sizes)
        self.slots = slots
        self.dtype = dtype
        self.device = device
        self.storage = storage
        kept = _DTYPE.get(storage, dtype)
        rows = slots + SCRATCH
        self._keys = [torch.empty(rows, s.heads, s.key_dim, dtype=kept, device=device) for s in sizes]
        self._values = [torch.empty(rows, s.heads, s.value_dim, dtype=kept, device=device) for s in sizes]
        quantised = storage is not Storage.MODEL
        shapes = [(rows, s.heads, 1) for s in sizes] if quantised else []
        self._key_scales = [torch.empty(shape, dtype=_SCALE, device=device) for shape in shapes]
        self._value_scales = [torch.empty(shape, dtype=_SCALE, device=device) for shape in shapes]

    @property
    def nbytes(self) -> int:
        """Return the bytes reserved."""
        return self.slots * bytes_per_token(self.sizes, self.dtype, self.storage)

    def write(self, layer: int, at: Where, keys: Tensor, values: Tensor) -> None:
        """Keep keys ``[T, KV, D]`` and values ``[T, KV, DV]`` of ``T`` slots."""
        if self.storage is not Storage.MODEL:
            keys, key_scale = self._quantise(keys)
            values, value_scale = self._quantise(values)
            self._key_scales[layer][at] = key_scale
            self._value_scales[layer][at] = value_scale
        self._keys[layer][at] = keys
        self._values[layer][at] = values

    def read(self, layer: int, at: Where) -> tuple[Tensor, Tensor]:
        """Return the keys and values of some slots, as a view where the slots are one range."""
        keys, values = self._keys[layer][at], self._values[layer][at]
        if self.storage is Storage.MODEL:
            return keys, values
        return (
            keys.to(self.dtype) * self._key_scales[layer][at].to(self.dtype),
            values.to(self.dtype) * self._value_scales[layer][at].to(self.dtype),
        )

    def _quantise(self, x: Tensor) -> tuple[Tensor, Tensor]:
        limit = _LIMIT[self.storage]
        scale = (x.float().abs().amax(dim=-1, keepdim=True) / limit).clamp_(min=1e-6).to(_SCALE)
        scaled = x.float() / scale.float()
        if self.storage is Storage.INT8:
            scaled = scaled.round_()
        return scaled.clamp_(-limit, limit).to(_DTYPE[self.storage]), scale
