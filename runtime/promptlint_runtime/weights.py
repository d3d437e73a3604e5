"""Where a checkpoint's tensors come from: a folder, a GGUF file, or a seeded generator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import torch
from torch import Tensor

from promptlint.errors import InputError
from promptlint_runtime.adapters.llama import Weights
from promptlint_runtime.shapes import Shape

_AGAIN = "get the model again"


def from_folder(folder: Path) -> Weights:
    """Read ``*.safetensors`` of a Hugging Face folder, tensor by tensor.

    Raises:
        InputError: there are none, or a tensor is missing.
    """
    from safetensors import SafetensorError, safe_open

    index = folder / "model.safetensors.index.json"
    try:
        if index.is_file():
            names = sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))
            files = [folder / name for name in names]
        else:
            files = sorted(folder.glob("*.safetensors"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{index}: not an index of weights ({error})", _AGAIN) from None
    if not files:
        raise InputError(f"{folder}: no safetensors files", "convert the model with save_pretrained")
    homes: dict[str, Any] = {}
    for file in files:
        try:
            opened: Any = safe_open(str(file), framework="pt")
        except (SafetensorError, OSError) as error:
            raise InputError(f"{file}: not whole ({error})", _AGAIN) from None
        homes |= dict.fromkeys(opened.keys(), opened)

    def weights(name: str) -> Tensor:
        if name not in homes:
            raise InputError(f"{folder}: no tensor {name}", "the folder does not fit its config.json")
        tensor: Tensor = homes[name].get_tensor(name)
        return tensor

    return weights


def checked(weights: Weights, shape: Shape, where: Path) -> Weights:
    """Return the same weights, each looked at for the size that the shape gives it.

    Raises (the function returned):
        InputError: a tensor has another size.
    """
    sizes = _tensor_sizes(shape)

    def sized(name: str) -> Tensor:
        tensor, wanted = weights(name), _size_of(sizes, name)
        if tensor.shape != wanted:
            raise InputError(
                f"{where}: tensor {name} has the sizes {tuple(tensor.shape)}, and the configuration says {wanted}",
                "weights and configuration are of two models: get both again",
            )
        return tensor

    return sized


def _size_of(sizes: Mapping[str, tuple[int, ...]], name: str) -> tuple[int, ...]:
    return sizes[name.split(".", 3)[3] if name.startswith("model.layers.") else name]


def random(shape: Shape, seed: int, dtype: torch.dtype, device: torch.device) -> Weights:
    """Make normal weights of deviation 0.02, each from a seed of its own.

    What a prefill costs depends on the shapes alone.
    """
    sizes = _tensor_sizes(shape)

    def weights(name: str) -> Tensor:
        size = _size_of(sizes, name)
        if len(size) == 1:
            fill = torch.zeros if name.endswith("bias") else torch.ones
            return fill(size, dtype=dtype, device=device)
        generator = torch.Generator(device).manual_seed(seed * 1_000_003 + crc32(name.encode()))
        return torch.empty(size, dtype=dtype, device=device).normal_(0, 0.02, generator=generator)

    return weights


def _tensor_sizes(shape: Shape) -> dict[str, tuple[int, ...]]:
    width, inner = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    sizes: dict[str, tuple[int, ...]] = {
        "self_attn.q_proj.weight": (width, shape.hidden),
        "self_attn.k_proj.weight": (inner, shape.hidden),
        "self_attn.v_proj.weight": (inner, shape.hidden),
        "self_attn.o_proj.weight": (shape.hidden, width),
        "mlp.gate_proj.weight": (shape.mlp, shape.hidden),
        "mlp.up_proj.weight": (shape.mlp, shape.hidden),
        "mlp.down_proj.weight": (shape.hidden, shape.mlp),
    }
    biases = {name.replace(".weight", ".bias"): size[:1] for name, size in sizes.items()}
    return {
        **sizes,
        **biases,
        "self_attn.q_norm.weight": (shape.head_dim,),
        "self_attn.k_norm.weight": (shape.head_dim,),
        "input_layernorm.weight": (shape.hidden,),
        "post_attention_layernorm.weight": (shape.hidden,),
        "model.norm.weight": (shape.hidden,),
        "model.embed_tokens.weight": (shape.vocab, shape.hidden),
        "lm_head.weight": (shape.vocab, shape.hidden),
    }


_GGUF_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "model.norm": "output_norm",
    "model.embed_tokens": "token_embd",
    "lm_head": "output",
}


class GgufFile:
    """A GGUF file: sizes from its header, tensors dequantised one by one."""

    def __init__(self, path: Path) -> None:
        try:
            from gguf import GGUFReader
        except ImportError:
            raise InputError(f"{path}: GGUF needs another package", "pip install gguf") from None
        try:
            self._reader = GGUFReader(str(path))
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: not a GGUF file ({error})", "check the download") from None
        self._path = path
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}
        self.family = str(self._field("general.architecture", "", prefix=False))

    def _field(self, key: str, default: object = None, *, prefix: bool = True) -> object:
        field = self._reader.get_field(f"{self.family}.{key}" if prefix else key)
        return default if field is None else field.contents()

    def config(self) -> dict[str, object] | None:
        """Return the header as a Hugging Face configuration; None for a family that is not ours."""
        if self.family not in ("llama", "qwen2", "qwen3"):
            return None
        scaled = self._field("rope.scaling.type", "none")
        if scaled not in ("none", "") or "rope_freqs.weight" in self._tensors:
            return None
        return {
            "model_type": self.family,
            "num_hidden_layers": self._field("block_count"),
            "hidden_size": self._field("embedding_length"),
            "num_attention_heads": self._field("attention.head_count"),
            "num_key_value_heads": self._field("attention.head_count_kv"),
            "head_dim": self._field("attention.key_length"),
            "intermediate_size": self._field("feed_forward_length"),
            "vocab_size": int(self._tensors["token_embd.weight"].shape[1]),
            "max_position_embeddings": self._field("context_length", 2048),
            "rope_theta": self._field("rope.freq_base", 10_000.0),
            "rms_norm_eps": self._field("attention.layer_norm_rms_epsilon", 1e-5),
            "tie_word_embeddings": "output.weight" not in self._tensors,
        }

    def weights(self, shape: Shape) -> Weights:
        """Return the tensors by their Hugging Face names."""
        from gguf.quants import dequantize

        def weights(name: str) -> Tensor:
            part, kind = name.rsplit(".", 1)
            layer = ""
            if part.startswith("model.layers."):
                _, _, index, part = part.split(".", 3)
                layer = f"blk.{index}."
            known = f"{layer}{_GGUF_NAMES[part]}.{kind}"
            if known not in self._tensors:
                raise InputError(f"{self._path}: no tensor {known}", "the file is not complete")
            found = self._tensors[known]
            tensor = torch.from_numpy(dequantize(found.data, found.tensor_type).copy())
            if self.family == "llama" and part in ("self_attn.q_proj", "self_attn.k_proj"):
                heads = shape.heads if part.endswith("q_proj") else shape.kv_heads
                return _unpermute(tensor, heads)
            return tensor

        return weights


def _unpermute(tensor: Tensor, heads: int) -> Tensor:
    """Undo llama.cpp's order of rotary dimensions: pairs side by side become halves."""
    rows = tensor.shape[0] // heads
    return tensor.view(heads, rows // 2, 2, *tensor.shape[1:]).transpose(1, 2).reshape(tensor.shape)
