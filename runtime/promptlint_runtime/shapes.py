"""Shapes of decoders of the Llama family: sizes only, so that costs can be had without weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from promptlint.errors import InputError, UsageError


@dataclass(frozen=True, slots=True)
class RopeScaling:
    """How rotary frequencies are stretched. ``kind``: "default", "linear" or "llama3"."""

    kind: str = "default"
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_context: int = 8192


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of one decoder. ``windows`` has one entry a layer: None, or how far back it looks."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    mlp: int
    vocab: int
    context: int
    rope_theta: float = 10_000.0
    rope: RopeScaling = RopeScaling()
    norm_eps: float = 1e-5
    tied: bool = False
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    windows: tuple[int | None, ...] = ()

    def window(self, layer: int) -> int | None:
        """Return how many positions, its own included, a token of this layer sees; None: all."""
        return self.windows[layer] if self.windows else None

    @property
    def linear_params(self) -> int:
        """Return the weights that every token is multiplied with: layers only, no head, no embedding."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        return self.layers * (attention + 3 * self.hidden * self.mlp)

    @property
    def params(self) -> int:
        """Return all weights but norms and biases."""
        return self.linear_params + self.vocab * self.hidden * (1 if self.tied else 2)

    def kv_bytes(self, itemsize: int) -> int:
        """Return the bytes of keys and values of one token, for elements of ``itemsize`` bytes."""
        return 2 * self.layers * self.kv_heads * self.head_dim * itemsize


def prefill_flops(shape: Shape, new: int, cached: int = 0) -> float:
    """Return the floating point operations of computing ``new`` tokens behind ``cached`` ones.

    Linear layers 2·N a token; attention 4·d for each pair of query and visible key, of which the new
    tokens have ``new·cached + new²/2`` in each layer (d = heads · head size). The head runs once and
    is left out.
    """
    pairs = new * cached + new * new / 2
    return 2.0 * shape.linear_params * new + 4.0 * shape.layers * shape.heads * shape.head_dim * pairs


def speedup_bound(shape: Shape, total: int, cached: int) -> float:
    """Return the largest possible ratio of prefill work without and with ``cached`` of ``total`` tokens.

    ``[2N·S + 2Ld·S²] / [2N·(1-h)S + 2Ld·S²(1-h²)]`` with h = cached / total.
    """
    return prefill_flops(shape, total) / prefill_flops(shape, total - cached, cached)


NAMED = {
    shape.name: shape
    for shape in (
        Shape("smollm2-135m", 30, 576, 9, 3, 64, 1536, 49152, 8192, rope_theta=1e5, tied=True),
        Shape("smollm2-360m", 32, 960, 15, 5, 64, 2560, 49152, 8192, rope_theta=1e5, tied=True),
        Shape("smollm2-1.7b", 24, 2048, 32, 32, 64, 8192, 49152, 8192, rope_theta=1.3e5, tied=True),
        Shape(
            "qwen2.5-0.5b", 24, 896, 14, 2, 64, 4864, 151936, 32768,
            rope_theta=1e6, norm_eps=1e-6, tied=True, qkv_bias=True,
        ),
        Shape(
            "qwen3-8b", 36, 4096, 32, 8, 128, 12288, 151936, 40960,
            rope_theta=1e6, norm_eps=1e-6, qk_norm=True,
        ),
        Shape("mistral-7b", 32, 4096, 32, 8, 128, 14336, 32768, 32768, rope_theta=1e6),
        Shape("llama-3-8b", 32, 4096, 32, 8, 128, 14336, 128256, 8192, rope_theta=5e5),
        Shape("llama-3-70b", 80, 8192, 64, 8, 128, 28672, 128256, 8192, rope_theta=5e5),
        Shape("tiny", 2, 64, 4, 2, 16, 128, 512, 4096, tied=True),
    )
}  # fmt: skip


def named(name: str) -> Shape:
    """Return a shape by name.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in NAMED:
        raise UsageError(f"no shape named {name!r}", f"take one of: {', '.join(sorted(NAMED))}")
    return NAMED[name]


_FAMILIES = {
    "llama": {},
    "mistral": {},
    "qwen2": {"qkv_bias": True},
    "qwen3": {"qk_norm": True},
}


_WHOLE = "give the folder of a whole Hugging Face model"


def from_config(config: Mapping[str, Any], name: str) -> Shape | None:
    """Read a Hugging Face ``config.json``; None where the family or a feature is not ours.

    A None sends the model to the `transformers` adapter, which is slower and knows every family.

    Raises:
        InputError: a size is missing, or is none.
    """
    try:
        return _read(config, name)
    except KeyError as error:
        raise InputError(f"{name}: its configuration has no {error}", _WHOLE) from None
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError(f"{name}: its configuration makes no sense ({error})", _WHOLE) from None


def _read(config: Mapping[str, Any], name: str) -> Shape | None:
    family = _FAMILIES.get(str(config.get("model_type")))
    if family is None or config.get("hidden_act", "silu") != "silu":
        return None
    rope_fields = {**(config.get("rope_scaling") or {}), **(config.get("rope_parameters") or {})}
    rope = _rope(rope_fields)
    if rope is None or config.get("partial_rotary_factor", 1.0) != 1.0:
        return None
    layers, heads = int(config["num_hidden_layers"]), int(config["num_attention_heads"])
    bias = bool(config.get("attention_bias", False))
    return Shape(
        name=name,
        layers=layers,
        hidden=int(config["hidden_size"]),
        heads=heads,
        kv_heads=int(config.get("num_key_value_heads") or heads),
        head_dim=int(config.get("head_dim") or config["hidden_size"] // heads),
        mlp=int(config["intermediate_size"]),
        vocab=int(config["vocab_size"]),
        context=int(config.get("max_position_embeddings", 2048)),
        rope_theta=float(rope_fields.get("rope_theta") or config.get("rope_theta") or 10_000.0),
        rope=rope,
        norm_eps=float(config.get("rms_norm_eps", 1e-6)),
        tied=bool(config.get("tie_word_embeddings", False)),
        qkv_bias=family.get("qkv_bias", bias),
        out_bias=bias and "qkv_bias" not in family,
        mlp_bias=bool(config.get("mlp_bias", False)),
        qk_norm=family.get("qk_norm", False),
        windows=_windows(config, layers),
    )


def _rope(fields: Mapping[str, Any]) -> RopeScaling | None:
    kind = str(fields.get("rope_type", fields.get("type", "default")))
    if kind == "default":
        return RopeScaling()
    if kind == "linear":
        return RopeScaling(kind, float(fields["factor"]))
    if kind == "llama3":
        return RopeScaling(
            kind,
            float(fields["factor"]),
            float(fields["low_freq_factor"]),
            float(fields["high_freq_factor"]),
            int(fields["original_max_position_embeddings"]),
        )
    return None


def _windows(config: Mapping[str, Any], layers: int) -> tuple[int | None, ...]:
    window = config.get("sliding_window")
    if not window or config.get("use_sliding_window") is False:
        return ()
    kinds = config.get("layer_types")
    if kinds is None:
        first = int(config.get("max_window_layers", 0)) if config.get("use_sliding_window") else 0
        kinds = ["full_attention"] * first + ["sliding_attention"] * (layers - first)
    return tuple(int(window) if kind == "sliding_attention" else None for kind in kinds)


def inverse_frequencies(shape: Shape) -> list[float]:
    """Return the rotary frequency of each pair of dimensions, ``head_dim / 2`` values."""
    rope = shape.rope
    plain = [shape.rope_theta ** (-2 * i / shape.head_dim) for i in range(shape.head_dim // 2)]
    if rope.kind == "linear":
        return [f / rope.factor for f in plain]
    if rope.kind != "llama3":
        return plain
    scaled = []
    for frequency in plain:
        turns = rope.original_context * frequency / (2 * math.pi)
        # 0 below low_freq_factor turns (stretched whole), 1 above high_freq_factor (left alone)
        kept = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor)
        kept = min(1.0, max(0.0, kept))
        scaled.append(frequency * (kept + (1 - kept) / rope.factor))
    return scaled
