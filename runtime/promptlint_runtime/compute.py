"""The model side of a step: chunks to tensors, a forward pass, the likeliest next tokens."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from promptlint_runtime.adapters.base import Adapter, batch_of
from promptlint_runtime.graphs import ShortSuffix
from promptlint_runtime.kv import KvStore
from promptlint_runtime.sequence import Chunk


class ModelCompute:
    """An `engine.Compute` over a model and its store."""

    def __init__(self, adapter: Adapter, kv: KvStore) -> None:
        self._adapter = adapter
        self._kv = kv
        self._short = ShortSuffix(adapter, kv) if adapter.fixed and adapter.device.type == "cuda" else None
        self.tokens = 0  # run through the model so far

    def __call__(self, chunks: Sequence[Chunk]) -> list[int]:
        """Compute one step; returns after the device has finished."""
        if self._short is not None and len(chunks) == 1 and self._short.takes(chunks[0]):
            logits = self._short.forward(chunks[0])
        else:
            logits = self._adapter.forward(batch_of(chunks, self._adapter.device), self._kv)
        self.tokens += sum(len(chunk.tokens) for chunk in chunks)
        # Moving the ids to the host waits for the device, so wall time around this call is honest.
        sampled: list[int] = torch.argmax(logits, dim=-1).tolist()
        return sampled
