"""CUDA graphs for short suffixes: on a hit the kernels are so short that launching them would take longer.

A graph is bound to its shapes. Tokens are padded to a multiple of `GRAIN`, at the end, where causal
attention cannot see them; their keys and values go to scratch slots. What stays exact is the number of
cached tokens, which requests of one template share::

    static buffers    tokens [T]  positions [T]  own slots [T]  cached slots [P]  row of the last token [1]
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import torch
from torch import Tensor

from promptlint_runtime.adapters.base import Adapter, Batch, Part
from promptlint_runtime.kv import SCRATCH, KvStore
from promptlint_runtime.sequence import Chunk, Run

GRAIN = SCRATCH  # tokens
LONGEST = 512  # tokens; above it the kernels are longer than their launches
_KEPT = 8  # graphs


@dataclass(slots=True)
class _Static:
    batch: Batch
    own: Tensor
    past: Tensor
    graph: torch.cuda.CUDAGraph | None = None
    logits: Tensor | None = None


class ShortSuffix:
    """Computes single chunks of up to `LONGEST` tokens in fixed shapes.

    On a CUDA device a shape is captured when it comes for the second time, and replayed from then on.
    Elsewhere the padded step runs as it is, which is what the tests compare.
    """

    def __init__(self, adapter: Adapter, kv: KvStore) -> None:
        self._adapter = adapter
        self._kv = kv
        self._captures = adapter.device.type == "cuda"
        self._known: OrderedDict[tuple[int, int], _Static] = OrderedDict()

    @staticmethod
    def takes(chunk: Chunk) -> bool:
        """Tell whether a chunk is one of those that gain."""
        return chunk.sample and chunk.start > 0 and len(chunk.tokens) <= LONGEST

    @torch.inference_mode()
    def forward(self, chunk: Chunk) -> Tensor:
        """Compute one chunk; return the logits ``[1, vocab]`` of its last token."""
        length = -(-len(chunk.tokens) // GRAIN) * GRAIN
        key = (chunk.start, length)
        static = self._known.get(key)
        seen = static is not None
        if static is None:
            static = self._known[key] = self._buffers(*key)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        self._fill(static, chunk, length)
        if not self._captures or not seen:
            return self._adapter.forward(static.batch, self._kv)
        if static.graph is None:
            self._capture(static)
        assert static.graph is not None
        assert static.logits is not None
        static.graph.replay()
        return static.logits

    def _buffers(self, past: int, length: int) -> _Static:
        device = self._adapter.device
        own, positions, tokens = (torch.zeros(length, dtype=torch.int64, device=device) for _ in range(3))
        cached = torch.zeros(past, dtype=torch.int64, device=device)
        last = torch.zeros(1, dtype=torch.int64, device=device)
        batch = Batch(tokens, positions, own, (Part(0, length, cached),), last)
        return _Static(batch, own, cached)

    def _fill(self, static: _Static, chunk: Chunk, length: int) -> None:
        real, batch = len(chunk.tokens), static.batch
        pad = length - real
        scratch = ((self._kv.slots, pad),) if pad else ()
        batch.tokens.copy_(torch.tensor((*chunk.tokens, *(0,) * pad)))
        # Padding stands at the last position of all: the table of angles ends there.
        positions = torch.arange(chunk.start, chunk.start + length)
        batch.positions.copy_(positions.clamp_(max=self._adapter.context - 1))
        static.own.copy_(_slots((*chunk.own, *scratch)))
        static.past.copy_(_slots(chunk.past))
        batch.sampled.fill_(real - 1)

    def _capture(self, static: _Static) -> None:
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):  # libraries set themselves up outside of the capture
            self._adapter.forward(static.batch, self._kv)
        torch.cuda.current_stream().wait_stream(stream)
        static.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(static.graph):
            static.logits = self._adapter.forward(static.batch, self._kv)


def _slots(runs: tuple[Run, ...]) -> Tensor:
    return torch.cat([torch.arange(first, first + count) for first, count in runs])
