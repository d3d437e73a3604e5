"""What a model must do for the engine, and the tensors of one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from promptlint_runtime.kv import KvStore, LayerSize, Where, where
from promptlint_runtime.sequence import Chunk
from promptlint_runtime.shapes import Shape


@dataclass(frozen=True, slots=True)
class Part:
    """One request's rows ``offset`` to ``offset + length`` of a batch, and the slots before them."""

    offset: int
    length: int
    past: Where | None


@dataclass(frozen=True, slots=True)
class Batch:
    """The tokens of all requests of one step, one behind the other without padding."""

    tokens: Tensor  # [T] int64
    positions: Tensor  # [T] int64
    own: Where  # T slots
    parts: tuple[Part, ...]
    sampled: Tensor  # [n] int64: rows whose logits are needed


def batch_of(chunks: Sequence[Chunk], device: torch.device) -> Batch:
    """Lay out the chunks of one step as tensors."""
    parts: list[Part] = []
    sampled: list[int] = []
    offset = 0
    for chunk in chunks:
        past = where(chunk.past, device) if chunk.start else None
        parts.append(Part(offset, len(chunk.tokens), past))
        offset += len(chunk.tokens)
        if chunk.sample:
            sampled.append(offset - 1)
    tokens = torch.tensor([t for chunk in chunks for t in chunk.tokens], dtype=torch.int64)
    positions = torch.cat([torch.arange(c.start, c.start + len(c.tokens)) for c in chunks])
    return Batch(
        tokens.to(device),
        positions.to(device),
        where([run for chunk in chunks for run in chunk.own], device),
        tuple(parts),
        torch.tensor(sampled, dtype=torch.int64, device=device),
    )


class Adapter(Protocol):
    """A decoder whose keys and values live in our store."""

    @property
    def name(self) -> str:
        """Return the model's name as the report shows it."""
        ...

    @property
    def shape(self) -> Shape | None:
        """Return the sizes for the work formula; None where the family is not known to us."""
        ...

    @property
    def sizes(self) -> tuple[LayerSize, ...]:
        """Return what each layer keeps of a token."""
        ...

    @property
    def context(self) -> int:
        """Return the longest sequence that the model takes."""
        ...

    @property
    def vocab(self) -> int:
        """Return the number of token ids."""
        ...

    @property
    def dtype(self) -> torch.dtype:
        """Return the dtype of the weights."""
        ...

    @property
    def device(self) -> torch.device:
        """Return where the weights are."""
        ...

    @property
    def fixed(self) -> bool:
        """Tell whether a step of the same shapes always does the same operations, as a graph needs."""
        ...

    def forward(self, batch: Batch, kv: KvStore) -> Tensor:
        """Compute a step: write its keys and values, return the logits ``[n, vocab]`` of sampled rows."""
        ...
