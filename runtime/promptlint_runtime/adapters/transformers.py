"""Any decoder that `transformers` loads, with its attention reading and writing our store.

The model's own code runs unchanged up to its attention interface; there our function takes over. A
model that does not go through that interface in every layer, or keeps other state between steps
(recurrent layers, chunked attention), is refused when it is loaded.
"""

from __future__ import annotations

import inspect
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from promptlint.errors import UsageError
from promptlint.words import counted
from promptlint_runtime.adapters.base import Batch, batch_of
from promptlint_runtime.attention import attend, attend_masked
from promptlint_runtime.kv import KvStore, LayerSize
from promptlint_runtime.sequence import Chunk
from promptlint_runtime.shapes import Shape

_INTERFACE = "promptlint_paged"
_PLAIN_LAYERS = {"full_attention", "sliding_attention", "attention"}
_TOLERANCE = 0.05  # of the largest logit; another attention kernel in bfloat16 stays well below it


@dataclass(slots=True)
class _Step:
    """What the attention function needs of the step in progress; without ``kv`` it only looks."""

    batch: Batch
    kv: KvStore | None
    seen: dict[int, LayerSize]


_CURRENT: ContextVar[_Step] = ContextVar("promptlint_step")


class TransformersModel:
    """Wraps a loaded ``AutoModelForCausalLM``."""

    fixed = False  # experts, for one, are chosen by the data

    def __init__(self, model: Any, name: str, shape: Shape | None = None) -> None:
        _register()
        config = model.config.get_text_config()
        kinds = set(getattr(config, "layer_types", None) or ())
        if kinds - _PLAIN_LAYERS:
            others = ", ".join(sorted(kinds - _PLAIN_LAYERS))
            raise UsageError(f"{name}: layers of kind {others} cannot be cached by blocks", _OTHER_MODEL)
        self.name = name
        self.shape = shape
        self.vocab = int(config.vocab_size)
        self.context = int(getattr(config, "max_position_embeddings", 1 << 20))
        self.dtype: torch.dtype = model.dtype
        self.device: torch.device = model.device
        self._model = model.eval()
        self._keeps_rows = "logits_to_keep" in inspect.signature(model.forward).parameters
        self.sizes = self._probe(int(config.num_hidden_layers))

    @torch.inference_mode()
    def forward(self, batch: Batch, kv: KvStore) -> Tensor:
        """Compute one step; see `Adapter.forward`."""
        return self._run(_Step(batch, kv, {}))

    def _run(self, step: _Step) -> Tensor:
        batch = step.batch
        rows = {"logits_to_keep": batch.sampled} if self._keeps_rows else {}
        token = _CURRENT.set(step)
        try:
            logits: Tensor = self._model(
                input_ids=batch.tokens[None], position_ids=batch.positions[None], use_cache=False, **rows
            ).logits[0]
        finally:
            _CURRENT.reset(token)
        return logits if self._keeps_rows else logits[batch.sampled]

    @torch.inference_mode()
    def _probe(self, layers: int) -> tuple[LayerSize, ...]:
        """Learn the sizes of all layers, and see that the logits with reuse are the model's own."""
        tokens = tuple(t % self.vocab for t in range(5, 17))
        self._model.set_attn_implementation("eager")
        plain = self._model(input_ids=torch.tensor([tokens], device=self.device), use_cache=False).logits
        self._model.set_attn_implementation(_INTERFACE)
        look = _Step(batch_of([_chunk(tokens, 0, len(tokens))], self.device), None, {})
        self._run(look)
        if sorted(look.seen) != list(range(layers)):
            raise UsageError(
                f"{self.name}: only {len(look.seen)} of its {counted(layers, 'layer')} can be reached by the attention interface",
                _OTHER_MODEL,
            )
        sizes = tuple(look.seen[i] for i in range(layers))
        kv = KvStore(sizes, len(tokens), self.dtype, self.device)
        half = len(tokens) // 2
        self._run(_Step(batch_of([_chunk(tokens, 0, half)], self.device), kv, {}))
        ours = self._run(_Step(batch_of([_chunk(tokens, half, len(tokens))], self.device), kv, {}))
        error = (ours[-1].float() - plain[0, -1].float()).abs().max().item()
        if error > _TOLERANCE * max(1.0, plain[0, -1].float().abs().max().item()):
            raise UsageError(f"{self.name}: its attention differs from ours by {error:.3g}", _OTHER_MODEL)
        return sizes


_OTHER_MODEL = "replay with another model of the same size, for example random:llama-3-8b"


def _chunk(tokens: tuple[int, ...], start: int, stop: int) -> Chunk:
    own = (start, stop - start)
    return Chunk(0, tokens[start:stop], start, ((0, start),) if start else (), (own,), sample=True)


def _register() -> None:
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface

    AttentionInterface.register(_INTERFACE, _attention)
    AttentionMaskInterface.register(_INTERFACE, lambda *_, **__: None)


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Stand in for the model's attention: ``query`` ``[1, H, T, D]``, ``key``, ``value`` ``[1, KV, T, D]``."""
    step = _CURRENT.get()
    layer = int(module.layer_idx)
    q, k, v = (x[0].transpose(0, 1) for x in (query, key, value))
    step.seen[layer] = LayerSize(k.shape[1], k.shape[2], v.shape[2])
    if step.kv is not None:
        step.kv.write(layer, step.batch.own, k, v)
    scale = q.shape[-1] ** -0.5 if scaling is None else scaling
    special = sliding_window is not None or softcap is not None or s_aux is not None
    outputs = []
    for part in step.batch.parts:
        rows = slice(part.offset, part.offset + part.length)
        past = None if part.past is None or step.kv is None else step.kv.read(layer, part.past)
        if special:
            out = attend_masked(
                q[rows], k[rows], v[rows], past, scale, window=sliding_window, softcap=softcap, sinks=s_aux
            )
        else:
            out = attend(q[rows], k[rows], v[rows], past, scale)
        outputs.append(out)
    return torch.cat(outputs)[None], None
