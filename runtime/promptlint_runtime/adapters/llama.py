"""A lean decoder of the Llama family: Llama, Mistral, Qwen2, Qwen3, SmolLM2.

Query, key and value projections are one matrix, gate and up projections another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from promptlint_runtime.adapters.base import Batch
from promptlint_runtime.attention import attend, attend_masked, rms_norm, rotate
from promptlint_runtime.kv import KvStore, LayerSize
from promptlint_runtime.shapes import Shape, inverse_frequencies

Weights = Callable[[str], Tensor]  # a checkpoint's tensor by its Hugging Face name
# Of gate and up on a CPU: what is larger, the C library takes from the system and gives back every time.
_MLP_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class _Layer:
    before_attention: Tensor  # [hidden]
    qkv: Tensor  # [(H + 2·KV)·D, hidden]
    qkv_bias: Tensor | None
    q_norm: Tensor | None  # [D]
    k_norm: Tensor | None
    out: Tensor  # [hidden, H·D]
    out_bias: Tensor | None
    before_mlp: Tensor
    gate_up: Tensor  # [2·mlp, hidden]
    gate_up_bias: Tensor | None
    down: Tensor  # [hidden, mlp]
    down_bias: Tensor | None


class Llama:
    """The model; weights are taken one by one from ``weights`` and moved where they belong."""

    fixed = True

    def __init__(self, shape: Shape, weights: Weights, dtype: torch.dtype, device: torch.device) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device

        def take(*names: str) -> Tensor:
            # Joined after the move: a large model never stands twice in the memory of the host.
            parts = [weights(name).to(device=device, dtype=dtype) for name in names]
            return parts[0].contiguous() if len(parts) == 1 else torch.cat(parts)

        self._embedding = take("model.embed_tokens.weight")
        self._layers = [_layer(shape, f"model.layers.{i}.", take) for i in range(shape.layers)]
        self._norm = take("model.norm.weight")
        self._head = self._embedding if shape.tied else take("lm_head.weight")
        frequencies = torch.tensor(inverse_frequencies(shape), dtype=torch.float32)
        angles = torch.outer(torch.arange(shape.context, dtype=torch.float32), frequencies)
        self._cos = angles.cos().to(device=device, dtype=dtype)  # [context, D/2]
        self._sin = angles.sin().to(device=device, dtype=dtype)

    @property
    def name(self) -> str:
        """Return the shape's name."""
        return self.shape.name

    @property
    def sizes(self) -> tuple[LayerSize, ...]:
        """Return the same size for every layer."""
        shape = self.shape
        return (LayerSize(shape.kv_heads, shape.head_dim, shape.head_dim),) * shape.layers

    @property
    def context(self) -> int:
        """Return the longest sequence."""
        return self.shape.context

    @property
    def vocab(self) -> int:
        """Return the number of token ids."""
        return self.shape.vocab

    def rotary(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return cosine and sine ``[T, 1, D/2]`` for `attention.rotate`."""
        return self._cos[positions][:, None], self._sin[positions][:, None]

    @torch.inference_mode()
    def forward(self, batch: Batch, kv: KvStore) -> Tensor:
        """Compute one step; see `Adapter.forward`."""
        cos, sin = self.rotary(batch.positions)
        x = functional.embedding(batch.tokens, self._embedding)
        step = len(x)
        if self.device.type == "cpu":
            step = max(1, _MLP_BYTES // (2 * self.shape.mlp * self.dtype.itemsize))
        for index, layer in enumerate(self._layers):
            h = rms_norm(x, layer.before_attention, self.shape.norm_eps)
            x += self._attention(index, layer, h, cos, sin, batch, kv)
            for rows in torch.split(x, step):
                h = rms_norm(rows, layer.before_mlp, self.shape.norm_eps)
                gate, up = functional.linear(h, layer.gate_up, layer.gate_up_bias).chunk(2, dim=-1)
                rows += functional.linear(functional.silu(gate).mul_(up), layer.down, layer.down_bias)
        x = rms_norm(x[batch.sampled], self._norm, self.shape.norm_eps)
        return functional.linear(x, self._head)

    def _attention(
        self, index: int, layer: _Layer, h: Tensor, cos: Tensor, sin: Tensor, batch: Batch, kv: KvStore
    ) -> Tensor:
        shape = self.shape
        heads, shared, dim = shape.heads, shape.kv_heads, shape.head_dim
        fused = functional.linear(h, layer.qkv, layer.qkv_bias).view(len(h), heads + 2 * shared, dim)
        v = fused[:, -shared:]
        if layer.q_norm is not None and layer.k_norm is not None:
            q, k = fused[:, :heads], fused[:, heads:-shared]
            q, k = rms_norm(q, layer.q_norm, shape.norm_eps), rms_norm(k, layer.k_norm, shape.norm_eps)
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        else:
            turned = rotate(fused[:, :-shared], cos, sin)
            q, k = turned[:, :heads], turned[:, heads:]
        # All of a step's keys are written before any is read: a request may already hit another's.
        kv.write(index, batch.own, k, v)
        window, scale = shape.window(index), 1 / math.sqrt(dim)
        outputs = []
        for part in batch.parts:
            rows = slice(part.offset, part.offset + part.length)
            past = None if part.past is None else kv.read(index, part.past)
            if window is None:
                outputs.append(attend(q[rows], k[rows], v[rows], past, scale))
            else:
                outputs.append(attend_masked(q[rows], k[rows], v[rows], past, scale, window=window))
        joined = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
        return functional.linear(joined.reshape(len(h), heads * dim), layer.out, layer.out_bias)


def _layer(shape: Shape, prefix: str, take: Callable[..., Tensor]) -> _Layer:
    def named(part: str, *names: str) -> Tensor:
        return take(*(f"{prefix}{part}{name}" for name in names))

    attention, mlp = "self_attn.", "mlp."
    qkv = ("q_proj", "k_proj", "v_proj")
    return _Layer(
        before_attention=named("input_layernorm.", "weight"),
        qkv=named(attention, *(f"{n}.weight" for n in qkv)),
        qkv_bias=named(attention, *(f"{n}.bias" for n in qkv)) if shape.qkv_bias else None,
        q_norm=named(attention, "q_norm.weight") if shape.qk_norm else None,
        k_norm=named(attention, "k_norm.weight") if shape.qk_norm else None,
        out=named(attention, "o_proj.weight"),
        out_bias=named(attention, "o_proj.bias") if shape.out_bias else None,
        before_mlp=named("post_attention_layernorm.", "weight"),
        gate_up=named(mlp, "gate_proj.weight", "up_proj.weight"),
        gate_up_bias=named(mlp, "gate_proj.bias", "up_proj.bias") if shape.mlp_bias else None,
        down=named(mlp, "down_proj.weight"),
        down_bias=named(mlp, "down_proj.bias") if shape.mlp_bias else None,
    )
